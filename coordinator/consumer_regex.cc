#include "coordinator/consumer_regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/reader.h"

namespace barnabas::coordinator {
namespace {

/// RE2's and RE2/J's own limit.
constexpr std::size_t repetitions_max = 1'000;

// RE2/J also knows (?<name>…), which this RE2 spells (?P<name>…). Not inside of \Q…\E or a class: there it
// means itself, and is left alone.
std::string in_re2(std::string_view regex) {
  std::string text;
  bool in_class = false;
  bool quoted = false;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const auto rest = regex.substr(i);
    if (quoted) {
      quoted = !rest.starts_with("\\E");
    } else if (rest[0] == '\\' && rest.size() > 1) {
      quoted = rest[1] == 'Q';
      text += regex[i++];
      // A single byte to RE2. To RE2/J it is nothing, as this is to both.
      if (!in_class && regex[i] == 'C') {
        text += '8';
        continue;
      }
    } else if (in_class) {
      in_class = rest[0] != ']';
    } else if (rest[0] == '[') {
      in_class = true;
      text += '[';
      // a ']' that comes first means itself
      if (rest.substr(1).starts_with("^")) text += regex[++i];
      if (i + 1 < regex.size() && regex[i + 1] == ']') text += regex[++i];
      continue;
    } else if (rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")) {
      text += "(?P";
      ++i;
      continue;
    }
    text += regex[i];
  }
  return text;
}

/// How large an expression becomes when its repetitions are written out. RE2 does that before it looks at the
/// size, so that a small one could take hundreds of megabytes. Of a text that is no expression it may be
/// anything.
class WrittenOutSize {
 public:
  explicit WrittenOutSize(std::string_view regex) : rest_(regex) {
    while (!rest_.empty()) step();
    while (!outer_.empty()) end_group();
  }
  std::size_t value() const { return all_.size; }
  /// How often what is repeated most is repeated: repetitions of repetitions multiply.
  std::size_t repeated() const { return all_.repeated; }

 private:
  struct Part {
    std::size_t size = 0;
    std::size_t repeated = 1;
  };
  /// Of letters and the like there are hundreds of ranges.
  static constexpr std::size_t unicode_class_size = 300;
  /// Counted no further.
  static constexpr std::size_t count_max = std::size_t{1} << 31;

  void step() {
    if (rest_.starts_with("\\Q")) return quoted();
    if (rest_[0] == '\\') return add({take_escape()});
    if (rest_[0] == '[') return add({take_class()});
    if (const auto times = take_repetition()) return repeat(*times);
    const char next = take(1)[0];
    if (next == '(') {
      outer_.push_back(std::exchange(all_, {}));
    } else if (next == ')' && !outer_.empty()) {
      end_group();
    } else {
      add({1});
    }
  }

