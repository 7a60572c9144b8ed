#include "protocol/string.h"

#include <gtest/gtest.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "protocol/records_field.h"

namespace barnabas::protocol {
namespace {

TEST(String, made_from_text_owns_a_copy) {
  std::string source = "a text that is too long for any small buffer";
  const String text = source;
  source[0] = 'X';
  EXPECT_TRUE(text.is_owner());
  EXPECT_EQ(text, "a text that is too long for any small buffer");
}

TEST(String, copies_of_an_owner_own_and_copies_of_a_borrower_borrow) {
  const std::string source = "source";
  const String borrower = String::view_of(source);
  const String copied_borrower = borrower;
  EXPECT_FALSE(copied_borrower.is_owner());
  EXPECT_EQ(copied_borrower.data(), source.data());

  const String owner = borrower.owned();
  const String copied_owner = owner;
  EXPECT_TRUE(copied_owner.is_owner());
  EXPECT_NE(copied_owner.data(), owner.data());
  EXPECT_EQ(copied_owner, owner);
}

TEST(String, moves_and_assigns_without_losing_or_leaking) {
  String first = "first";
  const String second = "second";
  String moved = std::move(first);
  EXPECT_EQ(moved, "first");
  moved = second;
  EXPECT_EQ(moved, second);
  auto& itself = moved;
  moved = itself;
  EXPECT_EQ(moved, "second");
  moved = String::view_of("borrowed");
  EXPECT_EQ(moved, "borrowed");
  moved = "";
  EXPECT_TRUE(moved.empty());
}

TEST(String, an_empty_one_owns_nothing) {
  EXPECT_FALSE(String("").is_owner());
  EXPECT_NE(String().data(), nullptr);
}

TEST(String, compares_and_hashes_by_content) {
  std::unordered_map<String, int> counts;
  counts["a"] = 1;
  EXPECT_EQ(counts.count(String::view_of("a")), 1u);
  EXPECT_LT(String("a"), String("b"));
  EXPECT_EQ(String("a"), std::string("a"));
  EXPECT_NE(String("a"), std::string_view("b"));
}

TEST(Bytes, own_or_borrow_like_strings) {
  const std::string source = "source";
  EXPECT_FALSE(Bytes::view_of(as_byte_view(source)).is_owner());
  EXPECT_TRUE(Bytes(as_byte_view(source)).is_owner());
  EXPECT_EQ(Bytes::of_text(source), Bytes::view_of(as_byte_view(source)));
}

struct ThreeBytes : ExternalRecords {
  uint64_t size() const override { return 3; }
};

TEST(Records, are_null_bytes_or_external) {
  EXPECT_TRUE(Records().is_null());
  const Records empty = Bytes();
  EXPECT_FALSE(empty.is_null());
  EXPECT_FALSE(empty == Records());
  const Records in_memory = Bytes::of_text("ab");
  EXPECT_EQ(in_memory.size(), 2u);
  EXPECT_EQ(in_memory, Records(Bytes::of_text("ab")));
  const auto region = std::make_shared<const ThreeBytes>();
  const Records external = std::shared_ptr<const ExternalRecords>(region);
  EXPECT_EQ(external.size(), 3u);
  EXPECT_TRUE(external.bytes().empty());
  EXPECT_EQ(external.external(), region);
}

}  // namespace
}  // namespace barnabas::protocol
