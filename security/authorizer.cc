#include "security/authorizer.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"

namespace barnabas::security {
namespace {

using metadata::AclEntry;
using metadata::AclOperation;
using metadata::AclResourceType;

constinit Logger log_{"kafka.authorizer.logger"};

bool is_true(std::string_view text) {
  constexpr std::string_view word = "true";
  return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
}

std::string describe(const AclEntry& entry) {
  const auto& rule = entry.rule;
  return std::string(name_of(rule.permission)) + " " + std::string(name_of(rule.operation)) + " " +
         log_text(rule.principal) + " from " + log_text(rule.host) + " on " +
         std::string(name_of(rule.resource_type)) + ":" + std::string(name_of(rule.pattern_type)) + ":" +
         log_text(rule.resource_name);
}

/// One principal at one address, or those few that share its place, may fill so much of the log; the others
/// are heard all the same.
constexpr std::size_t limiter_count = 64;
constexpr uint32_t lines_max = 20;
constexpr std::chrono::seconds lines_interval{10};

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

Result<AuthorizerOptions> authorizer_options(const metadata::StaticConfig& config) {
  AuthorizerOptions options;
  if (const auto* given = config.given("super.users")) {
    std::string_view rest = given->value;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(';'), rest.size());
      const std::string_view user = trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (user.empty()) continue;
      if (!user.contains(':'))
        return fail(ErrorKind::invalid, given->origin + ": super.users: expected a string in format " +
                                            "principalType:principalName but got " + std::string(user));
      options.super_users.emplace(user);
    }
  }
  if (const auto* given = config.given("allow.everyone.if.no.acl.found"))
    options.allow_if_no_acl_found = is_true(trimmed(given->value));
  return options;
}

Authorizer::Authorizer(AuthorizerOptions options)
    : options_(std::move(options)), number_(next_number()), index_(std::make_shared<const AclIndex>()) {
  for (std::size_t i = 0; i < limiter_count; ++i)
    limiters_.emplace_back(lines_max, std::chrono::milliseconds(lines_interval));
}

void Authorizer::apply(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image) {
  if (!changes.all && changes.access_control.empty()) return;
  auto next = std::make_shared<AclIndex>();
  if (changes.all) {
    for (const auto& entry : image.access_control.by_id) next->add(entry);
  } else {
    *next = *current();
    for (const auto& change : changes.access_control) {
      if (change.before != nullptr) next->remove(change.before);
      if (change.after != nullptr) next->add(change.after);
    }
  }
  const std::lock_guard lock(mutex_);
  index_ = std::move(next);
  version_.fetch_add(1, std::memory_order_release);
}

/// Each thread keeps the index that it saw last, and looks for another one when the version says so. Kept
/// until the thread's next question: an index shares with the next one what did not change.
const std::shared_ptr<const AclIndex>& Authorizer::current() const {
  struct Seen {
    uint64_t number = 0;
    uint64_t version = 0;
    std::shared_ptr<const AclIndex> index;
  };
  thread_local Seen seen;
  if (seen.number != number_ || seen.version != version_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    seen = {number_, version_.load(std::memory_order_relaxed), index_};
  }
  return seen.index;
}

std::size_t Authorizer::rule_count() const {
  return current()->size();
}

Authorizer::Decision Authorizer::decide(const Requester& who, AclOperation operation, AclResourceType type,
                                        std::string_view name, const AclIndex& index) const {
  if (options_.super_users.contains(who.principal)) return {true, nullptr, true};
  const auto found = index.find({who.principal, who.host, operation, type, name});
  if (found.denied_by != nullptr) return {false, found.denied_by, false};
  if (found.allowed_by != nullptr) return {true, found.allowed_by, false};
  return {!found.has_rules && options_.allow_if_no_acl_found, nullptr, false};
}

bool Authorizer::authorize(const Requester& who, AclOperation operation, AclResourceType type,
                           std::string_view name, Audit audit, std::size_t references) const {
  const Decision decision = decide(who, operation, type, name, *current());
  note(who, operation, type, name, decision, audit, references);
  return decision.allowed;
}

bool Authorizer::authorize_some(const Requester& who, AclOperation operation, AclResourceType type) const {
  // A name of which no rule knows tells super users, and those whom no rule for all concerns.
  if (authorize(who, operation, type, "hardcode", Audit::allowed_only, 0)) return true;
  return current()->allows_some({who.principal, who.host, operation, type, {}});
}

void Authorizer::note(const Requester& who, AclOperation operation, AclResourceType type,
                      std::string_view name, const Decision& decision, Audit audit,
                      std::size_t references) const {
  const bool told = audit == Audit::all || (audit == Audit::allowed_only && decision.allowed);
  const LogLevel level = !told ? LogLevel::trace : decision.allowed ? LogLevel::debug : LogLevel::info;
  if (!log_.enabled(level)) return;
  std::string more;
  if (level == LogLevel::info) {
    const std::size_t place = std::hash<std::string>{}(who.principal + "@" + who.host) % limiter_count;
    const auto left_out = limiters_[place].admit(std::chrono::steady_clock::now());
    if (!left_out) return;
    if (*left_out > 0) more = " left_out=" + std::to_string(*left_out);
  }
  const std::string rule = decision.super_user         ? "SuperUser"
                           : decision.entry != nullptr ? describe(*decision.entry)
                           : decision.allowed          ? "DefaultAllow"
                                                       : "DefaultDeny";
  const std::string text = fmt::format(
      "{} principal={} operation={} host={} resource={}:LITERAL:{} request={} references={} rule=({}){}",
      decision.allowed ? "allowed" : "denied", log_text(who.principal), name_of(operation), who.host,
      name_of(type), log_text(name), who.api, references, rule, more);
  if (level == LogLevel::info) {
    log_.info("{}", text);
  } else if (level == LogLevel::debug) {
    log_.debug("{}", text);
  } else {
    log_.trace("{}", text);
  }
}

std::span<const AclOperation> supported_operations(AclResourceType type) {
  using enum AclOperation;
  static constexpr auto topic =
      std::to_array({read, write, create, remove, alter, describe, describe_configs, alter_configs});
  static constexpr auto group = std::to_array({read, remove, describe, describe_configs, alter_configs});
  static constexpr auto cluster = std::to_array(
      {create, alter, describe, cluster_action, describe_configs, alter_configs, idempotent_write});
  static constexpr auto transactional_id = std::to_array({write, describe, two_phase_commit});
  static constexpr auto token = std::to_array({describe});
  static constexpr auto user = std::to_array({create_tokens, describe_tokens});
  switch (type) {
    case AclResourceType::topic:
      return topic;
    case AclResourceType::group:
      return group;
    case AclResourceType::cluster:
      return cluster;
    case AclResourceType::transactional_id:
      return transactional_id;
    case AclResourceType::delegation_token:
      return token;
    case AclResourceType::user:
      return user;
    default:
      return {};
  }
}

}  // namespace barnabas::security
