#include "protocol/unknown_tags.h"

#include <algorithm>
#include <utility>

namespace barnabas::protocol {

UnknownTags::UnknownTags(const UnknownTags& other)
    : tags_(other.tags_ ? std::make_unique<std::vector<UnknownTag>>(*other.tags_) : nullptr) {}

UnknownTags& UnknownTags::operator=(const UnknownTags& other) {
  if (this != &other) *this = UnknownTags(other);
  return *this;
}

void UnknownTags::set(uint32_t tag, Bytes content) {
  append(tag, std::move(content));
  put_in_order();
}

void UnknownTags::append(uint32_t tag, Bytes content) {
  if (!tags_) tags_ = std::make_unique<std::vector<UnknownTag>>();
  tags_->push_back({tag, std::move(content)});
}

void UnknownTags::put_in_order() {
  constexpr auto not_ascending = [](const UnknownTag& left, const UnknownTag& right) {
    return left.tag >= right.tag;
  };
  if (!tags_ || std::ranges::adjacent_find(*tags_, not_ascending) == tags_->end()) return;
  std::ranges::stable_sort(*tags_, {}, &UnknownTag::tag);
  std::vector<UnknownTag> last_of_each;
  for (auto& each : *tags_) {
    if (!last_of_each.empty() && last_of_each.back().tag == each.tag) {
      last_of_each.back() = std::move(each);
    } else {
      last_of_each.push_back(std::move(each));
    }
  }
  *tags_ = std::move(last_of_each);
}

bool UnknownTags::operator==(const UnknownTags& other) const {
  return std::ranges::equal(all(), other.all());
}

}  // namespace barnabas::protocol
