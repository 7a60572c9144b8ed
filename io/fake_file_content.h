#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "base/types.h"

namespace barnabas::io {

/// Bytes of a file that may have holes: memory is taken only for pages that were written.
class SparseBytes {
 public:
  uint64_t size() const { return size_; }
  /// Bytes beyond the end are not touched; returns how many were read.
  std::size_t read(MutableByteView into, uint64_t position) const;
  /// Grows as needed.
  void write(ByteView bytes, uint64_t position);
  /// What is cut off reads as zeros if the size grows again.
  void resize(uint64_t size);

 private:
  static constexpr std::size_t page_bytes = 4096;
  std::unordered_map<uint64_t, std::array<std::byte, page_bytes>> pages_;
  uint64_t size_ = 0;
};

/// A fake file: what programs see, and what a power cut leaves of it.
class FakeFileContent {
 public:
  static constexpr uint64_t sector_bytes = 512;

  uint64_t size() const { return current_.size(); }
  std::size_t read(MutableByteView into, uint64_t position) const { return current_.read(into, position); }
  void write(ByteView bytes, uint64_t position);
  void resize(uint64_t size);
  /// Makes all durable.
  void sync();
  /// A failed sync: what was not durable yet is no longer known as such, so that no later sync saves it.
  void forget_unsynced() { unsynced_.clear(); }
  /// Goes back to what is durable; with `random`, some of the rest is kept.
  void power_cut(SeededRandom* random);

 private:
  void copy_sector(uint64_t sector);

  SparseBytes current_;
  SparseBytes durable_;
  std::set<uint64_t> unsynced_;  // sectors
};

}  // namespace barnabas::io