  std::string_view take(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  void add(Part part) {
    all_.size = std::min(all_.size + part.size, count_max);
    all_.repeated = std::max(all_.repeated, part.repeated);
    last_ = part;
  }

  void repeat(std::size_t times) {
    all_.size -= std::min(all_.size, last_.size);
    add({std::min(last_.size * times, count_max), std::min(last_.repeated * times, count_max)});
  }

  void end_group() {
    const Part group = std::exchange(all_, outer_.back());
    outer_.pop_back();
    add(group);
  }

  void quoted() {
    const std::size_t length = std::min(rest_.find("\\E"), rest_.size());
    take(length + 2);
    add({length});
    last_ = {1};
  }

  std::size_t take_escape() {
    const char kind = take(2).back();
    const bool has_name = kind == 'p' || kind == 'P' || kind == 'x';
    if (has_name && rest_.starts_with('{')) take(std::min(rest_.find('}'), rest_.size() - 1) + 1);
    return kind == 'p' || kind == 'P' ? unicode_class_size : 1;
  }

  std::size_t take_class() {
    take(rest_.starts_with("[^") ? 2 : 1);
    std::size_t size = 1;
    // a ']' that comes first means itself
    for (bool first = true; !rest_.empty() && (first || rest_[0] != ']'); first = false)
      size += rest_[0] == '\\' ? take_escape() : take(1).size();
    take(1);
    return size;
  }

  /// {n}, {n,} or {n,m}: the larger number, at least 1. Other braces mean themselves.
  std::optional<std::size_t> take_repetition() {
    constexpr std::string_view digits = "0123456789";
    const std::size_t first_end = rest_.find_first_not_of(digits, 1);
    if (rest_[0] != '{' || first_end == 1 || first_end == std::string_view::npos) return std::nullopt;
    const bool has_comma = rest_[first_end] == ',';
    const std::size_t end = has_comma ? rest_.find_first_not_of(digits, first_end + 1) : first_end;
    if (end == std::string_view::npos || rest_[end] != '}') return std::nullopt;
    std::size_t times = 1;
    std::size_t number = 0;
    for (const char next : take(end + 1).substr(1, end - 1)) {
      const auto digit = static_cast<std::size_t>(next - '0');
      number = next == ',' ? 0 : std::min<std::size_t>(number * 10 + digit, 10'000);
      times = std::max(times, number);
    }
    return times;
  }

  std::string_view rest_;
  std::vector<Part> outer_;  ///< what came before the groups that are open
  Part all_;                 ///< of the innermost group
  Part last_;                ///< what a repetition would repeat
};

std::unique_ptr<RE2> compiled(std::string_view regex) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<RE2>(in_re2(regex), options);
}

const char* words_of(RE2::ErrorCode error) {
  switch (error) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "regexp/syntax: internal error";  // RE2/J's word for a ')' too many
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

std::expected<std::unique_ptr<RE2>, std::string> checked(std::string_view regex) {
  const auto refused = [](RE2::ErrorCode error) { return std::unexpected(std::string(words_of(error))); };
  if (regex.size() > protocol::string_bytes_max) return refused(RE2::ErrorPatternTooLarge);
  const WrittenOutSize written_out(regex);
  if (written_out.repeated() > repetitions_max) return refused(RE2::ErrorRepeatSize);
  // As much as the longest that has no repetitions.
  if (written_out.value() > protocol::string_bytes_max) return refused(RE2::ErrorPatternTooLarge);
  auto expression = compiled(regex);
  // RE2 calls a group that is never closed a missing parenthesis, whatever stands in it.
  if (!expression->ok()) return refused(expression->error_code());
  if (expression->NamedCapturingGroups().size() != expression->CapturingGroupNames().size())
    return std::unexpected("duplicate capture group name");
  return expression;
}

}  // namespace

std::expected<void, std::string> check_regex(std::string_view regex) {
  if (auto expression = checked(regex); !expression) return std::unexpected(std::move(expression.error()));
  return {};
}

std::map<std::string, std::vector<std::string>> resolve_regexes(
    const std::set<std::string>& regexes, const metadata::MetadataImage& image,
    const std::function<bool(std::string_view)>& may_see) {
  std::map<std::string, std::vector<std::string>> matched;
  std::map<std::string_view, bool> seen;  // each topic is asked about once
  const auto is_seen = [&](const std::string& topic) {
    if (!may_see) return true;
    const auto [at, is_new] = seen.try_emplace(topic, false);
    if (is_new) at->second = may_see(topic);
    return at->second;
  };
  for (const auto& regex : regexes) {
    auto& names = matched[regex];
    const auto expression = compiled(regex);
    if (!expression->ok()) continue;
    for (const auto& topic : image.topics_by_name)
      if (RE2::FullMatch(topic->name, *expression) && is_seen(topic->name)) names.push_back(topic->name);
  }
  return matched;
}

std::expected<std::function<bool(std::string_view)>, std::string> matcher_of(std::string_view regex) {
  auto expression = checked(regex);
  if (!expression) return std::unexpected(std::move(expression.error()));
  return [kept = std::shared_ptr<const RE2>(std::move(*expression))](std::string_view text) {
    return RE2::FullMatch(text, *kept);
  };
}

}  // namespace barnabas::coordinator
