#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy.h>
#include <zstd.h>

#include <string>

#include "base/endian.h"
#include "base/random.h"
#include "protocol/compression/codecs.h"
#include "protocol/compression/compressor.h"
#include "protocol/compression/decompressor.h"
#include "protocol/compression/snappy_block.h"
#include "protocol/records/test_support.h"

namespace barnabas::protocol {
namespace {

using test::Bytes;

constexpr Codec real_codecs[] = {Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd};
constexpr size_t no_limit = 1 << 30;

Bytes random_bytes(size_t size, uint64_t seed) {
  SeededRandom random(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

/// Text-like: compressible, but not trivial.
Bytes words(size_t size, uint64_t seed = 1) {
  SeededRandom random(seed);
  std::string text;
  text.reserve(size + 16);
  while (text.size() < size) text.append("word").append(std::to_string(random.below(5000))).append(" ");
  text.resize(size);
  return test::to_bytes(text);
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Compression, every_codec_gives_back_what_it_was_given) {
  for (const Codec codec : {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{32767}, size_t{32768}, size_t{32769},
                              size_t{65536}, size_t{300001}}) {
      for (const Bytes& content : {words(size), random_bytes(size, size + 1), Bytes(size)}) {
        const Bytes compressed = compress({codec, {}}, content);
        const auto back = decompress(codec, compressed, no_limit);
        ASSERT_TRUE(back.has_value()) << to_string(codec) << " " << size << ": " << back.error().message;
        EXPECT_EQ(*back, content) << to_string(codec) << " " << size;
      }
    }
  }
}

TEST(Compression, every_level_works_and_levels_outside_are_clamped) {
  const Bytes content = words(100000);
  for (const Codec codec : real_codecs) {
    for (const int level : {-200000, -7, -1, 0, 1, 2, 3, 5, 6, 9, 10, 12, 17, 19, 22, 100}) {
      const auto back = decompress(codec, compress({codec, level}, content), no_limit);
      ASSERT_TRUE(back.has_value()) << to_string(codec) << " level " << level;
      EXPECT_EQ(*back, content) << to_string(codec) << " level " << level;
    }
  }
  EXPECT_LT(compress({Codec::gzip, 9}, content).size(), compress({Codec::gzip, 1}, content).size());
  EXPECT_LT(compress({Codec::lz4, 12}, content).size(), compress({Codec::lz4, {}}, content).size());
  EXPECT_LT(compress({Codec::zstd, 19}, content).size(), compress({Codec::zstd, 1}, content).size());
}

TEST(Compression, reading_byte_by_byte_gives_the_same) {
  const Bytes content = words(70000);
  for (const Codec codec : real_codecs) {
    const Bytes compressed = compress({codec, {}}, content);
    DecompressionStream stream(codec, compressed);
    Bytes back;
    for (;;) {
      std::byte byte[1];
      const auto size = stream.read(byte);
      ASSERT_TRUE(size.has_value());
      if (*size == 0) break;
      back.push_back(byte[0]);
    }
    EXPECT_EQ(back, content) << to_string(codec);
    std::byte more[8];
    EXPECT_EQ(stream.read(more).value(), 0U) << "the end stays the end";
  }
}

TEST(Compression, every_truncation_is_refused) {
  for (const Codec codec : real_codecs) {
    const Bytes compressed = compress({codec, {}}, words(300));
    for (size_t size = 0; size < compressed.size(); ++size) {
      const Bytes cut(compressed.begin(), compressed.begin() + static_cast<std::ptrdiff_t>(size));
      const auto back = decompress(codec, cut, no_limit);
      // A frame format that may be empty, and Java's framing behind its header, have no sign of their end.
      if (codec == Codec::zstd && size == 0) continue;
      if (codec == Codec::snappy && size >= xerial_header_bytes && size < xerial_header_bytes + 4) continue;
      EXPECT_FALSE(back.has_value()) << to_string(codec) << " cut to " << size;
    }
  }
}

TEST(Compression, flipped_bits_never_crash_nor_grow) {
  SeededRandom random(7);
  for (const Codec codec : real_codecs) {
    const Bytes compressed = compress({codec, {}}, words(5000));
    for (int round = 0; round < 500; ++round) {
      Bytes damaged = compressed;
      for (uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
        damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1 << random.below(8));
      }
      (void)decompress(codec, damaged, 1 << 20);
      (void)decompress(codec, random_bytes(random.below(200), random.next()), 1 << 20);
    }
  }
}

TEST(Compression, content_above_the_limit_is_refused) {
  for (const Codec codec : real_codecs) {
    const Bytes compressed = compress({codec, {}}, Bytes(1000000));
    const auto back = decompress(codec, compressed, 999999);
    ASSERT_FALSE(back.has_value());
    EXPECT_EQ(back.error().kind, ErrorKind::too_large);
  }
}

TEST(Compression, streams_may_be_nested_on_one_thread) {
  const Bytes a = words(90000, 1), b = words(90000, 2);
  const Bytes packed_a = compress({Codec::zstd, {}}, a), packed_b = compress({Codec::zstd, {}}, b);
  DecompressionStream first(Codec::zstd, packed_a);
  std::byte piece[10];
  ASSERT_EQ(first.read(piece).value(), sizeof piece);
  EXPECT_EQ(decompress(Codec::zstd, packed_b, no_limit).value(), b);
  Bytes rest(piece, piece + sizeof piece);
  for (;;) {
    std::byte more[1000];
    const size_t size = first.read(more).value();
    if (size == 0) break;
    rest.insert(rest.end(), more, more + size);
  }
  EXPECT_EQ(rest, a);
}

// --- gzip
// -------------------------------------------------------------------------------------------------------------

TEST(Gzip, members_in_a_row_are_one_content) {
  const Bytes a = words(1000, 1), b = words(2000, 2);
  const Bytes both = joined(compress({Codec::gzip, {}}, a), compress({Codec::gzip, {}}, b));
  EXPECT_EQ(decompress(Codec::gzip, both, no_limit).value(), joined(a, b));
}

TEST(Gzip, bytes_behind_the_last_member_are_ignored_as_java_does) {
  const Bytes content = words(1000);
  for (const size_t size : {1, 7, 30, 300}) {
    const Bytes with_more = joined(compress({Codec::gzip, {}}, content), Bytes(size));
    EXPECT_EQ(decompress(Codec::gzip, with_more, no_limit).value(), content);
  }
}

TEST(Gzip, a_wrong_trailer_is_refused) {
  const Bytes content = words(1000);
  for (const size_t from_end : {1, 5}) {
    Bytes damaged = compress({Codec::gzip, {}}, content);
    damaged[damaged.size() - from_end] ^= std::byte{1};
    EXPECT_FALSE(decompress(Codec::gzip, damaged, no_limit).has_value());
  }
}

// --- snappy
// -----------------------------------------------------------------------------------------------------------

Bytes raw_snappy(const Bytes& content) {
  std::string out;
  snappy::Compress(reinterpret_cast<const char*>(content.data()), content.size(), &out);
  return test::to_bytes(out);
}

Bytes xerial(std::initializer_list<Bytes> chunks, int32_t version = 1, int32_t compatible = 1) {
  Bytes out;
  for (const unsigned char c : xerial_magic) out.push_back(std::byte{c});
  out.resize(xerial_header_bytes);
  store_big_endian<int32_t>(out.data() + 8, version);
  store_big_endian<int32_t>(out.data() + 12, compatible);
  for (const Bytes& chunk : chunks) {
    const Bytes raw = raw_snappy(chunk);
    out.resize(out.size() + 4);
    store_big_endian<int32_t>(out.data() + out.size() - 4, static_cast<int32_t>(raw.size()));
    out = joined(std::move(out), raw);
  }
  return out;
}

TEST(Snappy, writes_javas_framing_with_big_endian_versions_and_chunks_of_32_kib) {
  const Bytes content = words(80 * 1024);
  const Bytes compressed = compress({Codec::snappy, {}}, content);
  EXPECT_EQ(test::to_hex(ByteView(compressed).first(16)), "82534e41505059000000000100000001");
  int chunks = 0;
  for (size_t at = 16; at < compressed.size(); ++chunks) {
    at += 4 + load_big_endian<uint32_t>(compressed.data() + at);
    ASSERT_LE(at, compressed.size());
  }
  EXPECT_EQ(chunks, 3);
}

TEST(Snappy, many_chunks_are_one_content) {
  const Bytes a = words(32768, 1), b = words(100000, 2), c = words(3, 3);
  EXPECT_EQ(decompress(Codec::snappy, xerial({a, b, c}), no_limit).value(), joined(joined(a, b), c));
  EXPECT_EQ(decompress(Codec::snappy, joined(xerial({a}), xerial({b, c})), no_limit).value(),
            joined(joined(a, b), c));
}

TEST(Snappy, a_block_without_framing_is_read) {
  for (const size_t size : {0, 1, 100, 32768, 1 << 20, (1 << 20) + 1}) {
    const Bytes content = words(size);
    EXPECT_EQ(decompress(Codec::snappy, raw_snappy(content), no_limit).value(), content) << size;
  }
  const Bytes noise = random_bytes(1500000, 3);
  EXPECT_EQ(decompress(Codec::snappy, raw_snappy(noise), no_limit).value(), noise);
  EXPECT_EQ(decompress(Codec::snappy, raw_snappy(Bytes(9000000)), no_limit).value(), Bytes(9000000));
}

TEST(Snappy, any_version_in_the_framing_is_read) {
  const Bytes content = words(1000);
  EXPECT_EQ(decompress(Codec::snappy, xerial({content}, 0x01000000, 0x01000000), no_limit).value(), content);
  EXPECT_EQ(decompress(Codec::snappy, xerial({content}, 1, 0), no_limit).value(), content);
  EXPECT_EQ(decompress(Codec::snappy, xerial({content}, 0, -1), no_limit).value(), content);
}

TEST(Snappy, a_block_that_lies_about_its_length_is_refused) {
  const Bytes raw = raw_snappy(words(1000));
  for (const char* lie : {"00", "01", "e707", "e907", "ffffff03", "ffffffff0f", "ffffffffff0f", "ff"}) {
    Bytes lying = joined(test::from_hex(lie), Bytes(raw.begin() + 2, raw.end()));
    EXPECT_FALSE(decompress(Codec::snappy, lying, no_limit).has_value()) << lie;
  }
}

TEST(SnappyBlockDecoder, agrees_with_the_library_on_every_element) {
  SeededRandom random(11);
  for (int round = 0; round < 30; ++round) {
    Bytes content;
    while (content.size() < 100000) {
      const Bytes piece =
          random.one_in(2) ? random_bytes(random.below(3000), random.next()) : Bytes(random.below(3000));
      content = joined(std::move(content), piece);
      if (random.one_in(3)) content = joined(content, words(random.below(5000), random.below(3)));
    }
    const Bytes raw = raw_snappy(content);
    ByteView elements = raw;
    const uint32_t size = take_snappy_content_length(elements).value();
    SnappyBlockDecoder decoder;
    decoder.reset(elements, size);
    Bytes back(content.size() + 1);
    size_t at = 0;
    while (const size_t piece = decoder.read(MutableByteView(back).subspan(at)).value()) at += piece;
    back.resize(at);
    ASSERT_EQ(back, content);
    Bytes damaged = raw;
    damaged[random.below(damaged.size())] ^= static_cast<std::byte>(1 + random.below(255));
    elements = damaged;
    if (!take_snappy_content_length(elements)) continue;
    decoder.reset(elements, size);
    for (;;) {
      std::byte piece[4096];
      const auto got = decoder.read(piece);
      if (!got || *got == 0) break;
    }
  }
}

TEST(SnappyBlockDecoder, a_copy_from_before_the_window_is_refused) {
  // 9 MiB of one byte by copies, then a copy from 5 MiB back.
  Bytes block = test::from_hex("00ff");
  size_t size = 1;
  const Bytes copy = test::from_hex("fe0100");
  for (; size < (9 << 20); size += 64) block.insert(block.end(), copy.begin(), copy.end());
  block = joined(std::move(block), test::from_hex("0f00005000"));
  SnappyBlockDecoder decoder;
  decoder.reset(block, size + 4);
  std::vector<std::byte> piece(1 << 20);
  Result<size_t> got = 1;
  size_t total = 0;
  while (got && *got > 0) {
    got = decoder.read(piece);
    if (got) total += *got;
  }
  EXPECT_FALSE(got.has_value());
  EXPECT_LE(total, size);
}

// --- lz4
// --------------------------------------------------------------------------------------------------------------

Bytes lz4_frame(const Bytes& content, const LZ4F_preferences_t& preferences) {
  Bytes out(LZ4F_compressFrameBound(content.size(), &preferences));
  out.resize(LZ4F_compressFrame(out.data(), out.size(), content.data(), content.size(), &preferences));
  return out;
}

LZ4F_preferences_t independent_blocks() {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  return preferences;
}

TEST(Lz4, writes_the_flags_of_javas_clients) {
  const Bytes compressed = compress({Codec::lz4, {}}, words(1000));
  EXPECT_EQ(test::to_hex(ByteView(compressed).first(7)), "04224d18604082");
}

TEST(Lz4, all_flags_that_java_reads_are_read) {
  const Bytes content = words(300000);
  for (const auto size : {LZ4F_max64KB, LZ4F_max256KB, LZ4F_max1MB, LZ4F_max4MB}) {
    for (int flags = 0; flags < 8; ++flags) {
      LZ4F_preferences_t preferences = independent_blocks();
      preferences.frameInfo.blockSizeID = size;
      preferences.frameInfo.contentChecksumFlag =
          (flags & 1) != 0 ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
      preferences.frameInfo.blockChecksumFlag =
          (flags & 2) != 0 ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
      preferences.frameInfo.contentSize = (flags & 4) != 0 ? content.size() : 0;
      EXPECT_EQ(decompress(Codec::lz4, lz4_frame(content, preferences), no_limit).value(), content);
    }
  }
}

TEST(Lz4, an_unfinished_frame_leaves_nothing_behind) {
  LZ4F_preferences_t preferences = independent_blocks();
  const Bytes content = words(1000);
  preferences.frameInfo.contentSize = content.size();
  Bytes cut = lz4_frame(content, preferences);
  cut.resize(cut.size() - 20);
  EXPECT_FALSE(decompress(Codec::lz4, cut, no_limit).has_value());
  EXPECT_EQ(decompress(Codec::lz4, compress({Codec::lz4, {}}, content), no_limit).value(), content);
}

TEST(Lz4, a_wrong_content_checksum_is_refused) {
  LZ4F_preferences_t preferences = independent_blocks();
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  Bytes frame = lz4_frame(words(1000), preferences);
  frame.back() ^= std::byte{1};
  EXPECT_FALSE(decompress(Codec::lz4, frame, no_limit).has_value());
}

TEST(Lz4, linked_blocks_are_refused_since_java_cannot_read_them) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockMode = LZ4F_blockLinked;
  EXPECT_FALSE(decompress(Codec::lz4, lz4_frame(words(200000), preferences), no_limit).has_value());
}

TEST(Lz4, bytes_behind_the_frame_are_ignored_as_java_does) {
  const Bytes content = words(1000);
  const Bytes with_more = joined(compress({Codec::lz4, {}}, content), Bytes(50));
  EXPECT_EQ(decompress(Codec::lz4, with_more, no_limit).value(), content);
}

// --- zstd
// -------------------------------------------------------------------------------------------------------------

TEST(Zstd, frames_in_a_row_are_one_content_and_skippable_ones_are_skipped) {
  const Bytes a = words(1000, 1), b = words(2000, 2);
  const Bytes skippable = test::from_hex("502a4d1804000000deadbeef");
  const Bytes all = joined(joined(compress({Codec::zstd, {}}, a), skippable), compress({Codec::zstd, {}}, b));
  EXPECT_EQ(decompress(Codec::zstd, all, no_limit).value(), joined(a, b));
}

TEST(Zstd, bytes_behind_the_frame_are_refused_as_java_does) {
  EXPECT_FALSE(
      decompress(Codec::zstd, joined(compress({Codec::zstd, {}}, words(1000)), Bytes(50)), no_limit));
}

TEST(Zstd, a_window_above_128_mib_is_refused) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 28);
  ZSTD_outBuffer out{nullptr, 0, 0};
  Bytes frame(1000);
  out = {frame.data(), frame.size(), 0};
  const Bytes content = words(100);
  ZSTD_inBuffer in{content.data(), content.size(), 0};
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  EXPECT_FALSE(decompress(Codec::zstd, frame, no_limit).has_value());
}

TEST(Codec, names_and_ids_are_those_of_kafka) {
  EXPECT_EQ(codec_from_name("uncompressed"), Codec::none);
  EXPECT_EQ(codec_from_name("gzip"), Codec::gzip);
  EXPECT_EQ(codec_from_name("snappy"), Codec::snappy);
  EXPECT_EQ(codec_from_name("lz4"), Codec::lz4);
  EXPECT_EQ(codec_from_name("zstd"), Codec::zstd);
  EXPECT_EQ(codec_from_name("producer"), std::nullopt);
  EXPECT_EQ(codec_from_id(4), Codec::zstd);
  EXPECT_EQ(codec_from_id(5), std::nullopt);
  EXPECT_EQ(codec_from_id(-1), std::nullopt);
}

}  // namespace
}  // namespace barnabas::protocol
