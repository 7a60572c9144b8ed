// Members of a classic group come, go, die, fall asleep and come too late, while records are refused, answers
// wait for the disk and the coordinator crashes. BARNABAS_SEED=17 runs one seed, BARNABAS_SEEDS=5000 many.
#include <gtest/gtest.h>

#include <random>

#include "base/test_seeds.h"
#include "coordinator/shard_test_support.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AnswerPtr;
using testing::GroupShardRunner;

constexpr milliseconds tick{250};
constexpr milliseconds session_timeout{10'000};
constexpr milliseconds rebalance_timeout{20'000};
constexpr milliseconds durable_within{2'000};
/// Somebody who waits is answered by then: a rebalance ends with whoever has come, and so does a wait for
/// shares; nobody who waits is made to wait for another one. Then the disk; the rest is what ticks and
/// retries take.
constexpr milliseconds answered_within = rebalance_timeout + durable_within + seconds(1);

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t many) { return below(many) == 0; }
  milliseconds up_to(milliseconds most) {
    return milliseconds(below(static_cast<std::size_t>(most.count())));
  }

 private:
  std::mt19937_64 random_;
};

/// "b" of "b-<uuid>": who a member id was made for.
std::string owner_of(std::string_view member_id) {
  return std::string(member_id.substr(0, member_id.find('-')));
}

/// What clients were told, and what must be true of it all.
class Ledger {
 public:
  /// A JoinGroup was answered with a generation. Unless the coordinator crashes before its shares are kept, a
  /// generation has one leader and one protocol.
  void joined(const protocol::JoinGroupResponse& response) {
    const int32_t generation = response.generation_id;
    EXPECT_GE(generation, settled_) << "a generation went back";
    EXPECT_GE(generation, newest_) << "a generation went back without a crash";
    newest_ = generation;
    const auto said = std::pair(owner_of(response.leader), response.protocol_name->str());
    EXPECT_EQ(generations_.try_emplace(generation, said).first->second, said)
        << "of generation " << generation;
  }
  /// A SyncGroup was answered with a share: all shares of a generation come from one decision of its leader,
  /// also when the coordinator has crashed since.
  void synced(int32_t generation, std::string_view share, const std::string& client) {
    EXPECT_GE(generation, settled_) << "a generation went back";
    settled_ = std::max(settled_, generation);
    if (share.empty()) return;
    const std::size_t colon = share.find(':');
    EXPECT_EQ(share.substr(colon + 1), client) << "somebody else's share";
    const std::string decision(share.substr(0, colon));
    EXPECT_EQ(decisions_.try_emplace(generation, decision).first->second, decision)
        << "two decisions about generation " << generation;
  }
  int32_t newest() const { return newest_; }
  void crashed() {
    newest_ = settled_;
    std::erase_if(generations_, [this](const auto& known) { return known.first > settled_; });
  }

 private:
  int32_t newest_ = 0;
  int32_t settled_ = 0;  ///< the newest of which somebody got a share
  std::map<int32_t, std::pair<std::string, std::string>> generations_;
  std::map<int32_t, std::string> decisions_;
};

/// The group as all clients share it.
struct World {
  explicit World(uint64_t seed)
      : dice(seed),
        size_max(dice.one_in(4) ? 3 : 1'000),
        runner([this](ShardEnvironment& environment) { environment.settings.size_max = size_max; }) {}
  Dice dice;
  std::size_t size_max;
  GroupShardRunner runner;
  Ledger ledger;
  int decisions = 0;
  bool calm = false;  ///< from now on nobody misbehaves
  std::vector<std::shared_ptr<const void>> requests;

  RequestContext context(const std::string& client, int16_t version) const {
    return {.version = version, .client_id = client, .client_host = "/h", .now = runner.now()};
  }
};

class Client {
 public:
  Client(World& world, std::string name, bool is_static)
      : world_(world), name_(std::move(name)), is_static_(is_static) {}

  void live() {
    const Instant now = world_.runner.now().instant;
    if (now < asleep_until_) return;
    if (!world_.calm && misbehave(now)) return;
    if (joining_) return continue_join(now);
    if (syncing_) return continue_sync(now);
    if (beating_) return continue_heartbeat(now);
    if (now < next_) return;
    switch (phase_) {
      case Phase::outside:
        return join();
      case Phase::joined:
        return sync();
      case Phase::member:
        return heartbeat();
    }
  }
  bool is_settled(int32_t generation) const { return phase_ == Phase::member && generation_ == generation; }
  const std::string& member_id() const { return member_id_; }
  int32_t generation() const { return generation_; }

 private:
  enum class Phase { outside, joined, member };

  bool misbehave(Instant now) {
    Dice& dice = world_.dice;
    if (dice.one_in(400)) {  // its process dies, and is started again some time later
      start_again(now + dice.up_to(seconds(40)));
      return true;
    }
    if (dice.one_in(300)) {
      asleep_until_ = now + dice.up_to(seconds(25));
      return true;
    }
    if (phase_ == Phase::member && dice.one_in(150)) speaks_ = dice.below(3);
    if (phase_ == Phase::member && dice.one_in(150)) phase_ = Phase::outside;
    if (dice.one_in(300)) {
      leave();
      start_again(now + dice.up_to(seconds(10)));
      return true;
    }
    return false;
  }

  void start_again(Instant at) {
    joining_.reset();
    syncing_.reset();
    beating_.reset();
    phase_ = Phase::outside;
    member_id_.clear();
    next_ = at;
  }

  void forget_membership() {
    member_id_.clear();
    phase_ = Phase::outside;
  }

  /// `told` hears of the response when it leaves, which may be long before the client reads it.
  template <class Request, class Ask, class Told>
  AnswerPtr<typename Request::Response> ask(Request request, Ask ask, Told told) {
    using Response = typename Request::Response;
    auto kept = std::make_shared<const Request>(std::move(request));
    world_.requests.push_back(kept);
    auto [to_client, answer] = testing::reply_and_answer<Response>();
    Reply<Response> reply(
        [told, to_client = std::move(to_client)](std::expected<Response, ErrorCode> content) mutable {
          if (!content) return to_client.with_error(content.error())(ErrorCode::none);
          told(*content);
          to_client.with(std::move(*content))(ErrorCode::none);
        });
    asked_at_ = world_.runner.now().instant;
    world_.runner.carry_out(ask(*kept, std::move(reply)));
    return answer;
  }

  /// Whether there is something to read. A connection that closed means: try again.
  template <class Response>
  bool has_come(AnswerPtr<Response>& answer, Instant now) {
    if (answer->came() && answer->refused() == ErrorCode::none) return true;
    if (answer->dropped || answer->came()) {
      phase_ = Phase::outside;
      next_ = now + world_.dice.up_to(seconds(2));
      answer.reset();
      return false;
    }
    EXPECT_LT(now - asked_at_, answered_within) << name_ << " waits for ever";
    if (now - asked_at_ >= answered_within || (!world_.calm && world_.dice.one_in(200))) {
      phase_ = Phase::outside;  // it loses patience, and with it the connection
      answer.reset();
    }
    return false;
  }

  void join() {
    protocol::JoinGroupRequest request;
    request.group_id = "g";
    request.member_id = member_id_;
    if (is_static_) request.group_instance_id = name_;
    request.session_timeout_ms = static_cast<int32_t>(session_timeout.count());
    request.rebalance_timeout_ms = static_cast<int32_t>(rebalance_timeout.count());
    request.protocol_type = "consumer";
    static const std::vector<std::vector<std::string>> ways{
        {"range", "sticky"}, {"sticky", "range"}, {"sticky", "own", "range"}};
    for (const std::string& way : ways[speaks_]) request.protocols.emplace_back().name = way;
    joining_ = ask(
        std::move(request),
        [this](const auto& asked, auto reply) {
          const auto version = static_cast<int16_t>(is_static_ || world_.dice.one_in(2) ? 9 : 3);
          return world_.runner.shard().join_group(world_.context(name_, version), asked, std::move(reply));
        },
        [this](const protocol::JoinGroupResponse& response) {
          if (response.error_code == 0) world_.ledger.joined(response);
        });
  }

  void continue_join(Instant now) {
    if (!has_come(joining_, now)) return;
    const protocol::JoinGroupResponse response = std::exchange(joining_, nullptr)->response();
    switch (static_cast<ErrorCode>(response.error_code)) {
      case ErrorCode::none:
        member_id_ = response.member_id.str();
        generation_ = response.generation_id;
        protocol_ = response.protocol_name->str();
        listed_.clear();
        if (!response.skip_assignment)
          for (const auto& member : response.members) listed_.push_back(member.member_id.str());
        EXPECT_EQ(owner_of(member_id_), name_);
        phase_ = Phase::joined;
        break;
      case ErrorCode::member_id_required:
        member_id_ = response.member_id.str();
        break;
      case ErrorCode::fenced_instance_id:
        EXPECT_TRUE(is_static_);
        start_again(now + seconds(1));
        break;
      case ErrorCode::unknown_member_id:
        forget_membership();
        break;
      case ErrorCode::group_max_size_reached:
        forget_membership();
        next_ = now + world_.dice.up_to(seconds(5));
        break;
      case ErrorCode::rebalance_in_progress:
        break;
      case ErrorCode::not_coordinator:
        next_ = now + world_.dice.up_to(seconds(2));
        break;
      default:
        ADD_FAILURE() << "join was answered with " << response.error_code;
    }
  }

  void sync() {
    protocol::SyncGroupRequest request;
    request.group_id = "g";
    request.member_id = member_id_;
    if (is_static_) request.group_instance_id = name_;
    request.generation_id = generation_;
    request.protocol_type = "consumer";
    request.protocol_name = protocol_;
    const std::string decision = std::to_string(++world_.decisions);
    for (const std::string& member : listed_) {
      auto& share = request.assignments.emplace_back();
      share.member_id = member;
      share.assignment = protocol::Bytes::of_text(decision + ":" + owner_of(member));
    }
    syncing_ = ask(
        std::move(request),
        [this](const auto& asked, auto reply) {
          return world_.runner.shard().sync_group(world_.context(name_, 5), asked, std::move(reply));
        },
        [this, generation = generation_](const protocol::SyncGroupResponse& response) {
          if (response.error_code == 0)
            world_.ledger.synced(generation, as_text(response.assignment.view()), name_);
        });
  }

  void continue_sync(Instant now) {
    if (!has_come(syncing_, now)) return;
    const protocol::SyncGroupResponse response = std::exchange(syncing_, nullptr)->response();
    if (response.error_code == 0) {
      phase_ = Phase::member;
      next_ = now + seconds(3);
    } else {
      obey(static_cast<ErrorCode>(response.error_code), now);
    }
  }

  void heartbeat() {
    protocol::HeartbeatRequest request;
    request.group_id = "g";
    request.member_id = member_id_;
    if (is_static_) request.group_instance_id = name_;
    request.generation_id = generation_;
    beating_ = ask(
        std::move(request),
        [this](const auto& asked, auto reply) {
          return world_.runner.shard().heartbeat(world_.context(name_, 4), asked, std::move(reply));
        },
        [](const auto&) {});
  }

  void continue_heartbeat(Instant now) {
    if (!has_come(beating_, now)) return;
    const auto error = static_cast<ErrorCode>(std::exchange(beating_, nullptr)->response().error_code);
    next_ = now + seconds(3);
    if (error != ErrorCode::none) obey(error, now);
  }

  void obey(ErrorCode error, Instant now) {
    phase_ = Phase::outside;
    next_ = now + (world_.dice.one_in(3) ? world_.dice.up_to(seconds(8)) : tick);
    if (error == ErrorCode::fenced_instance_id) return start_again(now + seconds(1));
    if (error == ErrorCode::unknown_member_id || error == ErrorCode::illegal_generation)
      return forget_membership();
    EXPECT_TRUE(error == ErrorCode::rebalance_in_progress || error == ErrorCode::inconsistent_group_protocol)
        << static_cast<int>(error);
  }

  void leave() {
    if (member_id_.empty()) return;
    protocol::LeaveGroupRequest request;
    request.group_id = "g";
    auto& member = request.members.emplace_back();
    member.member_id = member_id_;
    if (is_static_) member.group_instance_id = name_;
    ask(
        std::move(request),
        [this](const auto& asked, auto reply) {
          return world_.runner.shard().leave_group(world_.context(name_, 5), asked, std::move(reply));
        },
        [](const auto&) {});
  }

  World& world_;
  const std::string name_;
  const bool is_static_;
  std::size_t speaks_ = 0;
  Phase phase_ = Phase::outside;
  std::string member_id_;
  std::string protocol_;
  int32_t generation_ = -1;
  std::vector<std::string> listed_;
  Instant next_{};
  Instant asleep_until_{};
  Instant asked_at_{};
  AnswerPtr<protocol::JoinGroupResponse> joining_;
  AnswerPtr<protocol::SyncGroupResponse> syncing_;
  AnswerPtr<protocol::HeartbeatResponse> beating_;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : world_(seed) {
    for (const char* name : {"a", "b", "c", "d"}) clients_.emplace_back(world_, name, false);
    for (const char* name : {"s", "t"}) clients_.emplace_back(world_, name, true);
  }

  void run() {
    for (int i = 0; i < 1'500; ++i) {
      disturb();
      step();
      if (::testing::Test::HasFailure()) return;
    }
    world_.calm = true;
    world_.runner.refuse_appends(ErrorCode::none);
    world_.runner.durable_at_once(true);
    // The longest that anything is waited for: a newcomer whose client lost patience.
    for (milliseconds passed{0}; passed < std::chrono::minutes(8); passed += tick) step();
    expect_settled();
  }

 private:
  void step() {
    world_.runner.advance(tick);
    for (Client& client : clients_) client.live();
  }

  void disturb() {
    Dice& dice = world_.dice;
    if (dice.one_in(200)) world_.runner.refuse_appends(ErrorCode::not_coordinator);
    if (dice.one_in(10)) world_.runner.refuse_appends(ErrorCode::none);
    const Instant now = world_.runner.now().instant;
    if (dice.one_in(20)) {
      world_.runner.durable_at_once(false);
      durable_by_ = std::min(durable_by_, now + durable_within);
    }
    if (dice.one_in(6) || now >= durable_by_) {
      world_.runner.durable_at_once(true);
      durable_by_ = Instant::max();
    }
    if (dice.one_in(150)) {
      const std::size_t durable = world_.runner.durable();
      const std::size_t all = world_.runner.log().size();
      world_.runner.crash(durable + dice.below(all - durable + 1));
      world_.ledger.crashed();
    }
  }

  void expect_settled() {
    auto [reply, answer] = testing::reply_and_answer<ClassicProtocol::DescribedGroup>();
    world_.runner.carry_out(
        world_.runner.shard().describe_group(world_.runner.context(6), "g", std::move(reply)));
    const auto& group = answer->response();
    EXPECT_EQ(group.group_state, "Stable");
    std::size_t settled = 0;
    for (const Client& client : clients_) {
      const bool is_listed = std::ranges::any_of(
          group.members, [&](const auto& member) { return member.member_id == client.member_id(); });
      if (!is_listed) continue;
      ++settled;
      EXPECT_TRUE(client.is_settled(world_.ledger.newest()));
    }
    EXPECT_EQ(settled, group.members.size()) << "a member that is nobody";
    EXPECT_EQ(settled, std::min(clients_.size(), world_.size_max));
  }

  World world_;
  std::vector<Client> clients_;
  Instant durable_by_ = Instant::max();
};

TEST(ClassicSimulation, a_group_comes_to_rest_whatever_happened_to_it) {
  const TestSeeds seeds = test_seeds(60);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace barnabas::coordinator
