#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metadata/static_config.h"
#include "security/jaas.h"

namespace barnabas::security {

/// The settings of one SASL mechanism on one listener. A name is looked up as Kafka does it, the first that
/// is set wins:
///   listener.name.<listener>.<mechanism>.<name>, listener.name.<listener>.<name>, <name>
/// with listener and mechanism in lower case; then the default. Errors (ErrorKind::invalid) begin with the
/// place and the name under which the value was set, and repeat no value.
class MechanismSettings {
 public:
  /// `listener` and `mechanism` in any case. `config` outlives this.
  MechanismSettings(const metadata::StaticConfig& config, std::string_view listener,
                    std::string_view mechanism);

  const std::string& listener() const { return listener_; }    ///< lower case
  const std::string& mechanism() const { return mechanism_; }  ///< as given

  /// Nothing where neither a value nor a default exists. `name` must be a setting of Kafka's.
  std::optional<std::string> value(std::string_view name) const;
  std::string text(std::string_view name) const { return value(name).value_or(""); }
  Result<int64_t> integer(std::string_view name) const;
  Result<bool> boolean(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;
  /// Whether it was set anywhere.
  bool given(std::string_view name) const { return found(name).entry != nullptr; }

  /// Of sasl.jaas.config, which has to be set for this listener and mechanism: without both prefixes Kafka
  /// does not look at it. Nothing when it is not.
  Result<std::optional<LoginModule>> login_module() const;
  /// The same, which must be there and of class `short_name`; with or without its package.
  Result<LoginModule> login_module(std::string_view short_name) const;
  /// "listener.name.<listener>.<mechanism>.<name>"
  std::string full_name(std::string_view name) const;
  /// An error about a setting: where it was set, what is wrong, without its value.
  std::unexpected<Error> refuse(std::string_view name, std::string_view why) const;

 private:
  struct Found {
    std::string name;
    const metadata::StaticConfig::Entry* entry = nullptr;
  };
  Found found(std::string_view name) const;

  const metadata::StaticConfig* config_;
  std::string listener_;
  std::string mechanism_;
  std::string prefix_;            ///< "listener.name.<listener>."
  std::string mechanism_prefix_;  ///< "<mechanism>.", lower case
};

}  // namespace barnabas::security
