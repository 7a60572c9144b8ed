#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/consumer_test_support.h"

namespace barnabas::coordinator::testing {

using Partition = std::pair<Uuid, int32_t>;
using Partitions = std::set<Partition>;

TopicPartitions by_topic(const Partitions& partitions);

/// A client of the consumer protocol in a simulation, in group "g". It behaves as Kafka's clients do: one
/// heartbeat at a time; after one without an answer all is said again; what is taken away is given up before
/// that is said.
struct SimulatedConsumerMember {
  std::string id;
  std::optional<std::string> instance = {};
  std::vector<std::string> topics = {};
  std::string regex = {};
  std::string assignor = {};

  bool is_running = true;
  int32_t epoch = 0;
  Partitions owned = {};                  ///< what it reads: given to it, and not given up yet
  std::optional<Partitions> wanted = {};  ///< an assignment that it has not come to yet
  bool says_all = true;                   ///< the last answer did not come
  bool says_owned = true;
  bool subscription_changed = false;
  int hangs = 0;  ///< rounds in which it does nothing
  /// Its heartbeat, once it is with the coordinator.
  AnswerPtr<ConsumerGroupHeartbeatResponse> answer = {};
  std::unique_ptr<ConsumerGroupHeartbeatRequest> request = {};

  /// What it has to say now.
  ConsumerGroupHeartbeatRequest heartbeat() const;
  ConsumerGroupHeartbeatRequest farewell() const;
  void lose_answer();
  /// Reads the answer if it is there, and obeys it. An answer that clients do not expect fails the test.
  void take_answer();
  /// Gives up first, and takes the rest a while later; only then it reports, as clients do. `dawdles` says
  /// whether it waits a round, one time in so many.
  ///
  /// Who has to say all again does not do so half-way: what it would not report yet, the protocol takes for
  /// given up (here as in Kafka), although it is about to be taken.
  void come_to_assignment(const std::function<bool(int)>& dawdles);

 private:
  void begin_again();
};

}  // namespace barnabas::coordinator::testing
