#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::storage {

/// What a key is known by.
struct KeyHash {
  uint64_t first = 0;
  uint64_t second = 0;
  bool operator==(const KeyHash&) const = default;
};

/// Hashes keys piece by piece: SHA-256 behind a random secret of this object, cut to 128 bits.
///
/// The map holds hashes only, so two keys with one hash would be one key, and compaction would drop the last
/// value of one of them. Keys come from clients that may want just that. Among honest keys a collision of 128
/// bits does not happen; one that is made on purpose (Kafka's MD5 allows it) needs a weak hash or a search
/// over 2^64 keys that the attacker runs at home. The secret, which lives only as long as this object, takes
/// even that away: hashes cannot be computed elsewhere. It makes chains of slots that are long on purpose
/// impossible, too. Not for several threads at once.
class KeyHasher {
 public:
  KeyHasher();
  ~KeyHasher();
  KeyHasher(const KeyHasher&) = delete;
  KeyHasher& operator=(const KeyHasher&) = delete;

  void add(ByteView piece);
  /// The hash of all pieces since the last finish.
  KeyHash finish();

 private:
  void begin();

  struct Digest;
  std::unique_ptr<Digest> digest_;
  std::array<std::byte, 32> secret_;
  bool begun_ = false;
};

/// Offsets of the newest records by key, in a fixed number of slots of 24 bytes each. Memory is taken from
/// the system as slots are touched and given back by clear(). Not for several threads at once.
class OffsetMap {
 public:
  static constexpr std::size_t slot_bytes = 24;

  /// As many slots as fit into `memory_bytes`, at least two, of which `load_factor` may be filled (at least
  /// one, never the last one).
  OffsetMap(uint64_t memory_bytes, double load_factor);
  ~OffsetMap();
  OffsetMap(const OffsetMap&) = delete;
  OffsetMap& operator=(const OffsetMap&) = delete;

  /// Remembers `offset` for the key. False: the key is new, and the map is full.
  bool put(const KeyHash& key, Offset offset);
  std::optional<Offset> get(const KeyHash& key) const;
  void clear();

  uint64_t size() const { return size_; }
  uint64_t size_max() const { return size_max_; }
  uint64_t slots() const { return slots_; }

 private:
  struct Slot {
    KeyHash key;
    int64_t offset_plus_one;  // 0: free
  };
  static_assert(sizeof(Slot) == slot_bytes);

  Slot* find(const KeyHash& key) const;

  const uint64_t slots_;
  const uint64_t size_max_;
  uint64_t size_ = 0;
  Slot* table_ = nullptr;  // from mmap, when the first key comes
};

}  // namespace barnabas::storage
