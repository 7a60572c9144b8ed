#include "cluster/partition_change.h"

#include <algorithm>

#include "metadata/config_definitions.h"
#include "metadata/effective_config.h"
#include "metadata/record_versions.h"

namespace barnabas::cluster {
namespace {

using metadata::no_node;
using metadata::PartitionImage;
using protocol::PartitionChangeRecord;
using Nodes = std::vector<NodeId>;

bool contains(const Nodes& nodes, NodeId node) {
  return std::ranges::find(nodes, node) != nodes.end();
}

bool contains_all(const Nodes& nodes, const Nodes& others) {
  return std::ranges::all_of(others, [&](NodeId node) { return contains(nodes, node); });
}

Nodes without(const Nodes& nodes, const Nodes& others) {
  Nodes left;
  std::ranges::copy_if(nodes, std::back_inserter(left), [&](NodeId node) { return !contains(others, node); });
  return left;
}

std::vector<int32_t> numbers(const Nodes& nodes) {
  std::vector<int32_t> result;
  for (const NodeId node : nodes) result.push_back(node.value());
  return result;
}

class PartitionChange {
 public:
  PartitionChange(const PartitionImage& present, PartitionTarget target, const PartitionChangeRules& rules)
      : present_(present),
        target_(std::move(target)),
        rules_(rules),
        keeps_elr_(rules.image.features.contains("eligible.leader.replicas.version")),
        elr_(present.eligible_leader_replicas),
        last_known_(present.last_known_elr) {}

  PartitionChangeRecord make() {
    finish_reassignment();
    choose_eligible();
    elect();
    bump_epoch_if_replicas_went();
    set_eligible();
    set_isr();
    set_last_known_leader();
    set_assignment();
    return std::move(record_);
  }

 private:
  void finish_reassignment() {
    if (target_.adding.empty() && target_.removing.empty()) return;
    Nodes isr = without(target_.isr, target_.removing);
    Nodes replicas = without(target_.replicas, target_.removing);
    if (isr.empty() || replicas.empty() || !contains_all(isr, replicas)) return;
    target_.isr = std::move(isr);
    target_.replicas = std::move(replicas);
    target_.adding.clear();
    target_.removing.clear();
  }

  /// Who leaves the ISR below its minimum may still lead: nothing was acknowledged without it.
  void choose_eligible() {
    if (!keeps_elr_) return;
    const auto minimum = std::min<std::size_t>(
        static_cast<std::size_t>(std::max(rules_.min_insync_replicas, 1)), target_.replicas.size());
    if (rules_.election == Election::unclean || target_.isr.size() >= minimum) {
      elr_.clear();
      last_known_.clear();
      return;
    }
    Nodes candidates = present_.isr;
    std::ranges::copy_if(present_.eligible_leader_replicas, std::back_inserter(candidates),
                         [&](NodeId node) { return !contains(candidates, node); });
    elr_ = without(candidates, target_.isr);
  }

  bool may_lead(NodeId node) const {
    const bool complete = contains(target_.isr, node) || (target_.isr.empty() && contains(elr_, node));
    return complete && rules_.is_alive(present_, node);
  }

  /// The leader, and whether it may lack acknowledged records.
  std::pair<NodeId, bool> choose_leader() const {
    const bool preferred = rules_.election == Election::preferred && !target_.replicas.empty();
    if (preferred && may_lead(target_.replicas.front())) return {target_.replicas.front(), false};
    if (may_lead(present_.leader)) return {present_.leader, false};
    const auto clean = std::ranges::find_if(target_.replicas, [&](NodeId node) { return may_lead(node); });
    if (clean != target_.replicas.end()) return {*clean, false};
    if (keeps_elr_ && elr_.empty() && target_.isr.empty() && present_.last_known_elr.size() == 1 &&
        rules_.is_alive(present_, present_.last_known_elr.front()))
      return {present_.last_known_elr.front(), true};
    if (rules_.election == Election::unclean) {
      const auto any = std::ranges::find_if(target_.replicas,
                                            [&](NodeId node) { return rules_.is_alive(present_, node); });
      if (any != target_.replicas.end()) return {*any, true};
    }
    return {no_node, false};
  }

  void elect() {
    const auto [leader, unclean] = choose_leader();
    if (leader == present_.leader) return;
    record_.leader = leader.value();
    if (leader != no_node && contains(elr_, leader)) {
      target_.isr = {leader};
      std::erase(elr_, leader);
    } else if (unclean) {
      target_.isr = {leader};
      if (present_.leader_recovery_state == 0) record_.leader_recovery_state = 1;
    }
  }

