#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/history.h"
#include "sim/simulated_broker.h"
#include "sim/world.h"

namespace barnabas::sim {

/// A client with a transactional id, of either version of transactions: runs some transactions, each of a few
/// batches and an offset commit, and ends them either way. It asks again when an answer does not come, and is
/// over once it is told that it is fenced. Another one with its id may have come meanwhile.
class SimulatedProducer : public std::enable_shared_from_this<SimulatedProducer> {
 public:
  SimulatedProducer(World& world, SimulatedBroker& broker, History& history, std::string transactional_id,
                    int64_t instance, int version, int transactions);

  void start();
  bool is_over() const { return over_; }

 private:
  struct Write {
    PartitionName partition;
    int32_t sequence = 0;
  };

  /// Asks until an answer comes. `send` runs at the broker, perhaps more than once, perhaps late.
  template <class Response>
  void ask(std::function<void(SimulatedBroker&, Answer<Response>)> send, Answer<Response> then);
  template <class Response>
  void deliver(const std::function<void(SimulatedBroker&, Answer<Response>)>& send,
               const Answer<Response>& then, int64_t number);

  void initialize(bool goes_on);
  void initialized(const protocol::InitProducerIdResponse& response, bool goes_on);
  void begin();
  void add_next_partition();
  void write_next();
  void written(const Write& write, ErrorCode error);
  void end(bool commit);
  void ended(const protocol::EndTxnResponse& response, bool commit);
  /// Whether it is to be asked again; the others end the producer, but for `abortable`.
  static bool is_retriable(ErrorCode error);
  void again(std::function<void()> what) { world_.after(5 + world_.below(20), std::move(what)); }
  void stop() { over_ = true; }

  World& world_;
  SimulatedBroker& broker_;
  History& history_;
  const std::string transactional_id_;
  const int64_t instance_;
  const int version_;
  int left_;
  bool over_ = false;
  int64_t request_ = 0;  ///< the one whose answer is waited for

  ProducerId id_ = no_producer_id;
  ProducerEpoch epoch_ = no_producer_epoch;
  std::map<PartitionName, int32_t> sequences_;
  Attempt* attempt_ = nullptr;
  std::vector<Write> writes_;
  std::size_t next_write_ = 0;
  std::vector<PartitionName> to_add_;
  bool must_initialize_ = false;  ///< a batch may still be on its way (version 1)
};

}  // namespace barnabas::sim
