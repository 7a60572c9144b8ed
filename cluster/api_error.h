#pragma once

#include <optional>
#include <string>
#include <utility>

#include "protocol/error_code.h"
#include "protocol/string.h"

namespace barnabas::cluster {

/// An item's refusal as it stands in a response.
struct ApiError {
  protocol::ErrorCode code;
  std::optional<std::string> message;

  /// With the code's own sentence as message.
  static ApiError plain(protocol::ErrorCode code) {
    return {code, std::string(protocol::default_message(code))};
  }
};

/// Fills `error_code` and `error_message` of a response's item.
template <class Item>
void set_error(Item& item, const ApiError& error) {
  item.error_code = protocol::to_wire(error.code);
  item.error_message.reset();
  if (error.message) item.error_message = protocol::String(*error.message);
}

}  // namespace barnabas::cluster