  void bump_epoch_if_replicas_went() {
    const bool went = !contains_all(target_.replicas, present_.replicas);
    if (record_.leader == PartitionChangeRecord{}.leader && went) record_.leader = present_.leader.value();
  }

  void set_eligible() {
    if (keeps_elr_ && elr_ != present_.eligible_leader_replicas)
      record_.eligible_leader_replicas = numbers(elr_);
  }

  void set_isr() {
    if (target_.isr == present_.isr || (target_.isr.empty() && !keeps_elr_)) return;
    record_.isr = numbers(target_.isr);
    // Brokers before 3.6 take a smaller ISR only with a new leader epoch.
    constexpr int16_t version_3_6 = 12;
    const bool smaller = !contains_all(target_.isr, present_.isr);
    if (rules_.image.metadata_version() < version_3_6 && smaller &&
        record_.leader == PartitionChangeRecord{}.leader)
      record_.leader = present_.leader.value();
  }

  /// While nobody leads, the last leader is remembered.
  void set_last_known_leader() {
    if (!keeps_elr_) return;
    const bool nobody_in_sync = record_.isr && record_.isr->empty();
    const bool leader_changes = record_.leader != PartitionChangeRecord{}.leader;
    const NodeId leader = leader_changes ? NodeId(record_.leader) : present_.leader;
    if (nobody_in_sync && present_.leader != no_node) {
      if (present_.last_known_elr != Nodes{present_.leader})
        record_.last_known_elr = numbers({present_.leader});
    } else if (leader != no_node && !present_.last_known_elr.empty()) {
      record_.last_known_elr.emplace();
    }
  }

  void set_assignment() {
    if (target_.replicas != present_.replicas) record_.replicas = numbers(target_.replicas);
    if (target_.removing != present_.removing_replicas) record_.removing_replicas = numbers(target_.removing);
    if (target_.adding != present_.adding_replicas) record_.adding_replicas = numbers(target_.adding);
    if (!record_.replicas || !metadata::has_directories(rules_.image.metadata_version())) return;
    auto& directories = record_.directories.emplace();
    for (const NodeId node : target_.replicas)
      directories.push_back(contains(present_.replicas, node) ? present_.directory_of(node)
                                                              : directory_for(rules_.image, node));
  }

  const PartitionImage& present_;
  PartitionTarget target_;
  const PartitionChangeRules& rules_;
  const bool keeps_elr_;
  Nodes elr_;
  Nodes last_known_;
  PartitionChangeRecord record_;
};

}  // namespace

bool is_alive_in(const metadata::MetadataImage& image, const PartitionImage& partition, NodeId node) {
  const auto* broker = image.broker(node);
  if (broker == nullptr || broker->fenced || broker->in_controlled_shutdown) return false;
  const Uuid directory = partition.directory_of(node);
  if (directory == metadata::directory_lost) return false;
  if (directory == metadata::directory_unassigned || directory == metadata::directory_migrating) return true;
  return broker->log_dirs.empty() || std::ranges::find(broker->log_dirs, directory) != broker->log_dirs.end();
}

bool is_reassigning(const PartitionImage& partition) {
  return !partition.adding_replicas.empty() || !partition.removing_replicas.empty();
}

std::optional<PartitionChangeRecord> change_partition(const Uuid& topic, PartitionIndex index,
                                                      const PartitionImage& present, PartitionTarget target,
                                                      const PartitionChangeRules& rules) {
  PartitionChangeRecord record = PartitionChange(present, std::move(target), rules).make();
  if (record == PartitionChangeRecord{}) return std::nullopt;
  record.topic_id = topic;
  record.partition_id = index.value();
  return record;
}

int32_t min_insync_replicas(std::string_view topic, const metadata::MetadataImage& image, NodeId node,
                            const metadata::StaticConfig& config) {
  const auto value = metadata::topic_config_in_force("min.insync.replicas", topic, image, node, config);
  const auto number = value ? metadata::parse_integer(*value) : std::nullopt;
  return number ? static_cast<int32_t>(std::clamp<int64_t>(*number, 1, INT32_MAX)) : 1;
}

Uuid directory_for(const metadata::MetadataImage& image, NodeId broker) {
  const auto* registered = image.broker(broker);
  if (registered == nullptr || registered->log_dirs.size() != 1) return metadata::directory_unassigned;
  return registered->log_dirs.front();
}

}  // namespace barnabas::cluster
