#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/simulated_classic_member.h"
#include "coordinator/simulated_consumer_member.h"

// Who takes part in the simulation of a group that has members of both protocols.
namespace barnabas::coordinator::testing {

/// How one group, "g", is set up, and what all in it share.
struct MigrationWorld {
  /// Chance, from `seed`, decides which ways between the protocols are open, and how members of the classic
  /// protocol share out. `answered_within`: who waits for the coordinator is answered by then.
  MigrationWorld(uint64_t seed, std::chrono::milliseconds answered_within);

  Partitions all_partitions() const;
  Partitions partitions_of(const std::map<std::string, std::vector<int32_t>>& by_name) const;

  Dice dice;
  const bool upgrade;
  const bool downgrade;
  const bool is_cooperative;
  ConsumerShard shard;
  ClassicSurroundings around;
  std::map<Partition, int64_t> acknowledged = {};  ///< committed, and answered so
};

/// Reads the partitions that a member owns: from the committed offset on, committing how far it has come.
/// What was committed must never be less than what was acknowledged.
class Reading {
 public:
  explicit Reading(MigrationWorld& world) : world_(&world) {}

  void go_on(const std::string& member_id, const std::optional<std::string>& instance, int32_t epoch,
             const Partitions& owned);

 private:
  void find_positions(const Partitions& owned);
  void commit(const std::string& member_id, const std::optional<std::string>& instance, int32_t epoch);

  MigrationWorld* world_;
  std::map<Partition, int64_t> positions_;
};

/// A client of the classic protocol whose members speak Kafka's embedded consumer protocol: eager, or
/// cooperative.
class ClassicClient final : public SimulatedClassicMember {
 public:
  ClassicClient(MigrationWorld& world, std::string name, bool is_static)
      : SimulatedClassicMember(world.around, std::move(name), is_static), world_(world), reading_(world) {}

  void step();
  /// It leaves as it should, or just ends.
  void stop();
  bool is_running() const { return is_running_; }
  /// Others had a generation without it.
  void miss() { has_missed_ = true; }
  bool has_missed() const { return has_missed_; }
  const Partitions& owned() const { return owned_; }
  std::optional<std::string> instance() const { return is_static() ? std::optional(name()) : std::nullopt; }

 protected:
  std::vector<Named> protocols() override;
  /// In turn; what somebody else says to own is withheld until that one has given it up.
  std::vector<Named> share_out(const std::vector<Named>& members) override;
  void before_join() override;
  bool take(ByteView share) override;
  void lost() override;
  void join_refused_with(protocol::ErrorCode error) override;

 private:
  MigrationWorld& world_;
  Reading reading_;
  Partitions owned_;
  bool is_running_ = true;
  bool has_missed_ = false;
};

/// A client of the consumer protocol, which reads what its member owns.
struct ConsumerClient {
  ConsumerClient(MigrationWorld& world, std::string id) : member{.id = std::move(id)}, reading(world) {}
  SimulatedConsumerMember member;
  Reading reading;
};

}  // namespace barnabas::coordinator::testing
