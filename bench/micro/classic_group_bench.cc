// What a rebalance of a classic group costs its coordinator, without network and disk.
//   classic_group_bench [MEMBERS [PARTITIONS [ROUNDS]]]      default: 1000 members, 4000 partitions, 5 rounds
// Each member should cost the same however many there are, but for what its leader is told.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "coordinator/shard_test_support.h"
#include "protocol/messages/consumer_protocol_subscription.h"

namespace {

using namespace barnabas;
using namespace barnabas::coordinator;

struct Member {
  std::string id;
  testing::AnswerPtr<protocol::JoinGroupResponse> joined;
  protocol::JoinGroupRequest join;
  protocol::SyncGroupRequest sync;
  protocol::HeartbeatRequest heartbeat;
};

class Bench {
 public:
  Bench(std::size_t members, std::size_t partitions)
      : partitions_(partitions), members_(members), runner_([](ShardEnvironment& environment) {
          environment.settings.initial_rebalance_delay = std::chrono::milliseconds(1);
        }) {}

  void round(int number) {
    timed("join", [&] { join_all(number); });
    timed("sync", [&] { sync_all(); });
    timed("heartbeat", [&] { heartbeat_all(); });
  }
  void load() {
    timed("load", [&] { runner_.crash(); });
  }

 private:
  template <class Work>
  void timed(const char* what, Work work) {
    const Instant begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::printf("%-10s %10.0f us  %8.2f us a member\n", what, took.count(),
                took.count() / static_cast<double>(members_.size()));
  }

  template <class Request, class Ask>
  testing::AnswerPtr<typename Request::Response> ask(const Request& request, Ask method) {
    auto [reply, answer] = testing::reply_and_answer<typename Request::Response>();
    runner_.carry_out(
        (runner_.shard().*method)(runner_.context(Request::max_version), request, std::move(reply)));
    return answer;
  }

  // Each round they say something else, so that all must join again.
  void join_all(int number) {
    protocol::ConsumerProtocolSubscription subscription;
    subscription.topics.emplace_back("topic-" + std::to_string(number));
    protocol::Writer writer;
    writer.int16(3);
    subscription.encode(writer, 3);
    for (Member& member : members_) {
      member.join.group_id = "group";
      member.join.protocol_type = "consumer";
      member.join.session_timeout_ms = 45'000;
      member.join.rebalance_timeout_ms = 300'000;
      member.join.protocols.resize(2);
      member.join.protocols[0].name = "range";
      member.join.protocols[1].name = "cooperative-sticky";
      for (auto& said : member.join.protocols) said.metadata = protocol::Bytes(writer.bytes());
      if (member.id.empty()) {
        member.id = ask(member.join, &GroupShard::join_group)->response().member_id.str();
        member.join.member_id = member.id;
      }
      member.joined = ask(member.join, &GroupShard::join_group);
    }
    // The first rebalance waits for newcomers.
    for (int i = 0; i < 1'000'000 && !members_.front().joined->came(); ++i)
      runner_.advance(std::chrono::milliseconds(1));
  }

  void sync_all() {
    const std::vector<std::byte> share(8 * (partitions_ / members_.size() + 1));
    for (Member& member : members_) {
      const auto& joined = member.joined->response();
      member.sync.group_id = "group";
      member.sync.member_id = member.id;
      member.sync.generation_id = joined.generation_id;
      member.sync.protocol_type = joined.protocol_type;
      member.sync.protocol_name = joined.protocol_name;
      member.sync.assignments.clear();
      for (const auto& listed : joined.members)
        member.sync.assignments.push_back({listed.member_id, protocol::Bytes(share), {}});
      ask(member.sync, &GroupShard::sync_group);
    }
  }

  void heartbeat_all() {
    for (Member& member : members_) {
      member.heartbeat.group_id = "group";
      member.heartbeat.member_id = member.id;
      member.heartbeat.generation_id = member.sync.generation_id;
      BARNABAS_ASSERT(ask(member.heartbeat, &GroupShard::heartbeat)->response().error_code == 0);
    }
  }

  std::size_t partitions_;
  std::vector<Member> members_;
  testing::GroupShardRunner runner_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
  const auto members = static_cast<std::size_t>(argument(1, 1'000));
  Bench bench(members, static_cast<std::size_t>(argument(2, 4'000)));
  for (int i = 0; i < argument(3, 5); ++i) bench.round(i);
  bench.load();
  return 0;
}
