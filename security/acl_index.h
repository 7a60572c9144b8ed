#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metadata/access_control_image.h"
#include "metadata/address_block.h"
#include "metadata/shared_map.h"

namespace barnabas::security {

/// The access control entries by what a request asks for, as Kafka's StandardAuthorizer reads them. A copy
/// shares what does not change: one entry more or less costs a few microseconds, however many there are. A
/// lookup costs a hash lookup for the name, one for each length that prefixes have, and one for "*".
///
/// One object is not to be changed by one thread while another reads it; copies may be.
class AclIndex {
 public:
  /// What is asked for. Texts are borrowed.
  struct Question {
    std::string_view principal;  ///< "User:alice"
    std::string_view host;       ///< numeric address
    metadata::AclOperation operation;
    metadata::AclResourceType resource_type;
    std::string_view resource_name;
  };
  /// Entries live as long as the index and all of its copies.
  struct Answer {
    const metadata::AclEntry* denied_by = nullptr;
    const metadata::AclEntry* allowed_by = nullptr;
    bool has_rules = false;  ///< for this resource, whomever they concern
  };

  AclIndex();

  void add(const std::shared_ptr<const metadata::AclEntry>& entry);
  void remove(const std::shared_ptr<const metadata::AclEntry>& entry);
  std::size_t size() const { return by_principal_.size(); }

  /// Denials are found if there are any. Allowing READ, WRITE, DELETE or ALTER allows DESCRIBE too, and
  /// ALTER_CONFIGS allows DESCRIBE_CONFIGS; denials imply nothing.
  Answer find(const Question& question) const;

  /// Whether something is allowed on some resource of the type (KIP-679), whatever its name: an entry allows
  /// it for names of which not all are denied again. Implied operations do not count. The name is not looked
  /// at.
  bool allows_some(const Question& question) const;

 private:
  /// What one entry says, ready for comparison.
  struct Rule {
    std::shared_ptr<const metadata::AclEntry> entry;
    bool any_host;
    std::optional<metadata::AddressBlock> block;

    explicit Rule(std::shared_ptr<const metadata::AclEntry> of);
    bool concerns(std::string_view host) const;
  };
  struct PrincipalRules {
    std::string principal;
    std::vector<Rule> rules;
  };
  struct PrincipalOf {
    const std::string& operator()(const std::shared_ptr<const PrincipalRules>& rules) const {
      return rules->principal;
    }
  };
  /// All entries of one resource pattern.
  struct Pattern {
    metadata::AclResourceType type;
    metadata::AclPatternType pattern_type;
    std::string name;
    metadata::SharedMap<std::shared_ptr<const PrincipalRules>, PrincipalOf> principals;
  };
  struct Slot {
    uint64_t hash;
    std::shared_ptr<const Pattern> pattern;
  };
  using Bucket = std::vector<Slot>;
  /// Entries by type and principal, for allows_some.
  struct PrincipalKey {
    metadata::AclResourceType type;
    std::string_view principal;
    Uuid id;
    auto operator<=>(const PrincipalKey&) const = default;
  };
  struct PrincipalKeyOf {
    PrincipalKey operator()(const std::shared_ptr<const metadata::AclEntry>& entry) const {
      return {entry->rule.resource_type, entry->rule.principal, entry->id};
    }
  };
  using PrefixLengths = std::vector<std::pair<std::size_t, std::size_t>>;  ///< length, number of patterns

  static constexpr std::size_t bucket_count = 1024;
  static constexpr std::size_t type_count = 8;

  const Pattern* pattern(uint64_t hash, metadata::AclResourceType type, metadata::AclPatternType pattern_type,
                         std::string_view name) const;
  Bucket& own_bucket(uint64_t hash);
  void change_prefix_length(metadata::AclResourceType type, std::size_t length, int by);
  template <class Use>
  void for_each_pattern(metadata::AclResourceType type, std::string_view name, Use use) const;
  bool allows_despite_denials(const metadata::AclRule& rule, const Question& question) const;

  std::vector<std::shared_ptr<Bucket>> buckets_;
  std::array<PrefixLengths, type_count> prefix_lengths_;
  metadata::SharedMap<std::shared_ptr<const metadata::AclEntry>, PrincipalKeyOf> by_principal_;
};

}  // namespace barnabas::security
