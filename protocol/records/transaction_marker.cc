#include "protocol/records/transaction_marker.h"

#include <array>

#include "base/endian.h"
#include "protocol/records/control_record.h"
#include "protocol/records/record_batch_builder.h"

namespace barnabas::protocol {

std::vector<std::byte> transaction_marker_batch(const TransactionMarker& marker, TimestampMs now) {
  constexpr int16_t version = 0;
  const auto type = marker.committed ? ControlRecordType::commit : ControlRecordType::abort;
  std::array<std::byte, 4> key{};
  store_big_endian(key.data(), version);
  store_big_endian(key.data() + 2, static_cast<int16_t>(type));
  std::array<std::byte, 6> value{};
  store_big_endian(value.data(), version);
  store_big_endian(value.data() + 2, marker.coordinator_epoch);
  RecordBatchOptions options;
  options.producer_id = marker.producer_id;
  options.producer_epoch = marker.producer_epoch;
  options.transactional = options.control = true;
  return single_record_batch(now, key, value, options);
}

}  // namespace barnabas::protocol
