#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/types.h"
#include "protocol/metadata_record.h"

namespace barnabas::metadata {

/// Records that are proposed together, already in the form in which the log holds them.
class RecordList {
 public:
  /// The version is one that Record has; see record_versions.h for what a metadata.version permits.
  template <class Record>
  void add(const Record& record, int16_t version = 0) {
    protocol::encode_framed_record(writer_, record, version);
    BARNABAS_ASSERT(writer_.ok());
    ends_.push_back(writer_.bytes().size());
  }
  /// A value that is framed already.
  void add_framed(ByteView value) {
    writer_.raw(value);
    ends_.push_back(writer_.bytes().size());
  }

  bool empty() const { return ends_.empty(); }
  std::size_t size() const { return ends_.size(); }
  std::size_t size_bytes() const { return writer_.bytes().size(); }
  /// Valid until the next add.
  ByteView operator[](std::size_t index) const {
    const std::size_t from = index == 0 ? 0 : ends_[index - 1];
    return writer_.bytes().subspan(from, ends_[index] - from);
  }

 private:
  protocol::Writer writer_;
  std::vector<std::size_t> ends_;
};

}  // namespace barnabas::metadata
