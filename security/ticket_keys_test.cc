#include "security/ticket_keys.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

using namespace std::chrono_literals;

TEST(TicketKeys, the_key_changes_and_old_tickets_open_as_long_as_they_may_be_used) {
  TicketKeys keys;
  const Instant start{};
  const auto first = keys.current(start);
  ASSERT_TRUE(first);
  EXPECT_EQ(keys.current(start + 59min)->name, first->name);
  const auto second = keys.current(start + 61min);
  EXPECT_NE(second->name, first->name);
  EXPECT_NE(second->cipher, first->cipher);
  EXPECT_TRUE(keys.find(first->name, start + 179min));
  EXPECT_FALSE(keys.find(first->name, start + 180min));
  EXPECT_TRUE(keys.find(second->name, start + 180min));
  EXPECT_FALSE(TicketKeys().find(first->name, start));
}

TEST(TicketKeys, keys_that_open_nothing_any_more_are_not_kept) {
  TicketKeys keys;
  const auto first = keys.current(Instant{});
  for (int i = 1; i < 100; ++i) ASSERT_TRUE(keys.current(Instant{} + i * 61min));
  EXPECT_FALSE(keys.find(first->name, Instant{}));
}

TEST(TicketKeys, keys_go_although_no_other_is_made) {
  const Instant start{};
  {
    TicketKeys keys;
    const auto key = keys.current(start);
    EXPECT_FALSE(keys.find(key->name, start + 3h));
    EXPECT_FALSE(keys.find(key->name, start)) << "it was only passed over";
  }
  TicketKeys keys;
  const auto key = keys.current(start);
  keys.forget_expired(start + 179min);
  EXPECT_TRUE(keys.find(key->name, start));
  keys.forget_expired(start + 3h);
  EXPECT_FALSE(keys.find(key->name, start));
}

}  // namespace
}  // namespace barnabas::security
