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

Signals::Signals() : hangup_ends_(::isatty(STDIN_FILENO) == 1) {
  sigemptyset(&set_);
  sigaddset(&set_, SIGHUP);
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
  std::unique_lock lock(mutex_);
  told_.wait(lock, [this] { return first_ != 0 || reload_; });
  if (first_ != 0) return first_;
  reload_ = false;
  return SIGHUP;
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
    if (number == SIGHUP && !hangup_ends_)
      hung_up();
    else
      received(number);
  }
}

void Signals::hung_up() {
  const std::scoped_lock lock(mutex_);
  if (phase_.load() != Phase::serving) {
    log_.info("no settings are read again while starting or stopping signal={}", SIGHUP);
    return;
  }
  reload_ = true;
  told_.notify_one();
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
      told_.notify_one();
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
