#include "broker/coordinators/coordinator_thread.h"

#include <pthread.h>

#include <utility>

namespace barnabas::broker {

CoordinatorThread::CoordinatorThread(std::string name, Timers timers)
    : name_(std::move(name)), timers_(std::move(timers)) {}

CoordinatorThread::~CoordinatorThread() {
  stop();
}

void CoordinatorThread::start() {
  thread_ = std::thread([this] { run(); });
}

void CoordinatorThread::post(Task task) {
  bool taken = false;
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    taken = !stopping_;
    if (taken) {
      queue_.push_back(std::move(task));
      wake = std::exchange(asleep_, false);
    }
  }
  if (!taken) return task(false);
  if (wake) wake_.notify_one();
}

void CoordinatorThread::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    asleep_ = false;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void CoordinatorThread::run() {
  (void)pthread_setname_np(pthread_self(), name_.c_str());
  std::vector<Task> tasks;
  std::optional<Instant> next;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto awake = [this] { return !asleep_; };
      if (queue_.empty()) {
        if (stopping_) return;
        asleep_ = true;
        next ? (void)wake_.wait_until(lock, *next, awake) : wake_.wait(lock, awake);
        asleep_ = false;
      }
      tasks.swap(queue_);
    }
    for (Task& task : tasks) std::exchange(task, nullptr)(true);
    tasks.clear();
    next = timers_();
  }
}

}  // namespace barnabas::broker
