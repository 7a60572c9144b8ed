#include "network/transport.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <cerrno>

namespace barnabas::network {

namespace {

/// Repeats a call that a signal interrupted; 0 bytes is the end.
template <class Call>
IoOutcome outcome_of(Call call) {
  ssize_t moved;
  do {
    moved = call();
  } while (moved < 0 && errno == EINTR);
  if (moved > 0) return {IoOutcome::Status::done, static_cast<std::size_t>(moved), 0};
  if (moved == 0) return {IoOutcome::Status::end, 0, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoOutcome::Status::again, 0, 0};
  return {IoOutcome::Status::error, 0, errno};
}

}  // namespace

IoOutcome PlainTransport::read(std::span<const iovec> into) {
  return outcome_of([&] { return ::readv(socket_, into.data(), static_cast<int>(into.size())); });
}

IoOutcome PlainTransport::write(std::span<const iovec> from, bool more) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(from.data());
  message.msg_iovlen = from.size();
  return outcome_of([&] { return ::sendmsg(socket_, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0)); });
}

bool PlainTransport::peer_has_ended() {
  std::byte next;
  const IoOutcome outcome = outcome_of([&] { return ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT); });
  return outcome.status == IoOutcome::Status::end || outcome.status == IoOutcome::Status::error;
}

IoOutcome PlainTransport::send_file(int file, uint64_t position, std::size_t length) {
  auto offset = static_cast<off_t>(position);
  return outcome_of([&] { return ::sendfile(socket_, file, &offset, length); });
}

}  // namespace barnabas::network
