#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace barnabas::http {

/// Where to listen. An empty host is every interface.
struct Address {
  std::string host;
  uint16_t port = 0;  ///< 0: the system chooses

  /// "127.0.0.1:9644", "[::1]:9644"
  std::string to_string() const;
};

/// "host:port", with an IPv6 address in brackets; "*" or nothing as host is every interface.
Result<Address> parse_address(std::string_view text);

struct Request {
  std::string path;  ///< without the query; as it was sent, not decoded
};

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  /// Never null; may be shared between answers.
  std::shared_ptr<const std::string> body;
};
Response text_response(unsigned status, std::string text);

/// The duty to answer one request: called once, from any thread, at any time, also after the connection or
/// the server is gone. One that is dropped leaves the peer waiting for Limits::answer_max.
using Respond = std::function<void(Response)>;
/// On the server's thread; must not block.
using Handler = std::function<void(const Request&, Respond)>;

/// Bounds at which a peer is answered with an error, or let go.
struct Limits {
  std::size_t connections_max = 64;  ///< more are closed at once
  uint32_t header_bytes_max = 8 << 10;
  std::chrono::milliseconds request_max{10'000};  ///< for a request to come in, and between two
  std::chrono::milliseconds answer_max{30'000};   ///< for the handler to answer; 503 then
  std::chrono::milliseconds send_max{30'000};     ///< for an answer to be taken by the peer
};

/// A small HTTP/1.1 server for machines that look at this process, on a thread of its own. It serves GET and
/// HEAD without bodies. What a peer does costs at most Limits of memory and never holds up anybody else, nor
/// the end of the server.
class Server {
 public:
  Server(Handler handler, Limits limits);
  /// As stop.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens; nothing is answered before start. ErrorKind::io with the address where it is taken.
  Result<void> bind(const Address& address);
  /// As bound, with the ports that the system chose.
  const std::vector<Address>& bound() const;
  /// Once, after bind.
  void start();
  /// Runs `work` on the server's thread, soon or after a time; never once stop has begun. Any thread. What it
  /// throws goes to the log.
  void post(std::function<void()> work);
  void after(std::chrono::milliseconds time, std::function<void()> work);
  /// Closes everything at once. Nothing is called any more once it returns.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace barnabas::http
