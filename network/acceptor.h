#pragma once

#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "network/connection_counts.h"
#include "network/connection_rates.h"
#include "network/event_loops.h"
#include "network/server_loop.h"

namespace barnabas::network {

/// Accepts the connections of one listener and deals them out to the loops in turn. Lives on one of the
/// loops. With no place left, or when connections come too fast, the next one waits for its turn and all
/// others behind it in the backlog, as in Kafka; those of an address that has, or makes, too many are closed.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  /// Owns `socket`, which listens and is non-blocking.
  Acceptor(EventLoop& loop, int socket, ListenerConfig config, std::vector<std::shared_ptr<ServerLoop>> homes,
           std::shared_ptr<ConnectionCounts> counts, std::shared_ptr<ConnectionRates> rates);
  ~Acceptor();

  /// Any thread, once.
  void start();
  /// No connection is accepted any more when this returns. Any thread.
  void stop();

 private:
  using Descriptor = boost::asio::posix::basic_stream_descriptor<EventLoop::Executor>;
  using Timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, EventLoop::Executor>;

  /// An accepted socket whose turn has not come.
  struct Arrival {
    int socket = -1;
    std::string address;
    uint16_t port = 0;
  };
  /// One that is closed a little later, so that its peer does not come again at once.
  struct Unwelcome {
    int socket;
    Instant until;
  };

  void wait();
  void accept_all();
  /// False: accepting goes on later.
  bool accept_one(bool& more);
  /// False: it waits in `arrival_`.
  bool admit();
  void go_on();
  void welcome();
  void turn_away(std::chrono::milliseconds wait);
  void close_unwelcome();
  void drop_all();
  void pause(int error);

  EventLoop& loop_;
  const int listening_;
  Descriptor socket_;
  Timer timer_;
  Timer unwelcome_timer_;
  const ListenerConfig config_;
  const std::vector<std::shared_ptr<ServerLoop>> homes_;
  const std::shared_ptr<ConnectionCounts> counts_;
  const std::shared_ptr<ConnectionRates> rates_;
  Arrival arrival_;
  bool rate_counted_ = false;  ///< of arrival_
  Instant not_before_{};       ///< it may be let in
  std::deque<Unwelcome> unwelcome_;
  std::size_t next_home_ = 0;
  LogLimiter refusal_log_{5, std::chrono::seconds(10)};
  LogLimiter failure_log_{1, std::chrono::seconds(10)};
  std::atomic<bool> stopped_ = false;
};

}  // namespace barnabas::network
