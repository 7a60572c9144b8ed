// How answers leave a connection: to the socket while it has room, from the disk where they have to be read
// first.

#include <cstring>
#include <utility>

#include "network/connection.h"
#include "network/page_cache.h"
#include "network/server_loop.h"

namespace barnabas::network {

Connection::Step Connection::flush() {
  if (room_wait_ || cold_wait_) return Step::stop;
  const uint64_t before = writer_.backlog();
  const ReplyWriter::Status status = writer_.flush(*transport_, turn_bytes);
  if (writer_.backlog() != before) {
    last_activity_ = std::chrono::steady_clock::now();
    note_sent();
  }
  switch (status) {
    case ReplyWriter::Status::idle:
      return flush_transport();
    case ReplyWriter::Status::again:
      wait_for_room();
      break;
    case ReplyWriter::Status::cold:
      read_cold_piece();
      break;
    case ReplyWriter::Status::turn_over:
      home_->schedule(*this);
      break;
    case ReplyWriter::Status::failed:
      close(writer_.file_failed() ? LogAs::warning : LogAs::debug, std::string(writer_.failure()));
      break;
  }
  return Step::stop;
}

/// Of one whose turn it is to be passed on, as of `last_activity_`.
void Connection::note_answer(const ReplyQueue::Entry& entry) {
  RequestObserver* observer = home_->observer();
  if (observer == nullptr || entry.outcome == ReplyQueue::Outcome::close) return;
  const RequestTimes times{entry.received, entry.started,  entry.handled,
                           entry.answered, last_activity_, last_activity_};
  if (entry.outcome == ReplyQueue::Outcome::no_reply)
    return observer->answered(*context_, entry.api, times, entry.after.mute_for);
  if (sending_.full()) sending_.set_capacity(sending_.empty() ? 4 : sending_.capacity() * 2);
  sending_.push_back({entry.api, entry.after.mute_for, times, 0});
}

void Connection::note_sent() {
  const uint64_t sent = pushed_bytes_ - writer_.backlog();
  while (!sending_.empty() && sending_.front().end <= sent) {
    Sending& answer = sending_.front();
    answer.times.sent = last_activity_;
    home_->observer()->answered(*context_, answer.api, answer.times, answer.muted_for);
    sending_.pop_front();
  }
}

Connection::Step Connection::flush_transport() {
  if (!transport_->has_output()) return Step::go_on;
  const IoOutcome outcome = transport_->flush();
  if (outcome.bytes > 0) last_activity_ = std::chrono::steady_clock::now();
  if (outcome.status == IoOutcome::Status::done) return Step::go_on;
  if (outcome.status == IoOutcome::Status::again) {
    wait_for_room();
  } else {
    close(LogAs::debug, std::strerror(outcome.system_error));
  }
  return Step::stop;
}

void Connection::wait_for_room() {
  room_wait_ = true;
  socket_.async_wait(Descriptor::wait_write, [self = shared_from_this()](const boost::system::error_code&) {
    self->room_wait_ = false;
    self->pump();
  });
}

void Connection::read_cold_piece() {
  cold_wait_ = true;
  ReplyWriter::ColdPiece cold = writer_.cold_piece(*transport_);
  const bool accepted =
      home_->disk_pool().submit([self = shared_from_this(), cold = std::move(cold)]() mutable {
        Result<std::unique_ptr<std::byte[]>> bytes;
        if (cold.wants_bytes) {
          auto buffer = std::make_unique_for_overwrite<std::byte[]>(cold.slice.length);
          const auto got = cold.slice.file->read_at({buffer.get(), cold.slice.length}, cold.slice.position);
          if (!got) {
            bytes = std::unexpected(got.error());
          } else if (*got < cold.slice.length) {
            bytes = fail(ErrorKind::out_of_range, cold.slice.file->path() + ": shorter than promised");
          } else {
            bytes = std::move(buffer);
          }
        } else if (auto read = read_into_page_cache(cold.slice); !read) {
          bytes = std::unexpected(std::move(read).error());
        }
        EventLoop& loop = self->home_->loop();
        loop.post(
            [self = std::move(self), length = cold.slice.length, wants = cold.wants_bytes,
             bytes = std::move(bytes)]() mutable { self->cold_piece_done(length, wants, std::move(bytes)); });
      });
  if (!accepted) close(LogAs::warning, "the disk pool refuses to read for an answer");
}

void Connection::cold_piece_done(uint64_t length, bool wants_bytes,
                                 Result<std::unique_ptr<std::byte[]>> bytes) {
  if (closed()) return;
  cold_wait_ = false;
  if (!bytes) {
    close(LogAs::warning, "reading for an answer failed: " + bytes.error().message);
    return;
  }
  if (wants_bytes) {
    writer_.supply(std::move(*bytes), length);
  } else {
    writer_.warmed(length);
  }
  pump();
}

}  // namespace barnabas::network
