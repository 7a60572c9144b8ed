#pragma once

#include <cstddef>

namespace barnabas::protocol::testing {

/// Bytes that operator new has handed out since the last call, freed ones included. This program only.
std::size_t allocated_bytes_since_last_call();

}  // namespace barnabas::protocol::testing
