#include "client/byte_input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace barnabas::client {

Result<ByteInput::State> ByteInput::next(std::string_view& piece, int wait_ms) {
  while (true) {
    const auto found = buffer_.find(delimiter_, searched_);
    if (found != std::string::npos) {
      piece = std::string_view(buffer_).substr(taken_, found - taken_);
      taken_ = searched_ = found + delimiter_.size();
      return State::piece;
    }
    if (ended_) {
      piece = std::string_view(buffer_).substr(taken_);
      taken_ = searched_ = buffer_.size();
      return piece.empty() ? State::end : State::piece;
    }
    buffer_.erase(0, taken_);
    taken_ = 0;
    searched_ = buffer_.size() - std::min(buffer_.size(), delimiter_.size() - 1);
    if (buffer_.size() > piece_bytes_max_)
      return fail(ErrorKind::too_large, "the input has a record of more than " +
                                            std::to_string(piece_bytes_max_) +
                                            " bytes; is the delimiter right?");
    pollfd item{.fd = file_, .events = POLLIN, .revents = 0};
    if (::poll(&item, 1, wait_ms) <= 0) return State::waiting;
    char bytes[64 << 10];
    const ssize_t got = ::read(file_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) return State::waiting;
    if (got < 0)
      return fail(ErrorKind::io, std::string("the input cannot be read: ") + std::strerror(errno), errno);
    if (got == 0) ended_ = true;
    buffer_.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
}

}  // namespace barnabas::client
