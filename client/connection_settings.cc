#include "client/connection_settings.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace barnabas::client {

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

namespace {

/// "::1" as it should be written: with brackets. What looks like a port at its end is taken for one.
std::optional<std::string> with_brackets(std::string_view text) {
  const auto is_ipv6 = [](std::string_view host) {
    unsigned char bytes[16];
    return ::inet_pton(AF_INET6, std::string(host).c_str(), bytes) == 1;
  };
  const auto colon = std::min(text.rfind(':'), text.size());
  const std::string_view host = text.substr(0, colon), port = text.substr(std::min(colon + 1, text.size()));
  constexpr std::size_t digits_of_ports = 4;
  if (port.size() >= digits_of_ports && is_ipv6(host))
    return "[" + std::string(host) + "]:" + std::string(port);
  if (is_ipv6(text)) return "[" + std::string(text) + "]:9092";
  return std::nullopt;
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  std::string_view rest = text;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) rest.remove_prefix(scheme + 3);
  HostPort address{.host = "", .port = "9092"};
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos)
      return fail(ErrorKind::invalid, "\"" + std::string(text) + "\": no ] after the address");
    address.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    if (const auto right = with_brackets(rest))
      return fail(ErrorKind::invalid, "\"" + std::string(text) + "\": write " + *right);
    const auto colon = rest.rfind(':');
    address.host = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon, rest.size()));
  }
  if (!rest.empty()) address.port = rest.substr(1);
  unsigned port = 0;
  const auto* end = address.port.data() + address.port.size();
  const auto parsed = std::from_chars(address.port.data(), end, port);
  if (address.host.empty() || (!rest.empty() && rest.front() != ':') || parsed.ec != std::errc() ||
      parsed.ptr != end || port == 0 || port > 65535)
    return fail(ErrorKind::invalid, "\"" + std::string(text) +
                                        "\" is no address; expected host:port, such as "
                                        "127.0.0.1:9092");
  return address;
}

namespace {

Result<void> check_sasl(const ConnectionSettings& settings) {
  if (settings.mechanism.empty())
    return fail(ErrorKind::invalid,
                "a SASL protocol without a mechanism; add --sasl-mechanism SCRAM-SHA-256 (or PLAIN, "
                "SCRAM-SHA-512)");
  if (settings.mechanism != "PLAIN" && settings.mechanism != "SCRAM-SHA-256" &&
      settings.mechanism != "SCRAM-SHA-512")
    return fail(ErrorKind::unsupported, "SASL mechanism " + settings.mechanism +
                                            " is not served by this command line; it knows PLAIN, "
                                            "SCRAM-SHA-256 and SCRAM-SHA-512");
  if (settings.user.empty())
    return fail(ErrorKind::invalid, "no user for " + settings.mechanism +
                                        "; add --user and --password (or BARNABAS_USER, BARNABAS_PASSWORD)");
  if (settings.password.empty())
    return fail(ErrorKind::invalid, "no password for " + settings.user + "; set BARNABAS_PASSWORD");
  return {};
}

}  // namespace

Result<void> check(const ConnectionSettings& settings) {
  if (settings.bootstrap_servers.empty())
    return fail(ErrorKind::invalid, "no broker to connect to; add -b host:port");
  for (const std::string& server : settings.bootstrap_servers) BARNABAS_TRY(parse_host_port(server));
  if (security::authenticates_by_sasl(settings.protocol)) {
    BARNABAS_TRY(check_sasl(settings));
  } else if (!settings.mechanism.empty() || !settings.user.empty()) {
    return fail(ErrorKind::invalid, "a user or mechanism is given, but the protocol is " +
                                        std::string(security::to_string(settings.protocol)) +
                                        "; expected SASL_SSL or SASL_PLAINTEXT");
  }
  return {};
}

}  // namespace barnabas::client
