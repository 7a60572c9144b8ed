#include "metadata/java_pattern.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace barnabas::metadata {
namespace {

constexpr int depth_max = 100;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Recursive descent over the pattern; each function eats what it stands for and says whether that was
/// well-formed.
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  bool whole() { return alternatives(0) && at_end(); }

 private:
  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  bool eat(std::string_view what) {
    if (!text_.substr(position_).starts_with(what)) return false;
    position_ += what.size();
    return true;
  }

  bool alternatives(int depth) {
    if (depth > depth_max) return false;
    while (!at_end() && peek() != ')') {
      if (eat("|")) continue;
      bool can_repeat = true;
      if (!atom(depth, can_repeat)) return false;
      if (can_repeat && !quantifier()) return false;
    }
    return true;
  }

  bool atom(int depth, bool& can_repeat) {
    switch (peek()) {
      case '*':
      case '+':
      case '?':
        return false;  // nothing to repeat
      case '(':
        return group(depth, can_repeat);
      case '[':
        return character_class(0);
      case '\\':
        return escape(false);
      default:
        ++position_;
        return true;
    }
  }

  bool group(int depth, bool& can_repeat) {
    ++position_;
    if (eat("?")) {
      if (eat("<") && !eat("=") && !eat("!")) {
        if (!group_name()) return false;
      } else if (text_[position_ - 1] == '?' && !eat(":") && !eat("=") && !eat("!") && !eat(">")) {
        while (!at_end() && std::string_view("idmsuxU-").find(peek()) != std::string_view::npos) ++position_;
        if (eat(")")) {
          can_repeat = false;
          return true;
        }
        if (!eat(":")) return false;
      }
    }
    return alternatives(depth + 1) && eat(")");
  }

  bool group_name() {
    if (!is_letter(peek())) return false;
    while (is_letter(peek()) || is_digit(peek())) ++position_;
    return eat(">");
  }

  bool quantifier() {
    if (peek() == '{') {
      if (!repetition()) return false;
    } else if (!eat("*") && !eat("+") && !eat("?")) {
      return true;
    }
    if (!eat("?")) (void)eat("+");
    return true;
  }

  bool repetition() {
    ++position_;
    const auto low = number();
    if (!low) return false;
    if (eat("}")) return true;
    if (!eat(",")) return false;
    if (eat("}")) return true;
    const auto high = number();
    return high && *high >= *low && eat("}");
  }

  std::optional<int32_t> number() {
    int32_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0 || peek() == '-') return std::nullopt;
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  bool character_class(int depth) {
    if (depth > depth_max) return false;
    ++position_;
    (void)eat("^");
    bool any = false;
    while (!at_end()) {
      if (peek() == ']' && any) return eat("]");
      if (peek() == '[') {
        if (!character_class(depth + 1)) return false;
      } else if (peek() == '\\') {
        if (!escape(true)) return false;
      } else if (eat("&&")) {
        continue;
      } else {
        const char low = peek();
        ++position_;
        if (peek() == '-' && position_ + 1 < text_.size() && text_[position_ + 1] != ']' &&
            text_[position_ + 1] != '[' && text_[position_ + 1] != '\\') {
          ++position_;
          const char high = peek();
          if (static_cast<unsigned char>(high) < static_cast<unsigned char>(low)) return false;
          ++position_;
        }
      }
      any = true;
    }
    return false;
  }

  bool escape(bool in_class) {
    ++position_;
    if (at_end()) return false;
    const char c = peek();
    ++position_;
    if (c == 'Q') {
      const auto end = text_.find("\\E", position_);
      position_ = end == std::string_view::npos ? text_.size() : end + 2;
      return true;
    }
    if (c == 'p' || c == 'P') return property();
    if (c == 'x') return eat("{") ? hexadecimal(1, 6) && eat("}") : hexadecimal(2, 2);
    if (c == 'u') return hexadecimal(4, 4);
    if (c == '0') return peek() >= '0' && peek() <= '7';
    if (c == 'c') return !at_end() && ++position_ > 0;
    if (c == 'k') return !in_class && eat("<") && group_name();
    if (!is_letter(c)) return true;
    constexpr std::string_view anywhere = "tnrfaedDhHsSvVwW";
    constexpr std::string_view outside = "RbBAGzZXE";
    return anywhere.find(c) != anywhere.npos || (!in_class && outside.find(c) != outside.npos);
  }

  bool property() {
    if (!eat("{")) return is_letter(peek()) && ++position_ > 0;
    const auto end = text_.find('}', position_);
    if (end == std::string_view::npos || end == position_) return false;
    position_ = end + 1;
    return true;
  }

  bool hexadecimal(int least, int most) {
    int count = 0;
    while (count < most && is_hex(peek())) {
      ++position_;
      ++count;
    }
    return count >= least;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

/// Eats digits (and, for seconds, a fraction of up to nine of them) in front of `unit`; false when there is
/// no such part.
bool eat_part(std::string_view& text, char unit, bool with_fraction) {
  std::size_t end = 0;
  if (end < text.size() && text[end] == '+') ++end;
  const std::size_t first = end;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == first || end - first > 18) return false;
  if (with_fraction && end < text.size() && text[end] == '.') {
    const std::size_t point = end++;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end - point > 10) return false;
  }
  if (end == text.size() || (text[end] != unit && text[end] != unit + ('a' - 'A'))) return false;
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

bool is_java_pattern(std::string_view pattern) {
  return PatternReader(pattern).whole();
}

bool is_java_duration(std::string_view text) {
  if (text.empty() || (text.front() != 'P' && text.front() != 'p')) return false;
  text.remove_prefix(1);
  const bool days = eat_part(text, 'D', false);
  if (text.empty()) return days;
  if (text.front() != 'T' && text.front() != 't') return false;
  text.remove_prefix(1);
  bool any = eat_part(text, 'H', false);
  any |= eat_part(text, 'M', false);
  any |= eat_part(text, 'S', true);
  return any && text.empty();
}

}  // namespace barnabas::metadata
