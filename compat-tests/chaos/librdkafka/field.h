// What the roles of this process share: its arguments, its history and its chance.
#pragma once

#include <librdkafka/rdkafkacpp.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "history.h"

namespace barnabas::compat {

inline constexpr int idle_ms = 200;
inline constexpr int call_at_most_ms = 20'000;

class Field {
 public:
  // `arguments` are NAME=VALUE.
  explicit Field(const std::vector<std::string>& arguments);

  const std::string& argument(const std::string& name) const;
  bool has(const std::string& name) const { return arguments_.contains(name); }
  int number(const std::string& name) const;
  std::string topic(const std::string& name) const { return argument("prefix") + name; }
  // A partition's name in the history.
  std::string key(const std::string& topic, std::int32_t partition) const;

  int below(int limit) { return static_cast<int>(chance_() % static_cast<unsigned>(limit)); }
  History& history() { return history_; }

  // Set at the end of standard input.
  std::atomic<bool> closing = false;

 private:
  std::map<std::string, std::string> arguments_;
  History history_;
  std::mt19937 chance_;
};

using Settings = std::vector<std::pair<std::string, std::string>>;

// With the broker's address. A setting that librdkafka refuses ends the program.
std::unique_ptr<RdKafka::Conf> configuration(const Field& field, const Settings& settings);

// Of all consumers.
Settings consuming(const std::string& isolation);

}  // namespace barnabas::compat
