#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "metadata/image.h"

namespace barnabas::coordinator {

/// A number for everything that an assignment depends on outside of its group (KIP-1101): topics with their
/// ids, partition counts and the racks of replicas. XXH3 with 64 bits, as Kafka 4.4 computes it, so that a
/// group which comes from there or goes there is not rebalanced for that.
class MetadataHashes {
 public:
  /// Of topics by name, sorted; those that do not exist do not count. 0: none exists.
  int64_t of(std::span<const std::string> sorted_topics, const metadata::MetadataImage& image);
  void forget(std::string_view topic);
  void clear() { hashes_.clear(); }

 private:
  std::unordered_map<std::string, uint64_t> hashes_;  ///< of topics that exist
};

}  // namespace barnabas::coordinator
