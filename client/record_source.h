#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/librdkafka.h"
#include "client/offsets.h"
#include "client/record_format.h"

namespace barnabas::client {

struct MessageDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_message_t* message) const { api->message_destroy(message); }
};
using Message = std::unique_ptr<rd_kafka_message_t, MessageDeleter>;

/// Where a consumer's messages come from. Made of a handle that outlives it.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// The next record, error or end of a partition; null when nothing came for `wait_ms`.
  virtual Message next(int wait_ms) = 0;
  /// What was printed and need not be read again.
  virtual void store(const RecordView& record) = 0;
  /// Of these partitions, whether others read them all.
  virtual bool others_have(const std::set<TopicPartition>& partitions) const = 0;
};

/// These partitions, from these offsets. No group is asked for, made or needed.
Result<std::unique_ptr<RecordSource>> read_partitions(const Librdkafka& api, rd_kafka_t* handle,
                                                      const std::map<TopicPartition, int64_t>& begins);

/// What a member of the handle's group is given of these topics. Its end leaves the group, and commits what
/// was stored.
Result<std::unique_ptr<RecordSource>> read_as_member(const Librdkafka& api, rd_kafka_t* handle,
                                                     const std::vector<std::string>& topics);

/// What a message has, which must outlive it.
RecordView view_of(const Librdkafka& api, const rd_kafka_message_t& message);

}  // namespace barnabas::client
