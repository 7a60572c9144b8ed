#pragma once

#include "broker/call.h"
#include "protocol/messages/api_versions_request.h"
#include "protocol/messages/api_versions_response.h"

namespace barnabas::broker {

/// ApiVersions (18), v0–v5.
///  - A version that is not known is answered in version 0 with unsupported_version and the range of this one
///  API.
///  - v3: client software name and version are kept for the log; illegal ones are invalid_request (KIP-511).
///  - v3: finalized features from the metadata log; features with a minimum of 0 are left out before v4.
struct ApiVersionsHandler {
  using Request = protocol::ApiVersionsRequest;
  static void run(Call call, protocol::Reader& body);
};

}  // namespace barnabas::broker
