#include "history.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace barnabas::compat {
namespace {

std::string text(std::string_view raw) {
  std::string out = "\"";
  for (const char c : raw) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

template <typename All, typename Write>
std::string list(const All& all, const Write& write) {
  std::string out;
  for (const auto& each : all) out += (out.empty() ? "" : ",") + write(each);
  return "[" + out + "]";
}

template <typename Map, typename Write>
std::string object(const Map& map, const Write& write) {
  std::string out;
  for (const auto& [name, value] : map) out += (out.empty() ? "" : ",") + text(name) + ":" + write(value);
  return "{" + out + "}";
}

std::string polled_field(const History::Polled& polled) {
  return ",\"polled\":" + object(polled, [](const auto& records) {
           return "{\"o\":" + list(records, [](const auto& record) { return std::to_string(record.first); }) +
                  ",\"v\":" + list(records, [](const auto& record) { return text(record.second); }) + "}";
         });
}

std::string txn_field(int txn) {
  return ",\"txn\":" + std::to_string(txn);
}

[[noreturn]] void die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);
}

// Of the system's monotonic clock, which all processes share.
std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

History::History(const std::string& path)
    : file_(::open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0644)) {
  if (file_ < 0) die(path);
}

History::~History() {
  ::close(file_);
}

void History::assign(bool beginning) {
  add("assign", beginning ? ",\"beginning\":true" : "");
}

void History::poll(const Polled& polled, std::string_view isolation) {
  add("poll", polled_field(polled) + ",\"isolation\":" + text(isolation));
}

void History::begin(int txn, const Polled& polled, const Sent& sent) {
  add("begin", txn_field(txn) + polled_field(polled) +
                   ",\"sent\":" + object(sent, [](const auto& values) { return list(values, text); }));
}

void History::commit(int txn) {
  add("commit", txn_field(txn));
}

void History::ok(int txn, const Offsets& offsets) {
  const auto number = [](std::int64_t offset) { return std::to_string(offset); };
  add("ok", txn_field(txn) + ",\"offsets\":" + object(offsets, [&number](const auto& each) {
              return list(each, number);
            }));
}

void History::ended(std::string_view what, int txn, std::string_view error) {
  add(what, txn_field(txn) + ",\"error\":" + text(error));
}

void History::add(std::string_view what, const std::string& fields) {
  const std::string line = "{\"time\":" + std::to_string(now_us()) + ",\"process\":" + text(process_) +
                           ",\"f\":" + text(what) + fields + "}\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const auto written = ::write(file_, rest.data(), rest.size());
    if (written < 0) die("the history");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace barnabas::compat
