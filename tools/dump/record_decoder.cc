#include "tools/dump/record_decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/endian.h"
#include "protocol/metadata_record.h"
#include "protocol/reader.h"
#include "protocol/records/control_record.h"
#include "protocol/registry.h"

namespace barnabas::tools {
namespace {

using protocol::MessageInfo;
using protocol::MessageKind;

const MessageInfo* find_record_type(MessageKind kind, int64_t type, RecordContents contents) {
  for (const MessageInfo& info : protocol::all_messages()) {
    if (info.kind != kind || info.record_type != type) continue;
    // The logs of the coordinators number their records each for itself.
    if (kind == MessageKind::coordinator_key) {
      const bool is_transaction = info.name.starts_with("TransactionLog");
      const bool is_share = info.name.starts_with("ShareSnapshot") || info.name.starts_with("ShareUpdate");
      if (is_transaction != (contents == RecordContents::transactions)) continue;
      if (is_share != (contents == RecordContents::share)) continue;
    }
    return &info;
  }
  return nullptr;
}

/// "Name v1 {…}" of a message that must end where the bytes do.
Result<std::string> decode_whole(const MessageInfo& info, protocol::Reader& reader, int16_t version) {
  if (version < info.min_version || version > info.max_version) {
    return fail(ErrorKind::unsupported, std::string(info.name) + " version " + std::to_string(version) +
                                            " found, " + std::to_string(info.min_version) + " to " +
                                            std::to_string(info.max_version) + " expected");
  }
  auto message = info.decode(reader, version);
  if (!message) return fail(std::string(info.name), std::move(message).error());
  if (reader.remaining() != 0) {
    return fail(ErrorKind::corrupt,
                std::string(info.name) + ": " + std::to_string(reader.remaining()) + " bytes behind its end");
  }
  return std::string(info.name) + " v" + std::to_string(version) + " " + (*message)->to_json(version);
}

}  // namespace

std::optional<RecordContents> contents_by_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, RecordContents>, 5> names{{
      {"none", RecordContents::opaque},
      {"metadata", RecordContents::metadata},
      {"offsets", RecordContents::offsets},
      {"transactions", RecordContents::transactions},
      {"share", RecordContents::share},
  }};
  const auto found = std::ranges::find(names, name, &std::pair<std::string_view, RecordContents>::first);
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

RecordContents contents_by_path(std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (file.ends_with(".checkpoint")) return RecordContents::metadata;
  std::string_view directory = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  directory = directory.substr(directory.rfind('/') + 1);
  if (directory.starts_with("__cluster_metadata-")) return RecordContents::metadata;
  if (directory.starts_with("__consumer_offsets-")) return RecordContents::offsets;
  if (directory.starts_with("__transaction_state-")) return RecordContents::transactions;
  if (directory.starts_with("__share_group_state-")) return RecordContents::share;
  return RecordContents::opaque;
}

Result<std::string> decode_metadata_value(ByteView value) {
  protocol::Reader reader(value);
  BARNABAS_ASSIGN(const protocol::MetadataFrame frame, protocol::decode_metadata_frame(reader));
  const MessageInfo* info =
      find_record_type(MessageKind::metadata_record, frame.record_type, RecordContents::metadata);
  if (info == nullptr || frame.version > INT16_MAX) {
    return fail(ErrorKind::unsupported, "metadata record type " + std::to_string(frame.record_type) +
                                            " version " + std::to_string(frame.version) + " is unknown");
  }
  return decode_whole(*info, reader, static_cast<int16_t>(frame.version));
}

Result<std::string> decode_coordinator_record(RecordContents contents, ByteView key,
                                              std::optional<ByteView> value) {
  protocol::Reader key_reader(key);
  const int16_t type = key_reader.int16();
  if (!key_reader.ok()) return fail("key", key_reader.error());
  const MessageInfo* key_info = find_record_type(MessageKind::coordinator_key, type, contents);
  if (key_info == nullptr)
    return fail(ErrorKind::unsupported, "record type " + std::to_string(type) + " is unknown");
  BARNABAS_ASSIGN(std::string text, decode_whole(*key_info, key_reader, key_info->max_version));
  if (!value) return text + " = null (removed)";

  std::string value_name(key_info->name);
  value_name.replace(value_name.size() - 3, 3, "Value");
  const MessageInfo* value_info = protocol::find_message(value_name);
  if (value_info == nullptr) return fail(ErrorKind::unsupported, value_name + " is unknown");
  protocol::Reader value_reader(*value);
  const int16_t version = value_reader.int16();
  if (!value_reader.ok()) return fail("value", value_reader.error());
  BARNABAS_ASSIGN(const std::string value_text, decode_whole(*value_info, value_reader, version));
  return text + " = " + value_text;
}

Result<std::string> decode_control_record(std::optional<ByteView> key, std::optional<ByteView> value) {
  using protocol::ControlRecordType;
  const auto type = protocol::control_record_type(key);
  if (!type) return fail(ErrorKind::corrupt, "control record without a type");
  std::string_view message;
  std::string prefix;
  switch (*type) {
    case ControlRecordType::abort:
      prefix = "ABORT ";
      message = "EndTxnMarker";
      break;
    case ControlRecordType::commit:
      prefix = "COMMIT ";
      message = "EndTxnMarker";
      break;
    case ControlRecordType::leader_change:
      message = "LeaderChangeMessage";
      break;
    case ControlRecordType::snapshot_header:
      message = "SnapshotHeaderRecord";
      break;
    case ControlRecordType::snapshot_footer:
      message = "SnapshotFooterRecord";
      break;
    case ControlRecordType::kraft_version:
      message = "KRaftVersionRecord";
      break;
    case ControlRecordType::kraft_voters:
      message = "VotersRecord";
      break;
    default:
      return "control record type " + std::to_string(static_cast<int>(*type)) + " of a newer Kafka";
  }
  const MessageInfo* info = protocol::find_message(message);
  if (info == nullptr) return fail(ErrorKind::unsupported, std::string(message) + " is unknown");
  if (!value || value->size() < sizeof(int16_t))
    return fail(ErrorKind::corrupt, "control record without a version");
  // The version stands in front of a marker's fields, and is a field by itself in the messages of the
  // metadata log.
  const bool is_marker = *type == ControlRecordType::abort || *type == ControlRecordType::commit;
  const auto version = load_big_endian<int16_t>(value->data());
  protocol::Reader reader(is_marker ? value->subspan(sizeof(int16_t)) : *value);
  BARNABAS_ASSIGN(const std::string text, decode_whole(*info, reader, version));
  return prefix + text;
}

}  // namespace barnabas::tools
