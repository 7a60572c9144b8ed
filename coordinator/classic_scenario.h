#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/shard_test_support.h"

namespace barnabas::coordinator::testing {

/// Plays a scenario against a shard and writes down what happens. One step a line, "#" begins a comment:
///
///   set size_max=N                       before anything else
///   CLIENT join [v=9] [member=ID] [instance=ID] [type=consumer] [protocols=range+sticky] [topics=t]
///               [session=10000] [rebalance=60000]
///   CLIENT sync [v=5] [member=ID] [gen=N] [type=T] [name=P] [OTHER=SHARE …]
///   CLIENT heartbeat [member=ID] [gen=N]
///   CLIENT leave [v=5] [member=ID] [instance=ID]      several in one: leave a b …
///   CLIENT forget                        as a process that starts again
///   describe [v=6] [GROUP]
///   wait MILLISECONDS [CLIENT …]         these send heartbeats meanwhile; noted when the answer changes
///   refuse CODE, accept                  appends fail, work again
///   hold, release                        answers wait to be durable
///   limit N                              size_max of the next start
///   crash, unload
///
/// Each request takes group=ID (otherwise g). A client remembers the id, generation and protocol that it was
/// given; "none" is an empty value. In the trace ids are short: a-1 is the first id that was made, for client
/// a.
class ClassicScenario {
 public:
  static std::string trace_of(const std::string& scenario);

 private:
  struct Client {
    std::string member_id;
    std::optional<std::string> instance_id;
    std::optional<std::string> protocol_type;
    std::optional<std::string> protocol_name;
    int32_t generation = -1;
    int16_t last_heartbeat = 0;  ///< answer to the last one while waiting
  };
  struct Step {
    std::string who;
    std::string what;
    std::vector<std::string> words;
    std::map<std::string, std::string> options;  ///< in words as name=value
    std::string option(const std::string& name, std::string otherwise) const;
    std::optional<std::string> text(const std::string& name, std::optional<std::string> otherwise) const;
    int32_t number(const std::string& name, int32_t otherwise) const;
  };

  void begin();
  void play(const std::string& line);
  void play_client(const Step& step);
  void play_world(const Step& step);
  void set(const Step& step);
  void join(const Step& step);
  void sync(const Step& step);
  void heartbeat(const Step& step);
  void leave(const Step& step);
  void describe(const Step& step);
  void wait(const Step& step);

  template <class Request, class Ask, class Told>
  void ask(const Step& step, Request request, Ask ask, Told told);
  protocol::HeartbeatRequest heartbeat_of(const Step& step, const Client& client) const;
  RequestContext context(const Step& step, int16_t version) const;
  void note(const std::string& event);
  void note_log();
  void note_state();
  std::string described(const ClassicProtocol::DescribedGroup& group) const;
  std::string shortened(std::string_view text) const;

  std::string group_ = "g";
  GroupSettings settings_;
  std::unique_ptr<GroupShardRunner> runner_;
  std::map<std::string, Client> clients_;
  std::vector<std::shared_ptr<void>> requests_;  ///< live as long as answers may borrow from them
  std::size_t logged_ = 0;
  std::string state_;
  bool is_over_ = false;
  Instant start_;
  std::ostringstream trace_;
};

}  // namespace barnabas::coordinator::testing
