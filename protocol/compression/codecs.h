#pragma once

// The codecs one by one; everybody else takes DecompressionStream and CompressionStream.

#include <memory>

#include "protocol/compression/compressor.h"
#include "protocol/compression/decompressor.h"

namespace barnabas::protocol {

std::unique_ptr<Decompressor> make_gzip_decompressor();
std::unique_ptr<Compressor> make_gzip_compressor();
std::unique_ptr<Decompressor> make_snappy_decompressor();
std::unique_ptr<Compressor> make_snappy_compressor();
std::unique_ptr<Decompressor> make_lz4_decompressor();
std::unique_ptr<Compressor> make_lz4_compressor();
std::unique_ptr<Decompressor> make_zstd_decompressor();
std::unique_ptr<Compressor> make_zstd_compressor();

/// First eight bytes of Java's framing of snappy; two big-endian int32 follow, the version and the oldest
/// version that can read it.
inline constexpr unsigned char xerial_magic[8] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
inline constexpr size_t xerial_header_bytes = 16;
inline constexpr size_t xerial_chunk_bytes = 32 * 1024;

}  // namespace barnabas::protocol
