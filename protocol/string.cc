#include "protocol/string.h"

#include <cstring>
#include <utility>

#include "base/assert.h"

namespace barnabas::protocol::detail {

ViewOrOwner::ViewOrOwner(const ViewOrOwner& other)
    : ViewOrOwner(other.owner_ ? copy(other.data_, other.size_) : borrow(other.data_, other.size_)) {}

ViewOrOwner::ViewOrOwner(ViewOrOwner&& other) noexcept
    : data_(std::exchange(other.data_, "")),
      size_(std::exchange(other.size_, 0)),
      owner_(std::exchange(other.owner_, false)) {}

ViewOrOwner& ViewOrOwner::operator=(const ViewOrOwner& other) {
  if (this != &other) *this = ViewOrOwner(other);
  return *this;
}

ViewOrOwner& ViewOrOwner::operator=(ViewOrOwner&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(owner_, other.owner_);
  return *this;
}

ViewOrOwner ViewOrOwner::borrow(const char* data, std::size_t size) {
  BARNABAS_ASSERT(size <= UINT32_MAX);
  ViewOrOwner result;
  if (size == 0) return result;
  result.data_ = data;
  result.size_ = static_cast<uint32_t>(size);
  return result;
}

ViewOrOwner ViewOrOwner::copy(const char* data, std::size_t size) {
  ViewOrOwner result = borrow(data, size);
  if (size == 0) return result;
  char* own = new char[size];
  std::memcpy(own, data, size);
  result.data_ = own;
  result.owner_ = true;
  return result;
}

void ViewOrOwner::release() noexcept {
  delete[] data_;
}

}  // namespace barnabas::protocol::detail
