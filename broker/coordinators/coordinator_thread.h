#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace barnabas::broker {

/// A thread that runs what it is given, in order, and wakes up for timers. With nothing to do it sleeps.
class CoordinatorThread {
 public:
  /// Called with true on the thread, or with false by post() once the thread has stopped.
  using Task = std::move_only_function<void(bool running)>;
  /// Runs on the thread after each round of tasks, and when the moment has come that it returned last;
  /// nothing: only after tasks.
  using Timers = std::function<std::optional<Instant>()>;

  /// `name`: at most 15 characters. `timers` is called from start() on.
  CoordinatorThread(std::string name, Timers timers);
  /// As stop.
  ~CoordinatorThread();
  CoordinatorThread(const CoordinatorThread&) = delete;
  CoordinatorThread& operator=(const CoordinatorThread&) = delete;

  void start();
  /// Any thread.
  void post(Task task);
  /// Takes no more, runs all that was posted, and joins. Not from the thread itself. Once done it does
  /// nothing.
  void stop();

 private:
  void run();

  const std::string name_;
  const Timers timers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> queue_;
  bool asleep_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace barnabas::broker
