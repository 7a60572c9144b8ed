#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/circular_buffer.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "network/event_loops.h"
#include "network/memory_budget.h"
#include "network/reply_queue.h"
#include "network/reply_writer.h"
#include "network/request_handler.h"
#include "network/request_observer.h"
#include "network/request_reader.h"
#include "network/transport.h"

namespace barnabas::security {
class TlsContext;
}

namespace barnabas::network {

class ServerLoop;
class TlsTransport;

/// One accepted socket. Everything happens on its loop; only the calls of ReplyTarget come from anywhere and
/// are passed on there. `pump` is the whole machine: it moves answers to the socket, starts requests and
/// reads, until it can do no more without waiting, and then arms the waits it needs.
class Connection final : public ReplyTarget,
                         public std::enable_shared_from_this<Connection>,
                         public boost::intrusive::list_base_hook<> {
 public:
  /// Owns `socket`, which is non-blocking.
  /// `tls`: what to encrypt with, or null.
  Connection(std::shared_ptr<ServerLoop> home, int socket, std::shared_ptr<ConnectionContext> context,
             std::shared_ptr<const security::TlsContext> tls);
  ~Connection() override;

  /// Starts to read, or to wait for the peer's first words of TLS.
  void open();
  /// No further request is started; closes once what was started is answered and sent.
  void finish();
  enum class LogAs : uint8_t { nothing, debug, warning };
  void close(LogAs log_as, const std::string& reason);
  /// Idle and stalled peers end here. To be called every now and then.
  void check_deadlines(Instant now);
  /// Memory for requests is there again.
  void memory_available();

  void pump();
  /// The next step of the TLS handshake, if it is not over: ServerLoop::queue_handshake.
  void continue_handshake();
  /// What a ReplySlot reported; pump afterwards.
  void settle(uint64_t request, ReplyQueue::Settlement settlement);
  void allow_next(uint64_t request);

  void on_reply(uint64_t request, OutgoingFrame frame, AfterReply after) override;
  void on_no_reply(uint64_t request, AfterReply after) override;
  void on_close(uint64_t request, std::string reason) override;
  void on_allow_next(uint64_t request) override;

  bool closed() const { return context_->closed; }
  const ConnectionContext& context() const { return *context_; }

 private:
  friend class ServerLoop;
  /// What one connection may read or write before others get their turn.
  static constexpr std::size_t turn_bytes = 1 << 20;
  using Descriptor = boost::asio::posix::basic_stream_descriptor<EventLoop::Executor>;
  using Timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, EventLoop::Executor>;
  enum class Step : uint8_t { go_on, stop };

  void pump_steps();
  void end_handshake();
  bool may_start() const;
  void count_bytes_aside();
  bool has_output() const { return !writer_.empty() || transport_->has_output(); }
  void collect_answers();
  void note_answer(const ReplyQueue::Entry& entry);
  /// Tells the observer of the answers that have gone to the socket as a whole.
  void note_sent();
  Step start_next();
  Step flush();
  Step flush_transport();
  Step read();
  Step close_if_done();
  void start_request(Frame frame);
  /// No further request; closes once what was started is answered and sent.
  void close_after_answers(std::string reason);
  void mute_for(std::chrono::milliseconds time);
  void end_mute();
  void check_muted(Instant now);
  std::string bad_size_text() const;
  void wait_for_input();
  void wait_for_room();
  void read_cold_piece();
  void cold_piece_done(uint64_t length, bool wants_bytes, Result<std::unique_ptr<std::byte[]>> bytes);
  /// Of the socket, as in tcp(7): TCP_CLOSE_WAIT, TCP_CLOSE …
  int tcp_state() const;

  const std::shared_ptr<ServerLoop> home_;
  const std::shared_ptr<ConnectionContext> context_;
  Descriptor socket_;
  std::unique_ptr<Transport> transport_;
  TlsTransport* handshake_ = nullptr;  ///< `transport_`, until its handshake is over
  RequestReader reader_;
  CountedBytes bytes_aside_;  ///< read ahead of requests, by the reader and the transport
  ReplyQueue replies_;
  ReplyWriter writer_;
  /// Answers in `writer_`, of which the observer is told once they are sent.
  struct Sending {
    int16_t api;
    std::chrono::milliseconds muted_for;
    RequestTimes times;
    uint64_t end;  ///< of its bytes among all that were ever pushed
  };
  boost::circular_buffer<Sending> sending_;
  uint64_t pushed_bytes_ = 0;  ///< into `writer_`

  const Instant opened_;
  Instant last_activity_;              ///< the last request or progress of an answer
  Instant frame_began_;                ///< of the request that is coming in
  Instant last_bytes_;                 ///< the last byte of whatever
  Instant muted_until_{};              ///< while `muted_`
  std::unique_ptr<Timer> mute_timer_;  ///< once it was muted
  std::size_t turn_read_ = 0;          ///< bytes read in this turn
  uint32_t turn_started_ = 0;          ///< requests started in this turn
  std::string close_reason_;           ///< of `closing_`
  std::shared_ptr<Connection> self_;   ///< while open
  bool pumping_ = false;
  bool scheduled_ = false;         ///< in the loop's list of connections to pump
  bool handshake_queued_ = false;  ///< in the loop's list of handshakes
  bool readable_ = false;          ///< reading may give something
  bool input_wait_ = false;        ///< a wait for the socket to become readable is under way
  bool room_wait_ = false;         ///< the socket is full; a wait is under way
  bool cold_wait_ = false;         ///< the disk pool is reading
  bool memory_wait_ = false;       ///< in the loop's list of those that wait for memory
  bool muted_ = false;             ///< reads and starts nothing
  bool ended_ = false;             ///< the peer sends no more
  bool finishing_ = false;         ///< finish was called
  bool closing_ = false;           ///< to be closed, with a log line, once earlier answers are sent
  bool handler_knows_ = false;     ///< a request was started
};

}  // namespace barnabas::network
