// Copies in to mid and mid to out, as a member of the group, with one consumer and one transactional
// producer.
#pragma once

#include <librdkafka/rdkafkacpp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "field.h"

namespace barnabas::compat {

class Worker : private RdKafka::RebalanceCb, private RdKafka::DeliveryReportCb {
 public:
  explicit Worker(Field& field);
  ~Worker() override;

  // Until the process is to end, or something fails that needs new clients: then the reason.
  std::string run();

 private:
  using Messages = std::vector<std::unique_ptr<RdKafka::Message>>;

  struct Copy {
    std::string topic;
    std::int32_t partition;
    std::string value;
    std::int64_t offset = -1;  // as acknowledged
  };

  void rebalance_cb(RdKafka::KafkaConsumer* consumer, RdKafka::ErrorCode what,
                    std::vector<RdKafka::TopicPartition*>& partitions) override;
  void dr_cb(RdKafka::Message& message) override;

  Messages poll();
  std::string copy(int number, const Messages& messages);
  Copy copy_of(const RdKafka::Message& message, int number, bool abort) const;
  std::string send(std::deque<Copy>& copies);
  std::string send_offsets(const Messages& messages);
  std::string abort(int number, const std::string& why);
  std::string commit(int number, const std::deque<Copy>& copies);
  std::string rewind();
  void begin(int number, const Messages& messages, const std::deque<Copy>& copies);

  Field& field_;
  bool rebalanced_ = false;  // since what is polled now began
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
  std::unique_ptr<RdKafka::Producer> producer_;
};

}  // namespace barnabas::compat
