#include "app/doctor/network_examination.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "app/exposure.h"

namespace barnabas::app {
namespace {

constexpr int reach_ms = 2000;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct AddressFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressFree>;

/// Null when there is none; `error` is getaddrinfo's then.
Addresses resolve(const std::string& host, uint16_t port, int flags, int& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  return Addresses(error == 0 ? found : nullptr);
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(four.sin_addr.s_addr) >> 24) == 127;
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

std::string shown(const network::ListenerConfig& listener) {
  return listener.name + "://" + (listener.host.empty() ? "0.0.0.0" : listener.host) + ":" +
         std::to_string(listener.port);
}

/// Tries the port as the broker would; the socket listens while it is kept.
Socket listen_on(const network::ListenerConfig& listener, int& error, std::string& words) {
  const Addresses addresses = resolve(listener.host, listener.port, AI_PASSIVE, error);
  if (!addresses) {
    words = ::gai_strerror(error);
    error = EADDRNOTAVAIL;
    return Socket(-1);
  }
  Socket socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  error = 0;
  if (::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || ::listen(socket.get(), 16) != 0)
    error = errno;
  words = std::strerror(error);
  return socket;
}

void tell_port(const network::ListenerConfig& listener, int error, const std::string& words,
               Findings& findings) {
  const std::string what = shown(listener) + ": ";
  const std::string setting = "listeners";
  if (error == EADDRINUSE) {
    findings.push_back({Finding::Level::problem, "ports", what + "the port is in use",
                        "the broker cannot start, and clients talk to whoever has the port",
                        "end the other process (ss -ltnp shows it), or choose another port in " + setting});
  } else if (error == EACCES) {
    findings.push_back(
        {Finding::Level::problem, "ports", what + "the port may only be used by root",
         "the broker cannot start as this user",
         "choose a port above 1023 in " + setting + ", or give the binary CAP_NET_BIND_SERVICE"});
  } else {
    findings.push_back({Finding::Level::problem, "ports", what + words,
                        "the broker cannot start: this machine has no such address",
                        "name an address of this machine in " + setting + ", or 0.0.0.0 for all of them"});
  }
}

bool can_reach(const addrinfo& address) {
  const Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd item{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (::poll(&item, 1, reach_ms) == 1) ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0;
}

void examine_advertised(const broker::AdvertisedListener& advertised, const network::ListenerConfig* bound,
                        bool somebody_listens, Findings& findings) {
  const std::string what = "advertised.listeners: " + advertised.listener + "://" + advertised.host + ":" +
                           std::to_string(advertised.port) + ": ";
  int error = 0;
  const Addresses addresses = resolve(advertised.host, advertised.port, 0, error);
  const std::string why = ::gai_strerror(error);
  if (!addresses && error == EAI_AGAIN) {
    findings.push_back({Finding::Level::warning, "addresses", what + "no name server answers (" + why + ")",
                        "whether clients can find the name is not known from here",
                        "try again where names can be looked up"});
    return;
  }
  if (!addresses) {
    findings.push_back({Finding::Level::problem, "addresses",
                        what + "the name has no address here (" + why + ")",
                        "clients connect to what is advertised, so they find nothing once they have asked",
                        "advertise a name or address that clients can resolve"});
    return;
  }
  bool all_loopback = true, reached = false;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    all_loopback &= is_loopback(*each->ai_addr);
    if (somebody_listens && advertised.port != 0) reached |= can_reach(*each);
  }
  const Addresses own = bound == nullptr ? nullptr : resolve(bound->host, bound->port, AI_PASSIVE, error);
  if (all_loopback && own && !is_loopback(*own->ai_addr))
    findings.push_back(
        {Finding::Level::warning, "addresses", what + "leads to the client's own machine",
         "the listener is open to other machines, but clients there are sent to themselves and "
         "find no broker",
         "advertise a name or address of this machine that they can reach"});
  if (somebody_listens && advertised.port != 0 && !reached)
    findings.push_back({Finding::Level::problem, "addresses", what + "cannot be reached from this machine",
                        "clients connect to what is advertised; from here it does not lead to the listener",
                        "advertise an address and port that lead here; behind address translation or a "
                        "balancer try it from a client's machine"});
}

}  // namespace

void examine_network(const Listeners& listeners, bool running, Findings& findings) {
  // Kept until the end: the advertised addresses are tried against them.
  std::vector<Socket> sockets;
  std::vector<std::string> listening;
  for (const network::ListenerConfig& each : listeners.bind) {
    int error = 0;
    std::string words;
    Socket socket = listen_on(each, error, words);
    const bool own = error == EADDRINUSE && running;
    if (error == 0 || own) listening.push_back(each.name);
    if (error != 0 && !own) tell_port(each, error, words, findings);
    sockets.push_back(std::move(socket));
  }
  for (const broker::AdvertisedListener& each : listeners.advertised) {
    const auto bound = std::ranges::find(listeners.bind, each.listener, &network::ListenerConfig::name);
    const bool somebody = std::ranges::find(listening, each.listener) != listening.end();
    examine_advertised(each, bound == listeners.bind.end() ? nullptr : &*bound, somebody, findings);
  }
}

void examine_http(const metadata::StaticConfig& config, bool running, Findings& findings) {
  for (const std::string& text : config.list("http.listeners")) {
    const auto colon = text.rfind(':');
    unsigned port = 0;
    if (colon == std::string::npos ||
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), port).ec != std::errc() ||
        port > 65535)
      continue;  // what is no address is told with the settings, or at the start
    network::ListenerConfig listener{.name = "http.listeners", .host = text.substr(0, colon)};
    if (listener.host.starts_with('[') && listener.host.ends_with(']'))
      listener.host = listener.host.substr(1, listener.host.size() - 2);
    listener.port = static_cast<uint16_t>(port);
    int error = 0;
    std::string words;
    const Socket socket = listen_on(listener, error, words);
    if (error == 0 || (error == EADDRINUSE && running)) continue;
    const bool asked_for = config.given("http.listeners") != nullptr;
    findings.push_back(
        {asked_for ? Finding::Level::problem : Finding::Level::warning, "ports",
         "http.listeners: " + text + ": " + words,
         asked_for ? "the broker cannot start" : "there are no metrics and no health over HTTP",
         "set http.listeners to another address, or to nothing to do without"});
  }
}

void examine_access(const Listeners& listeners, const metadata::StaticConfig& config, Findings& findings) {
  if (auto warning = exposure_warning(listeners.bind, config))
    findings.push_back({Finding::Level::warning, "access", *warning,
                        "whoever reaches the port may read, write and delete everything",
                        "docs/security.md, or listen on 127.0.0.1 only"});
  if (auto warning = http_exposure_warning(config.list("http.listeners")))
    findings.push_back({Finding::Level::warning, "access", *warning,
                        "whoever reaches the port sees what the broker does for whom",
                        "close the port to others, or set http.listeners to 127.0.0.1:9644"});
}

}  // namespace barnabas::app
