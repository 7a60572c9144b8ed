#include "network/connection.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "network/server_loop.h"
#include "network/tls_transport.h"
#include "network/turn_time.h"

namespace barnabas::network {

namespace {

constinit Logger log_{"network"};

/// What one connection may start before others get their turn.
constexpr uint32_t turn_requests_max = 64;
/// The API key, wherever it may lead; -1 where there is none.
int16_t first_number(ByteView bytes) {
  if (bytes.size() < 2) return -1;
  return static_cast<int16_t>(std::to_integer<uint16_t>(bytes[0]) << 8 | std::to_integer<uint16_t>(bytes[1]));
}

/// Answers are gathered up to here while requests are at hand, so that a burst of small requests costs few
/// writes.
constexpr uint64_t gathered_answers_max = 64 << 10;

}  // namespace

Connection::Connection(std::shared_ptr<ServerLoop> home, int socket,
                       std::shared_ptr<ConnectionContext> context,
                       std::shared_ptr<const security::TlsContext> tls)
    : home_(std::move(home)),
      context_(std::move(context)),
      socket_(home_->loop().context(), socket),
      reader_(home_->loop().frames(), home_->limits().request_bytes_max),
      bytes_aside_(home_->budget()),
      opened_(std::chrono::steady_clock::now()),
      last_activity_(opened_),
      frame_began_(opened_),
      last_bytes_(opened_) {
  if (!tls) {
    transport_ = std::make_unique<PlainTransport>(socket);
    return;
  }
  auto encrypting = std::make_unique<TlsTransport>(socket, std::move(tls), home_->tls_buffers());
  handshake_ = encrypting.get();
  transport_ = std::move(encrypting);
}

Connection::~Connection() = default;

void Connection::open() {
  self_ = shared_from_this();
  pump();
}

void Connection::finish() {
  if (handshake_ != nullptr) return close(LogAs::debug, "server stops");
  finishing_ = true;
  end_mute();
  if (handler_knows_) home_->handler().end_waiting(*context_);
  pump();
}

void Connection::memory_available() {
  memory_wait_ = false;
  // It was not the peer that did not go on.
  frame_began_ = last_bytes_ = std::chrono::steady_clock::now();
  home_->schedule(*this);
}

void Connection::close(LogAs log_as, const std::string& reason) {
  if (closed()) return;
  context_->closed = true;
  const bool warning = log_as == LogAs::warning;
  const auto left_out = warning ? home_->close_log().admit(std::chrono::steady_clock::now()) : std::nullopt;
  if (left_out || (log_as == LogAs::debug && log_.enabled(LogLevel::debug))) {
    auto line = fmt::format("connection closed peer={} listener={} client={}/{} reason={}", context_->peer(),
                            context_->listener, context_->client_software_name,
                            context_->client_software_version, reason);
    if (left_out.value_or(0) > 0) line += fmt::format(" lines_left_out={}", *left_out);
    warning ? log_.warn("{}", line) : log_.debug("{}", line);
  }
  transport_->shut_down();
  boost::system::error_code ignored;
  socket_.close(ignored);
  mute_timer_.reset();
  replies_.clear();
  writer_ = ReplyWriter();
  sending_.clear();
  reader_.drop();
  bytes_aside_.set(0);
  if (handler_knows_) home_->handler().connection_closed(*context_);
  home_->forget(*this);
  self_.reset();
}

void Connection::pump() {
  if (closed() || pumping_) return;
  if (handshake_ != nullptr) return home_->queue_handshake(*this);
  const auto self = shared_from_this();
  pumping_ = true;
  turn_read_ = 0;
  turn_started_ = 0;
  {
    const TurnTime time(home_->handler(), *context_);
    pump_steps();
  }
  reader_.keep_rest();
  count_bytes_aside();
  pumping_ = false;
}

void Connection::count_bytes_aside() {
  if (!closed()) bytes_aside_.set(reader_.kept_bytes() + transport_->held_bytes());
}

void Connection::pump_steps() {
  do {
    collect_answers();
    if (turn_started_ >= turn_requests_max) {
      if (has_output()) flush();
      if (!closed()) home_->schedule(*this);
      return;
    }
    if (may_start() && start_next() == Step::go_on) continue;
    if (has_output()) {
      if (flush() == Step::stop) return;
      continue;
    }
    if (close_if_done() == Step::stop || !may_start() || read() == Step::stop) return;
  } while (!closed());
}

bool Connection::may_start() const {
  return !closing_ && !finishing_ && !muted_ && !room_wait_ && !cold_wait_ && replies_.next_allowed() &&
         writer_.backlog() < gathered_answers_max &&
         replies_.size() < home_->limits().requests_in_flight_max &&
         replies_.bytes() < home_->limits().connection_bytes_in_flight_max;
}

void Connection::collect_answers() {
  while (replies_.front_done()) {
    ReplyQueue::Entry entry = replies_.pop();
    last_activity_ = std::chrono::steady_clock::now();
    note_answer(entry);
    if (entry.outcome == ReplyQueue::Outcome::reply) {
      const uint64_t before = writer_.backlog();
      writer_.push(std::move(entry.frame));
      pushed_bytes_ += writer_.backlog() - before;
      if (home_->observer() != nullptr) sending_.back().end = pushed_bytes_;
    }
    if (entry.after.mute_for.count() > 0) mute_for(entry.after.mute_for);
    if (entry.outcome == ReplyQueue::Outcome::close || entry.after.close) {
      replies_.clear();
      close_after_answers(std::move(entry.after.reason));
    }
  }
}

/// go_on: a request was started, or the connection was found to be bad; stop: more bytes are needed.
Connection::Step Connection::start_next() {
  RequestReader::Bounds bounds;
  if (!context_->admitted) bounds = {context_->authentication_bytes_max, true};
  switch (reader_.advance(bounds)) {
    case RequestReader::State::need_bytes:
      return Step::stop;
    case RequestReader::State::complete:
      start_request(reader_.take());
      break;
    case RequestReader::State::bad_size:
      close_after_answers(bad_size_text());
      break;
    case RequestReader::State::no_memory:
      close_after_answers(fmt::format("no memory for a request of {} bytes", reader_.frame_size()));
      break;
  }
  return Step::go_on;
}

void Connection::start_request(Frame frame) {
  home_->end_overdraft(*this);
  handler_knows_ = true;
  ++turn_started_;
  last_activity_ = last_bytes_;
  frame_began_ = last_bytes_;
  const uint64_t request = replies_.start(static_cast<uint32_t>(frame.size()));
  ReplyQueue::Entry& entry = replies_.at(request);
  entry.api = first_number(frame.bytes());
  entry.received = last_bytes_;
  entry.started = std::chrono::steady_clock::now();
  try {
    home_->handler().start({std::move(frame), context_, ReplySlot(self_, request), last_bytes_});
  } catch (const std::exception& error) {
    // Such as no memory for what a request asks. Its slot is gone with it, which closes this connection and
    // no other.
    log_.error("request handler failed peer={} error={}", context_->peer(), log_text(error.what()));
  }
  if (replies_.holds(request)) replies_.at(request).handled = std::chrono::steady_clock::now();
}

void Connection::close_after_answers(std::string reason) {
  closing_ = true;
  close_reason_ = std::move(reason);
}

std::string Connection::bad_size_text() const {
  const std::string_view head = as_text(reader_.head_bytes());
  const char* hint = "";
  if (head.starts_with("\x16\x03")) hint = " (a TLS client on a plaintext listener?)";
  if (head == "GET " || head == "POST" || head == "PUT " || head == "HEAD") hint = " (an HTTP client?)";
  const uint32_t usual_max = home_->limits().request_bytes_max;
  const bool stranger = !context_->admitted && context_->authentication_bytes_max < usual_max;
  return fmt::format(
      "request size of {} bytes{} is not in 1..{} ({}), sent {}", reader_.frame_size(), hint,
      stranger ? context_->authentication_bytes_max : usual_max,
      stranger ? "sasl.server.max.receive.size, before authentication" : "socket.request.max.bytes",
      log_text(head));
}

/// Only when there is nothing to write.
Connection::Step Connection::close_if_done() {
  if (!replies_.empty()) return Step::go_on;
  if (closing_) {
    if (!muted_) close(LogAs::warning, std::string(close_reason_));
  } else if (finishing_) {
    close(LogAs::debug, "server stops");
  } else if (ended_) {
    close(LogAs::debug, reader_.empty() ? "peer closed" : "peer closed in the middle of a request");
  }
  return closed() ? Step::stop : Step::go_on;
}

Connection::Step Connection::read() {
  if (ended_ || memory_wait_) return Step::stop;
  if (!readable_) {
    wait_for_input();
    return Step::stop;
  }
  if (turn_read_ >= turn_bytes) {
    home_->schedule(*this);
    return Step::stop;
  }
  if (home_->budget().exhausted() && !home_->may_overdraw(*this)) return Step::stop;
  const bool fresh = reader_.empty();
  bool filled = false;
  const bool ahead = home_->budget().may_read_ahead();
  transport_->set_read_ahead(ahead);
  const IoOutcome outcome =
      reader_.read(*transport_, home_->scratch(),
                   ahead ? RequestReader::Ahead::allowed : RequestReader::Ahead::none, filled);
  readable_ = filled || transport_->has_input();
  switch (outcome.status) {
    case IoOutcome::Status::done:
      turn_read_ += outcome.bytes;
      last_bytes_ = std::chrono::steady_clock::now();
      if (fresh) frame_began_ = last_bytes_;
      break;
    case IoOutcome::Status::again:
      // Whoever has nothing to say is not waited for.
      if (reader_.empty()) home_->end_overdraft(*this);
      break;
    case IoOutcome::Status::end:
      ended_ = true;
      home_->end_overdraft(*this);
      break;
    case IoOutcome::Status::error:
      close(LogAs::debug, std::strerror(outcome.system_error));
      break;
  }
  return Step::go_on;
}

void Connection::wait_for_input() {
  if (std::exchange(input_wait_, true)) return;
  socket_.async_wait(Descriptor::wait_read, [self = shared_from_this()](const boost::system::error_code&) {
    self->input_wait_ = false;
    self->readable_ = true;
    self->pump();
  });
}

void Connection::settle(uint64_t request, ReplyQueue::Settlement settlement) {
  if (!replies_.holds(request)) return;
  ReplyQueue::Settlement& entry = replies_.at(request);
  BARNABAS_ASSERT(entry.outcome == ReplyQueue::Outcome::pending);
  entry = std::move(settlement);
  if (entry.outcome == ReplyQueue::Outcome::reply && entry.frame.size() > INT32_MAX) {
    const std::string reason = fmt::format("answer of {} bytes", entry.frame.size());
    entry = {.outcome = ReplyQueue::Outcome::close, .after = {.reason = reason}};
  }
  if (entry.outcome == ReplyQueue::Outcome::close || entry.after.close) closing_ = true;
}

void Connection::allow_next(uint64_t request) {
  if (replies_.holds(request)) replies_.at(request).next_allowed = true;
}

void Connection::on_reply(uint64_t request, OutgoingFrame frame, AfterReply after) {
  home_->settle_from_anywhere(
      shared_from_this(), request,
      {ReplyQueue::Outcome::reply, std::move(frame), std::move(after), std::chrono::steady_clock::now()});
}

void Connection::on_no_reply(uint64_t request, AfterReply after) {
  home_->settle_from_anywhere(shared_from_this(), request,
                              {.outcome = ReplyQueue::Outcome::no_reply,
                               .after = std::move(after),
                               .answered = std::chrono::steady_clock::now()});
}

void Connection::on_close(uint64_t request, std::string reason) {
  home_->settle_from_anywhere(
      shared_from_this(), request,
      {.outcome = ReplyQueue::Outcome::close, .after = {.reason = std::move(reason)}});
}

void Connection::on_allow_next(uint64_t request) {
  home_->allow_next_from_anywhere(shared_from_this(), request);
}

}  // namespace barnabas::network
