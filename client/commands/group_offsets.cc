#include <algorithm>
#include <set>

#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/group_actions.h"
#include "client/commands/group_reading.h"
#include "client/offsets.h"
#include "client/start_place.h"
#include "protocol/messages/offset_commit_request.h"
#include "protocol/messages/offset_commit_response.h"
#include "protocol/messages/offset_delete_request.h"
#include "protocol/messages/offset_delete_response.h"

namespace barnabas::client {
namespace {

class Seek final : public Action {
 public:
  std::string name() const override { return "seek"; }
  std::string summary() const override { return "Move the committed offsets of a group without members"; }
  std::string example() const override { return "barnabas group seek billing --to -1h --dry-run"; }
  void declare(CLI::App& app) override {
    app.add_option("group", group_, "the group")->required();
    app.add_option("--to", to_,
                   "start, end, an offset, +N after the start, -N before the end, or a time: @1700000000000, "
                   "2026-11-30T10:00:00Z, -1h (an hour ago)")
        ->required()
        ->type_name("WHERE");
    app.add_option("--topic", topics_, "only these; all that the group has committed where nothing is said")
        ->allow_extra_args(false);
    app.add_option("--partition", partitions_, "only these")->allow_extra_args(false);
    app.add_flag("--dry-run", dry_run_, "only show what would be done");
  }

  Result<void> read_arguments() override {
    BARNABAS_ASSIGN(place_, parse_place_or_time(to_, now_ms()));
    return {};
  }

  Result<Answer> run(Cluster& cluster) override {
    auto committed = committed_offsets(cluster, group_);
    if (!committed) return fail("group " + group_, std::move(committed.error()));
    BARNABAS_ASSIGN(const auto chosen, choose(cluster, *committed));
    Answer answer;
    BARNABAS_ASSIGN(const auto targets, resolve(cluster, chosen, answer));
    std::map<TopicPartition, int16_t> errors;
    if (!dry_run_) BARNABAS_TRY(commit(cluster, targets, errors));
    for (const auto& [partition, offset] : targets) {
      const auto before = committed->find(partition);
      Json row{{"topic", partition.topic},
               {"partition", partition.partition},
               {"before", before == committed->end() ? Json() : Json(before->second)},
               {"after", offset}};
      answer.outcome(std::move(row), partition.to_string(), errors[partition]);
    }
    if (dry_run_) answer.line("nothing was changed (--dry-run)");
    return answer;
  }

 private:
  Result<std::vector<TopicPartition>> choose(Cluster& cluster, const CommittedOffsets& committed) const {
    std::vector<TopicPartition> chosen;
    if (topics_.empty()) {
      for (const auto& each : committed) chosen.push_back(each.first);
    } else {
      BARNABAS_ASSIGN(chosen, partitions_of(cluster, topics_));
    }
    std::erase_if(chosen, [&](const TopicPartition& each) {
      return !partitions_.empty() && std::ranges::find(partitions_, each.partition) == partitions_.end();
    });
    if (chosen.empty()) BARNABAS_TRY(nothing_chosen(cluster));
    return chosen;
  }

  /// Why there is nothing to move.
  Result<void> nothing_chosen(Cluster& cluster) const {
    const auto group = read_group(cluster, group_);
    if (group && !group->members.empty()) return fail(ErrorKind::invalid, has_members());
    return fail(ErrorKind::not_found, "group " + group_ + ": nothing is committed" +
                                          (topics_.empty() ? "; name topics with --topic" : " there"));
  }

  std::string has_members() const {
    return "group " + group_ + " has members, who would overwrite it; stop them first";
  }

  /// Within what is there: an offset elsewhere would be reset by the members as they are set.
  Result<CommittedOffsets> resolve(Cluster& cluster, const std::vector<TopicPartition>& partitions,
                                   Answer& answer) const {
    BARNABAS_ASSIGN(const auto starts, offsets_at(cluster, partitions, earliest_offset));
    BARNABAS_ASSIGN(const auto ends, offsets_at(cluster, partitions, latest_offset));
    CommittedOffsets targets;
    if (place_.kind == StartPlace::Kind::time) {
      BARNABAS_ASSIGN(targets, offsets_at(cluster, partitions, place_.number));
    }
    for (const TopicPartition& each : partitions) {
      const int64_t start = starts.at(each), end = ends.at(each);
      int64_t& target = targets.try_emplace(each, -1).first->second;
      target = offset_of(place_, start, end, target);
      if (is_outside(place_, start, end))
        answer.warn(each.to_string() + ": " + to_ + " is outside of what is there, " + std::to_string(start) +
                    " to " + std::to_string(end) + "; it became " + std::to_string(target));
    }
    return targets;
  }

