#pragma once

#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "io/disk_pool.h"
#include "network/connection.h"
#include "network/connection_counts.h"
#include "network/event_loops.h"
#include "network/server.h"
#include "network/tls_transport.h"

namespace barnabas::network {

/// The connections of one server that live on one loop, and what they share there. All on the loop's thread,
/// but for `settle_from_anywhere` and the counts.
class ServerLoop : public std::enable_shared_from_this<ServerLoop> {
 public:
  ServerLoop(EventLoop& loop, MemoryBudget& budget, io::DiskPool& disk_pool, RequestHandler& handler,
             RequestObserver* observer, const ServerLimits& limits, std::shared_ptr<ConnectionCounts> counts);

  EventLoop& loop() { return loop_; }
  MemoryBudget& budget() { return budget_; }
  io::DiskPool& disk_pool() { return disk_pool_; }
  RequestHandler& handler() { return handler_; }
  /// Null: nobody wants to know.
  RequestObserver* observer() { return observer_; }
  const ServerLimits& limits() const { return limits_; }
  /// For one read at a time; see RequestReader::keep_rest.
  std::span<std::byte> scratch() { return {scratch_.get(), scratch_bytes}; }
  LogLimiter& close_log() { return close_log_; }
  TlsBuffers& tls_buffers();

  /// Takes over an accepted socket. The counts were raised by the caller.
  void adopt(int socket, std::shared_ptr<ConnectionContext> context,
             std::shared_ptr<const security::TlsContext> tls);
  /// A connection has closed itself.
  void forget(Connection& connection);
  /// As Server::begin_stop and stop_now, for this loop.
  void finish_all();
  void close_all();

  /// Pumps the connection soon, outside of the caller's stack.
  void schedule(Connection& connection);
  /// Has the connection take a step of its TLS handshake soon. One step at a time: between two of them
  /// everything else that is ready gets its turn, however many peers knock.
  void queue_handshake(Connection& connection);
  /// From any thread: passes on what a slot reported.
  void settle_from_anywhere(std::shared_ptr<Connection> connection, uint64_t request,
                            ReplyQueue::Settlement settlement);
  void allow_next_from_anywhere(std::shared_ptr<Connection> connection, uint64_t request);

  /// Whether this connection may read although the budget is used up. One connection of the loop may, until
  /// its request is complete, when half-read requests hold most of the budget against each other; if it then
  /// stalls, it is closed. It reads nothing ahead. So memory stays below the limit and one request a loop. If
  /// not, the connection is called back.
  bool may_overdraw(Connection& connection);
  void end_overdraft(const Connection& connection);

 private:
  static constexpr std::size_t scratch_bytes = 128 << 10;
  struct Report {
    std::shared_ptr<Connection> connection;
    uint64_t request;
    bool only_allows_next;
    ReplyQueue::Settlement settlement;
  };
  /// Posted to the loop. Should the loop end without running it, it lets go of what waits to be drained,
  /// because that holds connections and they hold this object.
  struct Drain {
    std::shared_ptr<ServerLoop> home;
    void (ServerLoop::*call)();

    Drain(std::shared_ptr<ServerLoop> of, void (ServerLoop::*what)()) : home(std::move(of)), call(what) {}
    Drain(Drain&&) = default;
    ~Drain() {
      if (home) home->abandon();
    }
    void operator()() {
      const auto running = std::move(home);
      (running.get()->*call)();
    }
  };
  void abandon();
  void post_report(Report report);
  void drain_reports();
  void drain_scheduled();
  void drain_handshakes();
  void wait_for_memory();
  void wake_memory_waiters();
  void start_ticking();
  void tick();

  EventLoop& loop_;
  MemoryBudget& budget_;
  io::DiskPool& disk_pool_;
  RequestHandler& handler_;
  RequestObserver* const observer_;
  const ServerLimits limits_;
  const std::shared_ptr<ConnectionCounts> counts_;
  const std::chrono::milliseconds tick_interval_;
  const std::unique_ptr<std::byte[]> scratch_;
  LogLimiter close_log_{200, std::chrono::seconds(10)};

  boost::intrusive::list<Connection, boost::intrusive::constant_time_size<false>> connections_;
  std::vector<std::shared_ptr<Connection>> scheduled_;
  std::deque<std::shared_ptr<Connection>> handshakes_;  ///< a drain is posted while there is one
  std::unique_ptr<TlsBuffers> tls_buffers_;             ///< once there is a TLS connection
  std::vector<std::shared_ptr<Connection>> memory_waiters_;
  std::shared_ptr<Connection> overdrawn_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, EventLoop::Executor>
      timer_;
  Instant last_trim_{};
  bool ticking_ = false;
  bool drain_posted_ = false;  ///< for scheduled_
  bool finishing_ = false;
  bool waits_for_room_ = false;
  bool waits_for_overdraft_ = false;

  std::mutex mutex_;
  std::vector<Report> reports_;  ///< guarded by mutex_
};

}  // namespace barnabas::network
