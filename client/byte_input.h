#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace barnabas::client {

/// Cuts what comes from a file descriptor at a delimiter. Waits for input, but not longer than to the next
/// signal that is to end it.
class ByteInput {
 public:
  /// `piece_bytes_max`: a piece that is longer is an error, not memory.
  ByteInput(int file, std::string delimiter, std::size_t piece_bytes_max)
      : file_(file), delimiter_(std::move(delimiter)), piece_bytes_max_(piece_bytes_max) {}

  enum class State : uint8_t { piece, waiting, end };
  /// Puts the next piece, without its delimiter, into `piece`, which is valid until the next call. `waiting`:
  /// nothing has come for `wait_ms`, or a signal has. The last piece may do without the delimiter.
  Result<State> next(std::string_view& piece, int wait_ms);

 private:
  int file_;
  std::string delimiter_;
  std::size_t piece_bytes_max_;
  std::string buffer_;
  std::size_t taken_ = 0;     ///< of buffer_, given out already
  std::size_t searched_ = 0;  ///< up to here there is no delimiter
  bool ended_ = false;
};

}  // namespace barnabas::client
