#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace barnabas::network {

class FramePool;
class MemoryBudget;

/// One thread with its own io_context. Timers and posted work of the owner of a connection run here.
class EventLoop {
 public:
  using Executor = boost::asio::io_context::executor_type;

  EventLoop(std::size_t index, FramePool& frames);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  std::size_t index() const { return index_; }
  boost::asio::io_context& context() { return context_; }
  Executor executor() { return context_.get_executor(); }
  bool in_this_thread() const { return current_loop() == this; }
  /// Runs `work` on the loop's thread, never inside this call. From any thread.
  template <class Work>
  void post(Work&& work) {
    boost::asio::post(context_, std::forward<Work>(work));
  }

  /// Where requests read on this loop get their memory; usable from any thread.
  FramePool& frames() { return frames_; }

 private:
  friend class EventLoops;
  static EventLoop*& current_loop();
  void run(const std::string& thread_name);

  /// What waits in one loop may own things of another (an acceptor its connections' loops), so all loops drop
  /// their handlers before the first one is destroyed.
  class Context : public boost::asio::io_context {
   public:
    using io_context::io_context;
    void drop_handlers() { shutdown(); }
  };

  const std::size_t index_;
  Context context_;
  std::optional<boost::asio::executor_work_guard<Executor>> work_;
  FramePool& frames_;
  std::thread thread_;
};

/// The io threads of the process. Must outlive all servers, connections, frames, slots and timers that use
/// them.
class EventLoops {
 public:
  /// `threads` of 0 is one per core. `name` of at most 10 characters: threads are called "<name>-0" …
  explicit EventLoops(std::size_t threads, std::string name = "net");
  /// As stop.
  ~EventLoops();

  /// Starts the threads. Work may be posted before.
  void start();
  /// Ends every loop after the handler it is running now, and joins. Not from a loop's thread.
  void stop();

  std::size_t size() const { return loops_.size(); }
  EventLoop& operator[](std::size_t index) { return *loops_[index]; }
  EventLoop::Executor executor(std::size_t index) { return loops_[index]->executor(); }
  /// Bytes of requests between arrival and destruction of their frame, over all loops.
  MemoryBudget& budget() { return *budget_; }

 private:
  const std::string name_;
  std::unique_ptr<MemoryBudget> budget_;
  // Outlives all loops: what a loop still holds when it is destroyed may have frames of another one.
  std::vector<std::unique_ptr<FramePool>> pools_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
  bool running_ = false;
};

}  // namespace barnabas::network
