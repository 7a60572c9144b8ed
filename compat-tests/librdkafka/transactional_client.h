#pragma once

#include <librdkafka/rdkafkacpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// What the parts of the program for transactions/ share. Everything that the client refuses is thrown as a
/// Failure.
namespace transactional {

using Settings = std::vector<std::pair<std::string, std::string>>;
using Offsets = std::map<std::int32_t, std::int64_t>;  ///< by partition

inline constexpr int timeout_ms = 60000;
inline constexpr const char* read_committed = "read_committed";
inline constexpr const char* read_uncommitted = "read_uncommitted";

/// The client's name for what went wrong (of an error code its number), and what it says.
struct Failure {
  std::string name;
  std::string why;
  bool fatal = false;  ///< its producer can do nothing more
};

struct Record {
  std::int32_t partition;
  std::string value;
};

void check(RdKafka::Error* error);  ///< takes it
void check(RdKafka::ErrorCode code);

/// One line of standard output, in one write.
void say(std::string line);

/// A topic's offsets in the form that the client wants.
class TopicOffsets {
 public:
  TopicOffsets(const std::string& topic, const Offsets& offsets);
  ~TopicOffsets();
  TopicOffsets(const TopicOffsets&) = delete;
  TopicOffsets& operator=(const TopicOffsets&) = delete;

  std::vector<RdKafka::TopicPartition*> all;
};

std::unique_ptr<RdKafka::KafkaConsumer> new_consumer(const std::string& bootstrap,
                                                     const std::string& isolation, const Settings& more,
                                                     RdKafka::RebalanceCb* rebalances = nullptr);

/// A producer with a transactional id, initialised.
class Producer : private RdKafka::DeliveryReportCb {
 public:
  Producer(const std::string& bootstrap, const std::string& id, const std::string& transaction_timeout_ms);

  void begin() { check(producer_->begin_transaction()); }
  void commit() { check(producer_->commit_transaction(timeout_ms)); }
  void abort() { check(producer_->abort_transaction(timeout_ms)); }

  /// Returns once all are acknowledged.
  void send(const std::string& topic, const std::vector<Record>& records);

  /// As the member that `consumer` is of its group.
  void send_offsets(RdKafka::KafkaConsumer& consumer, const std::string& topic, const Offsets& offsets);

 private:
  void dr_cb(RdKafka::Message& message) override;

  RdKafka::ErrorCode failed_ = RdKafka::ERR_NO_ERROR;
  std::unique_ptr<RdKafka::Producer> producer_;
};

struct CopierArguments {
  std::string bootstrap, id, group, source, target, session_ms;
};

/// Returns at the end of standard input.
void copy(const CopierArguments& arguments);

}  // namespace transactional
