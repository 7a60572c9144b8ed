#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "coordinator/consumer_test_support.h"
#include "protocol/coordinator_record.h"
#include "protocol/json_printer.h"
#include "protocol/messages/consumer_group_current_member_assignment_key.h"
#include "protocol/messages/consumer_group_member_metadata_key.h"
#include "protocol/messages/consumer_group_metadata_key.h"
#include "protocol/messages/consumer_group_metadata_value.h"
#include "protocol/messages/consumer_group_regular_expression_key.h"
#include "protocol/messages/consumer_group_regular_expression_value.h"
#include "protocol/messages/consumer_group_target_assignment_member_key.h"
#include "protocol/messages/consumer_group_target_assignment_member_value.h"
#include "protocol/messages/consumer_group_target_assignment_metadata_key.h"
#include "protocol/messages/consumer_group_target_assignment_metadata_value.h"

/// Scenarios in testdata/consumer/*.txt; beside each the trace of what the shard answered and wrote.
/// BARNABAS_UPDATE_TRACES=1 writes the traces: read the difference before it is committed.
///
///   topic NAME PARTITIONS · delete NAME · config NAME VALUE · wait MS · crash · clock MS · describe
///   MEMBER KEY=VALUE…     a heartbeat. epoch (default: that of the last answer, 0 before), topics, owned,
///                         regex, instance, rack, assignor, timeout, version; a join fills in what it needs
namespace barnabas::coordinator::testing {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  Words parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

class Transcript {
 public:
  std::string run(std::istream& scenario) {
    for (std::string line; std::getline(scenario, line);) {
      trace_ += line.empty() || line[0] == '#' ? line + "\n" : "> " + line + "\n";
      if (line.empty() || line[0] == '#') continue;
      step(split(line, ' '));
      show_records();
    }
    return trace_;
  }

 private:
  void step(const Words& words) {
    const auto number = [&](std::size_t at) { return std::stoi(words.at(at)); };
    if (words[0] == "topic") return shard_.set_topic(words.at(1), number(2));
    if (words[0] == "delete") return shard_.delete_topic(words.at(1));
    if (words[0] == "config") return shard_.set_group_config("g", words.at(1), words.at(2));
    if (words[0] == "wait") return shard_.runner.advance(std::chrono::milliseconds(number(1)));
    if (words[0] == "clock") return shard_.runner.set_wall_clock(std::chrono::milliseconds(number(1)));
    if (words[0] == "crash") return shard_.runner.crash();
    if (words[0] == "describe") return describe();
    heartbeat(words);
  }

  void heartbeat(const Words& words) {
    const std::string& member = words[0];
    ConsumerGroupHeartbeatRequest request = heartbeat_request("g", member, epochs_[member]);
    int16_t version = 1;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      const std::string key = words[i].substr(0, equals);
      const std::string value = words[i].substr(equals + 1);
      if (key == "epoch") request.member_epoch = std::stoi(value);
      if (key == "topics") {
        const auto names = split(value, ',');
        request.subscribed_topic_names.emplace(names.begin(), names.end());
      }
      if (key == "regex") request.subscribed_topic_regex = protocol::String(value);
      if (key == "instance") request.instance_id = protocol::String(value);
      if (key == "rack") request.rack_id = protocol::String(value);
      if (key == "assignor") request.server_assignor = protocol::String(value);
      if (key == "timeout") request.rebalance_timeout_ms = std::stoi(value);
      if (key == "version") version = static_cast<int16_t>(std::stoi(value));
      if (key == "owned") report(request, owned(value));
    }
    if (request.member_epoch == 0) {
      if (request.rebalance_timeout_ms == -1) request.rebalance_timeout_ms = 30'000;
      if (!request.topic_partitions) request.topic_partitions.emplace();
    }
    const auto response = shard_.heartbeat(request, version);
    if (!response) {
      trace_ += "  no answer\n";
      return;
    }
    if (response->error_code == 0) epochs_[member] = std::max(response->member_epoch, 0);
    trace_ += "  ";
    protocol::JsonPrinter printer(trace_);
    response->print(printer, version);
    trace_ += "\n";
  }

  TopicPartitions owned(const std::string& text) const {
    TopicPartitions partitions;
    for (const auto& topic : split(text, '/')) {
      const auto parts = split(topic, ':');
      for (const auto& partition : split(parts.at(1), ','))
        partitions[shard_.image().topic(parts[0])->id].push_back(std::stoi(partition));
    }
    return partitions;
  }

  void describe() {
    auto [reply, answer] = reply_and_answer<ConsumerProtocol::DescribedGroup>();
    shard_.runner.carry_out(shard_.runner.shard().describe_consumer_group("g", std::move(reply)));
    trace_ += "  ";
    protocol::JsonPrinter printer(trace_);
    answer->response().print(printer, 1);
    trace_ += "\n";
  }

  void show_records() {
    for (; shown_ < shard_.runner.log().size(); ++shown_) {
      const Record& record = shard_.runner.log()[shown_].record;
      protocol::Reader key(record.key);
      using namespace protocol;
      switch (decode_coordinator_key_type(key).value()) {
        case 3:
          show<ConsumerGroupMetadataKey, ConsumerGroupMetadataValue>("epoch", record);
          break;
        case 5:
          show<ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue>("member", record);
          break;
        case 6:
          show<ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue>(
              "targets", record);
          break;
        case 7:
          show<ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue>("target",
                                                                                                 record);
          break;
        case 8:
          show<ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue>("current",
                                                                                                   record);
          break;
        case 16:
          show<ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue>("regex", record);
          break;
        default:
          trace_ += "  + another record\n";
      }
    }
  }

  template <class Key, class Value>
  void show(std::string_view kind, const Record& record) {
    const auto key = protocol::decode_coordinator_key<Key>(record.key).value();
    trace_.append("  + ").append(kind);
    if constexpr (requires { key.member_id; }) trace_.append(" ").append(key.member_id.view());
    if constexpr (requires { key.regular_expression; })
      trace_.append(" ").append(key.regular_expression.view());
    trace_ += " ";
    if (record.value) {
      protocol::JsonPrinter printer(trace_);
      protocol::decode_coordinator_value<Value>(*record.value).value().print(printer, 0);
    } else {
      trace_ += "gone";
    }
    trace_ += "\n";
  }

  ConsumerShard shard_;
  std::map<std::string, int32_t> epochs_;
  std::size_t shown_ = 0;
  std::string trace_;
};

TEST(ConsumerTranscripts, each_scenario_gives_its_trace) {
  std::size_t scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(BARNABAS_SOURCE_DIR) /
                                                               "coordinator/testdata/consumer")) {
    if (entry.path().extension() != ".txt") continue;
    ++scenarios;
    SCOPED_TRACE(entry.path().filename());
    std::ifstream scenario(entry.path());
    const std::string trace = Transcript().run(scenario);
    const auto path = std::filesystem::path(entry.path()).replace_extension(".trace");
    if (std::getenv("BARNABAS_UPDATE_TRACES") != nullptr) std::ofstream(path) << trace;
    std::ostringstream expected;
    expected << std::ifstream(path).rdbuf();
    EXPECT_EQ(trace, expected.str());
  }
  EXPECT_GT(scenarios, 0u);
}

}  // namespace
}  // namespace barnabas::coordinator::testing
