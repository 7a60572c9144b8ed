#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/string.h"

namespace barnabas::protocol {

/// One tagged field that the schema does not know (KIP-482).
struct UnknownTag {
  uint32_t tag = 0;
  Bytes content{};
  bool operator==(const UnknownTag&) const = default;
};

/// The unknown tagged fields of one struct, kept to be written back. One null pointer when there are none.
class UnknownTags {
 public:
  UnknownTags() = default;
  UnknownTags(const UnknownTags& other);
  UnknownTags(UnknownTags&&) noexcept = default;
  UnknownTags& operator=(const UnknownTags& other);
  UnknownTags& operator=(UnknownTags&&) noexcept = default;
  ~UnknownTags() = default;

  /// In ascending order of tags, each tag once.
  std::span<const UnknownTag> all() const {
    return tags_ ? std::span<const UnknownTag>(*tags_) : std::span<const UnknownTag>();
  }
  bool empty() const { return all().empty(); }
  std::size_t size() const { return all().size(); }
  /// Adds a tag, or replaces the content of one that is there.
  void set(uint32_t tag, Bytes content);
  /// For decoders: adds at the end, whatever the order; put_in_order() must follow. Of equal tags the last
  /// one stays.
  void append(uint32_t tag, Bytes content);
  void put_in_order();

  bool operator==(const UnknownTags& other) const;

 private:
  std::unique_ptr<std::vector<UnknownTag>> tags_;
};

}  // namespace barnabas::protocol
