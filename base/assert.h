#pragma once

namespace barnabas {

/// Prints the place and the broken property to standard error and aborts. Never returns.
[[noreturn]] void assertion_failed(const char* property, const char* file, int line);

}  // namespace barnabas

/// A property of our own code that must hold; stays on in release builds. Never for input of others or for IO
/// errors.
#define BARNABAS_ASSERT(property) \
  (static_cast<bool>(property) ? void(0) : ::barnabas::assertion_failed(#property, __FILE__, __LINE__))
