#include <algorithm>

#include "coordinator/offset_protocol.h"
#include "coordinator/offset_records.h"

namespace barnabas::coordinator {
namespace {

constexpr std::string_view expiry_timer = "offsets.expiry";
constexpr std::string_view deleted_topics_timer = "offsets.deleted-topics";

// One decision is one batch; what is left over comes with the next one.
constexpr std::size_t tombstone_bytes_max = 256 * 1024;

}  // namespace

struct OffsetProtocol::Tombstones {
  std::vector<Record> records;
  std::size_t bytes = 0;

  bool is_full() const { return bytes >= tombstone_bytes_max; }
  void add(const OffsetKey& key) {
    records.push_back(offset_tombstone(key));
    bytes += records.back().key.size();
  }
};

Decision OffsetProtocol::loaded(const Now& now) {
  environment_.timers.set(expiry_timer, now.instant + environment_.settings.offsets_check_interval,
                          [this](const Now& later) { return expire(later); });
  // Topics that were deleted while nobody led this partition.
  return drop_deleted_topics(now);
}

Decision OffsetProtocol::metadata_changed(const metadata::MetadataChanges& changes, const Now& now) {
  return changes.deleted_topics.empty() && !changes.all ? Decision() : drop_deleted_topics(now);
}

bool OffsetProtocol::holds_current(const OffsetKey& key, const metadata::TopicImage* topic) const {
  const auto holds = [&](const OffsetStore::Table& table) {
    const CommittedOffset* offset = table.find(key.group, key.topic, key.partition);
    return offset != nullptr && is_current(*offset, topic);
  };
  return holds(store_.committed()) ||
         std::ranges::any_of(store_.transactions(), [&](const auto& one) { return holds(one.second); });
}

// The image is never older than the election that made this broker the leader, and no offset in the log was
// committed by anybody who knew more than that: what the image does not have was deleted.
Decision OffsetProtocol::drop_deleted_topics(const Now& now) {
  Tombstones tombstones;
  const auto drop = [&](const std::string& group, const OffsetStore::Table::Topics& topics) {
    for (const auto& [topic, partitions] : topics) {
      const auto* image = environment_.image->topic(topic);
      for (const auto& [index, offset] : partitions) {
        if (tombstones.is_full()) return;
        const OffsetKey key{group, topic, index};
        // A tombstone takes all of this partition, so it must not be there for a topic that came back.
        if (!is_current(offset, image) && !holds_current(key, image)) tombstones.add(key);
      }
    }
  };
  for (const auto& [group, topics] : store_.committed()) drop(group, topics);
  for (const auto& [producer, offsets] : store_.transactions())
    for (const auto& [group, topics] : offsets) drop(group, topics);
  Decision decision;
  if (tombstones.records.empty()) return decision;
  decision.records = std::move(tombstones.records);
  // Again until nothing is left; also should the append be refused.
  environment_.timers.set(deleted_topics_timer, now.instant + std::chrono::seconds(1),
                          [this](const Now& later) { return drop_deleted_topics(later); });
  return decision;
}

bool OffsetProtocol::expire_offsets(const Group& group, const Now& now, Tombstones& tombstones) const {
  bool all_gone = store_.pending().find(group.id()) == nullptr;
  const auto* topics = store_.committed().find(group.id());
  if (topics == nullptr) return all_gone;
  const auto retention = environment_.settings.offsets_retention;
  for (const auto& [topic, partitions] : *topics) {
    const bool is_subscribed = group.is_subscribed_to(topic);
    for (const auto& [index, offset] : partitions) {
      const OffsetKey key{group.id(), topic, index};
      OffsetAge age{topic, offset.committed_at, std::nullopt};
      if (offset.expires_at != no_timestamp) age.expires_at = offset.expires_at;
      if (!is_subscribed && !tombstones.is_full() && !store_.is_pending(key) &&
          group.offset_is_expired(age, now.wall, retention)) {
        tombstones.add(key);
      } else {
        all_gone = false;
      }
    }
  }
  return all_gone;
}

Decision OffsetProtocol::expire(const Now& now) {
  Tombstones tombstones;
  for (const auto& [id, group] : groups_) {
    if (tombstones.is_full()) break;
    if (expire_offsets(*group, now, tombstones) && group->may_be_removed(now.wall))
      group->tombstones(tombstones.records);
  }
  const auto pause =
      tombstones.is_full() ? std::chrono::milliseconds(0) : environment_.settings.offsets_check_interval;
  environment_.timers.set(expiry_timer, now.instant + pause,
                          [this](const Now& later) { return expire(later); });
  Decision decision;
  decision.records = std::move(tombstones.records);
  return decision;
}

}  // namespace barnabas::coordinator
