#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/api_key.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

/// All messages by name, for code that does not know the type beforehand: tests, fuzz targets, tools. The
/// broker itself uses the message types. Library barnabas_protocol_registry.
namespace barnabas::protocol {

enum class MessageKind {
  request,
  response,
  header,
  data,
  metadata_record,
  coordinator_key,
  coordinator_value,
  remote_log_record,
};

/// A message of any type.
class AnyMessage {
 public:
  virtual ~AnyMessage() = default;
  virtual void encode(Writer& writer, int16_t version) const = 0;
  virtual std::string to_json(int16_t version) const = 0;
  virtual bool equals(const AnyMessage& other) const = 0;
};

struct MessageInfo {
  std::string_view name;  ///< as in the schemas: "FetchRequest"
  MessageKind kind;
  int16_t min_version;
  int16_t max_version;
  int16_t first_flexible_version;
  std::optional<ApiKey> api_key;       ///< of requests and responses
  std::optional<int16_t> record_type;  ///< of persisted records
  Result<std::unique_ptr<AnyMessage>> (*decode)(Reader& reader, int16_t version);
};

/// Ordered by name.
std::span<const MessageInfo> all_messages();
/// Null when there is none of that name.
const MessageInfo* find_message(std::string_view name);
const MessageInfo* find_request(ApiKey key);

}  // namespace barnabas::protocol
