#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/rights.h"
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

/// What stands against a topic that a request names, or (`by_id`) means by its id: nothing (none), the right,
/// or that nobody has the id. An id that is not in `image` is unknown for good: a topic may come to have it
/// before the request is carried out, and nobody has been asked whether the sender may use that one.
template <class Asked>
protocol::ErrorCode refusal_of_topic(const Asked& asked, bool by_id, const metadata::MetadataImage& image,
                                     const Rights& rights, Right right, std::size_t references = 1) {
  using protocol::ErrorCode;
  if (!rights.limited()) return ErrorCode::none;
  std::string_view name = asked.name.view();
  if constexpr (requires { asked.topic_id; }) {
    const auto* topic = by_id ? image.topic(asked.topic_id) : nullptr;
    if (by_id && topic == nullptr) return ErrorCode::unknown_topic_id;
    if (by_id) name = topic->name;
  }
  return rights.may(right, name, references) ? ErrorCode::none : authorization_failed(right);
}

/// A topic that is taken out of a request, and what is said of it in the answer.
template <class Asked>
struct RefusedTopic {
  Asked asked;
  protocol::ErrorCode error;
};

/// Takes the topics out of a request that refusal_of_topic has something against, in their order.
template <class Asked>
std::vector<RefusedTopic<Asked>> take_out_refused(std::vector<Asked>& all, bool by_id,
                                                  const metadata::MetadataImage& image, const Rights& rights,
                                                  Right right) {
  std::vector<RefusedTopic<Asked>> refused;
  if (!rights.limited()) return refused;
  std::vector<Asked> kept;
  for (Asked& asked : all) {
    const auto error = refusal_of_topic(asked, by_id, image, rights, right);
    if (error == protocol::ErrorCode::none) {
      kept.push_back(std::move(asked));
    } else {
      refused.push_back({std::move(asked), error});
    }
  }
  all = std::move(kept);
  return refused;
}

}  // namespace barnabas::broker
