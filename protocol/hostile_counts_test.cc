// What a peer claims must not cost memory: counts and lengths are checked before anything is allocated for
// them.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "protocol/counting_new.h"
#include "protocol/messages/fetch_request.h"
#include "protocol/registry.h"

namespace barnabas::protocol {
namespace {

/// Bytes that decoding allocates, for an error's text and for what was really there.
std::size_t cost(const MessageInfo& message, ByteView bytes, int16_t version) {
  Reader reader(bytes);
  testing::allocated_bytes_since_last_call();
  const auto decoded = message.decode(reader, version);
  return testing::allocated_bytes_since_last_call();
}

/// The message itself, a few hundred bytes per byte of input at the very most.
std::size_t allowed(std::size_t input) {
  return 4'096 + 512 * input;
}

TEST(HostileCounts, the_largest_array_without_content_costs_nothing) {
  // FetchRequest 4: replicaId, maxWaitMs, minBytes, maxBytes, isolationLevel, then the count of topics.
  std::vector<std::byte> bytes(17 + 4, std::byte{0});
  for (const uint32_t claimed : {0x7fffffffu, 1'000'000u, 1'000u}) {
    store_big_endian(bytes.data() + 17, claimed);
    EXPECT_LT(cost(*find_message("FetchRequest"), bytes, 4), 4'096u) << claimed;
  }
}

TEST(HostileCounts, nested_arrays_cost_no_more_than_their_bytes_allow) {
  // Each topic claims as many partitions as the rest of the bytes could hold.
  Writer writer;
  writer.raw(std::vector<std::byte>(17));
  writer.int32(10'000);
  while (writer.bytes().size() < 1'000'000) {
    writer.string("", false, "topic");
    writer.int32(1'000);
  }
  const std::size_t spent = cost(*find_message("FetchRequest"), writer.bytes(), 4);
  EXPECT_LT(spent, 20 * writer.bytes().size());
}

TEST(HostileCounts, arrays_of_small_elements_grow_as_they_are_read) {
  // As many topics as fit are claimed, but the first one is broken.
  Writer writer;
  writer.raw(std::vector<std::byte>(17));
  writer.int32(900'000);
  std::vector<std::byte> rest(6'000'000, std::byte{0x7f});
  writer.raw(rest);
  EXPECT_LT(cost(*find_message("FetchRequest"), writer.bytes(), 4), 200'000u);
}

/// Puts `pattern` over every place of a message of zeros, of ones and so on, in every version.
void try_everywhere(const MessageInfo& message, const std::string& pattern) {
  for (int16_t version = message.min_version; version <= message.max_version; ++version) {
    for (const int filler : {0, 1, 2}) {
      std::vector<std::byte> bytes(96, static_cast<std::byte>(filler));
      for (std::size_t at = 0; at + pattern.size() <= bytes.size(); ++at) {
        auto hostile = bytes;
        std::memcpy(hostile.data() + at, pattern.data(), pattern.size());
        ASSERT_LE(cost(message, hostile, version), allowed(hostile.size()))
            << message.name << " version " << version << " at " << at;
      }
    }
  }
}

TEST(HostileCounts, no_message_allocates_by_a_claim) {
  const std::string largest_count("\x7f\xff\xff\xff", 4);
  const std::string largest_varint("\xff\xff\xff\xff\x07", 5);
  const std::string million("\x00\x0f\x42\x40", 4);
  const std::string ones(16, '\xff');
  for (const MessageInfo& message : all_messages()) {
    for (const auto& pattern : {largest_count, largest_varint, million, ones})
      try_everywhere(message, pattern);
  }
}

}  // namespace
}  // namespace barnabas::protocol
