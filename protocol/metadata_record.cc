#include "protocol/metadata_record.h"

#include <array>
#include <limits>
#include <string>
#include <utility>

namespace barnabas::protocol {

namespace {

using Decoder = Result<MetadataRecord> (*)(Reader&, int16_t);

template <class Record>
Result<MetadataRecord> decode_one(Reader& reader, int16_t version) {
  BARNABAS_ASSIGN(Record record, Record::decode(reader, version));
  return MetadataRecord(std::move(record));
}

struct Row {
  int16_t record_type = -1;
  Decoder decode = nullptr;
};

constexpr auto decoders = []<std::size_t... index>(std::index_sequence<index...>) {
  return std::array{Row{std::variant_alternative_t<index, MetadataRecord>::record_type,
                        &decode_one<std::variant_alternative_t<index, MetadataRecord>>}...};
}(std::make_index_sequence<std::variant_size_v<MetadataRecord>>());

}  // namespace

Result<MetadataFrame> decode_metadata_frame(Reader& reader) {
  const uint32_t frame_version = reader.uvarint();
  const MetadataFrame frame{reader.uvarint(), reader.uvarint()};
  if (!reader.ok()) return fail("metadata record frame", reader.error());
  if (frame_version != metadata_frame_version)
    return fail(ErrorKind::unsupported, "metadata record: frame version " + std::to_string(frame_version) +
                                            ", expected " + std::to_string(metadata_frame_version));
  if (frame.version > static_cast<uint32_t>(std::numeric_limits<int16_t>::max()))
    return fail(ErrorKind::corrupt,
                "metadata record: version " + std::to_string(frame.version) + ", expected at most 32767");
  return frame;
}

Result<MetadataRecord> decode_metadata_record(ByteView framed_value) {
  Reader reader(framed_value);
  BARNABAS_ASSIGN(const MetadataFrame frame, decode_metadata_frame(reader));
  for (const Row& row : decoders) {
    if (static_cast<uint32_t>(row.record_type) != frame.record_type) continue;
    auto record = row.decode(reader, static_cast<int16_t>(frame.version));
    if (record && reader.remaining() > 0)
      return fail(ErrorKind::corrupt, "metadata record of type " + std::to_string(frame.record_type) + ": " +
                                          std::to_string(reader.remaining()) +
                                          " bytes behind it, expected none");
    return record;
  }
  return fail(ErrorKind::unsupported, "metadata record: unknown type " + std::to_string(frame.record_type));
}

void encode_metadata_record(Writer& writer, const MetadataRecord& record, int16_t version) {
  std::visit([&](const auto& each) { encode_framed_record(writer, each, version); }, record);
}

}  // namespace barnabas::protocol
