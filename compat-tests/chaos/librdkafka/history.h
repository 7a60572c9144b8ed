// What a process of the chaos test records of itself; ../README.md has the format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace barnabas::compat {

// Writes events to a file, each when it happens and in one write, so that all are there when the process is
// killed. A file that cannot be written ends the program. Not thread-safe.
class History {
 public:
  using Polled = std::map<std::string, std::vector<std::pair<std::int64_t, std::string>>>;
  using Sent = std::map<std::string, std::vector<std::string>>;
  using Offsets = std::map<std::string, std::vector<std::int64_t>>;

  explicit History(const std::string& path);
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History();

  // Whose events follow.
  void set_process(std::string name) { process_ = std::move(name); }
  const std::string& process() const { return process_; }

  // `beginning`: with the first record of each partition.
  void assign(bool beginning);
  void poll(const Polled& polled, std::string_view isolation);
  void begin(int txn, const Polled& polled, const Sent& sent);
  void commit(int txn);
  void ok(int txn, const Offsets& offsets);
  // `what` is "fail" or "info".
  void ended(std::string_view what, int txn, std::string_view error);

 private:
  void add(std::string_view what, const std::string& fields);

  int file_;
  std::string process_;
};

}  // namespace barnabas::compat
