#include "app/signals.h"

#include <pthread.h>
#include <unistd.h>

#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

constexpr int ends_the_thread = SIGUSR2;
/// What a shell reports of a process that a signal ended.
constexpr int exit_code_of_signal = 128;

}  // namespace

Signals::Signals() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGTERM);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, ends_the_thread);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  // A peer that is gone is an error of the write, no end of the process.
  (void)signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([this] { run(); });
}

Signals::~Signals() {
  (void)pthread_kill(thread_.native_handle(), ends_the_thread);
  thread_.join();
}

void Signals::serving(std::function<void()> hurry) {
  hurry_ = std::move(hurry);
  phase_.store(Phase::serving);
}

int Signals::wait() {
  stop_.acquire();
  return first_;
}

void Signals::stopped() {
  const std::scoped_lock lock(mutex_);
  phase_.store(Phase::hurried);
}

void Signals::run() {
  while (true) {
    int number = 0;
    if (sigwait(&set_, &number) != 0) continue;
    if (number == ends_the_thread) return;
    received(number);
  }
}

void Signals::received(int number) {
  const std::scoped_lock lock(mutex_);
  switch (phase_.load()) {
    case Phase::starting:
      log_.warn("ended while starting signal={}", number);
      _exit(exit_code_of_signal + number);
    case Phase::serving:
      phase_.store(Phase::stopping);
      first_ = number;
      stop_.release();
      return;
    case Phase::stopping:
      phase_.store(Phase::hurried);
      log_.warn("second signal: connections are closed at once; a third one ends without finishing");
      hurry_();
      return;
    case Phase::hurried:
      log_.error("third signal: ended without finishing; the next start recovers");
      _exit(exit_code_of_signal + number);
  }
}

}  // namespace barnabas::app
