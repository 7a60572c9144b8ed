#include "coordinator/classic_scenario.h"

#include "protocol/messages/consumer_protocol_subscription.h"
#include "protocol/messages/group_metadata_key.h"
#include "protocol/messages/group_metadata_value.h"

namespace barnabas::coordinator::testing {

using std::chrono::milliseconds;

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string code_text(int16_t number) {
  const auto code = protocol::error_code(number);
  return code ? std::string(protocol::name(*code)) : std::to_string(number);
}

std::string text_of(const protocol::Bytes& bytes) {
  return std::string(as_text(bytes.view()));
}

std::string text_of(const std::optional<protocol::String>& text) {
  return text ? text->str() : "null";
}

std::optional<protocol::String> wire(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return protocol::String(*text);
}

protocol::Bytes subscription(const std::string& topics) {
  protocol::ConsumerProtocolSubscription said;
  for (const std::string& topic : split(topics, '+')) said.topics.emplace_back(topic);
  protocol::Writer writer;
  writer.int16(0);
  said.encode(writer, 0);
  return protocol::Bytes(writer.bytes());
}

}  // namespace

std::string ClassicScenario::Step::option(const std::string& name, std::string otherwise) const {
  return text(name, std::move(otherwise)).value_or("");
}

std::optional<std::string> ClassicScenario::Step::text(const std::string& name,
                                                       std::optional<std::string> otherwise) const {
  const auto found = options.find(name);
  if (found == options.end()) return otherwise;
  if (found->second == "none") return std::nullopt;
  return found->second;
}

int32_t ClassicScenario::Step::number(const std::string& name, int32_t otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::stoi(found->second);
}

std::string ClassicScenario::trace_of(const std::string& scenario) {
  ClassicScenario played;
  std::istringstream in(scenario);
  for (std::string line; std::getline(in, line);) played.play(line);
  played.is_over_ = true;
  played.runner_.reset();
  return played.trace_.str();
}

void ClassicScenario::begin() {
  if (runner_) return;
  runner_ = std::make_unique<GroupShardRunner>(
      [this](ShardEnvironment& environment) { environment.settings = settings_; });
  start_ = runner_->now().instant;
}

void ClassicScenario::play(const std::string& line) {
  trace_ << "> " << line << "\n";
  const std::vector<std::string> words = split(line.substr(0, line.find('#')), ' ');
  if (words.empty()) return;
  Step step;
  const bool has_client =
      words.size() > 1 && (words[1] == "join" || words[1] == "sync" || words[1] == "forget" ||
                           words[1] == "heartbeat" || words[1] == "leave");
  if (has_client) step.who = words[0];
  step.what = words[has_client ? 1 : 0];
  for (std::size_t i = has_client ? 2 : 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals != std::string::npos)
      step.options[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    else
      step.words.push_back(words[i]);
  }
  if (step.what == "set") return set(step);
  begin();
  has_client ? play_client(step) : play_world(step);
  note_log();
  note_state();
}

