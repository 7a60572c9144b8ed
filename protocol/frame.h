#pragma once

#include <cstdint>

#include "base/result.h"
#include "protocol/api.h"
#include "protocol/messages/request_header.h"
#include "protocol/messages/response_header.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

namespace barnabas::protocol {

/// Reads the header of a request frame (without the size in front); the header version follows from API key
/// and version. An ApiVersions request of an unsupported version has a header that can be read; any other
/// unsupported version is ErrorKind::unsupported, as is an unknown API key, and the connection is to be
/// closed. The client id borrows from the frame.
Result<RequestHeader> decode_request_header(Reader& reader);

/// Reads the header of the response to a request of that version.
Result<ResponseHeader> decode_response_header(Reader& reader, ApiKey key, int16_t request_version);

/// The start of a frame: a place for its size, and the header. finish_frame fills in the size.
void begin_response_frame(Writer& writer, ApiKey key, int16_t request_version, int32_t correlation_id);
void begin_request_frame(Writer& writer, ApiKey key, int16_t version, int32_t correlation_id,
                         const String& client_id);
/// Refuses a frame above 2^31 - 1 bytes.
Result<WrittenBytes> finish_frame(Writer& writer);

/// A whole response frame: size, header, body.
template <class Response>
Result<WrittenBytes> encode_response_frame(const Response& response, int16_t version,
                                           int32_t correlation_id) {
  Writer writer;
  begin_response_frame(writer, Response::api_key, version, correlation_id);
  response.encode(writer, version);
  return finish_frame(writer);
}

/// A whole request frame: size, header, body.
template <class Request>
Result<WrittenBytes> encode_request_frame(const Request& request, int16_t version, int32_t correlation_id,
                                          const String& client_id) {
  Writer writer;
  begin_request_frame(writer, Request::api_key, version, correlation_id, client_id);
  request.encode(writer, version);
  return finish_frame(writer);
}

}  // namespace barnabas::protocol
