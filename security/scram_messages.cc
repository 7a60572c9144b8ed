#include "security/scram_messages.h"

#include <algorithm>
#include <cctype>

#include "security/base64.h"

namespace barnabas::security {
namespace {

/// The attributes of a message, one after the other.
class Attributes {
 public:
  explicit Attributes(std::string_view text) : rest_(text) {}

  std::size_t position() const { return position_; }
  bool at_end() const { return ended_; }
  std::string_view next() {
    const auto comma = rest_.find(',');
    const std::string_view attribute = rest_.substr(0, comma);
    ended_ = comma == rest_.npos;
    const std::size_t taken = ended_ ? rest_.size() : comma + 1;
    rest_.remove_prefix(taken);
    position_ += taken;
    return attribute;
  }
  /// Whether the next one begins with `name`, which must be two characters: "n=".
  bool next_is(std::string_view name) const { return !ended_ && rest_.starts_with(name); }

 private:
  std::string_view rest_;
  std::size_t position_ = 0;
  bool ended_ = false;
};

bool is_value(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 0x01; });
}
bool is_nonce(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 0x21 && c <= 0x7E; });
}

/// A saslname without its escapes; nothing when it is none.
std::optional<std::string> unescaped(std::string_view name) {
  if (!is_value(name)) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '=') {
      text += name[i];
      continue;
    }
    const std::string_view escape = name.substr(i, 3);
    if (escape != "=2C" && escape != "=3D") return std::nullopt;
    text += escape == "=2C" ? ',' : '=';
    i += 2;
  }
  return text;
}

/// "name=value" with a name of letters.
bool split_extension(std::string_view attribute, std::string_view& name, std::string_view& value) {
  const auto equals = attribute.find('=');
  if (equals == attribute.npos) return false;
  name = attribute.substr(0, equals);
  value = attribute.substr(equals + 1);
  return !name.empty() && is_value(value) &&
         std::ranges::all_of(name, [](unsigned char c) { return c < 0x80 && std::isalpha(c) != 0; });
}

}  // namespace

std::optional<ScramClientFirst> parse_scram_client_first(ByteView message) {
  const std::string_view text = as_text(message);
  Attributes attributes(text);
  ScramClientFirst first;
  if (attributes.next() != "n" || attributes.at_end()) return std::nullopt;
  const std::string_view authzid = attributes.next();
  if (!authzid.empty()) {
    if (!authzid.starts_with("a=") || !unescaped(authzid.substr(2))) return std::nullopt;
    first.as_whom = authzid.substr(2);
  }
  if (attributes.next_is("m=") && !is_value(attributes.next().substr(2))) return std::nullopt;
  first.bare = text.substr(attributes.position());
  if (!attributes.next_is("n=")) return std::nullopt;
  auto user = unescaped(attributes.next().substr(2));
  if (!user || !attributes.next_is("r=")) return std::nullopt;
  first.user = std::move(*user);
  first.nonce = attributes.next().substr(2);
  if (!is_nonce(first.nonce)) return std::nullopt;
  while (!attributes.at_end()) {
    std::string_view name;
    std::string_view value;
    if (!split_extension(attributes.next(), name, value)) return std::nullopt;
    first.extensions.insert_or_assign(name, value);
  }
  return first;
}

std::optional<ScramClientFinal> parse_scram_client_final(ByteView message) {
  const std::string_view text = as_text(message);
  Attributes attributes(text);
  ScramClientFinal final_message;
  if (!attributes.next_is("c=") || !decode_base64(attributes.next().substr(2))) return std::nullopt;
  if (!attributes.next_is("r=")) return std::nullopt;
  final_message.nonce = attributes.next().substr(2);
  if (!is_nonce(final_message.nonce) || attributes.at_end()) return std::nullopt;
  for (;;) {
    const std::size_t from = attributes.position();
    const std::string_view attribute = attributes.next();
    if (attributes.at_end()) {
      if (!attribute.starts_with("p=")) return std::nullopt;
      auto proof = decode_base64(attribute.substr(2));
      if (!proof) return std::nullopt;
      final_message.proof = std::move(*proof);
      final_message.without_proof = text.substr(0, from - 1);
      return final_message;
    }
    std::string_view name;
    std::string_view value;
    if (!split_extension(attribute, name, value)) return std::nullopt;
  }
}

}  // namespace barnabas::security
