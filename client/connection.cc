#include "client/connection.h"

#include <algorithm>

#include "base/endian.h"
#include "client/sasl_client.h"
#include "protocol/error_code.h"
#include "protocol/messages/api_versions_request.h"
#include "protocol/messages/sasl_authenticate_request.h"
#include "protocol/messages/sasl_authenticate_response.h"
#include "protocol/messages/sasl_handshake_request.h"
#include "protocol/messages/sasl_handshake_response.h"
#include "security/scram_keys.h"

namespace barnabas::client {

using protocol::ApiKey;
using protocol::ErrorCode;

Result<Connection> Connection::open(const ConnectionSettings& settings, const TlsClient* tls,
                                    const HostPort& address, Deadline deadline) {
  BARNABAS_ASSIGN(Stream stream, Stream::connect(address, tls, deadline));
  Connection connection(std::move(stream));
  connection.client_id_ = settings.client_id;
  BARNABAS_TRY(connection.ask_versions(settings, deadline));
  if (security::authenticates_by_sasl(settings.protocol))
    BARNABAS_TRY(connection.authenticate(settings, deadline));
  return connection;
}

Result<Answered<protocol::ApiVersionsResponse>> Connection::ask_versions_in(
    const protocol::ApiVersionsRequest& request, int16_t version, Deadline deadline) {
  BARNABAS_ASSIGN(const protocol::WrittenBytes frame,
                  protocol::encode_request_frame(request, version, ++correlation_id_, client_id_));
  BARNABAS_ASSIGN(auto bytes, round_trip(frame.bytes(), deadline));
  // Where the version is not known the answer comes in the layout of version 0.
  for (const int16_t layout : {version, int16_t{0}}) {
    protocol::Reader reader(*bytes);
    BARNABAS_TRY(check_header(reader, ApiKey::api_versions, layout));
    auto body = protocol::ApiVersionsResponse::decode(reader, layout);
    const bool unknown = !body || body->error_code == protocol::to_wire(ErrorCode::unsupported_version);
    if (unknown && layout != 0) continue;
    if (!body) return fail(peer() + ": an answer that cannot be read", std::move(body.error()));
    return Answered<protocol::ApiVersionsResponse>{std::move(bytes), std::move(*body), layout};
  }
  return fail(ErrorKind::invalid, peer() + ": an answer that cannot be read");
}

Result<void> Connection::ask_versions(const ConnectionSettings& settings, Deadline deadline) {
  protocol::ApiVersionsRequest request;
  request.client_software_name = "barnabas-cli";
  request.client_software_version = BARNABAS_VERSION;
  auto answer = ask_versions_in(request, protocol::ApiVersionsRequest::max_version, deadline);
  if (answer && answer->body.error_code == protocol::to_wire(ErrorCode::unsupported_version)) {
    // It says which versions it knows; before Kafka 2.4 it does not.
    const auto& known = answer->body.api_keys;
    const auto range = std::ranges::find(known, static_cast<int16_t>(ApiKey::api_versions),
                                         &protocol::api_versions_response_structs::ApiVersion::api_key);
    const int16_t version = range == known.end() ? int16_t{0} : range->max_version;
    answer = ask_versions_in(
        request, std::clamp<int16_t>(version, 0, protocol::ApiVersionsRequest::max_version), deadline);
  }
  if (!answer && answer.error().kind == ErrorKind::closed && !security::encrypts(settings.protocol))
    return fail(ErrorKind::invalid,
                answer.error().message + " at once; is it a TLS listener? Then add --tls");
  if (!answer) return std::unexpected<Error>(std::move(answer.error()));
  if (answer->body.error_code != 0)
    return fail(ErrorKind::invalid, peer() + ": its versions: " + std::to_string(answer->body.error_code));
  for (const auto& api : answer->body.api_keys) ranges_[api.api_key] = {api.min_version, api.max_version};
  versions_ = std::move(*answer);
  return {};
}

Result<void> Connection::authenticate(const ConnectionSettings& settings, Deadline deadline) {
  protocol::SaslHandshakeRequest handshake;
  handshake.mechanism = settings.mechanism;
  BARNABAS_ASSIGN(const auto agreed, call(handshake, deadline, 1));
  if (agreed->error_code != 0) {
    std::string offered;
    for (const auto& each : agreed->mechanisms) offered += (offered.empty() ? "" : ", ") + each.str();
    return fail(ErrorKind::invalid, peer() + ": the listener does not take " + settings.mechanism +
                                        "; it has " + (offered.empty() ? "no login at all" : offered));
  }
  const auto round = [&](std::string_view message) -> Result<std::string> {
    protocol::SaslAuthenticateRequest request;
    request.auth_bytes = protocol::Bytes::of_text(message);
    BARNABAS_ASSIGN(const auto answer, call(request, deadline));
    if (answer->error_code != 0) {
      const auto& said = answer->error_message;
      return fail(ErrorKind::invalid,
                  said && !said->empty() ? said->str() : std::string("authentication failed"));
    }
    return std::string(as_text(answer->auth_bytes));
  };
  if (auto done = log_in(settings, security::scram_random_text(), round); !done)
    return fail(ErrorKind::invalid, peer() + ": the login of \"" + settings.user + "\" by " +
                                        settings.mechanism + " failed: " + done.error().message);
  return {};
}

Result<int16_t> Connection::common_version(ApiKey key, int16_t least, int16_t greatest) const {
  const auto range = ranges_.find(static_cast<int16_t>(key));
  const int16_t version = range == ranges_.end() ? int16_t{-1} : std::min(greatest, range->second.max);
  if (range == ranges_.end() || version < std::max(least, range->second.min))
    return fail(ErrorKind::unsupported, peer() + ": the broker does not serve " +
                                            std::string(protocol::name(key)) +
                                            " in a version known here; is it too old?");
  return version;
}

Result<std::unique_ptr<std::vector<std::byte>>> Connection::round_trip(ByteView request, Deadline deadline) {
  BARNABAS_TRY(stream_.write(request, deadline));
  std::byte size_bytes[4];
  BARNABAS_TRY(stream_.read(size_bytes, deadline));
  const auto size = load_big_endian<int32_t>(size_bytes);
  if (size < 4 || size > answer_bytes_max)
    return fail(ErrorKind::invalid, peer() +
                                        ": the answer is none of the Kafka protocol; is this the right port, "
                                        "and does it want TLS (--tls)?");
  auto frame = std::make_unique<std::vector<std::byte>>();
  // Grows with what arrives: the size may be anybody's invention.
  while (frame->size() < static_cast<std::size_t>(size)) {
    const std::size_t had = frame->size();
    frame->resize(std::min<std::size_t>(static_cast<std::size_t>(size), had + (1 << 20)));
    BARNABAS_TRY(stream_.read(MutableByteView(*frame).subspan(had), deadline));
  }
  return frame;
}

Result<void> Connection::check_header(protocol::Reader& reader, ApiKey key, int16_t version) const {
  auto header = protocol::decode_response_header(reader, key, version);
  if (!header) return fail(peer() + ": an answer that cannot be read", std::move(header.error()));
  if (header->correlation_id != correlation_id_)
    return fail(ErrorKind::invalid, peer() + ": an answer to another question");
  return {};
}

}  // namespace barnabas::client
