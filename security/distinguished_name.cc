#include "security/distinguished_name.h"

#include <openssl/asn1.h>
#include <openssl/objects.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace barnabas::security {
namespace {

std::string hex(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

/// How long the well-formed sequence at the beginning is; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least || code > 0x10ffff || surrogate ? 0 : length;
}

std::string cleaned(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

/// The value as text, when its type is one that Java prints so.
bool text_of(const ASN1_STRING* value, std::string& text) {
  const unsigned char* bytes = ASN1_STRING_get0_data(value);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
  const std::string_view raw(reinterpret_cast<const char*>(bytes), size);
  switch (ASN1_STRING_type(value)) {
    case V_ASN1_UTF8STRING:
    case V_ASN1_PRINTABLESTRING:
    case V_ASN1_IA5STRING:
    case V_ASN1_GENERALSTRING:
      text = cleaned(raw);
      return true;
    case V_ASN1_T61STRING:  // Latin-1, whatever T.61 says
      for (std::size_t i = 0; i < size; ++i) append_utf8(text, bytes[i]);
      return true;
    case V_ASN1_BMPSTRING: {
      std::string units;
      for (std::size_t i = 0; i + 1 < size; i += 2)
        append_utf8(units, static_cast<uint32_t>(bytes[i]) << 8 | bytes[i + 1]);
      text = cleaned(units);
      return true;
    }
    default:
      return false;
  }
}

std::string escaped(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\r'; };
  std::size_t lead = 0;
  while (lead < text.size() && blank(text[lead])) ++lead;
  std::size_t trail = text.size();
  while (trail > lead && blank(text[trail - 1])) --trail;
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') {
      result += "\\00";
      continue;
    }
    if (i < lead || i >= trail || std::string_view(",=+<>#;\"\\").find(c) != std::string_view::npos)
      result += '\\';
    result += c;
  }
  return result;
}

const char* short_name(const ASN1_OBJECT* type) {
  switch (OBJ_obj2nid(type)) {
    case NID_commonName:
      return "CN";
    case NID_countryName:
      return "C";
    case NID_localityName:
      return "L";
    case NID_stateOrProvinceName:
      return "ST";
    case NID_organizationName:
      return "O";
    case NID_organizationalUnitName:
      return "OU";
    case NID_streetAddress:
      return "STREET";
    case NID_domainComponent:
      return "DC";
    case NID_userId:
      return "UID";
    default:
      return nullptr;
  }
}

std::string number_of(const ASN1_OBJECT* type) {
  const int length = OBJ_obj2txt(nullptr, 0, type, 1);
  if (length <= 0) return "?";
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  OBJ_obj2txt(text.data(), static_cast<int>(text.size()), type, 1);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::string der_of(const ASN1_STRING* value) {
  ASN1_TYPE* type = ASN1_TYPE_new();
  if (type == nullptr) return "#";
  const std::unique_ptr<ASN1_TYPE, decltype(&::ASN1_TYPE_free)> owner(type, &::ASN1_TYPE_free);
  if (ASN1_TYPE_set1(type, ASN1_STRING_type(value), value) != 1) return "#";
  unsigned char* bytes = nullptr;
  const int size = i2d_ASN1_TYPE(type, &bytes);
  if (size < 0) return "#";
  std::string text = "#" + hex(bytes, static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

std::string attribute(const X509_NAME_ENTRY* entry) {
  const ASN1_OBJECT* type = X509_NAME_ENTRY_get_object(entry);
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(entry);
  const char* name = short_name(type);
  if (name == nullptr) return number_of(type) + "=" + der_of(value);
  std::string text;
  if (!text_of(value, text)) return std::string(name) + "=" + der_of(value);
  return std::string(name) + "=" + escaped(text);
}

}  // namespace

std::string java_name(const X509_name_st* name) {
  std::vector<std::string> parts;  // one for each relative name, in the order of the certificate
  int set = -1;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const bool same = X509_NAME_ENTRY_set(entry) == set;
    set = X509_NAME_ENTRY_set(entry);
    if (same) {
      parts.back() += "+" + attribute(entry);
    } else {
      parts.push_back(attribute(entry));
    }
  }
  std::string text;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) text += (text.empty() ? "" : ",") + *part;
  return text;
}

}  // namespace barnabas::security
