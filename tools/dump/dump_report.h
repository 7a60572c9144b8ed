#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::tools {

struct DumpOptions {
  bool records = true;                           ///< print records, not only batches
  std::size_t shown_bytes_max = 100;             ///< of a key or value
  uint64_t batch_bytes_max = uint64_t{1} << 28;  ///< larger batches and records are not read
  bool cross_check = true;                       ///< compare an index with the log beside it
  bool decode = false;                           ///< decode records of known kinds even if not printed
  uint64_t end = UINT64_MAX;                     ///< what lies at or behind this byte is not looked at
  std::string decoder = "auto";                  ///< auto, none, metadata, offsets, transactions, share
};

/// Where the lines of one file go.
class DumpReport {
 public:
  DumpReport(std::string path, std::ostream& out, std::ostream& errors)
      : path_(std::move(path)), out_(&out), errors_(errors) {}
  /// Checks only: nothing but damage is said.
  DumpReport(std::string path, std::ostream& errors) : path_(std::move(path)), errors_(errors) {}

  /// Whether lines are wanted; making them costs more than checking.
  bool prints() const { return out_ != nullptr; }
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    if (out_ != nullptr) *out_ << fmt::format(format, std::forward<Args>(args)...) << '\n';
  }
  /// Damage at a byte of the file.
  void problem(uint64_t position, const std::string& text) {
    ++problems_;
    errors_ << path_ << ": byte " << position << ": " << text << '\n';
  }
  /// Damage of the file as a whole.
  void problem(const std::string& text) {
    ++problems_;
    errors_ << path_ << ": " << text << '\n';
  }

  const std::string& path() const { return path_; }
  uint64_t problems() const { return problems_; }

 private:
  const std::string path_;
  std::ostream* const out_ = nullptr;
  std::ostream& errors_;
  uint64_t problems_ = 0;
};

/// "1700000000000 (2023-11-14T22:13:20.000Z)", or the number alone where no calendar goes.
std::string readable_time(TimestampMs timestamp);

}  // namespace barnabas::tools
