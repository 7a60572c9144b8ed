#pragma once

namespace barnabas::client {

/// From now on Ctrl-C and SIGTERM are told by `interrupted` instead of ending the process; the second one
/// ends it all the same. SIGPIPE is ignored.
void catch_interrupts();
bool interrupted();

}  // namespace barnabas::client
