#include "metrics/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace barnabas::metrics {
namespace {

namespace fs = std::filesystem;

/// A stat file of proc(5): the name of a thread, which may hold anything, and the fields behind it.
struct Stat {
  std::string name;
  std::vector<std::string> fields;

  // Numbers of proc(5), less the two fields before these and one because they count from 1.
  static constexpr std::size_t user_time = 11, system_time = 12, threads = 17, start_time = 19,
                               virtual_bytes = 20, resident_pages = 21;
  double number(std::size_t at) const { return std::stod(fields[at]); }
  double processor_seconds() const {
    return (number(user_time) + number(system_time)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
};

std::optional<Stat> read_stat(const fs::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin) return std::nullopt;
  std::istringstream rest(text.substr(end + 1));
  Stat stat{text.substr(begin + 1, end - begin - 1), {std::istream_iterator<std::string>(rest), {}}};
  if (stat.fields.size() <= Stat::resident_pages) return std::nullopt;
  return stat;
}

std::optional<double> named_value(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string key, value; file >> key && std::getline(file, value);)
    if (key == name) return std::stod(value);
  return std::nullopt;
}

void add_stat(Page& page) {
  const auto stat = read_stat("/proc/self/stat");
  if (!stat) return;
  page.add("process_cpu_seconds_total", stat->processor_seconds());
  page.add("process_threads", stat->number(Stat::threads));
  page.add("process_virtual_memory_bytes", stat->number(Stat::virtual_bytes));
  page.add("process_resident_memory_bytes",
           stat->number(Stat::resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  if (const auto boot = named_value("/proc/stat", "btime"))
    page.add("process_start_time_seconds",
             *boot + stat->number(Stat::start_time) / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

void add_descriptors(Page& page) {
  std::error_code failed;
  fs::directory_iterator at("/proc/self/fd", failed);
  if (!failed) {
    double open = -1;  // the directory itself is one of them
    for (; at != fs::directory_iterator(); at.increment(failed)) ++open;
    page.add("process_open_fds", open);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    page.add("process_max_fds", static_cast<double>(limit.rlim_cur));
}

}  // namespace

std::chrono::nanoseconds processor_time_of_threads(std::string_view name_prefix) {
  double seconds = 0;
  std::error_code failed;
  for (fs::directory_iterator at("/proc/self/task", failed); !failed && at != fs::directory_iterator();
       at.increment(failed))
    if (const auto stat = read_stat(at->path() / "stat"); stat && stat->name.starts_with(name_prefix))
      seconds += stat->processor_seconds();
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

void add_process(Page& page) {
  add_stat(page);
  add_descriptors(page);
  if (const auto bytes = named_value("/proc/self/io", "read_bytes:"))
    page.add("kafka_server_kafkaserver_linux_disk_read_bytes", *bytes);
  if (const auto bytes = named_value("/proc/self/io", "write_bytes:"))
    page.add("kafka_server_kafkaserver_linux_disk_write_bytes", *bytes);
}

}  // namespace barnabas::metrics
