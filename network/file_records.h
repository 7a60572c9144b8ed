#pragma once

#include <cstdint>
#include <utility>

#include "io/disk.h"
#include "network/outgoing_frame.h"
#include "protocol/records_field.h"
#include "protocol/writer.h"

namespace barnabas::network {

/// Records of an answer that stay in their file and go to the socket from the page cache.
struct FileRecords : protocol::ExternalRecords {
  explicit FileRecords(io::FileSlice from) : slice(std::move(from)) {}
  uint64_t size() const override { return slice.length; }

  io::FileSlice slice;
};

/// The answer of what a Writer made. Every external record in it must be a FileRecords.
OutgoingFrame outgoing_frame(protocol::WrittenBytes written);

}  // namespace barnabas::network
