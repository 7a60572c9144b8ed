// The records field of a Produce request under varying rules. The first byte chooses the rules, the second
// one whether the checksum is put right first; the rest is the field. What is accepted must be a batch that
// is stored as it stands and can be read back to the last record.
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "protocol/records/old_messages.h"
#include "protocol/records/produce_validation.h"
#include "protocol/records/record_reader.h"

namespace {

using namespace barnabas;
using namespace barnabas::protocol;

constexpr size_t rebuilt_bytes_max = 1 << 20;

ProduceRules rules_from(uint8_t choice) {
  ProduceRules rules;
  rules.now = TimestampMs{1'700'000'000'000};
  rules.produce_version = (choice & 1) != 0 ? 12 : 6;
  rules.compacted = (choice & 2) != 0;
  if ((choice & 4) != 0) rules.timestamp_type = TimestampType::log_append_time;
  if ((choice & 8) != 0) rules.timestamp_before_max_ms = 1000;
  if ((choice & 16) != 0) rules.max_decompressed_message_bytes = 1000;
  if ((choice & 32) != 0) rules.target_compression = Compression{static_cast<Codec>(choice % 5)};
  rules.max_message_bytes = rebuilt_bytes_max;
  return rules;
}

void read_back(const ValidatedBatch& validated) {
  const auto stored = validate_stored_batch(validated.bytes);
  BARNABAS_ASSERT(stored.has_value());
  BARNABAS_ASSERT(stored->record_count() == validated.record_count);
  RecordReader reader(*stored, {.mode = ReadMode::structure});
  RecordView record;
  int32_t count = 0;
  for (;; ++count) {
    const auto more = reader.next(record);
    BARNABAS_ASSERT(more.has_value());
    if (!*more) break;
  }
  BARNABAS_ASSERT(count == validated.record_count);
}

void walk(ByteView bytes) {
  BatchIterator batches(bytes);
  for (;;) {
    const BatchIterator::Step step = batches.next();
    if (step == BatchIterator::Step::old_message) {
      (void)read_old_messages(batches.old_message(), 1 << 20);
    } else if (step == BatchIterator::Step::batch) {
      (void)find_first_record_at_or_after(batches.batch(), TimestampMs{1'700'000'000'000});
    } else {
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ByteView input = std::as_bytes(std::span(data, size)).subspan(2);
  std::vector<std::byte> bytes(input.begin(), input.end());
  walk(bytes);
  if ((data[1] & 1) != 0 && RecordBatchView::parse(bytes)) {
    seal(MutableByteView(bytes).first(RecordBatchView::parse(bytes)->size_bytes()));
  }
  const auto validated = validate_produced_records(MutableByteView(bytes), rules_from(data[0]));
  if (validated) read_back(*validated);
  return 0;
}
