#include "io/fake_file_content.h"

#include <algorithm>
#include <cstring>

namespace barnabas::io {

std::size_t SparseBytes::read(MutableByteView into, uint64_t position) const {
  if (position >= size_) return 0;
  const std::size_t count = std::min<uint64_t>(into.size(), size_ - position);
  for (std::size_t done = 0; done < count;) {
    const uint64_t at = position + done;
    const std::size_t in_page = at % page_bytes;
    const std::size_t length = std::min(count - done, page_bytes - in_page);
    const auto page = pages_.find(at / page_bytes);
    if (page == pages_.end()) {
      std::memset(into.data() + done, 0, length);
    } else {
      std::memcpy(into.data() + done, page->second.data() + in_page, length);
    }
    done += length;
  }
  return count;
}

void SparseBytes::write(ByteView bytes, uint64_t position) {
  for (std::size_t done = 0; done < bytes.size();) {
    const uint64_t at = position + done;
    const std::size_t in_page = at % page_bytes;
    const std::size_t length = std::min(bytes.size() - done, page_bytes - in_page);
    auto& page = pages_.try_emplace(at / page_bytes).first->second;
    std::memcpy(page.data() + in_page, bytes.data() + done, length);
    done += length;
  }
  if (!bytes.empty()) size_ = std::max(size_, position + bytes.size());
}

void SparseBytes::resize(uint64_t size) {
  if (size < size_) {
    const uint64_t kept_pages = (size + page_bytes - 1) / page_bytes;
    std::erase_if(pages_, [&](const auto& page) { return page.first >= kept_pages; });
    const auto last = pages_.find(size / page_bytes);
    if (last != pages_.end())
      std::memset(last->second.data() + size % page_bytes, 0, page_bytes - size % page_bytes);
  }
  size_ = size;
}

void FakeFileContent::write(ByteView bytes, uint64_t position) {
  if (bytes.empty()) return;
  current_.write(bytes, position);
  const uint64_t last = (position + bytes.size() - 1) / sector_bytes;
  for (uint64_t sector = position / sector_bytes; sector <= last; ++sector) unsynced_.insert(sector);
}

void FakeFileContent::resize(uint64_t size) {
  // What is cut off is zeros to a later sync, should the file have grown again by then.
  for (uint64_t sector = size / sector_bytes;
       sector * sector_bytes < std::min(current_.size(), durable_.size()); ++sector) {
    unsynced_.insert(sector);
  }
  current_.resize(size);
}

void FakeFileContent::sync() {
  durable_.resize(current_.size());
  for (const uint64_t sector : unsynced_) copy_sector(sector);
  unsynced_.clear();
}

void FakeFileContent::power_cut(SeededRandom* random) {
  if (random != nullptr && (!unsynced_.empty() || current_.size() != durable_.size())) {
    const uint64_t before = durable_.size();
    const uint64_t wanted = current_.size();
    const uint64_t choice = random->below(3);
    uint64_t size = choice == 0 ? before : wanted;
    if (choice == 1 && wanted > before) size = before + random->below(wanted - before + 1);
    durable_.resize(size);
    // None, some, most or all of the sectors.
    const uint64_t kept_of_four = random->below(5);
    for (const uint64_t sector : unsynced_) {
      // A shrunk file that came back with its old size has its old bytes.
      if (sector * sector_bytes >= wanted) continue;
      if (random->below(4) < kept_of_four) copy_sector(sector);
    }
  }
  unsynced_.clear();
  current_ = durable_;
}

void FakeFileContent::copy_sector(uint64_t sector) {
  std::array<std::byte, sector_bytes> bytes{};
  const uint64_t start = sector * sector_bytes;
  if (start >= durable_.size()) return;
  current_.read(bytes, start);
  const uint64_t length = std::min(sector_bytes, durable_.size() - start);
  durable_.write(ByteView(bytes).first(length), start);
}

}  // namespace barnabas::io
