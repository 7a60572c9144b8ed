#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

namespace barnabas::tools {

/// What a check found, printed as it comes: problems (something is damaged, missing or contradicts itself)
/// and notes (nothing to worry about, but worth knowing).
class Findings {
 public:
  explicit Findings(std::ostream& out) : out_(out) {}

  void problem(std::string_view path, std::string_view text) {
    ++problems_;
    out_ << path << ": " << text << '\n';
  }
  void note(std::string_view path, std::string_view text) {
    ++notes_;
    out_ << "note: " << path << ": " << text << '\n';
  }
  /// Problems that somebody else has printed.
  void add_problems(uint64_t count) { problems_ += count; }

  std::ostream& out() { return out_; }
  uint64_t problems() const { return problems_; }
  uint64_t notes() const { return notes_; }

  uint64_t partitions = 0;
  uint64_t segments = 0;
  uint64_t bytes = 0;

 private:
  std::ostream& out_;
  uint64_t problems_ = 0;
  uint64_t notes_ = 0;
};

}  // namespace barnabas::tools
