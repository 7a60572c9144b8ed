#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "protocol/api_key.h"
#include "protocol/records_field.h"
#include "protocol/string.h"
#include "protocol/unknown_tags.h"

/// What every generated message header needs. One struct per message serves all versions: members carry the
/// defaults of the schema, a decoder fills those that its version has, an encoder refuses a value that its
/// version cannot carry (unless the schema says that it may be dropped).
namespace barnabas::protocol {

class Reader;       // protocol/reader.h
class Writer;       // protocol/writer.h
class JsonPrinter;  // protocol/json_printer.h

}  // namespace barnabas::protocol
