// Any request in any version: what is decoded is encoded again and stays the same. The first byte chooses the
// API, the second one the version, the rest is the body; API 255 is a whole request frame behind its size.
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "protocol/frame.h"
#include "protocol/registry.h"

namespace {

using namespace barnabas;
using namespace barnabas::protocol;

constexpr uint8_t whole_frame = 255;

std::string encoded(const AnyMessage& message, int16_t version) {
  Writer writer;
  message.encode(writer, version);
  const auto written = writer.take();
  BARNABAS_ASSERT(written.has_value());
  return std::string(as_text(written->bytes()));
}

void check_body(const MessageInfo& request, int16_t version, Reader& reader) {
  const auto message = request.decode(reader, version);
  if (!message) return;
  const std::string bytes = encoded(**message, version);
  Reader again_reader(as_byte_view(bytes));
  const auto again = request.decode(again_reader, version);
  BARNABAS_ASSERT(again.has_value());
  BARNABAS_ASSERT(again_reader.remaining() == 0);
  // By their bytes and their text, as a NaN is not equal to itself.
  BARNABAS_ASSERT(encoded(**again, version) == bytes);
  BARNABAS_ASSERT((*again)->to_json(version) == (*message)->to_json(version));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size));
  if (data[0] == whole_frame) {
    Reader reader(bytes.subspan(1));
    const auto header = decode_request_header(reader);
    if (!header) return 0;
    const ApiKey key = api_key(header->request_api_key).value();
    if (api_info(key).supports(header->request_api_version))
      check_body(*find_request(key), header->request_api_version, reader);
    return 0;
  }
  const auto apis = all_apis();
  const std::optional<ApiKey> chosen = api_key(data[0]);
  const ApiInfo& api = chosen ? api_info(*chosen) : apis[data[0] % apis.size()];
  const int versions = api.max_version - api.min_version + 1;
  Reader reader(bytes.subspan(2));
  check_body(*find_request(api.key), static_cast<int16_t>(api.min_version + data[1] % versions), reader);
  return 0;
}
