#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/listeners.h"

namespace barnabas::app {

/// Whether a host name means anything on this machine.
using Resolves = std::function<bool(const std::string& host)>;
bool resolves_here(const std::string& host);  ///< asks the system's resolver; may take its time

/// What about the advertised addresses will keep clients away although the broker runs: for each a sentence
/// for the log, with what to do. None of it is certain, since names and networks of clients are not this
/// machine's, so none of it keeps a broker from starting.
std::vector<std::string> doubts_about_advertised(const Listeners& listeners, const Resolves& resolves);

}  // namespace barnabas::app
