#pragma once

#include <chrono>
#include <string_view>

#include "metrics/page.h"

namespace barnabas::metrics {

/// Processor time that the threads of this process have used whose names begin so, together, in steps of a
/// hundredth of a second. Those that have ended are not in it. Any thread.
std::chrono::nanoseconds processor_time_of_threads(std::string_view name_prefix);

/// What the system knows of this process: processor time, memory, descriptors, threads, what it read and
/// wrote. What cannot be found out is left out. Any thread.
void add_process(Page& page);

}  // namespace barnabas::metrics
