#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace barnabas {

/// How log lines look (logger.format): as base/log.h tells, or one JSON object a line with time, level,
/// logger, message and the key=value pairs of the line.
enum class LogFormat : uint8_t { text, json };

/// From the next line on. Any thread.
void set_log_format(LogFormat format);

/// A line as JSON, without the end of line. `text` is an event followed by key=value pairs, where a value is
/// quoted as log_text does it, or goes up to the next pair; `time` is put as it is. A pair whose key is taken
/// gets a longer one. Bytes that are not UTF-8 are replaced.
std::string json_log_line(std::string_view time, std::string_view level, std::string_view logger,
                          std::string_view text);

}  // namespace barnabas