  Result<void> commit(Cluster& cluster, const CommittedOffsets& targets,
                      std::map<TopicPartition, int16_t>& errors) const {
    protocol::OffsetCommitRequest request;
    request.group_id = group_;
    for (const auto& [partition, offset] : targets) {
      if (request.topics.empty() || request.topics.back().name != partition.topic)
        request.topics.emplace_back().name = partition.topic;
      auto& each = request.topics.back().partitions.emplace_back();
      each.partition_index = partition.partition;
      each.committed_offset = offset;
    }
    const auto first_error = [](const protocol::OffsetCommitResponse& body) {
      return body.topics.empty() || body.topics.front().partitions.empty()
                 ? int16_t{0}
                 : body.topics.front().partitions.front().error_code;
    };
    // Up to version 9 topics go by name.
    BARNABAS_ASSIGN(const auto answer, ask_coordinator(cluster, group_, request, first_error, 9));
    using protocol::ErrorCode;
    for (const auto& topic : answer->topics) {
      for (const auto& each : topic.partitions) {
        const auto code = protocol::error_code(each.error_code);
        if (code == ErrorCode::unknown_member_id || code == ErrorCode::rebalance_in_progress ||
            code == ErrorCode::illegal_generation || code == ErrorCode::stale_member_epoch)
          return fail(ErrorKind::invalid, has_members());
        errors[{topic.name.str(), each.partition_index}] = each.error_code;
      }
    }
    return {};
  }

  std::string group_;
  std::string to_;
  StartPlace place_;
  std::vector<std::string> topics_;
  std::vector<int32_t> partitions_;
  bool dry_run_ = false;
};

class DeleteOffsets final : public Action {
 public:
  std::string name() const override { return "delete-offsets"; }
  std::string summary() const override {
    return "Forget what a group has committed for topics it does not read";
  }
  std::string example() const override { return "barnabas group delete-offsets billing --topic orders"; }
  void declare(CLI::App& app) override {
    app.add_option("group", group_, "the group")->required();
    app.add_option("--topic", topics_, "the topics")->required()->allow_extra_args(false);
  }

  Result<Answer> run(Cluster& cluster) override {
    auto committed = committed_offsets(cluster, group_);
    if (!committed) return fail("group " + group_, std::move(committed.error()));
    protocol::OffsetDeleteRequest request;
    request.group_id = group_;
    for (const auto& [partition, offset] : *committed) {
      if (std::ranges::find(topics_, partition.topic) == topics_.end()) continue;
      if (request.topics.empty() || request.topics.back().name != partition.topic)
        request.topics.emplace_back().name = partition.topic;
      request.topics.back().partitions.emplace_back().partition_index = partition.partition;
    }
    if (request.topics.empty())
      return fail(ErrorKind::not_found, "group " + group_ + ": nothing is committed for these topics");
    BARNABAS_ASSIGN(const auto response, ask_coordinator(cluster, group_, request,
                                                         [](const auto& body) { return body.error_code; }));
    if (response->error_code != 0)
      return fail(ErrorKind::invalid, "group " + group_ + ": " + error_text(response->error_code));
    Answer answer;
    for (const auto& topic : response->topics)
      for (const auto& each : topic.partitions)
        answer.outcome({{"topic", topic.name.str()}, {"partition", each.partition_index}},
                       TopicPartition{topic.name.str(), each.partition_index}.to_string(), each.error_code);
    return answer;
  }

 private:
  std::string group_;
  std::vector<std::string> topics_;
};

}  // namespace

std::unique_ptr<Action> group_seek_action() {
  return std::make_unique<Seek>();
}
std::unique_ptr<Action> group_delete_offsets_action() {
  return std::make_unique<DeleteOffsets>();
}

}  // namespace barnabas::client
