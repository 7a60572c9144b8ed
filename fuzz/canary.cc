// Crashes on purpose: proves that the driver finds such an input by mutation and that the test run notices.
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size >= 2 && data[0] == 'c' && data[1] == 0xff) std::abort();
  return 0;
}
