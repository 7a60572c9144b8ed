#include "client/record_format.h"

#include <algorithm>
#include <array>

#include "client/connection_settings.h"
#include "client/offsets.h"

namespace barnabas::client {
namespace {

using namespace std::string_view_literals;
using Field = RecordFormat::Field;

struct Letter {
  char letter;
  Field field;
};
constexpr auto letters = std::to_array<Letter>({{'t', Field::topic},
                                                {'p', Field::partition},
                                                {'o', Field::offset},
                                                {'T', Field::time_ms},
                                                {'d', Field::date},
                                                {'k', Field::key},
                                                {'v', Field::value},
                                                {'s', Field::value},
                                                {'K', Field::key_size},
                                                {'V', Field::value_size},
                                                {'S', Field::value_size},
                                                {'h', Field::headers}});

std::unexpected<Error> refuse(std::size_t position, const std::string& text) {
  return fail(ErrorKind::invalid, "format, character " + std::to_string(position + 1) + ": " + text);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Appends what the escape at text[at] ('\\') means; returns how long it is.
Result<std::size_t> read_escape(std::string_view text, std::size_t at, std::string& out) {
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  switch (c) {
    case 'n':
      out += '\n';
      return 2;
    case 'r':
      out += '\r';
      return 2;
    case 't':
      out += '\t';
      return 2;
    case '0':
      out += '\0';
      return 2;
    case '\\':
      out += '\\';
      return 2;
    case 'x': {
      const int high = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
      const int low = at + 3 < text.size() ? hex_digit(text[at + 3]) : -1;
      if (high < 0 || low < 0) return refuse(at, "\\x without two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      return 4;
    }
    default:
      return refuse(at, "an unknown escape; expected \\n, \\r, \\t, \\0, \\\\ or \\xHH");
  }
}

std::string size_text(const std::optional<std::string_view>& bytes) {
  return bytes ? std::to_string(bytes->size()) : "-1";
}

}  // namespace

Result<std::string> unescape(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\') {
      BARNABAS_ASSIGN(const std::size_t taken, read_escape(text, at, out));
      at += taken;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string escape(std::string_view text) {
  constexpr std::string_view named = "\n\r\t\0\\"sv;
  constexpr std::string_view names = "nrt0\\";
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto known = named.find(c); known != std::string_view::npos) {
      out.append("\\").append(1, names[known]);
    } else if (byte < 0x20 || byte == 0x7f) {
      out.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    } else {
      out += c;
    }
  }
  return out;
}

Result<RecordFormat> RecordFormat::parse(std::string_view text) {
  RecordFormat format;
  const auto literal = [&]() -> std::string& {
    if (format.parts_.empty() || format.parts_.back().field != Field::literal) format.parts_.emplace_back();
    return format.parts_.back().text;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\') {
      BARNABAS_ASSIGN(const std::size_t taken, read_escape(text, at, literal()));
      at += taken;
    } else if (text[at] != '%') {
      literal() += text[at++];
    } else {
      const char c = at + 1 < text.size() ? text[at + 1] : '\0';
      const auto* known = std::ranges::find(letters, c, &Letter::letter);
      if (c == '%') {
        literal() += '%';
      } else if (known == letters.end()) {
        return refuse(at, "an unknown field; expected one of %t %p %o %T %d %k %v %s %K %V %S %h %%");
      } else {
        format.parts_.push_back({known->field, ""});
      }
      at += 2;
    }
  }
  return format;
}

void RecordFormat::print(const RecordView& record, std::string_view null, std::string& out) const {
  for (const Part& part : parts_) {
    switch (part.field) {
      case Field::literal:
        out += part.text;
        break;
      case Field::topic:
        out += record.topic;
        break;
      case Field::partition:
        out += std::to_string(record.partition);
        break;
      case Field::offset:
        out += std::to_string(record.offset);
        break;
      case Field::time_ms:
        out += std::to_string(record.timestamp_ms);
        break;
      case Field::date:
        out += record.timestamp_ms < 0 ? "-" : time_text(record.timestamp_ms);
        break;
      case Field::key:
        out += record.key.value_or(null);
        break;
      case Field::value:
        out += record.value.value_or(null);
        break;
      case Field::key_size:
        out += size_text(record.key);
        break;
      case Field::value_size:
        out += size_text(record.value);
        break;
      case Field::headers:
        for (const auto& header : record.headers) {
          if (&header != &record.headers.front()) out += ',';
          out.append(header.first).append("=").append(header.second.value_or(null));
        }
        break;
    }
  }
}

Result<RecordReader> RecordReader::create(const RecordFormat& format) {
  RecordReader reader;
  reader.parts_ = format.parts();
  const auto complain = [](const char* text) {
    return fail(ErrorKind::invalid, std::string("format: ") + text);
  };
  if (reader.parts_.empty() || reader.parts_.back().field != Field::literal)
    return complain("nothing ends a record; add \\n at the end");
  reader.end_ = std::move(reader.parts_.back().text);
  reader.parts_.pop_back();
  bool fields = false;
  for (std::size_t i = 0; i < reader.parts_.size(); ++i) {
    const Field field = reader.parts_[i].field;
    if (field == Field::literal) continue;
    if (field != Field::key && field != Field::value && field != Field::headers)
      return complain("only %k, %v (%s) and %h can be read");
    if (i > 0 && reader.parts_[i - 1].field != Field::literal)
      return complain("two fields need something between them");
    fields = true;
  }
  if (!fields) return complain("no field; expected %v at least");
  return reader;
}

Result<RecordReader::Input> RecordReader::read(std::string_view record, bool key_may_miss) const {
  Input input;
  std::string_view rest = record;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& part = parts_[i];
    if (part.field == Field::literal) {
      if (!rest.starts_with(part.text))
        return fail(ErrorKind::invalid, "expected \"" + escape(part.text) + "\" in front of \"" +
                                            escape(rest.substr(0, 20)) + "\"");
      rest.remove_prefix(part.text.size());
      continue;
    }
    std::string_view content = rest;
    if (i + 1 < parts_.size()) {
      const auto end = rest.find(parts_[i + 1].text);
      if (end == std::string_view::npos) {
        if (!key_may_miss || part.field != Field::key)
          return fail(ErrorKind::invalid, "no \"" + escape(parts_[i + 1].text) + "\" in \"" +
                                              escape(record.substr(0, 40)) + "\"");
        input.value = rest;
        return input;
      }
      content = rest.substr(0, end);
    }
    rest.remove_prefix(content.size());
    if (part.field == Field::key) {
      input.key = std::string(content);
    } else if (part.field == Field::value) {
      input.value = content;
    } else {
      input.headers = parse_headers(content);
    }
  }
  return input;
}

std::vector<std::pair<std::string, std::string>> parse_headers(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const std::string& item : split_list(text)) {
    const auto equals = std::min(item.find('='), item.size());
    headers.emplace_back(item.substr(0, equals), item.substr(std::min(equals + 1, item.size())));
  }
  return headers;
}

}  // namespace barnabas::client
