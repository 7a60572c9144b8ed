#include "network/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

namespace barnabas::network {

namespace {

/// The kernel's usual read-ahead.
constexpr uint64_t window_bytes = 128 << 10;

enum class Look : uint8_t { cached, cold, unknown };

Look look_at(int file, uint64_t position) {
  std::byte one;
  const iovec into{&one, 1};
  ssize_t got;
  do {
    got = ::preadv2(file, &into, 1, static_cast<off_t>(position), RWF_NOWAIT);
  } while (got < 0 && errno == EINTR);
  if (got >= 0) return Look::cached;  // also the end of the file: the caller finds out without waiting
  return errno == EAGAIN ? Look::cold : Look::unknown;
}

/// For file systems without RWF_NOWAIT (overlayfs).
bool resident(int file, uint64_t position, std::size_t length) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t from = position / page * page;
  const std::size_t bytes = position + length - from;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(from));
  if (mapped == MAP_FAILED) return true;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  const bool told = ::mincore(mapped, bytes, pages.data()) == 0;
  ::munmap(mapped, bytes);
  return !told || std::ranges::all_of(pages, [](unsigned char flags) { return (flags & 1) != 0; });
}

}  // namespace

bool in_page_cache(int file, uint64_t position, std::size_t length) {
  if (length == 0) return true;
  const uint64_t last = position + length - 1;
  for (uint64_t at = position; at < last; at += window_bytes) {
    const Look look = look_at(file, at);
    if (look == Look::unknown) return resident(file, position, length);
    if (look == Look::cold) return false;
  }
  return look_at(file, last) != Look::cold;
}

Result<void> read_into_page_cache(const io::FileSlice& slice) {
  constexpr std::size_t piece_bytes = 128 << 10;
  // Tells the device of all of it first; then waiting for the first piece is waiting for most.
  ::posix_fadvise(slice.file->descriptor(), static_cast<off_t>(slice.position),
                  static_cast<off_t>(slice.length), POSIX_FADV_WILLNEED);
  auto buffer = std::make_unique_for_overwrite<std::byte[]>(piece_bytes);
  for (uint64_t done = 0; done < slice.length;) {
    const std::size_t wanted = std::min<uint64_t>(piece_bytes, slice.length - done);
    BARNABAS_ASSIGN(const std::size_t got,
                    slice.file->read_at({buffer.get(), wanted}, slice.position + done));
    if (got < wanted) {
      return fail(ErrorKind::out_of_range, slice.file->path() + ": ends at " +
                                               std::to_string(slice.position + done + got) + ", expected " +
                                               std::to_string(slice.position + slice.length));
    }
    done += got;
  }
  return {};
}

}  // namespace barnabas::network
