#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace barnabas {

void assertion_failed(const char* property, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, property);
  std::abort();
}

}  // namespace barnabas
