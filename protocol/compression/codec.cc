#include "protocol/compression/codec.h"

namespace barnabas::protocol {

std::optional<Codec> codec_from_name(std::string_view name) {
  if (name == "uncompressed" || name == "none") return Codec::none;
  if (name == "gzip") return Codec::gzip;
  if (name == "snappy") return Codec::snappy;
  if (name == "lz4") return Codec::lz4;
  if (name == "zstd") return Codec::zstd;
  return std::nullopt;
}

std::string_view to_string(Codec codec) {
  switch (codec) {
    case Codec::none:
      return "none";
    case Codec::gzip:
      return "gzip";
    case Codec::snappy:
      return "snappy";
    case Codec::lz4:
      return "lz4";
    case Codec::zstd:
      return "zstd";
  }
  return "unknown";
}

}  // namespace barnabas::protocol
