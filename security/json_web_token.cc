#include "security/json_web_token.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "security/base64url.h"
#include "security/strict_json.h"

namespace barnabas::security {
namespace {

using nlohmann::json;

constexpr std::size_t token_bytes_max = 524'288;
constexpr std::size_t signature_bytes_max = 1024;  // an RSA key of 8192 bits makes it
constexpr std::size_t key_id_bytes_max = 1000;
constexpr std::size_t subject_bytes_max = 4096;
constexpr double seconds_max = 1e13;  // some 300,000 years: milliseconds of it fit into 64 bits
constexpr JsonLimits header_limits{.bytes = 16'384, .depth = 4, .values = 200};
constexpr JsonLimits claims_limits{.bytes = token_bytes_max, .depth = 16, .values = 10'000};

std::unexpected<Error> refuse(std::string what) {
  return fail(ErrorKind::invalid, "token: " + std::move(what));
}

/// Decodes a part of base64url that is a JSON object.
Result<json> read_object(std::string_view part, std::string_view name, const JsonLimits& limits) {
  auto text = decode_base64url(part);
  if (!text) return refuse(std::string(name) + ": " + text.error().message);
  auto object = parse_strict_json_object(*text, limits);
  if (!object) return refuse(std::string(name) + ": " + object.error().message);
  return object;
}

bool is_jwt(std::string_view content_type) {
  constexpr std::string_view nested = "JWT";
  return std::ranges::equal(content_type, nested, {}, [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
  });
}

/// A member that is text if it is there at all.
Result<std::optional<std::string>> text_member(const json& object, const std::string& name) {
  const auto at = object.find(name);
  if (at == object.end()) return std::nullopt;
  if (!at->is_string()) return refuse(name + " is no text");
  return at->get<std::string>();
}

/// A NumericDate (RFC 7519, section 2), in whole seconds.
Result<std::optional<int64_t>> date_claim(const json& claims, const std::string& name) {
  const auto at = claims.find(name);
  if (at == claims.end()) return std::nullopt;
  if (!at->is_number()) return refuse(name + " is no number");
  const double seconds = at->get<double>();
  if (!std::isfinite(seconds) || seconds < 0 || seconds > seconds_max) return refuse(name + " is no time");
  return static_cast<int64_t>(seconds);
}

Result<int64_t> required_date(const json& claims, const std::string& name) {
  BARNABAS_ASSIGN(const auto date, date_claim(claims, name));
  if (!date) return refuse("no " + name);
  return *date;
}

/// Looks at exp, iat and nbf; returns exp.
Result<int64_t> check_dates(const json& claims, const TokenRules& rules, TimestampMs now) {
  BARNABAS_ASSIGN(const int64_t expires, required_date(claims, "exp"));
  BARNABAS_ASSIGN(const int64_t issued, required_date(claims, "iat"));
  BARNABAS_ASSIGN(const auto not_before, date_claim(claims, "nbf"));
  const int64_t now_s = now.value() / 1000;
  const int64_t skew = rules.clock_skew.count();
  if (now_s - skew >= expires) return refuse("expired " + std::to_string(now_s - expires) + " s ago");
  if (expires < issued) return refuse("expires before it was issued");
  if (not_before && expires < *not_before) return refuse("expires before it is valid");
  if (not_before && now_s + skew < *not_before)
    return refuse("not valid for another " + std::to_string(*not_before - now_s) + " s");
  return expires;
}

Result<void> check_issuer(const json& claims, const TokenRules& rules) {
  if (!rules.issuer) return {};
  BARNABAS_ASSIGN(const auto issuer, text_member(claims, "iss"));
  if (issuer != rules.issuer) return refuse(issuer ? "of another issuer (iss)" : "no issuer (iss)");
  return {};
}

Result<void> check_audience(const json& claims, const TokenRules& rules) {
  if (rules.audiences.empty()) return {};
  const auto at = claims.find("aud");
  if (at == claims.end()) return refuse("no audience (aud)");
  const json listed = at->is_array() ? *at : json::array({*at});
  bool fits = false;
  for (const json& item : listed) {
    if (!item.is_string()) return refuse("an audience (aud) that is no text");
    fits = fits || std::ranges::find(rules.audiences, item.get<std::string>()) != rules.audiences.end();
  }
  if (!fits) return refuse("for another audience (aud)");
  return {};
}

Result<std::string> subject_of(const json& claims, const TokenRules& rules) {
  BARNABAS_ASSIGN(const auto value, text_member(claims, rules.subject_claim));
  const std::string_view subject = trimmed(value ? std::string_view(*value) : std::string_view());
  if (subject.empty()) return refuse("no name in " + rules.subject_claim);
  if (subject.size() > subject_bytes_max)
    return refuse("a name of more than 4096 bytes in " + rules.subject_claim);
  return std::string(subject);
}

/// Text is one scope, as Kafka has it; what is neither text nor a list is none.
Result<std::vector<std::string>> scopes_of(const json& claims, const TokenRules& rules) {
  std::vector<std::string> scopes;
  const auto at = claims.find(rules.scope_claim);
  if (at == claims.end() || !(at->is_string() || at->is_array())) return scopes;
  const json listed = at->is_array() ? *at : json::array({*at});
  for (const json& item : listed) {
    if (!item.is_string()) return refuse("a scope that is no text");
    const std::string whole = item.get<std::string>();
    const std::string scope(trimmed(whole));
    if (scope.empty()) return refuse("an empty scope");
    if (std::ranges::find(scopes, scope) != scopes.end()) return refuse("a scope twice");
    scopes.push_back(scope);
  }
  return scopes;
}

}  // namespace

Result<JsonWebToken> JsonWebToken::parse(std::string_view text) {
  if (text.size() > token_bytes_max) return refuse("longer than 524288 bytes");
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return refuse("expected header, payload and signature");
  JsonWebToken token;
  token.signed_text_ = text.substr(0, second);
  token.payload_ = text.substr(first + 1, second - first - 1);
  BARNABAS_ASSIGN(const json header, read_object(text.substr(0, first), "header", header_limits));
  BARNABAS_ASSIGN(const auto name, text_member(header, "alg"));
  token.algorithm_ = find_json_web_algorithm(name.value_or(""));
  if (token.algorithm_ == nullptr) return refuse("no signature algorithm that is accepted (alg)");
  // b64 changes what is signed (RFC 7797).
  if (header.contains("crit") || header.contains("b64"))
    return refuse("extensions that are not known here (crit)");
  BARNABAS_ASSIGN(const auto content_type, text_member(header, "cty"));
  if (content_type && is_jwt(*content_type)) return refuse("a token within a token (cty)");
  BARNABAS_ASSIGN(token.key_id_, text_member(header, "kid"));
  if (token.key_id_ && token.key_id_->size() > key_id_bytes_max)
    return refuse("a key id of more than 1000 bytes");
  const std::string_view signature = text.substr(second + 1);
  if (signature.size() > (signature_bytes_max * 4 + 2) / 3)
    return refuse("a signature of more than 1024 bytes");
  auto decoded = decode_base64url(signature);
  if (!decoded || decoded->empty()) return refuse("no signature");
  token.signature_ = std::move(*decoded);
  return token;
}

Result<void> JsonWebToken::check_signature(const JsonWebKeySet& keys) const {
  const auto candidates = keys.candidates(*algorithm_, key_id_);
  if (candidates.empty())
    return fail(ErrorKind::not_found, "token: no key that fits its algorithm and key id");
  for (const JsonWebKey* key : candidates)
    if (is_signature(*algorithm_, key->key.get(), signed_text_, signature_)) return {};
  return refuse("wrong signature");
}

Result<AcceptedToken> JsonWebToken::check(const JsonWebKeySet& keys, const TokenRules& rules,
                                          TimestampMs now) const {
  BARNABAS_TRY(check_signature(keys));
  BARNABAS_ASSIGN(const json claims, read_object(payload_, "claims", claims_limits));
  BARNABAS_ASSIGN(const int64_t expires, check_dates(claims, rules, now));
  BARNABAS_TRY(check_issuer(claims, rules));
  BARNABAS_TRY(check_audience(claims, rules));
  AcceptedToken accepted;
  BARNABAS_ASSIGN(accepted.subject, subject_of(claims, rules));
  BARNABAS_ASSIGN(accepted.scopes, scopes_of(claims, rules));
  accepted.expires_at = TimestampMs(expires * 1000);
  return accepted;
}

}  // namespace barnabas::security
