// A few verbs over librdkafka's C++ interface, for the tests and the load programs: send records and learn
// what became of each, read a partition from an offset. Not thread-safe; one object a thread.
#pragma once

#include <librdkafka/rdkafkacpp.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace barnabas::compat {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::chrono::milliseconds client_timeout{30'000};

// The broker's address from BARNABAS_BOOTSTRAP; ends the program when that is not set.
std::string bootstrap();

// librdkafka's configuration with the address of bootstrap(), then `settings`, then `reports` if not null
// (which must outlive the client). A setting that librdkafka refuses ends the program.
std::unique_ptr<RdKafka::Conf> configuration(const Settings& settings,
                                             RdKafka::DeliveryReportCb* reports = nullptr);

// Creates a topic with one replica and waits until the broker leads its partitions. Throws
// std::runtime_error.
void create_topic(const std::string& name, int partitions, const Settings& config = {});

struct Header {
  std::string name;
  std::optional<std::string> value;

  bool operator==(const Header&) const = default;
};

struct Record {
  std::optional<std::string> key;
  std::optional<std::string> value;
  std::vector<Header> headers;
  std::int64_t timestamp_ms = 0;  // 0: when it is sent

  bool operator==(const Record&) const = default;
};

// Queues a record; while librdkafka's queue is full it serves delivery reports and waits. `opaque` comes back
// in the record's delivery report, which will not come when this returns an error.
RdKafka::ErrorCode produce(RdKafka::Producer& producer, const std::string& topic, std::int32_t partition,
                           const Record& record, void* opaque);

// What became of one record. The offset is RdKafka::Topic::OFFSET_INVALID where the broker did not say
// (acks=0).
struct Delivery {
  RdKafka::ErrorCode error = RdKafka::ERR__TIMED_OUT;
  std::int32_t partition = RdKafka::Topic::PARTITION_UA;
  std::int64_t offset = RdKafka::Topic::OFFSET_INVALID;
};

class Sender : private RdKafka::DeliveryReportCb {
 public:
  explicit Sender(const Settings& settings = {});
  ~Sender() override;

  // As produce(); `partition` may be PARTITION_UA. What librdkafka refuses at once has that error as its
  // Delivery.
  void send(const std::string& topic, std::int32_t partition, const Record& record);

  // Waits for everything sent since the last call; one Delivery per record, in the order of sending.
  std::deque<Delivery> flush();

  RdKafka::Producer& producer() { return *producer_; }

 private:
  void dr_cb(RdKafka::Message& message) override;

  std::unique_ptr<RdKafka::Producer> producer_;
  std::deque<Delivery> deliveries_;  // a deque: its elements stay where they are while it grows
};

struct Received {
  std::int64_t offset = 0;
  Record record;
};

// Reads single partitions without a group.
class Reader {
 public:
  explicit Reader(const Settings& settings = {});

  using Visitor = std::function<void(RdKafka::Message&)>;

  // Visits `count` records of a partition from `offset` on (or OFFSET_BEGINNING, OFFSET_END). Returns how
  // many there were: fewer when none came for `timeout`. An error of the partition throws std::runtime_error.
  std::size_t for_each(const std::string& topic, std::int32_t partition, std::int64_t offset,
                       std::size_t count, const Visitor& visit,
                       std::chrono::milliseconds timeout = client_timeout);

  // As for_each(), but keeps them.
  std::vector<Received> read(const std::string& topic, std::int32_t partition, std::int64_t offset,
                             std::size_t count, std::chrono::milliseconds timeout = client_timeout);

  RdKafka::Consumer& consumer() { return *consumer_; }

 private:
  std::unique_ptr<RdKafka::Consumer> consumer_;
};

// A message as librdkafka delivers it, in this file's types.
Received received(RdKafka::Message& message);

}  // namespace barnabas::compat
