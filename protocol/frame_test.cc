#include "protocol/frame.h"

#include <gtest/gtest.h>

#include <string>

#include "protocol/messages/api_versions_response.h"
#include "protocol/messages/heartbeat_request.h"
#include "protocol/messages/heartbeat_response.h"

namespace barnabas::protocol {
namespace {

std::string header_bytes(int16_t key, int16_t version, std::string_view rest) {
  Writer writer;
  writer.int16(key);
  writer.int16(version);
  writer.int32(7);
  return std::string(as_text(writer.bytes())) + std::string(rest);
}

TEST(RequestHeader, may_have_a_null_client_id_and_tags) {
  const std::string bytes = header_bytes(3, 12, std::string_view("\xff\xff\x01\x05\x01x!", 7));
  Reader reader(as_byte_view(bytes));
  const auto header = decode_request_header(reader);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->client_id, std::nullopt);
  EXPECT_EQ(header->correlation_id, 7);
  EXPECT_EQ(header->unknown_tags.size(), 1u);
  EXPECT_EQ(as_text(reader.rest()), "!");
}

TEST(RequestHeader, takes_the_longest_client_id) {
  Writer writer;
  begin_request_frame(writer, ApiKey::metadata, 12, 1, std::string(32'767, 'c'));
  Reader reader(writer.bytes());
  reader.int32();
  const auto header = decode_request_header(reader);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->client_id->size(), 32'767u);
}

TEST(RequestHeader, of_an_unknown_api_or_version_is_unsupported) {
  for (const auto& bytes : {header_bytes(9999, 0, std::string_view("\0\0", 2)),
                            header_bytes(3, 99, std::string_view("\0\0\0", 3)),
                            header_bytes(3, -1, std::string_view("\0\0", 2))}) {
    Reader reader(as_byte_view(bytes));
    const auto header = decode_request_header(reader);
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().kind, ErrorKind::unsupported);
  }
}

TEST(RequestHeader, of_api_versions_is_read_at_any_version) {
  for (const int16_t version : {int16_t{99}, int16_t{-1}}) {
    const std::string bytes = header_bytes(18, version, std::string_view("\0\0\0", 3));
    Reader reader(as_byte_view(bytes));
    const auto header = decode_request_header(reader);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->request_api_version, version);
  }
}

TEST(Frame, begins_with_its_size) {
  const HeartbeatRequest request{.group_id = "g", .member_id = "m"};
  const auto frame = encode_request_frame(request, 4, 11, "client");
  ASSERT_TRUE(frame) << frame.error().message;
  Reader reader(frame->bytes());
  EXPECT_EQ(static_cast<uint64_t>(reader.int32()), frame->size() - 4);
  ASSERT_TRUE(decode_request_header(reader));
  EXPECT_EQ(HeartbeatRequest::decode(reader, 4), request);
}

TEST(Frame, of_an_api_versions_answer_has_no_tags_in_its_header) {
  const auto frame = encode_response_frame(ApiVersionsResponse{}, 3, 5);
  ASSERT_TRUE(frame);
  Reader reader(frame->bytes());
  reader.int32();
  EXPECT_EQ(reader.int32(), 5);
  EXPECT_EQ(reader.int16(), 0);  // the error code follows at once
}

TEST(Frame, that_cannot_be_written_is_an_error) {
  HeartbeatRequest request{.group_instance_id = "i"};
  const auto frame = encode_request_frame(request, 0, 1, "c");
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace barnabas::protocol
