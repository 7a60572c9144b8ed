#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "base/uuid.h"
#include "protocol/records_field.h"
#include "protocol/string.h"
#include "protocol/unknown_tags.h"

namespace barnabas::protocol {

/// Prints messages as JSON text, for logs, tools and tests: bytes and records as base64, ids as their text,
/// 64-bit integers as plain numbers, unknown tags as `_unknownTags` from tag to hex. Bytes that are not UTF-8
/// are printed as U+FFFD.
class JsonPrinter {
 public:
  /// Appends to `out`, which must outlive the printer.
  explicit JsonPrinter(std::string& out) : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void null();
  void value(bool flag);
  void value(double number);
  void value(int8_t number) { integer(number); }
  void value(int16_t number) { integer(number); }
  void value(uint16_t number) { integer(number); }
  void value(int32_t number) { integer(number); }
  void value(uint32_t number) { integer(number); }
  void value(int64_t number) { integer(number); }
  void value(const Uuid& id);
  void value(const String& text);
  void value(const Bytes& bytes);
  /// External records are printed as the text "<n> external bytes".
  void value(const Records& records);
  template <class T>
  void value(const std::optional<T>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      null();
    }
  }
  template <class T>
  void value(const std::vector<T>& values) {
    begin_array();
    for (const T& each : values) value(each);
    end_array();
  }

  template <class T>
  void structure(const T& value, int16_t version) {
    value.print(*this, version);
  }
  template <class T>
  void structure(const std::optional<T>& maybe, int16_t version) {
    if (maybe) {
      structure(*maybe, version);
    } else {
      null();
    }
  }
  template <class T>
  void structure(const std::vector<T>& values, int16_t version) {
    begin_array();
    for (const T& each : values) structure(each, version);
    end_array();
  }

  void unknown_tags(const UnknownTags& tags);

 private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  void integer(int64_t number);
  void quoted(std::string_view text);

  std::string& out_;
  bool need_comma_ = false;
};

/// The whole message as JSON text.
template <class Message>
std::string to_json(const Message& message, int16_t version) {
  std::string text;
  JsonPrinter printer(text);
  message.print(printer, version);
  return text;
}

}  // namespace barnabas::protocol
