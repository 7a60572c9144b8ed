#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "protocol/error_code_numbers.h"

namespace barnabas::protocol {

/// By number on the wire; nothing for a number that Kafka 4.4 does not know.
std::optional<ErrorCode> error_code(int16_t number);
/// As Kafka spells it: "OFFSET_OUT_OF_RANGE".
std::string_view name(ErrorCode code);
/// Whether clients try again by themselves.
bool is_retriable(ErrorCode code);
/// One English sentence, for answers that carry a text and have nothing more exact to say.
std::string_view default_message(ErrorCode code);
/// The number, as the error fields of messages hold it.
constexpr int16_t to_wire(ErrorCode code) {
  return std::to_underlying(code);
}

}  // namespace barnabas::protocol
