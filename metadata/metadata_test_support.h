#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/delta.h"
#include "metadata/record_list.h"
#include "metadata/replayer.h"
#include "protocol/records/record_batch_builder.h"

/// Verbs for tests: records in, image out.
namespace barnabas::metadata::testing {

inline Uuid id(uint8_t number) {
  Uuid uuid;
  uuid.bytes[0] = std::byte{0xab};
  uuid.bytes[15] = std::byte{number};
  return uuid;
}

inline protocol::TopicRecord topic(std::string_view name, const Uuid& topic_id) {
  protocol::TopicRecord record;
  record.name = name;
  record.topic_id = topic_id;
  return record;
}

inline protocol::PartitionRecord partition(const Uuid& topic_id, int32_t index) {
  protocol::PartitionRecord record;
  record.topic_id = topic_id;
  record.partition_id = index;
  record.replicas = {1};
  record.isr = {1};
  record.leader = 1;
  record.leader_epoch = 0;
  record.partition_epoch = 0;
  record.directories = {id(200)};
  return record;
}

inline protocol::ConfigRecord config(ConfigResourceType type, std::string_view resource,
                                     std::string_view name, std::optional<std::string_view> value) {
  protocol::ConfigRecord record;
  record.resource_type = static_cast<int8_t>(type);
  record.resource_name = resource;
  record.name = name;
  record.value.reset();
  if (value) record.value = protocol::String(*value);
  return record;
}

inline protocol::RegisterBrokerRecord broker(int32_t broker_id, int64_t epoch) {
  protocol::RegisterBrokerRecord record;
  record.broker_id = broker_id;
  record.broker_epoch = epoch;
  record.incarnation_id = id(99);
  record.log_dirs = {id(200)};
  auto& endpoint = record.end_points.emplace_back();
  endpoint.name = "PLAINTEXT";
  endpoint.host = "localhost";
  endpoint.port = 9092;
  return record;
}

/// Applies records to an image; a failure is the test's.
template <class... Records>
NextImage apply(const MetadataImage& base, const Records&... records) {
  MetadataDelta delta(base);
  const auto one = [&](const auto& record) {
    const auto done = delta.replay(protocol::MetadataRecord(record), {});
    EXPECT_TRUE(done) << done.error().message;
  };
  (one(records), ...);
  auto position = base.position;
  position.offset += static_cast<int64_t>(sizeof...(records));
  auto next = std::move(delta).finish(position);
  EXPECT_TRUE(next) << next.error().message;
  return std::move(*next);
}

/// One batch of the records, at `base`.
inline std::vector<std::byte> batch_of(const RecordList& records, Offset base = Offset{0}) {
  protocol::RecordBatchOptions options;
  options.base_offset = base;
  options.partition_leader_epoch = LeaderEpoch{1};
  protocol::RecordBatchBuilder builder(options);
  for (std::size_t i = 0; i < records.size(); ++i) builder.append(TimestampMs{1}, std::nullopt, records[i]);
  return builder.build();
}

inline std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What a Kafka 4.4 node left behind after a clean stop.
inline std::string kafka_file(const std::string& name) {
  return file_content(std::string(BARNABAS_SOURCE_DIR) + "/metadata/testdata/kafka-4.4/" + name);
}

}  // namespace barnabas::metadata::testing
