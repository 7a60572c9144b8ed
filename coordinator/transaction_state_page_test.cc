// Holds docs/formats/transaction-state.md against the code.

#include <gtest/gtest.h>

#include "coordinator/format_page.h"
#include "coordinator/transaction_records.h"

namespace barnabas::coordinator {
namespace {

constexpr const char* page_name = "transaction-state.md";

std::vector<std::vector<std::byte>> example() {
  return testing::example_of_page(page_name);
}

Result<std::optional<LoggedTransaction>> decoded(ByteView key, std::optional<ByteView> value) {
  return decode_transaction_record(
      {.key = key, .value = value, .offset = Offset{0}, .timestamp = TimestampMs{0}});
}

TEST(TransactionStatePage, names_the_states_by_their_numbers) {
  int8_t number = 0;
  for (const std::string& line : testing::lines_of_page(page_name)) {
    if (!line.starts_with("| ") || std::isdigit(static_cast<unsigned char>(line[2])) == 0) continue;
    const auto state = static_cast<TransactionState>(number);
    EXPECT_TRUE(line.starts_with("| " + std::to_string(number) + " | " + std::string(name_of(state)) + " |"))
        << line;
    ++number;
  }
  EXPECT_EQ(number, 8);
}

TEST(TransactionStatePage, has_records_in_hex_that_are_read_and_written_so) {
  const auto lines = example();
  ASSERT_EQ(lines.size(), 6u);
  const auto read = [&](std::size_t key, std::size_t value, std::string_view id, int16_t level) {
    const auto logged = decoded(lines[key], ByteView(lines[value]));
    EXPECT_TRUE(logged && *logged && (*logged)->transaction);
    EXPECT_EQ((*logged)->transactional_id, id);
    const Transaction transaction = *(*logged)->transaction;
    EXPECT_EQ(transaction_record(id, transaction, level), (Record{lines[key], lines[value]}));
    return transaction;
  };
  const Transaction empty = read(0, 1, "zero", 0);
  EXPECT_EQ(empty.state, TransactionState::empty);
  EXPECT_EQ(empty.timeout_ms, 60000);
  EXPECT_EQ(empty.started_at, no_timestamp);
  EXPECT_EQ(read(0, 2, "zero", 0).partitions, (TransactionPartitions{{"t", {0}}}));
  const Transaction prepared = read(3, 4, "last", 2);
  EXPECT_EQ(prepared.state, TransactionState::prepare_commit);
  EXPECT_EQ(prepared.producer_epoch, ProducerEpoch(32767));
  EXPECT_EQ(prepared.next_producer_id, ProducerId(4));
  EXPECT_EQ(read(3, 5, "last", 1).previous_producer_id, ProducerId(3));
  EXPECT_EQ(transaction_tombstone("last"), (Record{lines[3], std::nullopt}));
}

// What a log may hold besides.

TEST(TransactionRecords, of_types_to_come_are_skipped) {
  const auto logged = decoded(testing::bytes_of("0007 0001 61"), ByteView());
  ASSERT_TRUE(logged);
  EXPECT_FALSE(*logged);
}

TEST(TransactionRecords, that_are_cut_anywhere_are_corrupt) {
  const auto lines = example();
  for (std::size_t size = 0; size < lines[3].size(); ++size)
    EXPECT_FALSE(decoded(ByteView(lines[3]).first(size), ByteView(lines[4]))) << size;
  for (const std::size_t value : {1u, 2u, 4u, 5u})
    for (std::size_t size = 0; size < lines[value].size(); ++size)
      EXPECT_FALSE(decoded(lines[3], ByteView(lines[value]).first(size))) << size;
}

TEST(TransactionRecords, with_impossible_content_are_corrupt) {
  const auto lines = example();
  const auto changed = [&](std::size_t at, uint8_t to) {
    auto value = lines[1];
    value[at] = static_cast<std::byte>(to);
    return decoded(lines[0], ByteView(value));
  };
  ASSERT_TRUE(changed(16, 0));
  EXPECT_FALSE(changed(1, 2));      // version
  EXPECT_FALSE(changed(2, 0x80));   // producer id
  EXPECT_FALSE(changed(10, 0x80));  // epoch
  EXPECT_FALSE(changed(16, 7));     // status
  EXPECT_FALSE(changed(16, 8));
  EXPECT_FALSE(changed(16, 0xff));
}

TEST(TransactionRecords, of_dead_ids_remove_them) {
  auto value = example()[1];
  value[16] = static_cast<std::byte>(6);
  const auto logged = decoded(example()[0], ByteView(value));
  ASSERT_TRUE(logged && *logged);
  EXPECT_FALSE((*logged)->transaction);
}

}  // namespace
}  // namespace barnabas::coordinator
