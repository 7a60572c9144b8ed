#include "security/oauth_bearer_message.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace barnabas::security {
namespace {

constexpr char separator = '\x01';
constexpr std::string_view token_name = "auth";

std::unexpected<Error> refuse(std::string why) {
  return fail(ErrorKind::invalid, "client's first message: " + std::move(why));
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}
bool is_value(char c) {
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
}
bool is_token(char c) {
  return is_letter_or_digit(c) || std::string_view("-_~+/.").find(c) != std::string_view::npos;
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Undoes =2C and =3D (RFC 5801, section 4). Nothing when there is another '=', or what a name must not hold.
Result<std::string> read_name(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\0' || static_cast<unsigned char>(text[i]) > 0x7F)
      return refuse("a name that is not ASCII");
    if (text[i] != '=') {
      name += text[i];
    } else if (text.substr(i).starts_with("=2C") || text.substr(i).starts_with("=3D")) {
      name += text[i + 1] == '2' ? ',' : '=';
      i += 2;
    } else {
      return refuse("a name with a bare '='");
    }
  }
  if (name.empty()) return refuse("an empty name");
  return name;
}

/// "Bearer <token>", the word in any case.
Result<std::string> read_token(std::string_view value) {
  const std::size_t blank = value.find(' ');
  const std::string_view scheme = value.substr(0, blank);
  if (blank == std::string_view::npos || !std::ranges::equal(scheme, std::string_view("bearer"), {}, lower))
    return refuse("the scheme is not Bearer");
  std::string_view token = value.substr(std::min(value.find_first_not_of(' ', blank), value.size()));
  std::string_view body = token;
  while (body.ends_with('=')) body.remove_suffix(1);
  if (body.empty() || !std::ranges::all_of(body, is_token)) return refuse("no bearer token");
  return std::string(token);
}

}  // namespace

Result<OAuthBearerMessage> OAuthBearerMessage::parse(ByteView message) {
  std::string_view text = as_text(message);
  OAuthBearerMessage result;
  if (!text.starts_with("n,")) return refuse("expected \"n,\": no channel binding");
  text.remove_prefix(2);
  if (text.starts_with("a=")) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return refuse("the name does not end");
    BARNABAS_ASSIGN(result.as_whom, read_name(text.substr(2, comma - 2)));
    text.remove_prefix(comma);
  }
  if (!text.starts_with(std::string_view(",\x01", 2))) return refuse("expected names and values");
  text.remove_prefix(2);
  while (!text.empty() && text.front() != separator) {
    const std::size_t end = text.find(separator);
    if (end == std::string_view::npos) return refuse("a value does not end");
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos ||
        !std::ranges::all_of(pair.substr(0, equals), is_letter))
      return refuse("expected a name of letters, and '='");
    const std::string_view value = pair.substr(equals + 1);
    if (value.empty() || !std::ranges::all_of(value, is_value))
      return refuse("a value that is empty or not printable");
    if (!result.extensions.emplace(pair.substr(0, equals), value).second) return refuse("a name twice");
    text.remove_prefix(end + 1);
  }
  if (text.size() != 1) return refuse(text.empty() ? "it does not end" : "more behind its end");
  const auto token = result.extensions.find(token_name);
  if (token == result.extensions.end()) return refuse("no \"auth\"");
  BARNABAS_ASSIGN(result.token, read_token(token->second));
  result.extensions.erase(token);
  return result;
}

}  // namespace barnabas::security
