#pragma once

#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "network/connection_counts.h"
#include "network/event_loops.h"
#include "network/server_loop.h"

namespace barnabas::network {

/// Accepts the connections of one listener and deals them out to the loops in turn. Lives on one of the
/// loops.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  /// Owns `socket`, which listens and is non-blocking.
  Acceptor(EventLoop& loop, int socket, ListenerConfig config, std::vector<std::shared_ptr<ServerLoop>> homes,
           std::shared_ptr<ConnectionCounts> counts);

  /// Any thread, once.
  void start();
  /// No connection is accepted any more when this returns. Any thread.
  void stop();

 private:
  using Descriptor = boost::asio::posix::basic_stream_descriptor<EventLoop::Executor>;
  using Timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, EventLoop::Executor>;

  void wait();
  void accept_all();
  /// False: accepting should pause.
  bool accept_one(bool& more);
  void admit(int socket, const sockaddr_storage& peer);
  void pause(int error);

  EventLoop& loop_;
  const int listening_;
  Descriptor socket_;
  Timer timer_;
  const ListenerConfig config_;
  const std::vector<std::shared_ptr<ServerLoop>> homes_;
  const std::shared_ptr<ConnectionCounts> counts_;
  std::size_t next_home_ = 0;
  LogLimiter refusal_log_{5, std::chrono::seconds(10)};
  LogLimiter failure_log_{1, std::chrono::seconds(10)};
  std::atomic<bool> stopped_ = false;
};

}  // namespace barnabas::network
