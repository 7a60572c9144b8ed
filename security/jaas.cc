#include "security/jaas.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace barnabas::security {
namespace {

struct Token {
  enum class Kind : uint8_t { word, quoted, sign, end };
  Kind kind = Kind::end;
  std::string text;  ///< a sign: the one character
  std::size_t at = 0;

  bool is_text() const { return kind == Kind::word || kind == Kind::quoted; }
  bool is_sign(char sign) const { return kind == Kind::sign && text.front() == sign; }
};

bool begins_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
}
bool goes_on_word(char c) {
  return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
}
bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

std::unexpected<Error> complain(std::size_t at, const std::string& what) {
  return fail(ErrorKind::invalid, "character " + std::to_string(at + 1) + ": " + what);
}

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Result<Token> next() {
    BARNABAS_TRY(pass_over());
    if (position_ == text_.size()) return Token{Token::Kind::end, {}, position_};
    const std::size_t at = position_;
    const char c = text_[position_];
    if (c == '"' || c == '\'') return quoted(c);
    if (!begins_word(c)) {
      ++position_;
      return Token{Token::Kind::sign, std::string(1, c), at};
    }
    while (position_ < text_.size() && goes_on_word(text_[position_])) ++position_;
    return Token{Token::Kind::word, std::string(text_.substr(at, position_ - at)), at};
  }

 private:
  /// Spaces and comments. A single slash begins one, too: that is Java's default.
  Result<void> pass_over() {
    while (position_ < text_.size()) {
      if (static_cast<unsigned char>(text_[position_]) <= ' ') {
        ++position_;
      } else if (text_.substr(position_).starts_with("/*")) {
        const auto end = text_.find("*/", position_ + 2);
        if (end == text_.npos) return complain(position_, "a comment without its end, expected */");
        position_ = end + 2;
      } else if (text_[position_] == '/') {
        position_ = std::min(text_.find_first_of("\r\n", position_), text_.size());
      } else {
        break;
      }
    }
    return {};
  }

  Result<Token> quoted(char quote) {
    Token token{Token::Kind::quoted, {}, position_};
    ++position_;
    while (position_ < text_.size() && text_[position_] != quote) {
      if (text_[position_] == '\n' || text_[position_] == '\r') break;
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) {
        ++position_;
        add_escaped(token.text);
      } else {
        token.text += text_[position_++];
      }
    }
    if (position_ == text_.size() || text_[position_] != quote)
      return complain(token.at, std::string("a text that begins with ") + quote +
                                    " and does not end with it before the end of the line");
    ++position_;
    return token;
  }

  /// What stands behind a backslash.
  void add_escaped(std::string& into) {
    const char c = text_[position_];
    if (is_octal(c)) {
      const std::size_t digits_max = c <= '3' ? 3 : 2;
      unsigned value = 0;
      for (std::size_t i = 0; i < digits_max && position_ < text_.size() && is_octal(text_[position_]); ++i)
        value = value * 8 + static_cast<unsigned>(text_[position_++] - '0');
      if (value < 0x80) {
        into += static_cast<char>(value);
      } else {
        into += static_cast<char>(0xC0 | (value >> 6));
        into += static_cast<char>(0x80 | (value & 0x3F));
      }
      return;
    }
    constexpr std::string_view letters = "abfnrtv";
    constexpr std::string_view meanings = "\a\b\f\n\r\t\v";
    const auto index = letters.find(c);
    into += index == letters.npos ? c : meanings[index];
    ++position_;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

std::optional<LoginModule::Flag> flag_of(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  using Flag = LoginModule::Flag;
  constexpr std::pair<std::string_view, Flag> flags[] = {{"required", Flag::required},
                                                         {"requisite", Flag::requisite},
                                                         {"sufficient", Flag::sufficient},
                                                         {"optional", Flag::optional}};
  for (const auto& [name, flag] : flags)
    if (name == word) return flag;
  return std::nullopt;
}

/// From behind the flag up to the semicolon.
Result<void> parse_options(Tokens& tokens, LoginModule& module) {
  for (;;) {
    BARNABAS_ASSIGN(Token key, tokens.next());
    if (key.is_sign(';')) return {};
    if (key.kind == Token::Kind::end)
      return complain(key.at, "the end, expected ; behind the last option of the module");
    if (!key.is_text()) return complain(key.at, "expected the name of an option or ;");
    BARNABAS_ASSIGN(const Token sign, tokens.next());
    if (!sign.is_sign('=')) return complain(sign.at, "expected = behind the name of an option");
    BARNABAS_ASSIGN(Token value, tokens.next());
    if (!value.is_text())
      return complain(value.at, "expected a value; one with other characters than letters needs quotes");
    module.options.insert_or_assign(std::move(key.text), std::move(value.text));
  }
}

}  // namespace

std::optional<std::string_view> LoginModule::option(std::string_view key) const {
  const auto at = options.find(key);
  if (at == options.end()) return std::nullopt;
  return at->second;
}

std::string_view LoginModule::short_name() const {
  const auto dot = name.rfind('.');
  return dot == name.npos ? std::string_view(name) : std::string_view(name).substr(dot + 1);
}

Result<LoginModule> parse_login_module(std::string_view text) {
  Tokens tokens(text);
  LoginModule module;
  BARNABAS_ASSIGN(Token name, tokens.next());
  if (!name.is_text()) return complain(name.at, "expected the class of a login module");
  module.name = std::move(name.text);
  BARNABAS_ASSIGN(Token flag, tokens.next());
  const auto known = flag.is_text() ? flag_of(flag.text) : std::nullopt;
  if (!known)
    return complain(flag.at,
                    "expected required, requisite, sufficient or optional behind the module's class");
  module.flag = *known;
  BARNABAS_TRY(parse_options(tokens, module));
  BARNABAS_ASSIGN(const Token rest, tokens.next());
  if (rest.kind != Token::Kind::end) return complain(rest.at, "more than one module, expected one");
  return module;
}

}  // namespace barnabas::security
