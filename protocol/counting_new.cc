#include "protocol/counting_new.h"

#include <cstdlib>
#include <new>
#include <utility>

namespace {

std::size_t allocated = 0;

}  // namespace

void* operator new(std::size_t size) {
  allocated += size;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocated += size;
  return std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace barnabas::protocol::testing {

std::size_t allocated_bytes_since_last_call() {
  return std::exchange(allocated, 0);
}

}  // namespace barnabas::protocol::testing
