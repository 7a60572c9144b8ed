#include "command/output.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>
#include <streambuf>

namespace barnabas::command {
namespace {

/// A buffer before a disk that is full.
class FullBuffer : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return c; }
  int sync() override {
    errno = ENOSPC;
    return -1;
  }
};

TEST(Output, nothing_is_said_of_what_was_written) {
  std::ostringstream out, errors;
  out << "text";
  EXPECT_EQ(finish_output(out, errors), 0);
  EXPECT_EQ(errors.str(), "");
}

TEST(Output, what_cannot_be_written_is_said_once_with_its_cause) {
  FullBuffer full;
  std::ostream out(&full);
  std::ostringstream errors;
  out << "text";
  errno = 0;
  EXPECT_EQ(finish_output(out, errors), 1);
  EXPECT_EQ(errors.str(), "barnabas: the output cannot be written: No space left on device\n");
  EXPECT_EQ(finish_output(out, errors), 1);
  EXPECT_EQ(errors.str(), "barnabas: the output cannot be written: No space left on device\n");
}

TEST(Output, what_failed_earlier_has_failed_though_there_is_room_again) {
  std::ostringstream out, errors;
  out.setstate(std::ios_base::badbit);
  EXPECT_EQ(finish_output(out, errors), 1);
  EXPECT_EQ(errors.str(), "barnabas: the output cannot be written: it is closed or full\n");
}

TEST(Output, a_complaint_is_one_line) {
  std::ostringstream errors;
  EXPECT_EQ(complain(errors, "first\nsecond"), 1);
  EXPECT_EQ(errors.str(), "barnabas: first second\n");
}

}  // namespace
}  // namespace barnabas::command
