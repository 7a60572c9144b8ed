// Metadata records, control records, snapshots and quorum-state with any content: refused or understood. What
// is understood makes the same image again when it is written as records. The first byte chooses what the
// rest is.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "cluster/quorum_state.h"
#include "metadata/control_record.h"
#include "metadata/delta.h"
#include "metadata/image_writer.h"
#include "metadata/snapshot.h"

namespace {

using namespace barnabas;
using metadata::MetadataImage;

/// Records one after the other, each with its length in two bytes in front.
std::shared_ptr<const MetadataImage> image_of(ByteView bytes) {
  metadata::MetadataDelta delta(MetadataImage{});
  while (bytes.size() >= 2) {
    const std::size_t wanted =
        std::to_integer<std::size_t>(bytes[0]) << 8 | std::to_integer<std::size_t>(bytes[1]);
    const std::size_t size = std::min(wanted, bytes.size() - 2);
    if (!delta.replay(bytes.subspan(2, size))) return nullptr;
    bytes = bytes.subspan(2 + size);
  }
  auto next = std::move(delta).finish({});
  return next ? next->image : nullptr;
}

void check_records(ByteView bytes) {
  const auto image = image_of(bytes);
  if (!image) return;
  const auto records = metadata::records_of(*image);
  metadata::MetadataDelta delta(MetadataImage{});
  for (std::size_t i = 0; i < records.size(); ++i) BARNABAS_ASSERT(delta.replay(records[i]).has_value());
  const auto again = std::move(delta).finish({});
  BARNABAS_ASSERT(again.has_value());
  BARNABAS_ASSERT(again->image->topics_by_name.size() == image->topics_by_name.size());
  BARNABAS_ASSERT(again->image->partition_count == image->partition_count);
  BARNABAS_ASSERT(again->image->configs.size() == image->configs.size());
  BARNABAS_ASSERT(again->image->kept.size() == image->kept.size());
  BARNABAS_ASSERT(again->image->brokers.size() == image->brokers.size());
  BARNABAS_ASSERT(again->image->features == image->features);
}

void check_control(ByteView bytes) {
  (void)metadata::parse_control_key(bytes);
  (void)metadata::decode_leader_change(bytes);
  (void)metadata::decode_kraft_version(bytes);
  (void)metadata::decode_voters(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const ByteView bytes(reinterpret_cast<const std::byte*>(data), size);
  if (bytes.empty()) return 0;
  const ByteView rest = bytes.subspan(1);
  switch (data[0] % 4) {
    case 0:
      check_records(rest);
      break;
    case 1:
      check_control(rest);
      break;
    case 2:
      (void)metadata::read_snapshot(rest, {}, {});
      break;
    case 3:
      (void)cluster::parse_quorum_state(as_text(rest));
      break;
  }
  return 0;
}
