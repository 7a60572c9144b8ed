#include "security/delegation_token_index.h"

#include <gtest/gtest.h>

#include "security/delegation_token.h"

namespace barnabas::security {
namespace {

class Index : public testing::Test {
 protected:
  static std::vector<std::byte> secret(std::string_view id) { return delegation_token_hmac(id, "key"); }
  void add(const std::string& id, const std::string& owner = "User:alice") {
    metadata::DelegationToken token;
    token.id = id;
    token.owner = owner;
    tokens_.put(std::make_shared<const metadata::DelegationToken>(std::move(token)));
  }
  std::string find(ByteView hmac) {
    const auto* token = index_.find(hmac, tokens_);
    return token == nullptr ? "none" : token->id + " of " + token->owner;
  }
  std::string find(const std::string& id) { return find(ByteView(secret(id))); }

  std::size_t worked_out_ = 0;
  DelegationTokenIndex::Tokens tokens_;
  DelegationTokenIndex index_{[this](std::string_view id) {
    ++worked_out_;
    return secret(id);
  }};
};

TEST_F(Index, a_token_is_found_by_its_whole_secret_and_nothing_else) {
  EXPECT_EQ(find("a"), "none");
  add("a");
  add("b");
  EXPECT_EQ(find("a"), "a of User:alice");
  EXPECT_EQ(find("b"), "b of User:alice");
  EXPECT_EQ(find("c"), "none");
  auto hmac = secret("a");
  EXPECT_EQ(find(ByteView(hmac).first(63)), "none");
  EXPECT_EQ(find(ByteView()), "none");
  hmac.back() ^= std::byte{1};
  EXPECT_EQ(find(hmac), "none");
}

TEST_F(Index, what_the_metadata_say_now_counts) {
  add("a");
  EXPECT_EQ(find("a"), "a of User:alice");
  add("a", "User:bob");
  EXPECT_EQ(find("a"), "a of User:bob");
  const auto before = tokens_;
  tokens_.erase(std::string("a"));
  EXPECT_EQ(find("a"), "none");
  // A change that was never written is taken back.
  tokens_ = before;
  EXPECT_EQ(find("a"), "a of User:bob");
}

TEST_F(Index, each_secret_is_worked_out_once_however_often_it_is_asked_for) {
  for (int i = 0; i < 1000; ++i) add("token-" + std::to_string(i));
  EXPECT_EQ(find("token-7"), "token-7 of User:alice");
  EXPECT_EQ(worked_out_, 1001U);
  worked_out_ = 0;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(find("nobody's"), "none");
  EXPECT_EQ(worked_out_, 0U);
  EXPECT_EQ(find("token-999"), "token-999 of User:alice");
  EXPECT_EQ(worked_out_, 1U);
  add("one-more");
  EXPECT_EQ(find("one-more"), "one-more of User:alice");
  EXPECT_EQ(worked_out_, 3U);  // it is new, and it is looked at
}

TEST_F(Index, tokens_that_are_gone_are_forgotten_in_the_end) {
  for (int i = 0; i < 1000; ++i) {
    add("token-" + std::to_string(i));
    EXPECT_EQ(find("token-" + std::to_string(i)), "token-" + std::to_string(i) + " of User:alice");
    tokens_.erase("token-" + std::to_string(i));
    EXPECT_EQ(find("token-" + std::to_string(i)), "none");
  }
  EXPECT_LT(index_.size(), 100U);
}

}  // namespace
}  // namespace barnabas::security
