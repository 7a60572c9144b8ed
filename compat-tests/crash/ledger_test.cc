#include "ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace barnabas::compat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One producer (number 3) whose records have the given fates; log() appends its records to the partition.
class Ledger : public ::testing::Test {
 protected:
  void sent(Fates fates) {
    fates_ = std::move(fates);
    ledger_.add(3, fates_);
  }
  void log(std::initializer_list<std::uint64_t> sequences) {
    for (const std::uint64_t sequence : sequences) {
      ledger_.check(offset_++, payload({3, sequence}));
    }
  }
  const std::vector<std::string>& problems() {
    ledger_.finish();
    return ledger_.problems();
  }

  Fates fates_;
  PartitionLedger ledger_{"t-0"};
  std::int64_t offset_ = 0;
};

TEST_F(Ledger, acknowledged_records_in_order_are_right) {
  sent({0, 1, acknowledged_somewhere});
  log({0, 1, 2});
  EXPECT_THAT(problems(), ElementsAre());
  EXPECT_EQ(ledger_.acknowledged(), 3U);
}

TEST_F(Ledger, record_without_acknowledgement_may_be_there_or_not) {
  sent({0, not_acknowledged, not_acknowledged});
  log({0, 1});
  EXPECT_THAT(problems(), ElementsAre());
  EXPECT_EQ(ledger_.found_unacknowledged(), 1U);
}

TEST_F(Ledger, lost_record_is_found_in_the_middle_and_at_the_end) {
  sent({0, acknowledged_somewhere, 1, 3});
  log({0, 2});
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("record 1 of producer 3"), HasSubstr("record 3 of producer 3")));
}

TEST_F(Ledger, repeated_record_is_found) {
  sent({0, 1});
  log({0, 1, 1});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("again or out of order")));
}

TEST_F(Ledger, records_out_of_order_are_found) {
  sent({not_acknowledged, not_acknowledged});
  log({1, 0});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("again or out of order")));
}

TEST_F(Ledger, record_at_another_offset_is_found) {
  sent({7});
  log({0});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("acknowledged at 7")));
}

TEST_F(Ledger, damaged_record_is_found) {
  sent({not_acknowledged});
  std::string value = payload({3, 0});
  value.back() = static_cast<char>(value.back() ^ 1);
  ledger_.check(0, value);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("damaged or foreign")));
}

TEST_F(Ledger, hole_in_the_offsets_is_found) {
  sent({not_acknowledged});
  ledger_.check(5, payload({3, 0}));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("offset 5 follows")));
}

}  // namespace
}  // namespace barnabas::compat
