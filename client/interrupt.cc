#include "client/interrupt.h"

#include <csignal>

namespace barnabas::client {
namespace {

volatile std::sig_atomic_t caught = 0;

void on_signal(int) {
  caught = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return caught != 0;
}

}  // namespace barnabas::client
