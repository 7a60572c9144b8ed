#pragma once

#include <span>

#include "broker/call.h"

namespace barnabas::broker {

/// One API that this broker serves. From the list come dispatch, the ApiVersions answer and the table in the
/// README.
struct HandlerEntry {
  protocol::ApiKey api;
  int16_t min_version;
  int16_t max_version;
  /// Lowest version that is announced; below min_version only where old clients look at it without using it.
  int16_t announced_min_version;
  /// Decodes the body and handles the request. `body` stands behind the header.
  void (*run)(Call call, protocol::Reader& body);
};

/// Ordered by API key.
std::span<const HandlerEntry> all_handlers();
const HandlerEntry* find_handler(protocol::ApiKey api);

}  // namespace barnabas::broker
