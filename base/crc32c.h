#pragma once

#include <cstdint>

#include "base/types.h"

namespace barnabas {

/// CRC-32C (Castagnoli) as in record batches and snapshots: initial value and final xor of 0xffffffff.
/// crc32c("123456789") is 0xe3069283.
uint32_t crc32c(ByteView bytes);

/// Goes on from an earlier result: extend(crc32c(a), b) == crc32c(a + b).
uint32_t crc32c_extend(uint32_t crc, ByteView bytes);

}  // namespace barnabas
