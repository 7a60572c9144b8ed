#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "io/fake_file_content.h"

namespace barnabas::io {

/// A file or a directory of the fake disk.
struct FakeNode {
  /// Some names of a directory and what they stand for from then on; null: nothing.
  using Change = std::vector<std::pair<std::string, std::shared_ptr<FakeNode>>>;

  explicit FakeNode(bool directory) : is_directory(directory) {}

  const bool is_directory;
  FakeFileContent content;                                 ///< of a file
  std::map<std::string, std::shared_ptr<FakeNode>> names;  ///< of a directory, as programs see it

  /// Changes names, all or nothing, not durably.
  void change(Change change);
  void sync_names();
  /// Goes back to what is durable, with everything below; with `random`, some of the rest is kept.
  void power_cut(SeededRandom* random);
  /// Makes every change in this directory and below durable, contents included.
  void sync_all();
  /// A failed sync of everything: no later one saves what was not durable yet (contents only).
  void forget_unsynced();
  uint64_t bytes_below() const;

 private:
  std::map<std::string, std::shared_ptr<FakeNode>> durable_names_;
  std::vector<Change> unsynced_;
};

/// The steps of a path without empty ones and ".".
std::vector<std::string> path_steps(std::string_view path);

}  // namespace barnabas::io
