#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace barnabas::security {

/// What a JAAS string says, as Kafka's settings hold it:
///   org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";
/// It is read and never acted upon: no class is loaded, and what its options mean is the mechanism's affair.
struct LoginModule {
  enum class Flag : uint8_t { required, requisite, sufficient, optional };
  std::string name;  ///< of the class
  Flag flag = Flag::required;
  std::map<std::string, std::string, std::less<>> options;  ///< secrets among them: not for logs or errors

  std::optional<std::string_view> option(std::string_view key) const;
  /// The class's name without its package.
  std::string_view short_name() const;
};

/// Reads the one module of a setting, with the words, quotes, escapes and comments of Java's StreamTokenizer.
/// ErrorKind::invalid says at which character, what was found there and what was expected, and repeats no
/// value.
Result<LoginModule> parse_login_module(std::string_view text);

}  // namespace barnabas::security
