#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace barnabas::metadata {

/// A sorted map whose copies share what did not change, so that an image of 10,000 topics can be followed by
/// the next one at the price of what the change touches. Values carry their keys: `KeyOf{}(value)` gives it,
/// and must never change while the value is in the map.
///
/// A copy costs one pointer per 64 values. Copies may be read from several threads; one object is not to be
/// changed by one thread while another reads it.
template <class Value, class KeyOf>
class SharedMap {
  static constexpr std::size_t chunk_size_max = 128;
  using Chunk = std::vector<Value>;  // sorted by key, never empty

 public:
  using value_type = Value;

  /// Walks the values in the order of their keys. Any change of the map ends its life.
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using pointer = const Value*;
    using reference = const Value&;

    const_iterator() = default;
    reference operator*() const { return (*(*chunks_)[chunk_])[index_]; }
    pointer operator->() const { return &**this; }
    const_iterator& operator++() {
      if (++index_ == (*chunks_)[chunk_]->size()) {
        ++chunk_;
        index_ = 0;
      }
      return *this;
    }
    const_iterator operator++(int) {
      auto old = *this;
      ++*this;
      return old;
    }
    bool operator==(const const_iterator&) const = default;

   private:
    friend SharedMap;
    const_iterator(const std::vector<std::shared_ptr<Chunk>>* chunks, std::size_t chunk, std::size_t index)
        : chunks_(chunks), chunk_(chunk), index_(index) {}
    const std::vector<std::shared_ptr<Chunk>>* chunks_ = nullptr;
    std::size_t chunk_ = 0;
    std::size_t index_ = 0;
  };

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const_iterator begin() const { return {&chunks_, 0, 0}; }
  const_iterator end() const { return {&chunks_, chunks_.size(), 0}; }

  /// The value of that key, or null.
  template <class Key>
  const Value* find(const Key& key) const {
    auto at = lower_bound(key);
    return at != end() && KeyOf{}(*at) == key ? &*at : nullptr;
  }

  /// The first value whose key is not below `key`.
  template <class Key>
  const_iterator lower_bound(const Key& key) const {
    if (chunks_.empty()) return end();
    std::size_t chunk = chunk_of(key);
    std::size_t index = index_in(*chunks_[chunk], key);
    if (index == chunks_[chunk]->size()) return {&chunks_, chunk + 1, 0};
    return {&chunks_, chunk, index};
  }

  /// Calls `see(value)` for the values in those chunks that `other` does not share: for all that are not in
  /// it, and a few of their neighbours. Costs one pointer per 64 values besides.
  template <class See>
  void for_each_unshared(const SharedMap& other, See see) const {
    auto theirs = other.chunks_.begin();
    for (const auto& chunk : chunks_) {
      while (theirs != other.chunks_.end() && KeyOf{}((*theirs)->front()) < KeyOf{}(chunk->front())) ++theirs;
      if (theirs != other.chunks_.end() && *theirs == chunk) continue;
      for (const Value& value : *chunk) see(value);
    }
  }

  /// Adds the value, or replaces the one of the same key.
  void put(Value value) {
    if (chunks_.empty()) chunks_.push_back(std::make_shared<Chunk>());
    const auto& key = KeyOf{}(value);
    std::size_t at = chunk_of(key);
    std::size_t index = index_in(*chunks_[at], key);
    Chunk& chunk = own(at);
    if (index < chunk.size() && KeyOf{}(chunk[index]) == key) {
      chunk[index] = std::move(value);
      return;
    }
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    ++size_;
    if (chunk.size() > chunk_size_max) split(at);
  }

  /// Whether there was such a key.
  template <class Key>
  bool erase(const Key& key) {
    if (chunks_.empty()) return false;
    std::size_t at = chunk_of(key);
    std::size_t index = index_in(*chunks_[at], key);
    if (index == chunks_[at]->size() || !(KeyOf{}((*chunks_[at])[index]) == key)) return false;
    Chunk& chunk = own(at);
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(index));
    --size_;
    if (chunk.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

 private:
  /// The last chunk whose first key is not above `key`, else the first chunk.
  template <class Key>
  std::size_t chunk_of(const Key& key) const {
    auto after = std::upper_bound(chunks_.begin(), chunks_.end(), key, [](const Key& k, const auto& chunk) {
      return !chunk->empty() && k < KeyOf{}(chunk->front());
    });
    return after == chunks_.begin() ? 0 : static_cast<std::size_t>(after - chunks_.begin()) - 1;
  }
  template <class Key>
  static std::size_t index_in(const Chunk& chunk, const Key& key) {
    auto at = std::lower_bound(chunk.begin(), chunk.end(), key,
                               [](const Value& value, const Key& k) { return KeyOf{}(value) < k; });
    return static_cast<std::size_t>(at - chunk.begin());
  }
  /// A chunk that no other copy of the map can see.
  Chunk& own(std::size_t at) {
    if (chunks_[at].use_count() > 1) chunks_[at] = std::make_shared<Chunk>(*chunks_[at]);
    return *chunks_[at];
  }
  void split(std::size_t at) {
    Chunk& chunk = *chunks_[at];
    auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(chunk.size() / 2);
    auto upper =
        std::make_shared<Chunk>(std::make_move_iterator(middle), std::make_move_iterator(chunk.end()));
    chunk.erase(middle, chunk.end());
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(upper));
  }

  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace barnabas::metadata
