#include "security/acl_index.h"

#include <algorithm>

namespace barnabas::security {
namespace {

using metadata::AclEntry;
using metadata::AclOperation;
using metadata::AclPatternType;
using metadata::AclPermission;
using metadata::AclResourceType;
using metadata::AclRule;

constexpr std::string_view wildcard_principal = "User:*";

/// FNV-1a, so that the hashes of all prefixes of a name come with the hash of the name.
class NameHash {
 public:
  explicit NameHash(AclResourceType type) { add(static_cast<unsigned char>(type)); }
  void add(unsigned char c) { state_ = (state_ ^ c) * 0x100000001b3; }
  uint64_t of(AclPatternType pattern) const {
    uint64_t mixed = state_ ^ (static_cast<uint64_t>(pattern) * 0x9e3779b97f4a7c15);
    mixed ^= mixed >> 32;
    mixed *= 0xd6e8feb86659fd93;
    return mixed ^ (mixed >> 32);
  }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

uint64_t hash_of(const AclRule& rule) {
  NameHash hash(rule.resource_type);
  for (const char c : rule.resource_name) hash.add(static_cast<unsigned char>(c));
  return hash.of(rule.pattern_type);
}

bool implies(AclOperation allowed, AclOperation asked) {
  using enum AclOperation;
  if (allowed == all || allowed == asked) return true;
  if (asked == describe) return allowed == read || allowed == write || allowed == remove || allowed == alter;
  return asked == describe_configs && allowed == alter_configs;
}

/// Types that a request can ask for; others are of a version to come.
bool is_known(const AclRule& rule) {
  const auto type = static_cast<int>(rule.resource_type);
  return type >= static_cast<int>(AclResourceType::topic) && type <= static_cast<int>(AclResourceType::user);
}

}  // namespace

AclIndex::AclIndex() : buckets_(bucket_count) {}

AclIndex::Rule::Rule(std::shared_ptr<const AclEntry> of)
    : entry(std::move(of)), any_host(entry->rule.host == metadata::acl_wildcard) {
  std::string network = entry->rule.host;
  // One address of IPv6 has many spellings, and Java's is another one than the system's.
  if (!network.contains('/') && network.contains(':')) network += "/128";
  if (!network.contains('/')) return;
  if (auto parsed = metadata::AddressBlock::parse(network)) block = *parsed;
}

bool AclIndex::Rule::concerns(std::string_view host) const {
  return any_host || entry->rule.host == host || (block && block->contains(host));
}

const AclIndex::Pattern* AclIndex::pattern(uint64_t hash, AclResourceType type, AclPatternType pattern_type,
                                           std::string_view name) const {
  const auto& bucket = buckets_[hash % bucket_count];
  if (bucket == nullptr) return nullptr;
  for (const Slot& slot : *bucket) {
    if (slot.hash == hash && slot.pattern->name == name && slot.pattern->type == type &&
        slot.pattern->pattern_type == pattern_type)
      return slot.pattern.get();
  }
  return nullptr;
}

AclIndex::Bucket& AclIndex::own_bucket(uint64_t hash) {
  auto& bucket = buckets_[hash % bucket_count];
  if (bucket == nullptr) {
    bucket = std::make_shared<Bucket>();
  } else if (bucket.use_count() > 1) {
    bucket = std::make_shared<Bucket>(*bucket);
  }
  return *bucket;
}

void AclIndex::change_prefix_length(AclResourceType type, std::size_t length, int by) {
  auto& lengths = prefix_lengths_[static_cast<std::size_t>(type)];
  auto at = std::ranges::lower_bound(lengths, length, {}, &std::pair<std::size_t, std::size_t>::first);
  if (by > 0) {
    if (at == lengths.end() || at->first != length) at = lengths.insert(at, {length, 0});
    ++at->second;
  } else if (--at->second == 0) {
    lengths.erase(at);
  }
}

void AclIndex::add(const std::shared_ptr<const AclEntry>& entry) {
  const AclRule& rule = entry->rule;
  if (by_principal_.find(PrincipalKeyOf{}(entry)) != nullptr) return;
  by_principal_.put(entry);
  if (!is_known(rule)) return;
  const uint64_t hash = hash_of(rule);
  const Pattern* before = pattern(hash, rule.resource_type, rule.pattern_type, rule.resource_name);
  auto changed =
      before != nullptr
          ? std::make_shared<Pattern>(*before)
          : std::make_shared<Pattern>(Pattern{rule.resource_type, rule.pattern_type, rule.resource_name, {}});
  const auto* others = changed->principals.find(rule.principal);
  auto rules = others != nullptr ? std::make_shared<PrincipalRules>(**others)
                                 : std::make_shared<PrincipalRules>(PrincipalRules{rule.principal, {}});
  rules->rules.emplace_back(entry);
  changed->principals.put(std::move(rules));

  Bucket& bucket = own_bucket(hash);
  if (before != nullptr) {
    std::ranges::find(bucket, before, [](const Slot& slot) { return slot.pattern.get(); })->pattern = changed;
  } else {
    bucket.push_back({hash, changed});
    if (rule.pattern_type == AclPatternType::prefixed)
      change_prefix_length(rule.resource_type, rule.resource_name.size(), 1);
  }
}

void AclIndex::remove(const std::shared_ptr<const AclEntry>& entry) {
  const AclRule& rule = entry->rule;
  if (!by_principal_.erase(PrincipalKeyOf{}(entry)) || !is_known(rule)) return;
  const uint64_t hash = hash_of(rule);
  const Pattern* before = pattern(hash, rule.resource_type, rule.pattern_type, rule.resource_name);
  auto changed = std::make_shared<Pattern>(*before);
  auto rules = std::make_shared<PrincipalRules>(**changed->principals.find(rule.principal));
  std::erase_if(rules->rules, [&](const Rule& each) { return each.entry->id == entry->id; });
  if (rules->rules.empty()) {
    changed->principals.erase(rule.principal);
  } else {
    changed->principals.put(std::move(rules));
  }

  Bucket& bucket = own_bucket(hash);
  const auto slot = std::ranges::find(bucket, before, [](const Slot& each) { return each.pattern.get(); });
  if (!changed->principals.empty()) {
    slot->pattern = std::move(changed);
    return;
  }
  bucket.erase(slot);
  if (rule.pattern_type == AclPatternType::prefixed)
    change_prefix_length(rule.resource_type, rule.resource_name.size(), -1);
}

/// Calls `use` with each pattern that applies to the resource, until it returns false.
template <class Use>
void AclIndex::for_each_pattern(AclResourceType type, std::string_view name, Use use) const {
  NameHash hash(type);
  const auto& lengths = prefix_lengths_[static_cast<std::size_t>(type)];
  std::size_t hashed = 0;
  const auto hash_up_to = [&](std::size_t length) {
    for (; hashed < length; ++hashed) hash.add(static_cast<unsigned char>(name[hashed]));
  };
  for (const auto& [length, count] : lengths) {
    if (length > name.size()) break;
    hash_up_to(length);
    const auto* found =
        pattern(hash.of(AclPatternType::prefixed), type, AclPatternType::prefixed, name.substr(0, length));
    if (found != nullptr && !use(*found)) return;
  }
  hash_up_to(name.size());
  const auto* exact = pattern(hash.of(AclPatternType::literal), type, AclPatternType::literal, name);
  if (exact != nullptr && !use(*exact)) return;
  if (name == metadata::acl_wildcard) return;
  NameHash wildcard(type);
  wildcard.add('*');
  const auto* all =
      pattern(wildcard.of(AclPatternType::literal), type, AclPatternType::literal, metadata::acl_wildcard);
  if (all != nullptr) use(*all);
}

AclIndex::Answer AclIndex::find(const Question& question) const {
  Answer answer;
  const auto look_at = [&](const Rule& rule) {
    const AclRule& says = rule.entry->rule;
    if (says.permission == AclPermission::deny) {
      if (says.operation != question.operation && says.operation != AclOperation::all) return;
      if (rule.concerns(question.host)) answer.denied_by = rule.entry.get();
    } else if (says.permission == AclPermission::allow && implies(says.operation, question.operation) &&
               rule.concerns(question.host)) {
      answer.allowed_by = rule.entry.get();
    }
  };
  for_each_pattern(question.resource_type, question.resource_name, [&](const Pattern& pattern) {
    answer.has_rules = true;
    for (const auto who : {question.principal, wildcard_principal}) {
      const auto* rules = pattern.principals.find(who);
      if (rules != nullptr) std::ranges::for_each((*rules)->rules, look_at);
      if (question.principal == wildcard_principal) break;
    }
    return answer.denied_by == nullptr;
  });
  return answer;
}

/// Whether no denial takes away all that the pattern allows.
bool AclIndex::allows_despite_denials(const AclRule& rule, const Question& question) const {
  bool denied = false;
  const auto denies = [&](const Rule& each) {
    const AclRule& says = each.entry->rule;
    return says.permission == AclPermission::deny &&
           (says.operation == question.operation || says.operation == AclOperation::all) &&
           each.concerns(question.host);
  };
  for_each_pattern(rule.resource_type, rule.resource_name, [&](const Pattern& pattern) {
    // What is denied for a name takes nothing from what is allowed for all that begin with it.
    if (pattern.pattern_type == AclPatternType::literal && rule.pattern_type == AclPatternType::prefixed &&
        pattern.name != metadata::acl_wildcard)
      return true;
    for (const auto who : {question.principal, wildcard_principal}) {
      const auto* rules = pattern.principals.find(who);
      if (rules != nullptr && std::ranges::any_of((*rules)->rules, denies)) denied = true;
    }
    return !denied;
  });
  return !denied;
}

bool AclIndex::allows_some(const Question& question) const {
  NameHash wildcard(question.resource_type);
  wildcard.add('*');
  const auto* all = pattern(wildcard.of(AclPatternType::literal), question.resource_type,
                            AclPatternType::literal, metadata::acl_wildcard);
  const auto says = [&](const Rule& rule, AclPermission permission) {
    return rule.entry->rule.permission == permission &&
           (rule.entry->rule.operation == question.operation ||
            rule.entry->rule.operation == AclOperation::all) &&
           rule.concerns(question.host);
  };
  bool allowed_for_all = false;
  for (const auto who : {question.principal, wildcard_principal}) {
    const auto* rules = all == nullptr ? nullptr : all->principals.find(who);
    if (rules == nullptr) continue;
    for (const Rule& rule : (*rules)->rules) {
      if (says(rule, AclPermission::deny)) return false;
      allowed_for_all |= says(rule, AclPermission::allow);
    }
  }
  if (allowed_for_all) return true;
  for (const auto who : {question.principal, wildcard_principal}) {
    for (auto at = by_principal_.lower_bound(PrincipalKey{question.resource_type, who, {}});
         at != by_principal_.end() && (*at)->rule.resource_type == question.resource_type &&
         (*at)->rule.principal == who;
         ++at) {
      const AclRule& rule = (*at)->rule;
      if (rule.permission != AclPermission::allow) continue;
      if (rule.operation != question.operation && rule.operation != AclOperation::all) continue;
      if (Rule(*at).concerns(question.host) && allows_despite_denials(rule, question)) return true;
    }
    if (question.principal == wildcard_principal) break;
  }
  return false;
}

}  // namespace barnabas::security
