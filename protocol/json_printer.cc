#include "protocol/json_printer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace barnabas::protocol {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_base64(std::string& out, ByteView bytes) {
  static constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) out += i <= count ? alphabet[group >> (18 - 6 * i) & 0x3f] : '=';
  }
}

/// Length of the well-formed UTF-8 sequence at the start of `text`; 0 when there is none.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

void JsonPrinter::separate() {
  if (need_comma_) out_ += ',';
  need_comma_ = true;
}

void JsonPrinter::open(char bracket) {
  separate();
  out_ += bracket;
  need_comma_ = false;
}

void JsonPrinter::close(char bracket) {
  out_ += bracket;
  need_comma_ = true;
}

void JsonPrinter::key(std::string_view name) {
  separate();
  quoted(name);
  out_ += ':';
  need_comma_ = false;
}

void JsonPrinter::null() {
  separate();
  out_ += "null";
}

void JsonPrinter::value(bool flag) {
  separate();
  out_ += flag ? "true" : "false";
}

void JsonPrinter::value(double number) {
  separate();
  if (!std::isfinite(number)) {
    out_ += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char digits[40];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out_.append(digits, end);
}

void JsonPrinter::integer(int64_t number) {
  separate();
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out_.append(digits, end);
}

void JsonPrinter::value(const Uuid& id) {
  separate();
  quoted(id.to_string());
}

void JsonPrinter::value(const String& text) {
  separate();
  quoted(text);
}

void JsonPrinter::value(const Bytes& bytes) {
  separate();
  out_ += '"';
  append_base64(out_, bytes);
  out_ += '"';
}

void JsonPrinter::value(const Records& records) {
  if (records.is_null()) return null();
  if (!records.is_external()) return value(Bytes::view_of(records.bytes()));
  separate();
  quoted(std::to_string(records.size()) + " external bytes");
}

void JsonPrinter::unknown_tags(const UnknownTags& tags) {
  if (tags.empty()) return;
  key("_unknownTags");
  begin_object();
  for (const UnknownTag& each : tags.all()) {
    key(std::to_string(each.tag));
    separate();
    out_ += '"';
    for (const std::byte byte : each.content.view()) {
      out_ += hex_digits[static_cast<uint8_t>(byte) >> 4];
      out_ += hex_digits[static_cast<uint8_t>(byte) & 0xf];
    }
    out_ += '"';
  }
  end_object();
}

void JsonPrinter::quoted(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const char first = text.front();
    const std::size_t length = utf8_sequence(text);
    if (length == 0) {
      out_ += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out_ += {'\\', first};
    } else if (static_cast<uint8_t>(first) < 0x20) {
      out_ += "\\u00";
      out_ += hex_digits[static_cast<uint8_t>(first) >> 4];
      out_ += hex_digits[static_cast<uint8_t>(first) & 0xf];
    } else {
      out_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out_ += '"';
}

}  // namespace barnabas::protocol
