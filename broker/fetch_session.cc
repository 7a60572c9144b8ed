#include "broker/fetch_session.h"

#include <openssl/rand.h>

#include <limits>

namespace barnabas::broker {

std::size_t FetchSession::KeyHash::operator()(const Key& key) const noexcept {
  const std::size_t topic =
      key.topic.empty() ? std::hash<Uuid>{}(key.topic_id) : std::hash<std::string>{}(key.topic);
  return topic * 31 + std::hash<PartitionIndex>{}(key.index);
}

std::size_t FetchSession::entry_bytes(const Key& key) {
  // The name stands in the entry and in the key; two allocations with their links.
  return sizeof(FetchPartition) + sizeof(Key) + 8 * sizeof(void*) + 2 * key.topic.size();
}

void FetchSession::add(const FetchPartition& wanted) {
  Key key{wanted.topic, wanted.topic_id, wanted.index};
  const auto at = index_.find(key);
  if (at == index_.end()) {
    partitions_.push_back(wanted);
    bytes_ += entry_bytes(key);
    index_.emplace(std::move(key), std::prev(partitions_.end()));
    return;
  }
  FetchPartition& known = *at->second;
  known.current_leader_epoch = wanted.current_leader_epoch;
  known.fetch_offset = wanted.fetch_offset;
  known.last_fetched_epoch = wanted.last_fetched_epoch;
  known.max_bytes = wanted.max_bytes;
}

void FetchSession::forget(std::string_view topic, const Uuid& topic_id, PartitionIndex index) {
  const auto at = index_.find(Key{std::string(topic), topic_id, index});
  if (at == index_.end()) return;
  bytes_ -= entry_bytes(at->first);
  partitions_.erase(at->second);
  index_.erase(at);
}

std::shared_ptr<FetchSession> FetchSessionCache::find(int32_t id, std::string_view owner) const {
  const auto at = sessions_.find(id);
  return at != sessions_.end() && at->second->owner_ == owner ? at->second : nullptr;
}

FetchSessionCache::Lookup FetchSessionCache::continue_session(int32_t id, std::string_view owner,
                                                              int32_t epoch, bool by_topic_id, Instant now) {
  const std::scoped_lock lock(mutex_);
  const auto session = find(id, owner);
  if (session == nullptr) return {nullptr, protocol::ErrorCode::fetch_session_id_not_found};
  if (session->epoch_ != epoch) return {nullptr, protocol::ErrorCode::invalid_fetch_session_epoch};
  if (session->by_topic_id_ != by_topic_id)
    return {nullptr, protocol::ErrorCode::fetch_session_topic_id_error};
  session->epoch_ = epoch == std::numeric_limits<int32_t>::max() ? 1 : epoch + 1;
  touch(*session, now);
  return {session, protocol::ErrorCode::none};
}

std::optional<int32_t> FetchSessionCache::new_id() const {
  uint32_t number = 0;
  do {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) != 1) return std::nullopt;
    number >>= 1;
  } while (number == 0 || sessions_.contains(static_cast<int32_t>(number)));
  return static_cast<int32_t>(number);
}

std::shared_ptr<FetchSession> FetchSessionCache::create(std::string owner, bool by_topic_id, std::size_t size,
                                                        Instant now) {
  const std::scoped_lock lock(mutex_);
  if (slots_ == 0 || (sessions_.size() >= slots_ && !make_room(size, now))) return nullptr;
  const auto id = new_id();
  if (!id) return nullptr;
  auto session = std::make_shared<FetchSession>(*id, std::move(owner), by_topic_id, now);
  session->cached_size_ = size;
  session->last_used_ = now;
  sessions_.emplace(*id, session);
  by_use_.insert(session);
  by_size_.insert(session);
  return session;
}

bool FetchSessionCache::make_room(std::size_t size, Instant now) {
  const auto& oldest = *by_use_.begin();
  if (now - oldest->last_used_ > eviction_age) {
    erase(std::shared_ptr(oldest));
    return true;
  }
  const auto& smallest = *by_size_.begin();
  if (smallest->cached_size_ < size && now - smallest->created_ > eviction_age) {
    erase(std::shared_ptr(smallest));
    return true;
  }
  return false;
}

void FetchSessionCache::erase(const std::shared_ptr<FetchSession>& session) {
  by_use_.erase(session);
  by_size_.erase(session);
  bytes_ -= session->cached_bytes_;
  sessions_.erase(session->id());
}

void FetchSessionCache::touch(FetchSession& session, Instant now) {
  auto node = by_use_.extract(sessions_.at(session.id()));
  session.last_used_ = now;
  by_use_.insert(std::move(node));
}

void FetchSessionCache::remove(int32_t id, std::string_view owner) {
  const std::scoped_lock lock(mutex_);
  if (const auto session = find(id, owner)) erase(session);
}

void FetchSessionCache::remove(const FetchSession& session) {
  const std::scoped_lock lock(mutex_);
  const auto at = sessions_.find(session.id());
  if (at != sessions_.end() && at->second.get() == &session) erase(std::shared_ptr(at->second));
}

bool FetchSessionCache::resized(FetchSession& session, std::size_t size, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto at = sessions_.find(session.id());
  if (at == sessions_.end() || at->second.get() != &session) return true;
  bytes_ = bytes_ - session.cached_bytes_ + bytes;
  session.cached_bytes_ = bytes;
  if (bytes_ > bytes_max) {
    erase(std::shared_ptr(at->second));
    return false;
  }
  if (session.cached_size_ != size) {
    auto node = by_size_.extract(at->second);
    session.cached_size_ = size;
    by_size_.insert(std::move(node));
  }
  return true;
}

std::size_t FetchSessionCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

std::size_t FetchSessionCache::size() const {
  const std::scoped_lock lock(mutex_);
  return sessions_.size();
}

}  // namespace barnabas::broker
