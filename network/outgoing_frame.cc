#include "network/outgoing_frame.h"

#include <utility>

#include "base/assert.h"
#include "network/file_records.h"

namespace barnabas::network {

void OutgoingFrame::add(std::shared_ptr<const void> owner, ByteView bytes) {
  if (bytes.empty()) return;
  size_ += bytes.size();
  pieces_.emplace_back(MemoryPiece{std::move(owner), bytes});
}

void OutgoingFrame::add(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const ByteView view = *owner;
  add(std::move(owner), view);
}

void OutgoingFrame::add(io::FileSlice slice) {
  if (slice.length == 0) return;
  size_ += slice.length;
  pieces_.emplace_back(std::move(slice));
}

OutgoingFrame outgoing_frame(protocol::WrittenBytes written) {
  auto owner = std::make_shared<const protocol::WrittenBytes>(std::move(written));
  const ByteView bytes = owner->bytes();
  OutgoingFrame frame;
  std::size_t sent = 0;
  for (const protocol::Insertion& insertion : owner->insertions()) {
    const auto* records = dynamic_cast<const FileRecords*>(insertion.records.get());
    BARNABAS_ASSERT(records != nullptr);
    BARNABAS_ASSERT(insertion.position >= sent && insertion.position <= bytes.size());
    frame.add(owner, bytes.subspan(sent, insertion.position - sent));
    frame.add(records->slice);
    sent = insertion.position;
  }
  frame.add(owner, bytes.subspan(sent));
  return frame;
}

}  // namespace barnabas::network
