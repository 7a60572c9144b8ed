#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/access_control_image.h"
#include "metadata/address_block.h"
#include "security/acl_index.h"

namespace barnabas::security::testing {

using Entry = std::shared_ptr<const metadata::AclEntry>;

inline Uuid entry_id(uint32_t number) {
  Uuid id;
  for (std::size_t i = 0; i < 4; ++i) id.bytes[15 - i] = static_cast<std::byte>(number >> (8 * i) & 0xff);
  return id;
}

inline Entry entry(uint32_t number, metadata::AclPermission permission, std::string_view principal,
                   metadata::AclOperation operation, std::string_view name,
                   metadata::AclPatternType pattern = metadata::AclPatternType::literal,
                   std::string_view host = "*",
                   metadata::AclResourceType type = metadata::AclResourceType::topic) {
  return std::make_shared<const metadata::AclEntry>(metadata::AclEntry{
      {type, std::string(name), pattern, std::string(principal), std::string(host), operation, permission},
      entry_id(number)});
}

/// The same questions answered by walking over all entries, as slowly as can be.
class SlowModel {
 public:
  struct Answer {
    bool denied = false;
    bool allowed = false;
    bool has_rules = false;
    bool operator==(const Answer&) const = default;
  };

  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  void remove(const Entry& entry) { std::erase(entries_, entry); }
  const std::vector<Entry>& entries() const { return entries_; }

  Answer find(const AclIndex::Question& q) const {
    Answer answer;
    for (const auto& entry : entries_) {
      const auto& rule = entry->rule;
      if (rule.resource_type != q.resource_type || !applies(rule, q.resource_name)) continue;
      answer.has_rules = true;
      if (!concerns(rule, q)) continue;
      const bool allow = rule.permission == metadata::AclPermission::allow;
      if (allow ? implied(rule.operation, q.operation) : exact(rule.operation, q.operation))
        (allow ? answer.allowed : answer.denied) = true;
    }
    return answer;
  }

  bool allows_some(const AclIndex::Question& q) const {
    using metadata::AclPatternType;
    using metadata::AclPermission;
    std::vector<const metadata::AclRule*> allows;
    std::vector<const metadata::AclRule*> denies;
    bool all = false;
    for (const auto& entry : entries_) {
      const auto& rule = entry->rule;
      if (rule.resource_type != q.resource_type || !concerns(rule, q) || !exact(rule.operation, q.operation))
        continue;
      const bool everything = rule.pattern_type == AclPatternType::literal && rule.resource_name == "*";
      if (rule.permission == AclPermission::deny) {
        if (everything) return false;
        denies.push_back(&rule);
      } else {
        all |= everything;
        allows.push_back(&rule);
      }
    }
    return all || std::ranges::any_of(allows, [&](const auto* allow) {
             return std::ranges::none_of(denies, [&](const auto* deny) {
               if (deny->pattern_type == AclPatternType::literal)
                 return allow->pattern_type == AclPatternType::literal &&
                        allow->resource_name == deny->resource_name;
               return allow->resource_name.starts_with(deny->resource_name);
             });
           });
  }

 private:
  static bool applies(const metadata::AclRule& rule, std::string_view name) {
    if (rule.pattern_type == metadata::AclPatternType::literal)
      return rule.resource_name == "*" || rule.resource_name == name;
    return name.starts_with(rule.resource_name);
  }
  static bool concerns(const metadata::AclRule& rule, const AclIndex::Question& q) {
    if (rule.principal != "User:*" && rule.principal != q.principal) return false;
    if (rule.host == "*" || rule.host == q.host) return true;
    const auto block = metadata::AddressBlock::parse(rule.host);
    return block && block->contains(q.host);
  }
  static bool exact(metadata::AclOperation has, metadata::AclOperation asked) {
    return has == asked || has == metadata::AclOperation::all;
  }
  static bool implied(metadata::AclOperation has, metadata::AclOperation asked) {
    using enum metadata::AclOperation;
    if (exact(has, asked)) return true;
    if (asked == describe) return has == read || has == write || has == remove || has == alter;
    return asked == describe_configs && has == alter_configs;
  }

  std::vector<Entry> entries_;
};

/// Entries and questions from a world that is so small that they meet.
class SmallWorld {
 public:
  explicit SmallWorld(uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  template <class T>
  T one_of(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }
  std::string name() {
    if (below(8) == 0) return "*";
    std::string name;
    for (std::size_t i = 0, size = 1 + below(4); i < size; ++i) name += one_of({'a', 'b', '*'});
    return name;
  }
  std::string principal() { return one_of<std::string>({"User:alice", "User:bob", "User:*", "Group:alice"}); }
  metadata::AclOperation operation() {
    using enum metadata::AclOperation;
    return one_of({all, read, write, create, remove, alter, describe, describe_configs, alter_configs});
  }
  Entry entry() {
    using namespace metadata;
    return testing::entry(++made_, below(3) == 0 ? AclPermission::deny : AclPermission::allow, principal(),
                          operation(), name(), one_of({AclPatternType::literal, AclPatternType::prefixed}),
                          one_of<std::string>({"*", "*", "10.0.0.1", "10.0.0.0/30", "::/0"}), type());
  }
  metadata::AclResourceType type() {
    return one_of({metadata::AclResourceType::topic, metadata::AclResourceType::group});
  }

 private:
  std::mt19937_64 random_;
  uint32_t made_ = 0;
};

}  // namespace barnabas::security::testing