void ClassicScenario::set(const Step& step) {
  settings_.size_max = static_cast<std::size_t>(step.number("size_max", 1'000));
}

void ClassicScenario::play_client(const Step& step) {
  if (step.what == "join") join(step);
  if (step.what == "sync") sync(step);
  if (step.what == "heartbeat") heartbeat(step);
  if (step.what == "leave") leave(step);
  if (step.what == "forget") clients_[step.who] = {};
}

void ClassicScenario::play_world(const Step& step) {
  if (step.what == "describe")
    describe(step);
  else if (step.what == "wait")
    wait(step);
  else if (step.what == "refuse")
    runner_->refuse_appends(*protocol::error_code(static_cast<int16_t>(std::stoi(step.words.at(0)))));
  else if (step.what == "accept")
    runner_->refuse_appends(protocol::ErrorCode::none);
  else if (step.what == "hold")
    runner_->durable_at_once(false);
  else if (step.what == "release")
    runner_->durable_at_once(true);
  else if (step.what == "limit")
    settings_.size_max = std::stoull(step.words.at(0));
  else if (step.what == "crash")
    runner_->crash();
  else if (step.what == "unload")
    runner_->carry_out(runner_->shard().unload());
  else
    trace_ << "  ? unknown step\n";
}

template <class Request, class Ask, class Told>
void ClassicScenario::ask(const Step& step, Request request, Ask ask, Told told) {
  using Response = typename Request::Response;
  auto kept = std::make_shared<Request>(std::move(request));
  requests_.push_back(kept);
  struct Fate {  // notes when a reply goes away unanswered
    ClassicScenario* to;
    std::string who;
    Fate(ClassicScenario* scenario, std::string text) : to(scenario), who(std::move(text)) {}
    Fate(Fate&& other) noexcept : to(std::exchange(other.to, nullptr)), who(std::move(other.who)) {}
    Fate& operator=(Fate&&) = delete;
    ~Fate() {
      if (to != nullptr && !to->is_over_) to->note(who + ": closed");
    }
  };
  Reply<Response> reply([this, told, fate = Fate(this, step.who + " " + step.what)](
                            std::expected<Response, protocol::ErrorCode> content) mutable {
    fate.to = nullptr;
    if (content)
      told(*content);
    else
      note(fate.who + ": request refused with " + code_text(protocol::to_wire(content.error())));
  });
  runner_->carry_out(ask(*kept, std::move(reply)));
}

RequestContext ClassicScenario::context(const Step& step, int16_t version) const {
  return {.version = version, .client_id = step.who, .client_host = "/10.0.0.1", .now = runner_->now()};
}

void ClassicScenario::join(const Step& step) {
  Client& client = clients_[step.who];
  client.instance_id = step.text("instance", client.instance_id);
  protocol::JoinGroupRequest request;
  request.group_id = step.option("group", group_);
  request.member_id = step.option("member", client.member_id);
  request.group_instance_id = wire(client.instance_id);
  request.protocol_type = step.option("type", "consumer");
  request.session_timeout_ms = step.number("session", 10'000);
  request.rebalance_timeout_ms = step.number("rebalance", 60'000);
  for (const std::string& name : split(step.option("protocols", "range"), '+')) {
    auto& said = request.protocols.emplace_back();
    said.name = name;
    said.metadata = subscription(step.option("topics", "t"));
  }
  const auto from = context(step, static_cast<int16_t>(step.number("v", 9)));
  const auto told = [this, who = step.who](const protocol::JoinGroupResponse& response) {
    Client& its = clients_[who];
    std::string text =
        who + " join: " + code_text(response.error_code) + " member=" + response.member_id.str();
    const auto error = protocol::error_code(response.error_code);
    if (error == protocol::ErrorCode::none || error == protocol::ErrorCode::member_id_required)
      its.member_id = response.member_id.str();
    if (error == protocol::ErrorCode::none) {
      its.generation = response.generation_id;
      its.protocol_type = response.protocol_type->str();
      its.protocol_name = response.protocol_name->str();
      text += " generation=" + std::to_string(response.generation_id) +
              " protocol=" + text_of(response.protocol_type) + "/" + text_of(response.protocol_name) +
              " leader=" + response.leader.str();
      if (response.skip_assignment) text += " skip_assignment";
      for (const auto& member : response.members) {
        text += " [" + member.member_id.str();
        if (member.group_instance_id) text += " instance=" + member.group_instance_id->str();
        text += "]";
      }
    }
    note(text);
  };
  ask(
      step, std::move(request),
      [&](const auto& asked, auto reply) {
        return runner_->shard().join_group(from, asked, std::move(reply));
      },
      told);
}

void ClassicScenario::sync(const Step& step) {
  const Client& client = clients_[step.who];
  const auto version = static_cast<int16_t>(step.number("v", 5));
  protocol::SyncGroupRequest request;
  request.group_id = step.option("group", group_);
  request.member_id = step.option("member", client.member_id);
  request.group_instance_id = wire(step.text("instance", client.instance_id));
  request.generation_id = step.number("gen", client.generation);
  if (version >= 5) {
    request.protocol_type = wire(step.text("type", client.protocol_type));
    request.protocol_name = wire(step.text("name", client.protocol_name));
  }
  for (const auto& [name, share] : step.options) {
    const auto other = clients_.find(name);
    if (other == clients_.end()) continue;
    auto& assigned = request.assignments.emplace_back();
    assigned.member_id = other->second.member_id;
    assigned.assignment = protocol::Bytes::of_text(share);
  }
  const auto told = [this, who = step.who](const protocol::SyncGroupResponse& response) {
    std::string text = who + " sync: " + code_text(response.error_code);
    if (response.error_code == 0)
      text += " protocol=" + text_of(response.protocol_type) + "/" + text_of(response.protocol_name) +
              " share=\"" + text_of(response.assignment) + "\"";
    note(text);
  };
  ask(
      step, std::move(request),
      [&](const auto& asked, auto reply) {
        return runner_->shard().sync_group(context(step, version), asked, std::move(reply));
      },
      told);
}

protocol::HeartbeatRequest ClassicScenario::heartbeat_of(const Step& step, const Client& client) const {
  protocol::HeartbeatRequest request;
  request.group_id = step.option("group", group_);
  request.member_id = step.option("member", client.member_id);
  request.group_instance_id = wire(step.text("instance", client.instance_id));
  request.generation_id = step.number("gen", client.generation);
  return request;
}

void ClassicScenario::heartbeat(const Step& step) {
  const auto told = [this, who = step.who](const protocol::HeartbeatResponse& response) {
    note(who + " heartbeat: " + code_text(response.error_code));
  };
  ask(
      step, heartbeat_of(step, clients_[step.who]),
      [&](const auto& asked, auto reply) {
        return runner_->shard().heartbeat(context(step, 4), asked, std::move(reply));
      },
      told);
}

void ClassicScenario::wait(const Step& step) {
  static constexpr milliseconds interval{3'000};
  milliseconds left{std::stoi(step.words.at(0))};
  const std::vector<std::string> alive(step.words.begin() + 1, step.words.end());
  while (!alive.empty() && left > interval) {
    runner_->advance(interval);
    left -= interval;
    for (const std::string& who : alive) {
      const auto told = [this, who](const protocol::HeartbeatResponse& response) {
        const int16_t before = std::exchange(clients_[who].last_heartbeat, response.error_code);
        if (before != response.error_code) note(who + " heartbeat: " + code_text(response.error_code));
      };
      ask(
          step, heartbeat_of({}, clients_[who]),
          [&](const auto& asked, auto reply) {
            return runner_->shard().heartbeat(context(step, 4), asked, std::move(reply));
          },
          told);
    }
  }
  runner_->advance(left);
}

void ClassicScenario::leave(const Step& step) {
  protocol::LeaveGroupRequest request;
  request.group_id = step.option("group", group_);
  const auto version = static_cast<int16_t>(step.number("v", 5));
  std::vector<std::string> leavers = step.words;
  if (leavers.empty()) leavers.push_back(step.who);
  for (const std::string& who : leavers) {
    const Client& client = clients_[who];
    auto& member = request.members.emplace_back();
    member.member_id = step.option("member", client.member_id);
    member.group_instance_id = wire(step.text("instance", client.instance_id));
  }
  if (version < 3) request.member_id = request.members[0].member_id;
  const auto told = [this, who = step.who](const protocol::LeaveGroupResponse& response) {
    std::string text = who + " leave: " + code_text(response.error_code);
    for (const auto& member : response.members)
      text += " [" + member.member_id.str() + " instance=" + text_of(member.group_instance_id) + " " +
              code_text(member.error_code) + "]";
    note(text);
  };
  ask(
      step, std::move(request),
      [&](const auto& asked, auto reply) {
        return runner_->shard().leave_group(context(step, version), asked, std::move(reply));
      },
      told);
}

void ClassicScenario::describe(const Step& step) {
  Reply<ClassicProtocol::DescribedGroup> reply([this](const auto& group) { note(described(*group)); });
  runner_->carry_out(runner_->shard().describe_group(context(step, static_cast<int16_t>(step.number("v", 6))),
                                                     step.words.empty() ? group_ : step.words[0],
                                                     std::move(reply)));
}

std::string ClassicScenario::described(const ClassicProtocol::DescribedGroup& group) const {
  std::string text = "group " + group.group_id.str() + ": " + group.group_state.str() + " " +
                     code_text(group.error_code) + " " + text_of(group.error_message) +
                     " type=" + group.protocol_type.str() + " protocol=" + group.protocol_data.str();
  for (const auto& member : group.members)
    text += " [" + member.member_id.str() + " instance=" + text_of(member.group_instance_id) +
            " client=" + member.client_id.str() + member.client_host.str() +
            " metadata=" + std::to_string(member.member_metadata.size()) + " share=\"" +
            text_of(member.member_assignment) + "\"]";
  return text;
}

// --- writing down

void ClassicScenario::note(const std::string& event) {
  note_log();
  const auto since = std::chrono::duration_cast<milliseconds>(runner_->now().instant - start_);
  trace_ << "  " << since.count() << " " << shortened(event) << "\n";
}

void ClassicScenario::note_log() {
  for (; logged_ < runner_->log().size(); ++logged_) {
    const Record& record = runner_->log()[logged_].record;
    const auto key = protocol::decode_coordinator_key<protocol::GroupMetadataKey>(record.key);
    std::string text = "log: " + key->group.str();
    if (record.value) {
      const auto value = protocol::decode_coordinator_value<protocol::GroupMetadataValue>(*record.value);
      text += " generation=" + std::to_string(value->generation) + " protocol=" + value->protocol_type.str() +
              "/" + text_of(value->protocol) + " leader=" + text_of(value->leader);
      for (const auto& member : value->members)
        text += " [" + member.member_id.str() + " instance=" + text_of(member.group_instance_id) +
                " session=" + std::to_string(member.session_timeout) +
                " rebalance=" + std::to_string(member.rebalance_timeout) + " share=\"" +
                text_of(member.assignment) + "\"]";
    } else {
      text += " removed";
    }
    trace_ << "  " << shortened(text) << "\n";
  }
}

void ClassicScenario::note_state() {
  auto [reply, answer] = reply_and_answer<ClassicProtocol::DescribedGroup>();
  Decision decision = runner_->shard().describe_group(runner_->context(6), group_, std::move(reply));
  for (ReadyReply& ready : decision.replies) ready(protocol::ErrorCode::none);
  const auto& group = answer->response();
  std::string state = group.group_state.str();
  for (const auto& member : group.members) state += " " + member.member_id.str();
  if (state == state_) return;
  state_ = state;
  trace_ << "  = " << shortened(state) << "\n";
}

// "a-00000000-0000-0000-0000-00000000001f" is "a-31".
std::string ClassicScenario::shortened(std::string_view text) const {
  static constexpr std::string_view zeros = "-00000000-0000-0000-0000-";
  std::string result;
  for (std::size_t at; (at = text.find(zeros)) != std::string_view::npos;) {
    result += text.substr(0, at);
    const std::string digits(text.substr(at + zeros.size(), 12));
    result += "-" + std::to_string(std::stoull(digits, nullptr, 16));
    text.remove_prefix(at + zeros.size() + 12);
  }
  return result + std::string(text);
}

}  // namespace barnabas::coordinator::testing
