#include "storage/offset_map.h"

#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace barnabas::storage {

struct KeyHasher::Digest {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Digest() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
};

KeyHasher::KeyHasher() : digest_(std::make_unique<Digest>()) {
  BARNABAS_ASSERT(digest_->algorithm != nullptr && digest_->context != nullptr);
  BARNABAS_ASSERT(EVP_DigestInit_ex2(digest_->context, digest_->algorithm, nullptr) == 1);
  BARNABAS_ASSERT(getrandom(secret_.data(), secret_.size(), 0) == static_cast<ssize_t>(secret_.size()));
}

KeyHasher::~KeyHasher() = default;

void KeyHasher::begin() {
  if (begun_) return;
  begun_ = true;
  BARNABAS_ASSERT(EVP_DigestInit_ex2(digest_->context, nullptr, nullptr) == 1);
  BARNABAS_ASSERT(EVP_DigestUpdate(digest_->context, secret_.data(), secret_.size()) == 1);
}

void KeyHasher::add(ByteView piece) {
  begin();
  BARNABAS_ASSERT(EVP_DigestUpdate(digest_->context, piece.data(), piece.size()) == 1);
}

KeyHash KeyHasher::finish() {
  begin();
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  BARNABAS_ASSERT(EVP_DigestFinal_ex(digest_->context, bytes.data(), nullptr) == 1);
  begun_ = false;
  KeyHash hash;
  std::memcpy(&hash, bytes.data(), sizeof hash);
  return hash;
}

namespace {

// A product of two 64-bit numbers.
__extension__ using Wide = unsigned __int128;

uint64_t filled_at_most(uint64_t slots, double load_factor) {
  const double share = static_cast<double>(slots) * std::clamp(load_factor, 0.0, 1.0);
  return std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, slots - 1);
}

}  // namespace

OffsetMap::OffsetMap(uint64_t memory_bytes, double load_factor)
    : slots_(std::max<uint64_t>(memory_bytes / slot_bytes, 2)),
      size_max_(filled_at_most(slots_, load_factor)) {}

OffsetMap::~OffsetMap() {
  clear();
}

void OffsetMap::clear() {
  if (table_ != nullptr) BARNABAS_ASSERT(munmap(table_, slots_ * sizeof(Slot)) == 0);
  table_ = nullptr;
  size_ = 0;
}

OffsetMap::Slot* OffsetMap::find(const KeyHash& key) const {
  // The hash is as good as random; the high half of the product spreads it over any number of slots.
  auto at = static_cast<uint64_t>((static_cast<Wide>(key.first) * slots_) >> 64);
  while (table_[at].offset_plus_one != 0 && table_[at].key != key)
    if (++at == slots_) at = 0;
  return table_ + at;
}

bool OffsetMap::put(const KeyHash& key, Offset offset) {
  if (table_ == nullptr) {
    void* memory =
        mmap(nullptr, slots_ * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    table_ = static_cast<Slot*>(memory);
  }
  Slot* slot = find(key);
  if (slot->offset_plus_one == 0) {
    if (size_ == size_max_) return false;
    ++size_;
    slot->key = key;
  }
  slot->offset_plus_one = offset.value() + 1;
  return true;
}

std::optional<Offset> OffsetMap::get(const KeyHash& key) const {
  if (table_ == nullptr) return std::nullopt;
  const Slot* slot = find(key);
  if (slot->offset_plus_one == 0) return std::nullopt;
  return Offset(slot->offset_plus_one - 1);
}

}  // namespace barnabas::storage
