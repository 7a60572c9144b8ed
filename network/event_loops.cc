#include "network/event_loops.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

#include "network/frame_pool.h"
#include "network/memory_budget.h"

namespace barnabas::network {

EventLoop::EventLoop(std::size_t index, FramePool& frames) : index_(index), context_(1), frames_(frames) {}

EventLoop*& EventLoop::current_loop() {
  thread_local EventLoop* current = nullptr;
  return current;
}

void EventLoop::run(const std::string& thread_name) {
  pthread_setname_np(pthread_self(), thread_name.c_str());
  current_loop() = this;
  context_.run();
  current_loop() = nullptr;
}

EventLoops::EventLoops(std::size_t threads, std::string name)
    : name_(std::move(name)), budget_(std::make_unique<MemoryBudget>()) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < threads; ++i) {
    pools_.push_back(std::make_unique<FramePool>(*budget_));
    loops_.push_back(std::make_unique<EventLoop>(i, *pools_.back()));
  }
}

EventLoops::~EventLoops() {
  stop();
  for (const auto& loop : loops_) loop->context_.drop_handlers();
}

void EventLoops::start() {
  if (std::exchange(running_, true)) return;
  // Signals are for the main thread; the io threads inherit a mask that blocks them all.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (auto& loop : loops_) {
    loop->context_.restart();
    loop->work_.emplace(loop->executor());
    loop->thread_ = std::thread(
        [raw = loop.get(), name = name_ + "-" + std::to_string(loop->index())] { raw->run(name); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void EventLoops::stop() {
  if (!std::exchange(running_, false)) return;
  for (auto& loop : loops_) {
    loop->work_.reset();
    loop->context_.stop();
  }
  for (auto& loop : loops_) loop->thread_.join();
}

}  // namespace barnabas::network
