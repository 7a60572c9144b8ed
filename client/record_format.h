#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace barnabas::client {

/// A record as it is printed or read. Views point to whoever has the bytes.
struct RecordView {
  std::string_view topic;
  int32_t partition = -1;
  int64_t offset = -1;
  int64_t timestamp_ms = -1;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>> headers;
};

/// A text with fields in it, as `-f` takes it:
///   %t topic  %p partition  %o offset  %T time in milliseconds  %d time as 2026-11-30T10:00:00.000Z
///   %k key  %v or %s value  %K and %V (or %S) their lengths, -1 for null  %h headers  %% a percent sign
/// and \n \r \t \\ \0 \xHH. Printing and reading take the same text.
class RecordFormat {
 public:
  /// ErrorKind::invalid says at which character, what was found and what was expected.
  static Result<RecordFormat> parse(std::string_view text);

  /// `null`: what is printed of a key or value that is null.
  void print(const RecordView& record, std::string_view null, std::string& out) const;

  enum class Field : uint8_t {
    literal,
    topic,
    partition,
    offset,
    time_ms,
    date,
    key,
    value,
    key_size,
    value_size,
    headers
  };
  struct Part {
    Field field = Field::literal;
    std::string text;  ///< of a literal
  };
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

/// The escapes above, as delimiters are given, too.
Result<std::string> unescape(std::string_view text);

/// The other way round, for what is shown to people: what no terminal shows as it is becomes an escape.
std::string escape(std::string_view text);

/// Cuts an input into records by a format of %k, %v (%s), %h and literals. The last literal ends a record;
/// the last record may do without it. Fields are as long as the next literal lets them.
class RecordReader {
 public:
  /// ErrorKind::invalid when the format has other fields, two without a literal between them, none, or no
  /// literal at its end.
  static Result<RecordReader> create(const RecordFormat& format);

  struct Input {
    std::optional<std::string> key;
    std::string value;
    std::vector<std::pair<std::string, std::string>> headers;
  };
  /// One record, without the literal that ends it. A line without a delimiter that should be there is
  /// ErrorKind::invalid, unless the key may be missing: then it is all value.
  Result<Input> read(std::string_view record, bool key_may_miss) const;
  const std::string& end() const { return end_; }

 private:
  std::vector<RecordFormat::Part> parts_;
  std::string end_;
};

/// "name=value,name=value"
std::vector<std::pair<std::string, std::string>> parse_headers(std::string_view text);

}  // namespace barnabas::client
