#include "broker/directory_assignments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "metadata/record_versions.h"

namespace barnabas::broker {

using protocol::ErrorCode;

namespace {
constinit Logger logger{"broker"};
}  // namespace

void DirectoryAssignments::begin() {
  {
    const std::scoped_lock lock(mutex_);
    begun_ = true;
  }
  send_next();
}

void DirectoryAssignments::assign(const Uuid& topic_id, PartitionIndex partition, const Uuid& directory_id,
                                  Done done) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({topic_id, partition, directory_id, std::move(done)});
  }
  send_next();
}

void DirectoryAssignments::send_next() {
  std::vector<Item> items;
  {
    const std::scoped_lock lock(mutex_);
    if (!begun_ || under_way_ || waiting_.empty()) return;
    const std::size_t count = std::min(waiting_.size(), items_per_request_max);
    std::move(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count),
              std::back_inserter(items));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    under_way_ = true;
  }
  // Metadata of before KIP-858 have no place for it, and nobody looks for it there.
  if (!metadata::has_directories(metadata_.current()->metadata_version()))
    return arrived(std::move(items), {});
  auto request = request_for(items);
  ask_(std::move(request), [this, items = std::move(items)](const auto& response) mutable {
    arrived(std::move(items), response);
  });
}

protocol::AssignReplicasToDirsRequest DirectoryAssignments::request_for(
    const std::vector<Item>& items) const {
  protocol::AssignReplicasToDirsRequest request;
  request.broker_id = node_.value();
  const auto image = metadata_.current();
  if (const auto* self = image->broker(node_)) request.broker_epoch = self->epoch.value();
  std::map<Uuid, std::map<Uuid, std::vector<int32_t>>> by_directory;
  for (const Item& item : items)
    by_directory[item.directory_id][item.topic_id].push_back(item.partition.value());
  for (const auto& [directory_id, topics] : by_directory) {
    auto& directory = request.directories.emplace_back();
    directory.id = directory_id;
    for (const auto& [topic_id, partitions] : topics) {
      auto& topic = directory.topics.emplace_back();
      topic.topic_id = topic_id;
      for (const int32_t partition : partitions) topic.partitions.emplace_back().partition_index = partition;
    }
  }
  return request;
}

void DirectoryAssignments::arrived(std::vector<Item> items,
                                   const protocol::AssignReplicasToDirsResponse& response) {
  std::map<std::pair<Uuid, int32_t>, int16_t> errors;
  for (const auto& directory : response.directories) {
    for (const auto& topic : directory.topics) {
      for (const auto& partition : topic.partitions)
        if (partition.error_code != 0)
          errors[{topic.topic_id, partition.partition_index}] = partition.error_code;
    }
  }
  for (Item& item : items) {
    int16_t code = response.error_code;
    if (const auto found = errors.find({item.topic_id, item.partition.value()});
        code == 0 && found != errors.end())
      code = found->second;
    if (item.done) {
      item.done(static_cast<ErrorCode>(code));
    } else if (code != 0) {
      // The next start notices again.
      logger.warn(
          "the controller did not note the directory of a partition topic_id={} partition={} error={}",
          item.topic_id.to_string(), item.partition.value(), code);
    }
  }
  {
    const std::scoped_lock lock(mutex_);
    under_way_ = false;
  }
  send_next();
}

}  // namespace barnabas::broker
