#include <charconv>

#include "http/server.h"

namespace barnabas::http {

std::string Address::to_string() const {
  const bool bracket = host.find(':') != std::string::npos;
  return (host.empty() ? "*" : bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> parse_address(std::string_view text) {
  const auto complain = [&](std::string_view what) {
    return fail(ErrorKind::invalid, "\"" + std::string(text) + "\": " + std::string(what) +
                                        "; expected host:port, such as 127.0.0.1:9644");
  };
  const auto colon = text.rfind(':');
  if (colon == text.npos) return complain("no port");
  Address address;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc() || end != digits.data() + digits.size())
    return complain("the port is not a number from 0 to 65535");
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != host.npos) return complain("an IPv6 address stands in brackets");
  if (host != "*") address.host = host;
  return address;
}

}  // namespace barnabas::http
