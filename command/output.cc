#include "command/output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

namespace barnabas::command {

int complain(std::ostream& errors, const std::string& error) {
  std::string line = error;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  const bool colours = wants_colours(errors);
  errors << (colours ? "\x1b[31mbarnabas:\x1b[0m " : "barnabas: ") << line << '\n';
  return 1;
}

int finish_output(std::ostream& out, std::ostream& errors) {
  static const int told = std::ios_base::xalloc();
  errno = 0;
  if (out.flush()) return 0;
  const int error = errno;
  // A pipe that nobody reads any more says so, whichever write it was that failed.
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return 0;
  if (out.iword(told)++ != 0) return 1;
  return complain(errors, std::string("the output cannot be written: ") +
                              (error != 0 ? std::strerror(error) : "it is closed or full"));
}

bool wants_colours(const std::ostream& out) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if ((no_colour != nullptr && *no_colour != '\0') ||
      (terminal != nullptr && std::string_view(terminal) == "dumb"))
    return false;
  return (&out == &std::cout && ::isatty(STDOUT_FILENO) == 1) ||
         (&out == &std::cerr && ::isatty(STDERR_FILENO) == 1);
}

}  // namespace barnabas::command
