#include "network/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace barnabas::network {

namespace {

std::string place(const std::string& host, uint16_t port) {
  return (host.empty() ? "*" : host) + ":" + std::to_string(port);
}

std::unexpected<Error> fail_errno(const std::string& what) {
  const int error = errno;
  return fail(ErrorKind::io, what + ": " + std::strerror(error), error);
}

SocketAddress any_address(uint16_t port) {
  SocketAddress address;
  if (const int probe = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0); probe >= 0) {
    ::close(probe);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(port);
    std::memcpy(&address.storage, &any, sizeof any);
    address.length = sizeof any;
    return address;
  }
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  any.sin_port = htons(port);
  std::memcpy(&address.storage, &any, sizeof any);
  address.length = sizeof any;
  return address;
}

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

/// On Linux an accepted socket inherits all of these from the listening one.
bool set_options(int socket, int family, const ListenOptions& options) {
  return set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1) && set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1) &&
         set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1) &&
         (family != AF_INET6 || set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0)) &&
         (options.send_buffer_bytes < 0 ||
          set_option(socket, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes)) &&
         (options.receive_buffer_bytes < 0 ||
          set_option(socket, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes));
}

Result<int> listen_on(const SocketAddress& address, const std::string& where, const ListenOptions& options) {
  const int family = address.storage.ss_family;
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail_errno(where + ": socket");
  const char* call = nullptr;
  if (!set_options(socket, family, options)) {
    call = "setsockopt";
  } else if (::bind(socket, reinterpret_cast<const sockaddr*>(&address.storage), address.length) < 0) {
    call = "bind";
  } else if (::listen(socket, options.backlog) < 0) {
    call = "listen";
  }
  if (call == nullptr) return socket;
  auto failure = fail_errno(where + ": " + call);
  ::close(socket);
  return failure;
}

}  // namespace

AddressAndPort address_of(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &from, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  if (from.ss_family != AF_INET6) return {"unknown", 0};
  sockaddr_in6 v6;
  std::memcpy(&v6, &from, sizeof v6);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    ::inet_ntop(AF_INET, v6.sin6_addr.s6_addr + 12, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  }
  return {text, ntohs(v6.sin6_port)};
}

Result<std::vector<SocketAddress>> listening_addresses(const std::string& host, uint16_t port) {
  if (host.empty()) return std::vector{any_address(port)};
  std::string name = host;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return fail(ErrorKind::not_found, place(host, port) + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
  }
  std::ranges::stable_partition(addresses,
                                [](const auto& each) { return each.storage.ss_family == AF_INET; });
  return addresses;
}

Result<int> open_listening_socket(const std::string& host, uint16_t port, const ListenOptions& options) {
  BARNABAS_ASSIGN(const auto addresses, listening_addresses(host, port));
  return listen_on(addresses.front(), place(host, port), options);
}

Result<uint16_t> bound_port(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) < 0)
    return fail_errno("getsockname");
  return address_of(bound).port;
}

}  // namespace barnabas::network
