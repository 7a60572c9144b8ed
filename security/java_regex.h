#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace barnabas::security {

/// What replaces a match, as java.util.regex.Matcher writes it: $1 or ${name} is what a group caught, a
/// backslash takes the next character as it is. Bound to the expression whose groups it names.
struct JavaReplacement {
  struct Piece {
    std::string text{};
    int group = -1;  ///< if not negative, what this group caught stands here instead of `text`
  };
  std::vector<Piece> pieces{};
};

/// A regular expression of a setting that was written for java.util.regex, run by RE2: the time is linear,
/// whatever a client sends. What RE2 does not know (look-around, back references, possessive quantifiers) and
/// what it would understand differently (classes within classes) is refused. Immutable, for any thread.
class JavaRegex {
 public:
  static Result<JavaRegex> compile(std::string_view pattern);

  JavaRegex(JavaRegex&&) noexcept;
  JavaRegex& operator=(JavaRegex&&) noexcept;
  ~JavaRegex();

  /// Refused: a group that there is not, and a '$' or a backslash that says nothing.
  Result<JavaReplacement> replacement(std::string_view text) const;

  /// How many groups it catches.
  int groups() const;

  /// The whole text.
  bool matches(std::string_view text) const;

  enum class Times { first, all };
  /// The text with its first or with all matches replaced. An empty match counts, as in Java.
  std::string replace(std::string_view text, const JavaReplacement& by, Times times) const;

 private:
  explicit JavaRegex(std::unique_ptr<re2::RE2> expression);

  std::unique_ptr<re2::RE2> expression_;
};

}  // namespace barnabas::security
