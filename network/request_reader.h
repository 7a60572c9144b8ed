#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "network/frame.h"
#include "network/frame_pool.h"
#include "network/transport.h"

namespace barnabas::network {

/// Cuts the bytes of one connection into requests. Reads into a scratch buffer that the connections of a loop
/// share, or, in the middle of a large request, straight into its frame with the scratch behind it for the
/// head of the next one. Between uses of the scratch, bytes that were not yet cut are kept aside; they are
/// never more than one scratch full, and whoever owns the reader counts them (kept_bytes).
class RequestReader {
 public:
  enum class State : uint8_t {
    need_bytes,
    complete,   ///< take() has a request
    bad_size,   ///< negative, zero or above the limit: bad_size() and head_bytes() say what came
    no_memory,  ///< the system gave no memory for a frame
  };

  RequestReader(FramePool& pool, uint32_t request_bytes_max)
      : pool_(pool), request_bytes_max_(request_bytes_max) {}

  /// What a request may be just now, besides the reader's own limit.
  struct Bounds {
    uint32_t bytes_max = UINT32_MAX;
    bool may_be_empty = false;  ///< an empty token of SASL, which comes without a header
  };
  /// Cuts from the bytes at hand. May be called again after any result; bad_size and no_memory are final.
  State advance(Bounds bounds);
  State advance() { return advance(Bounds()); }
  /// After State::complete.
  Frame take();

  enum class Ahead : uint8_t {
    none,     ///< no more than what the request that is coming in, or the size of the next one, still needs
    allowed,  ///< as much as there is room
  };
  /// One read from `transport`. Only after advance said need_bytes. `filled` tells whether all the room was
  /// used, so that there may be more to read at once. Bytes may lie in `scratch` afterwards until keep_rest.
  IoOutcome read(Transport& transport, std::span<std::byte> scratch, Ahead ahead, bool& filled);
  /// To be called before somebody else uses the scratch.
  void keep_rest();

  /// Lets go of all memory. Final.
  void drop();

  /// Memory of the bytes that are kept aside. After keep_rest.
  std::size_t kept_bytes() const { return kept_size_; }
  /// Whether the bytes at hand hold a request to its end, of whatever size.
  bool holds_request() const;
  bool in_frame() const { return in_frame_; }
  /// Nothing at all of a next request has come.
  bool empty() const { return !in_frame_ && head_count_ == 0 && input_.empty(); }
  /// Of the request that is coming in, or of the bad one.
  int32_t frame_size() const { return static_cast<int32_t>(size_); }
  std::span<const std::byte> head_bytes() const { return head_; }

 private:
  State begin_frame(Bounds bounds);
  void keep_nothing();

  FramePool& pool_;
  const uint32_t request_bytes_max_;
  std::array<std::byte, 4> head_{};
  uint8_t head_count_ = 0;
  bool in_frame_ = false;
  bool input_in_scratch_ = false;
  State failure_ = State::need_bytes;
  Frame frame_;
  uint32_t size_ = 0;
  uint32_t arrived_ = 0;
  ByteView input_;  ///< not yet cut: in the scratch, or in kept_
  std::unique_ptr<std::byte[]> kept_;
  std::size_t kept_size_ = 0;
};

}  // namespace barnabas::network
