// Whole frames, as Kafka 4.4 writes them, and malformed requests with what a Kafka broker does.
#include <gtest/gtest.h>

#include <set>

#include "protocol/frame.h"
#include "protocol/registry.h"
#include "protocol/vectors.h"

namespace barnabas::protocol {
namespace {

using testing::from_hex;
using testing::to_hex;

class FrameVectors : public ::testing::Test {
 protected:
  std::vector<nlohmann::json> frames = testing::read_vectors("frames.jsonl");

  /// Decodes the body at the reader, encodes it behind what the writer has, and returns the frame.
  static std::string recoded(Reader& reader, const MessageInfo& message, int16_t version, Writer& writer) {
    const auto body = message.decode(reader, version);
    if (!body) return body.error().message;
    if (reader.remaining() > 0) return "bytes left over";
    (*body)->encode(writer, version);
    const auto frame = finish_frame(writer);
    return frame ? to_hex(frame->bytes()) : frame.error().message;
  }
};

TEST_F(FrameVectors, requests_are_read_and_written_alike) {
  for (const auto& each : frames) {
    SCOPED_TRACE(each["api"].get<std::string>() + " " + each["version"].dump());
    const auto bytes = from_hex(each["requestFrameHex"].get<std::string>());
    Reader reader(bytes);
    EXPECT_EQ(static_cast<std::size_t>(reader.int32()), bytes.size() - 4);
    const auto header = decode_request_header(reader);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->request_api_key, each["apiKey"]);
    EXPECT_EQ(header->correlation_id, each["correlationId"]);
    ASSERT_TRUE(header->client_id);
    EXPECT_EQ(*header->client_id, each["clientId"].get<std::string>());
    const ApiKey key = api_key(header->request_api_key).value();
    EXPECT_EQ(name(key), each["api"].get<std::string>());

    Writer writer;
    begin_request_frame(writer, key, header->request_api_version, header->correlation_id, *header->client_id);
    EXPECT_EQ(recoded(reader, *find_request(key), header->request_api_version, writer), to_hex(bytes));
  }
}

TEST_F(FrameVectors, responses_are_read_and_written_alike) {
  for (const auto& each : frames) {
    SCOPED_TRACE(each["api"].get<std::string>() + " " + each["version"].dump());
    const auto bytes = from_hex(each["responseFrameHex"].get<std::string>());
    const auto version = each["version"].get<int16_t>();
    const ApiKey key = api_key(each["apiKey"].get<int16_t>()).value();
    EXPECT_EQ(api_info(key).response_header_version(version), each["responseHeaderVersion"]);
    Reader reader(bytes);
    EXPECT_EQ(static_cast<std::size_t>(reader.int32()), bytes.size() - 4);
    const auto header = decode_response_header(reader, key, version);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->correlation_id, each["correlationId"]);

    Writer writer;
    begin_response_frame(writer, key, version, header->correlation_id);
    const auto* response = find_message(each["api"].get<std::string>() + "Response");
    EXPECT_EQ(recoded(reader, *response, version, writer), to_hex(bytes));
  }
}

/// What becomes of a request frame before any handler sees it.
Result<void> decode_request(ByteView frame) {
  Reader reader(frame);
  reader.int32();
  BARNABAS_ASSIGN(const RequestHeader header, decode_request_header(reader));
  const ApiKey key = api_key(header.request_api_key).value();
  if (!api_info(key).on_broker_listener) return fail(ErrorKind::unsupported, "not on this listener");
  if (!api_info(key).supports(header.request_api_version))
    return {};  // ApiVersions, answered without its body
  BARNABAS_TRY(find_request(key)->decode(reader, header.request_api_version));
  return {};
}

TEST(MalformedRequests, are_refused_where_kafka_closes_the_connection_and_only_there) {
  for (const auto& each : testing::read_vectors("requests_bad.jsonl")) {
    const std::string name = each["name"];
    if (name.starts_with("size-") || name == "http-get") continue;  // not a whole frame
    const bool answered = each["outcome"] == "response";
    const auto bytes = from_hex(each["hex"].get<std::string>());
    const auto decoded = decode_request(bytes);
    EXPECT_EQ(decoded.has_value(), answered)
        << name << ": " << (decoded ? "accepted" : decoded.error().message);
  }
}

}  // namespace
}  // namespace barnabas::protocol
