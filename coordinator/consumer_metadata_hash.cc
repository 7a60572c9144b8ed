#include "coordinator/consumer_metadata_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace barnabas::coordinator {
namespace {

/// The bytes of a hash: integers little-endian; text as UTF-16 code units and then how many those are. Names
/// of topics are ASCII; racks are taken to be.
class HashedBytes {
 public:
  template <class Integer>
  void put(Integer value) {
    for (std::size_t i = 0; i < sizeof(value); ++i)
      bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void put_text(std::string_view text) {
    for (const char c : text) put(static_cast<uint16_t>(static_cast<unsigned char>(c)));
    put(static_cast<int32_t>(text.size()));
  }
  void put_id(const Uuid& id) {  // two big-endian halves, as numbers
    for (const std::size_t half : {std::size_t{0}, std::size_t{8}}) {
      uint64_t number = 0;
      for (std::size_t i = half; i < half + 8; ++i)
        number = number << 8 | std::to_integer<uint64_t>(id.bytes[i]);
      put(number);
    }
  }
  uint64_t hash() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  std::vector<std::byte> bytes_;
};

uint64_t hash_of(const metadata::TopicImage& topic, const metadata::MetadataImage& image) {
  HashedBytes bytes;
  bytes.put(int8_t{0});  // version of the layout
  bytes.put_id(topic.id);
  bytes.put_text(topic.name);
  bytes.put(topic.partition_count());
  for (int32_t index = 0; index < topic.partition_count(); ++index) {
    bytes.put(index);
    std::vector<std::string_view> racks;
    for (const NodeId node : topic.partitions[static_cast<std::size_t>(index)]->replicas)
      if (const auto* broker = image.broker(node); broker != nullptr && broker->rack)
        racks.push_back(*broker->rack);
    std::ranges::sort(racks);
    for (const auto rack : racks) {
      bytes.put(static_cast<int32_t>(rack.size()));
      bytes.put_text(rack);
    }
  }
  return bytes.hash();
}

}  // namespace

int64_t MetadataHashes::of(std::span<const std::string> sorted_topics, const metadata::MetadataImage& image) {
  HashedBytes bytes;
  bool any = false;
  for (const auto& name : sorted_topics) {
    const auto* topic = image.topic(name);
    if (topic == nullptr) continue;
    const auto [known, is_new] = hashes_.try_emplace(name);
    if (is_new) known->second = hash_of(*topic, image);
    bytes.put(known->second);
    any = true;
  }
  return any ? static_cast<int64_t>(bytes.hash()) : 0;
}

void MetadataHashes::forget(std::string_view topic) {
  hashes_.erase(std::string(topic));
}

}  // namespace barnabas::coordinator
