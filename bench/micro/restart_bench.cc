// How long a node needs to open its logs after a clean stop, and to stop cleanly.
//   restart_bench DIRECTORY PARTITIONS make      makes partitions with one record each and stops cleanly
//   restart_bench DIRECTORY PARTITIONS restart   opens them, says how long it took, and stops cleanly again
// For the system calls: strace -f -c restart_bench DIRECTORY PARTITIONS restart
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "io/posix_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "storage/file_pool.h"
#include "storage/log_manager.h"

namespace {

using namespace barnabas;

double seconds_since(Instant begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int fail_with(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

Result<void> make_logs(storage::LogManager& manager, int partitions) {
  for (int index = 0; index < partitions; ++index) {
    const storage::TopicPartition name{"topic-" + std::to_string(index / 100), PartitionIndex{index % 100}};
    storage::LogManager::CreateOptions options;
    options.topic_id = Uuid::random();
    BARNABAS_ASSIGN(const auto log, manager.create(name, options, wall_clock_now()));
    std::vector<std::byte> batch =
        protocol::single_record_batch(wall_clock_now(), std::nullopt, as_byte_view("one record"));
    BARNABAS_TRY(log->append_as_leader(batch, LeaderEpoch{0}, wall_clock_now()));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: restart_bench DIRECTORY PARTITIONS make|restart\n");
    return 2;
  }
  const int partitions = std::atoi(argv[2]);
  io::PosixDisk disk;
  storage::FilePool files(disk, 1000);
  storage::LogDirectoriesOptions directories_options;
  directories_options.paths = {argv[1]};
  directories_options.node_id = NodeId{1};
  directories_options.format = true;

  const Instant begin = std::chrono::steady_clock::now();
  auto directories = storage::open_log_directories(disk, directories_options);
  if (!directories) return fail_with(directories.error());
  storage::LogManagerOptions options;
  options.load_threads = std::thread::hardware_concurrency();
  storage::LogManager manager(disk, files, std::move(*directories), options);
  const auto summary = manager.load(wall_clock_now());
  if (!summary) return fail_with(summary.error());
  std::printf("opened %zu logs in %.3f s, %zu of them scanned\n", summary->logs, seconds_since(begin),
              summary->recovered);

  if (std::string_view(argv[3]) == "make") {
    const Instant making = std::chrono::steady_clock::now();
    if (const auto made = make_logs(manager, partitions); !made) return fail_with(made.error());
    std::printf("made %d logs in %.3f s\n", partitions, seconds_since(making));
  }
  const Instant stopping = std::chrono::steady_clock::now();
  if (const auto stopped = manager.shut_down(BrokerEpoch{1}); !stopped) return fail_with(stopped.error());
  std::printf("stopped in %.3f s\n", seconds_since(stopping));
  return 0;
}
