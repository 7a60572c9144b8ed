#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "metadata/image.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// Takes those elements out of `all` for which `denied` is true; they are returned in their order.
template <class Element, class Denied>
std::vector<Element> take_out(std::vector<Element>& all, Denied denied) {
  const auto gone =
      std::stable_partition(all.begin(), all.end(), [&](const Element& each) { return !denied(each); });
  std::vector<Element> taken(std::make_move_iterator(gone), std::make_move_iterator(all.end()));
  all.erase(gone, all.end());
  return taken;
}

/// Adds a topic of a request about partitions to its response, each partition with the same error. Borrows
/// from `asked`.
template <class Answers, class Asked>
void add_failed_topic(Answers& answers, const Asked& asked, protocol::ErrorCode error) {
  auto& topic = answers.emplace_back();
  topic.name = asked.name;
  if constexpr (requires { topic.topic_id = asked.topic_id; }) topic.topic_id = asked.topic_id;
  for (const auto& partition : asked.partitions) {
    auto& answer = topic.partitions.emplace_back();
    answer.partition_index = partition.partition_index;
    answer.error_code = protocol::to_wire(error);
  }
}

/// The name of a topic that a request names, or (`by_id`) means by its id; null if there is none of that id.
template <class Asked>
std::optional<std::string_view> name_of_topic(const Asked& asked, bool by_id,
                                              const metadata::MetadataImage& image) {
  if constexpr (requires { asked.topic_id; }) {
    if (by_id) {
      const auto* topic = image.topic(asked.topic_id);
      if (topic == nullptr) return std::nullopt;
      return topic->name;
    }
  }
  return asked.name.view();
}

}  // namespace barnabas::broker
