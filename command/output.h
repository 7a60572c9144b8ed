#pragma once

#include <iosfwd>
#include <string>

namespace barnabas::command {

/// Prints `error` as every command does: "barnabas: …" in one line. Returns 1.
int complain(std::ostream& errors, const std::string& error);
/// Looks whether all was written: 0, also when the reader has gone; 1 otherwise, with a complaint the first
/// time.
int finish_output(std::ostream& out, std::ostream& errors);
/// Whether `out` is the terminal and wants colours: not with NO_COLOR in the environment.
bool wants_colours(const std::ostream& out);

}  // namespace barnabas::command
