#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/connection_settings.h"
#include "client/stream.h"
#include "protocol/api.h"
#include "protocol/frame.h"
#include "protocol/messages/api_versions_request.h"
#include "protocol/messages/api_versions_response.h"

namespace barnabas::client {

/// An answer with the frame that its strings point into.
template <class Response>
struct Answered {
  std::unique_ptr<std::vector<std::byte>> frame;
  Response body;
  int16_t version = 0;

  const Response* operator->() const { return &body; }
  const Response& operator*() const { return body; }
};

/// A connection to one broker, logged in, that asks one question after the other in the newest version that
/// both know. One thread.
class Connection {
 public:
  /// Connects, asks for the versions, and logs in as the settings say. `tls`: null unless the protocol
  /// encrypts.
  static Result<Connection> open(const ConnectionSettings& settings, const TlsClient* tls,
                                 const HostPort& address, Deadline deadline);

  /// ErrorKind::unsupported when the broker does not serve the API, in a version of at least `version_min`
  /// and at most `version_max`. Errors within the answer are the caller's.
  template <class Request>
  Result<Answered<typename Request::Response>> call(const Request& request, Deadline deadline,
                                                    int16_t version_min = Request::min_version,
                                                    int16_t version_max = Request::max_version) {
    BARNABAS_ASSIGN(const int16_t version, common_version(Request::api_key, version_min, version_max));
    return exchange<Request>(request, version, deadline);
  }

  bool serves(protocol::ApiKey key) const { return ranges_.contains(static_cast<int16_t>(key)); }
  const protocol::ApiVersionsResponse& versions() const { return versions_.body; }
  const std::string& peer() const { return stream_.peer(); }

 private:
  struct Range {
    int16_t min;
    int16_t max;
  };
  /// What an answer may weigh at most: more is somebody who speaks another protocol.
  static constexpr int32_t answer_bytes_max = 256 << 20;

  explicit Connection(Stream stream) : stream_(std::move(stream)) {}
  Result<int16_t> common_version(protocol::ApiKey key, int16_t least, int16_t greatest) const;
  Result<void> ask_versions(const ConnectionSettings& settings, Deadline deadline);
  /// The answer may be that the version is not known, with those that are.
  Result<Answered<protocol::ApiVersionsResponse>> ask_versions_in(const protocol::ApiVersionsRequest& request,
                                                                  int16_t version, Deadline deadline);
  Result<void> authenticate(const ConnectionSettings& settings, Deadline deadline);
  Result<std::unique_ptr<std::vector<std::byte>>> round_trip(ByteView request, Deadline deadline);
  Result<void> check_header(protocol::Reader& reader, protocol::ApiKey key, int16_t version) const;

  template <class Request>
  Result<Answered<typename Request::Response>> exchange(const Request& request, int16_t version,
                                                        Deadline deadline) {
    BARNABAS_ASSIGN(const protocol::WrittenBytes frame,
                    protocol::encode_request_frame(request, version, ++correlation_id_, client_id_));
    BARNABAS_ASSIGN(auto bytes, round_trip(frame.bytes(), deadline));
    protocol::Reader reader(*bytes);
    BARNABAS_TRY(check_header(reader, Request::api_key, version));
    auto body = Request::Response::decode(reader, version);
    if (!body) return fail(stream_.peer() + ": an answer that cannot be read", std::move(body.error()));
    return Answered<typename Request::Response>{std::move(bytes), std::move(*body), version};
  }

  Stream stream_;
  protocol::String client_id_;
  Answered<protocol::ApiVersionsResponse> versions_;
  std::map<int16_t, Range> ranges_;
  int32_t correlation_id_ = 0;
};

}  // namespace barnabas::client
