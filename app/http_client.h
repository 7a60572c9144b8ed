#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

#include "base/result.h"

namespace barnabas::app {

struct HttpRequest {
  std::string url;  ///< of http or https
  /// PEM file of whom to trust for https; "": the certificate authorities of the machine.
  std::string trusted_certificates{};
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds timeout{10'000};  ///< of everything
  std::size_t bytes_max = 1 << 20;            ///< of the answer
};

/// The body of what GET gives, which must be 200: redirects are not followed, so that nobody but the server
/// of the settings is asked. Waits; up to a second longer once `cancelled` is true, if not null. By libcurl,
/// which is loaded when it is first called. Any thread.
Result<std::string> http_get(const HttpRequest& request, const std::atomic<bool>* cancelled = nullptr);

/// Loads libcurl; an error when it is not there.
Result<void> prepare_http();

/// The URL without user, query and fragment, which may be secrets, for logs and errors. Taken apart by
/// libcurl, as http_get does it; one that libcurl cannot read is not shown at all.
std::string url_for_log(const std::string& url);

}  // namespace barnabas::app
