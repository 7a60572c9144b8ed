#include "protocol/frame.h"

#include <limits>
#include <string>
#include <utility>

namespace barnabas::protocol {

Result<RequestHeader> decode_request_header(Reader& reader) {
  // The version of the header is only known after its first two fields.
  Reader ahead = reader;
  const int16_t number = ahead.int16();
  const int16_t version = ahead.int16();
  if (!ahead.ok()) return fail("request header", ahead.error());
  const std::optional<ApiKey> key = api_key(number);
  if (!key) return fail(ErrorKind::unsupported, "request header: no API key " + std::to_string(number));
  const ApiInfo& info = api_info(*key);
  if (!info.supports(version) && key != ApiKey::api_versions)
    return fail(ErrorKind::unsupported,
                std::string(info.name) + " request: version " + std::to_string(version) + ", expected " +
                    std::to_string(info.min_version) + " to " + std::to_string(info.max_version));
  return RequestHeader::decode(reader, info.request_header_version(version));
}

Result<ResponseHeader> decode_response_header(Reader& reader, ApiKey key, int16_t request_version) {
  return ResponseHeader::decode(reader, api_info(key).response_header_version(request_version));
}

void begin_response_frame(Writer& writer, ApiKey key, int16_t request_version, int32_t correlation_id) {
  writer.int32(0);
  const ResponseHeader header{.correlation_id = correlation_id};
  header.encode(writer, api_info(key).response_header_version(request_version));
}

void begin_request_frame(Writer& writer, ApiKey key, int16_t version, int32_t correlation_id,
                         const String& client_id) {
  writer.int32(0);
  const RequestHeader header{.request_api_key = std::to_underlying(key),
                             .request_api_version = version,
                             .correlation_id = correlation_id,
                             .client_id = client_id};
  header.encode(writer, api_info(key).request_header_version(version));
}

Result<WrittenBytes> finish_frame(Writer& writer) {
  const uint64_t size = writer.size() - sizeof(int32_t);
  if (size > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
    return fail(ErrorKind::too_large, "frame of " + std::to_string(size) + " bytes, at most 2147483647 fit");
  writer.patch_int32(0, static_cast<int32_t>(size));
  return writer.take();
}

}  // namespace barnabas::protocol
