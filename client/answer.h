#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/string.h"

namespace barnabas::client {

/// Keys stay in the order in which they were set: it is that of the columns, too.
using Json = nlohmann::ordered_json;

enum class OutputFormat : uint8_t { text, json };

/// What a command found out: one document for programs, lines and tables for people, and what went wrong with
/// single items. Text of the wire that is not UTF-8 is printed with U+FFFD in its place.
class Answer {
 public:
  /// A list: the document is the rows, which are shown as one table.
  static Answer list(Json rows);

  Json document = Json::array();

  void line(std::string text) { parts_.emplace_back(std::move(text)); }
  /// Objects with the same flat members; nothing is shown of no rows but `if_empty`.
  void table(Json rows, std::string if_empty = "");
  /// Adds `row` to the document with the outcome as its member "status": "OK", or the error's name, then the
  /// text as "error". What failed is a complaint that begins with `what`.
  void outcome(Json row, const std::string& what, int16_t error_code,
               const std::optional<protocol::String>& words = std::nullopt);
  /// What was not done. What goes for all items alike is said once.
  void complain(std::string text) {
    if (complaints_.empty() || complaints_.back() != text) complaints_.push_back(std::move(text));
  }
  /// What was done, but perhaps not as it was meant.
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Prints the document or the text; returns the complaints, each of which is one line.
  const std::vector<std::string>& print(std::ostream& out, OutputFormat format, bool colours) const;

 private:
  std::vector<std::variant<std::string, Json>> parts_;
  std::vector<std::string> complaints_;
  std::vector<std::string> warnings_;
};

/// One line of JSON.
std::string json_line(const Json& value);
/// Rows as columns of text. "REPLICAS" for "replicas", "-" for null, lists joined by commas.
std::string table_text(const Json& rows, bool colours);
/// What is known of a text that may be null.
Json json_of(const std::optional<protocol::String>& text);

}  // namespace barnabas::client
