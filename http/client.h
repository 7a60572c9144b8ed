#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "http/server.h"

namespace barnabas::http {

struct Answer {
  unsigned status = 0;
  std::string body;
};

/// Asks one server of ours for one thing. Blocks until it is there or `timeout` has passed, whatever the peer
/// does; more than 64 KiB are an error. An empty host is this machine.
Result<Answer> get(const Address& address, const std::string& path, std::chrono::milliseconds timeout);

}  // namespace barnabas::http
