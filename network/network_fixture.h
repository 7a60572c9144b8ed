#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/disk_pool.h"
#include "network/event_loops.h"
#include "network/server.h"

namespace barnabas::network {

using namespace std::chrono_literals;

/// A blocking client of tests. A reply that does not come within some seconds fails the test.
class TestClient {
 public:
  explicit TestClient(uint16_t port, int receive_buffer_bytes = -1);
  ~TestClient();
  TestClient(TestClient&& other) noexcept;
  TestClient(const TestClient&) = delete;

  /// With the size in front.
  void send(std::string_view request);
  void send_raw(std::string_view bytes);
  /// As send_raw, but only what fits into the socket's buffers now; returns how much that was.
  std::size_t send_some(std::string_view bytes);
  /// The next answer without its size, nothing if the server closed.
  std::optional<std::string> receive();
  std::string receive_raw(std::size_t bytes);
  /// Whether the server closes within the time; answers that come before are thrown away.
  bool closed_within(std::chrono::milliseconds time);
  bool anything_within(std::chrono::milliseconds time);
  void end_sending();
  /// Closes so that the server sees a reset.
  void reset();
  void close();
  int socket() const { return socket_; }

 private:
  int socket_ = -1;
};

/// Whether nobody listens on the port of loopback.
bool connection_refused(uint16_t port);

std::string framed(std::string_view request);
std::string numbered(int i);
OutgoingFrame answer(std::string_view text);
std::string text_of(const IncomingRequest& request);
/// Polls until `condition` holds, at most some seconds.
bool eventually(const std::function<bool()>& condition);
/// Bytes that were sent to `port` of loopback and that nobody has read yet. What has arrived but is not
/// acknowledged counts twice.
std::size_t unread_bytes(uint16_t port);
/// The same once nothing moves any more, and all that has arrived is acknowledged.
std::size_t bytes_left_unread(uint16_t port);
/// Resident memory of this process. Under a sanitizer it says little: what is freed is kept for a while.
std::size_t resident_bytes();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// A server on loopback whose requests go to `on_request`, or into `waiting` when that is empty.
class TestServer : public RequestHandler {
 public:
  using OnRequest = std::function<void(IncomingRequest)>;
  explicit TestServer(ServerLimits limits = {}, OnRequest on_request = {}, std::size_t loops = 2,
                      const ListenerConfig& listener = {.name = "PLAINTEXT", .host = "127.0.0.1"});
  ~TestServer() override;

  TestClient connect(int receive_buffer_bytes = -1) { return TestClient(port(), receive_buffer_bytes); }
  uint16_t port() const { return server->bound().front().port; }

  /// The next request that nobody answered, waiting for it.
  IncomingRequest take();
  std::size_t waiting_count();

  void start(IncomingRequest request) override;
  void connection_closed(ConnectionContext& connection) override;
  bool measures_time() const override { return measures; }

  EventLoops loops;
  io::DiskPool disk_pool{{.name = "disk", .threads = 2}};
  std::atomic<int> started = 0;
  std::atomic<int> closed = 0;
  std::atomic<bool> measures = false;
  std::unique_ptr<Server> server;

 private:
  const OnRequest on_request_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<IncomingRequest> waiting_;
};

/// Answers every request with itself.
inline void echo(IncomingRequest request) {
  request.slot.reply(answer(text_of(request)));
}

}  // namespace barnabas::network
