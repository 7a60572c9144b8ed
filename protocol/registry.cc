#include "protocol/registry.h"

#include <algorithm>
#include <vector>

#include "protocol/registry_groups.h"

namespace barnabas::protocol {

std::span<const MessageInfo> all_messages() {
  static const std::vector<MessageInfo> all = [] {
    std::vector<MessageInfo> rows;
    for (const auto group : detail::registry_groups) {
      const auto part = group();
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

const MessageInfo* find_message(std::string_view name) {
  const auto all = all_messages();
  const auto row = std::ranges::find(all, name, &MessageInfo::name);
  return row == all.end() ? nullptr : &*row;
}

const MessageInfo* find_request(ApiKey key) {
  const auto all = all_messages();
  const auto row = std::ranges::find_if(
      all, [&](const MessageInfo& info) { return info.kind == MessageKind::request && info.api_key == key; });
  return row == all.end() ? nullptr : &*row;
}

}  // namespace barnabas::protocol
