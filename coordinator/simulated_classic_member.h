#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/shard_test_support.h"
#include "coordinator/simulation_dice.h"

namespace barnabas::coordinator::testing {

/// What the members of the classic protocol in a simulation share. One group, "g".
struct ClassicSurroundings {
  GroupShardRunner& runner;
  Dice& dice;
  /// Somebody who waits is answered by then.
  std::chrono::milliseconds answered_within;
  bool calm = false;  ///< from now on nobody misbehaves
  std::vector<std::shared_ptr<const void>> requests = {};
};

/// A client of the classic protocol: joins, fetches its share or makes those of all, sends heartbeats, and
/// obeys what it is told. It lives tick by tick, and may die, sleep, lose patience, and leave. What it says
/// to others of its kind, and what it does with its share, is for those who derive from it. Not moved, not
/// destroyed while the shard is there: answers on their way know it.
class SimulatedClassicMember {
 public:
  static constexpr std::chrono::milliseconds session_timeout{10'000};
  static constexpr std::chrono::milliseconds rebalance_timeout{20'000};

  SimulatedClassicMember(ClassicSurroundings& surroundings, std::string name, bool is_static)
      : around_(surroundings), name_(std::move(name)), is_static_(is_static) {}
  SimulatedClassicMember(const SimulatedClassicMember&) = delete;
  SimulatedClassicMember& operator=(const SimulatedClassicMember&) = delete;
  virtual ~SimulatedClassicMember() = default;

  void live();
  bool is_settled(int32_t generation) const { return phase_ == Phase::member && generation_ == generation; }
  const std::string& name() const { return name_; }
  const std::string& member_id() const { return member_id_; }
  int32_t generation() const { return generation_; }

 protected:
  struct Named {
    std::string name;
    protocol::Bytes bytes;  ///< owns
  };

  /// The ways to share out that it speaks, with what it says about itself.
  virtual std::vector<Named> protocols() = 0;
  /// It leads: everybody's share, by the members' ids. `members` is what they say about themselves.
  virtual std::vector<Named> share_out(const std::vector<Named>& members) = 0;
  /// An answer leaves the coordinator, which may be long before the client reads it.
  virtual void join_left(const protocol::JoinGroupResponse& /*response*/) {}
  virtual void share_left(int32_t /*generation*/, std::string_view /*share*/) {}
  /// It is about to join again.
  virtual void before_join() {}
  virtual void joined() {}
  /// False: it joins again at once.
  virtual bool take(ByteView /*share*/) { return true; }
  /// It is no member any more, and has nothing.
  virtual void lost() {}
  virtual void join_refused_with(protocol::ErrorCode error);
  /// True: it does nothing else in this tick.
  virtual bool misbehave(Instant now);

  /// Its process ends, and is started again by then.
  void start_again(Instant at);
  void join_again() { phase_ = Phase::outside; }
  void leave();
  bool is_member() const { return phase_ == Phase::member; }
  bool is_static() const { return is_static_; }
  void pause(Instant until) { next_ = until; }
  RequestContext context(int16_t version) const {
    return {.version = version, .client_id = name_, .client_host = "/h", .now = around_.runner.now()};
  }
  ClassicSurroundings& around() { return around_; }

 private:
  enum class Phase { outside, joined, member };

  void forget_membership();
  template <class Request, class Ask, class Told>
  AnswerPtr<typename Request::Response> ask(Request request, Ask ask, Told told);
  template <class Response>
  bool has_come(AnswerPtr<Response>& answer, Instant now);
  void join();
  void continue_join(Instant now);
  void sync();
  void continue_sync(Instant now);
  void heartbeat();
  void continue_heartbeat(Instant now);
  void obey(protocol::ErrorCode error, Instant now);

  ClassicSurroundings& around_;
  const std::string name_;
  const bool is_static_;
  Phase phase_ = Phase::outside;
  std::string member_id_;
  std::string protocol_;
  int32_t generation_ = -1;
  std::vector<Named> listed_;
  Instant next_{};
  Instant asleep_until_{};
  Instant asked_at_{};
  AnswerPtr<protocol::JoinGroupResponse> joining_;
  AnswerPtr<protocol::SyncGroupResponse> syncing_;
  AnswerPtr<protocol::HeartbeatResponse> beating_;
};

}  // namespace barnabas::coordinator::testing
