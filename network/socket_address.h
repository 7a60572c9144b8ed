#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace barnabas::network {

/// A numeric address and port.
struct AddressAndPort {
  std::string address;
  uint16_t port = 0;
};

/// IPv4 addresses inside IPv6 ones as IPv4.
AddressAndPort address_of(const sockaddr_storage& from);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

/// Where to listen for `host`: IPv4 first when a name has both. May ask a name server. An empty host is every
/// interface, IPv6 with IPv4 where the system has it, else IPv4.
Result<std::vector<SocketAddress>> listening_addresses(const std::string& host, uint16_t port);

/// A non-blocking listening TCP socket; -1 buffers are the system's.
struct ListenOptions {
  int backlog = 50;
  int send_buffer_bytes = -1;
  int receive_buffer_bytes = -1;
};
Result<int> open_listening_socket(const std::string& host, uint16_t port, const ListenOptions& options);

/// The port that a socket is bound to.
Result<uint16_t> bound_port(int socket);

}  // namespace barnabas::network
