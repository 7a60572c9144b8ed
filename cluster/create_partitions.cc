// CreatePartitions (37): rules and texts as Apache Kafka 4.4 has them.

#include <algorithm>
#include <unordered_map>

#include "cluster/local_controller.h"
#include "cluster/placement.h"
#include "metadata/record_versions.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using protocol::ErrorCode;
using Request = protocol::CreatePartitionsRequest;
using Response = protocol::CreatePartitionsResponse;
using Item = Request::CreatePartitionsTopic;

std::optional<ApiError> count_problem(const Item& item, int32_t present) {
  if (item.count == present)
    return ApiError{ErrorCode::invalid_partitions,
                    "Topic already has " + std::to_string(present) + " partition(s)."};
  if (item.count < present)
    return ApiError{ErrorCode::invalid_partitions,
                    "The topic " + item.name.str() + " currently has " + std::to_string(present) +
                        " partition(s); " + std::to_string(item.count) + " would not be an increase."};
  const int32_t additional = item.count - present;
  if (item.assignments && item.assignments->size() != static_cast<std::size_t>(additional))
    return ApiError{ErrorCode::invalid_replica_assignment,
                    "Attempted to add " + std::to_string(additional) + " additional partition(s), but only " +
                        std::to_string(item.assignments->size()) + " assignment(s) were specified."};
  return std::nullopt;
}

/// The new partitions of one topic as records.
std::optional<ApiError> add_partitions(const Item& item, const ControllerState& state,
                                       metadata::RecordList& records) {
  const MetadataImage& image = state.image;
  const auto* topic = image.topic(item.name);
  if (topic == nullptr) return ApiError{ErrorCode::unknown_topic_or_partition, std::nullopt};
  const int32_t present = topic->partition_count();
  if (auto problem = count_problem(item, present)) return problem;
  if (auto problem = quota_problem(state, item.count - present)) return problem;

  const std::size_t factor = present == 0 ? 1 : topic->partitions.front()->replicas.size();
  std::vector<Placement> placements;
  if (item.assignments) {
    for (std::size_t i = 0; i < item.assignments->size(); ++i) {
      auto placement = check_manual_placement((*item.assignments)[i].broker_ids,
                                              present + static_cast<int32_t>(i), factor, image);
      if (!placement) return std::move(placement).error();
      placements.push_back(std::move(*placement));
    }
  } else {
    auto placed = place(present, item.count - present, static_cast<int16_t>(factor), image);
    if (!placed) return std::move(placed).error();
    placements = std::move(*placed);
  }
  const int16_t version = metadata::partition_record_version(image.metadata_version());
  for (std::size_t i = 0; i < placements.size(); ++i)
    records.add(new_partition_record(topic->id, present + static_cast<int32_t>(i), placements[i], image),
                version);
  return std::nullopt;
}

using Counts = std::unordered_map<std::string_view, int>;

/// What is named twice is refused anyway, and nobody has asked whether the sender may know of it.
bool too_many_partitions(const Request& request, const Counts& counts, const MetadataImage& image) {
  int64_t total = 0;
  for (const auto& item : request.topics) {
    if (counts.at(item.name.view()) > 1) continue;
    if (const auto* topic = image.topic(item.name))
      total += std::max<int64_t>(0, int64_t{item.count} - topic->partition_count());
  }
  return total > partitions_per_request_max;
}

}  // namespace

Outcome<Response> LocalController::create_partitions(const Request& request,
                                                     const ControllerState& state) const {
  Outcome<Response> outcome;
  Counts counts;
  for (const auto& item : request.topics) ++counts[item.name.view()];
  const bool too_many = too_many_partitions(request, counts, state.image);
  for (const auto& item : request.topics) {
    int& count = counts[item.name.view()];
    if (count == 0) continue;  // a double that has its answer
    std::optional<ApiError> error;
    if (count > 1) {
      error = ApiError{ErrorCode::invalid_request, "Duplicate topic name."};
      count = 0;
    } else if (too_many) {
      error = ApiError{ErrorCode::policy_violation,
                       "Excessively large number of additional partitions per request."};
    } else {
      error = add_partitions(item, state, outcome.records);
    }
    auto& result = outcome.response.results.emplace_back();
    result.name = item.name.owned();
    result.error_message.reset();
    if (error) set_error(result, *error);
  }
  if (request.validate_only) outcome.records = {};
  return outcome;
}

}  // namespace barnabas::cluster
