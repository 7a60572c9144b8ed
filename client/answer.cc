#include "client/answer.h"

#include <algorithm>
#include <cctype>

#include "client/cluster.h"
#include "protocol/error_code.h"

namespace barnabas::client {
namespace {

constexpr const char* bold = "\x1b[1m";
constexpr const char* plain = "\x1b[0m";

std::string dumped(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_array()) {
    std::string text;
    for (const Json& each : value) text += (text.empty() ? "" : ",") + cell(each);
    return text.empty() ? "-" : text;
  }
  if (!value.is_string()) return dumped(value, -1);
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty()) return "\"\"";
  // Text of others must not play tricks on the terminal.
  std::string shown = text;
  std::ranges::replace_if(
      shown, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return shown;
}

std::string heading(std::string_view key) {
  std::string text(key);
  for (char& c : text) c = c == '_' ? '-' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Columns that a terminal needs, not bytes.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string json_line(const Json& value) {
  return dumped(value, -1) + "\n";
}

Json json_of(const std::optional<protocol::String>& text) {
  return text ? Json(text->str()) : Json();
}

std::string table_text(const Json& rows, bool colours) {
  std::vector<std::string> keys;
  for (const Json& row : rows)
    for (const auto& item : row.items())
      if (std::ranges::find(keys, item.key()) == keys.end()) keys.push_back(item.key());
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& key : keys) lines.front().push_back(heading(key));
  for (const Json& row : rows) {
    auto& line = lines.emplace_back();
    for (const std::string& key : keys) line.push_back(row.contains(key) ? cell(row[key]) : "-");
  }
  std::vector<std::size_t> widths(keys.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  std::string text;
  for (const auto& line : lines) {
    if (colours && &line == &lines.front()) text += bold;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      if (i + 1 < line.size()) text.append(widths[i] - width_of(line[i]) + 2, ' ');
    }
    if (colours && &line == &lines.front()) text += plain;
    text += '\n';
  }
  return text;
}

Answer Answer::list(Json rows) {
  Answer answer;
  answer.document = rows;
  answer.table(std::move(rows));
  return answer;
}

void Answer::table(Json rows, std::string if_empty) {
  if (!rows.empty()) {
    parts_.emplace_back(std::move(rows));
  } else if (!if_empty.empty()) {
    line(std::move(if_empty));
  }
}

void Answer::outcome(Json row, const std::string& what, int16_t error_code,
                     const std::optional<protocol::String>& words) {
  if (error_code == 0) {
    row["status"] = "OK";
    parts_.emplace_back(Json::array({row}));
  } else {
    const auto known = protocol::error_code(error_code);
    row["status"] = known ? std::string(protocol::name(*known)) : std::to_string(error_code);
    row["error"] = error_text(error_code, words);
    complain(what + ": " + error_text(error_code, words));
  }
  document.push_back(std::move(row));
}

const std::vector<std::string>& Answer::print(std::ostream& out, OutputFormat format, bool colours) const {
  if (format == OutputFormat::json) {
    out << dumped(document, 2) << '\n';
    return complaints_;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (const auto* text = std::get_if<std::string>(&parts_[i])) {
      out << *text << '\n';
      continue;
    }
    // Outcomes come one by one; those with the same columns are one table.
    Json rows = std::get<Json>(parts_[i]);
    while (i + 1 < parts_.size() && rows.size() < 100'000) {
      const auto* next = std::get_if<Json>(&parts_[i + 1]);
      if (next == nullptr || next->size() != 1 || !next->front().contains("status")) break;
      rows.push_back(next->front());
      ++i;
    }
    out << table_text(rows, colours);
  }
  return complaints_;
}

}  // namespace barnabas::client
