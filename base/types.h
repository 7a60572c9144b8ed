#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>

namespace barnabas {

/// Bytes that somebody else owns. Whoever takes one says how long the owner must live.
using ByteView = std::span<const std::byte>;
using MutableByteView = std::span<std::byte>;

inline ByteView as_byte_view(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// An integer that does not mix with other integers. `Tag` makes the types different; `Representation` is its
/// width on the wire. Differences and sums are taken with plain integers only.
template <class Tag, class Representation>
class Strong {
 public:
  using representation = Representation;
  constexpr Strong() = default;
  constexpr explicit Strong(Representation value) : value_(value) {}
  constexpr Representation value() const { return value_; }
  constexpr auto operator<=>(const Strong&) const = default;
  constexpr Strong operator+(Representation other) const {
    return Strong(static_cast<Representation>(value_ + other));
  }
  constexpr Strong operator-(Representation other) const {
    return Strong(static_cast<Representation>(value_ - other));
  }
  constexpr Representation operator-(Strong other) const {
    return static_cast<Representation>(value_ - other.value_);
  }
  constexpr Strong& operator+=(Representation other) { return *this = *this + other; }
  constexpr Strong& operator++() { return *this = *this + 1; }

 private:
  Representation value_ = 0;
};

/// Position of a record in its partition.
using Offset = Strong<struct OffsetTag, int64_t>;
/// Counts the leaders of one partition.
using LeaderEpoch = Strong<struct LeaderEpochTag, int32_t>;
/// Counts the incarnations of one producer id (KIP-98).
using ProducerEpoch = Strong<struct ProducerEpochTag, int16_t>;
using ProducerId = Strong<struct ProducerIdTag, int64_t>;
using PartitionIndex = Strong<struct PartitionIndexTag, int32_t>;
using NodeId = Strong<struct NodeIdTag, int32_t>;
/// Registration of a broker with its controller.
using BrokerEpoch = Strong<struct BrokerEpochTag, int64_t>;
/// Milliseconds since 1970-01-01 UTC, as records and time indexes hold it.
using TimestampMs = Strong<struct TimestampMsTag, int64_t>;

inline constexpr Offset no_offset{-1};
inline constexpr LeaderEpoch no_leader_epoch{-1};
inline constexpr ProducerId no_producer_id{-1};
inline constexpr ProducerEpoch no_producer_epoch{-1};
inline constexpr TimestampMs no_timestamp{-1};
inline constexpr int32_t no_sequence = -1;

}  // namespace barnabas

template <class Tag, class Representation>
struct std::hash<barnabas::Strong<Tag, Representation>> {
  std::size_t operator()(barnabas::Strong<Tag, Representation> id) const noexcept {
    return std::hash<Representation>{}(id.value());
  }
};
