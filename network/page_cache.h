#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "io/disk.h"

namespace barnabas::network {

/// Whether reading this range would not wait for a device, as far as a few cheap looks can tell: one page of
/// each read-ahead window and the last one. A page in between may have been dropped; then the caller waits
/// for it, which is rare, since the kernel reads and drops neighbours together. True when the file system
/// cannot tell.
bool in_page_cache(int file, uint64_t position, std::size_t length);

/// Reads the range so that it is in the page cache afterwards. Blocks. ErrorKind::out_of_range if the file is
/// shorter.
Result<void> read_into_page_cache(const io::FileSlice& slice);

}  // namespace barnabas::network
