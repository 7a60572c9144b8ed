#include "coordinator/consumer_embedded.h"

#include <algorithm>

#include "protocol/messages/consumer_protocol_assignment.h"
#include "protocol/messages/consumer_protocol_subscription.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

namespace barnabas::coordinator {
namespace {

using protocol::ConsumerProtocolAssignment;
using protocol::ConsumerProtocolSubscription;

template <class Message>
std::optional<Message> read(ByteView bytes, int16_t& version) {
  protocol::Reader reader(bytes);
  version = reader.int16();
  if (!reader.ok() || version < Message::min_version) return std::nullopt;
  auto message = Message::decode(reader, std::min(version, Message::max_version));
  if (!message) return std::nullopt;
  return std::move(*message);
}

template <class Topics>
std::map<std::string, std::vector<int32_t>> by_name(const Topics& topics) {
  std::map<std::string, std::vector<int32_t>> partitions;
  for (const auto& topic : topics) {
    auto& list = partitions[topic.topic.str()];
    list.insert(list.end(), topic.partitions.begin(), topic.partitions.end());
  }
  return partitions;
}

}  // namespace

std::optional<EmbeddedSubscription> read_subscription(ByteView bytes) {
  EmbeddedSubscription subscription;
  const auto message = read<ConsumerProtocolSubscription>(bytes, subscription.version);
  if (!message) return std::nullopt;
  for (const auto& topic : message->topics) subscription.topics.push_back(topic.str());
  if (message->rack_id && !message->rack_id->empty()) subscription.rack_id = message->rack_id->str();
  subscription.owned = by_name(message->owned_partitions);
  return subscription;
}

std::optional<EmbeddedAssignment> read_assignment(ByteView bytes) {
  int16_t version = 0;
  const auto message = read<ConsumerProtocolAssignment>(bytes, version);
  if (!message) return std::nullopt;
  return EmbeddedAssignment{by_name(message->assigned_partitions),
                            message->user_data && !message->user_data->empty()};
}

std::vector<std::byte> write_assignment(const TopicPartitions& partitions,
                                        const metadata::MetadataImage& image, int16_t version) {
  ConsumerProtocolAssignment message;
  for (const auto& [id, list] : partitions) {
    const auto* topic = image.topic(id);
    if (topic == nullptr) continue;
    auto& one = message.assigned_partitions.emplace_back();
    one.topic = protocol::String::view_of(topic->name);
    one.partitions = list;
  }
  version =
      std::clamp(version, ConsumerProtocolAssignment::min_version, ConsumerProtocolAssignment::max_version);
  protocol::Writer writer;
  writer.int16(version);
  message.encode(writer, version);
  const ByteView bytes = writer.bytes();
  return {bytes.begin(), bytes.end()};
}

TopicPartitions by_id(const std::map<std::string, std::vector<int32_t>>& partitions,
                      const metadata::MetadataImage& image) {
  TopicPartitions ids;
  for (const auto& [name, list] : partitions) {
    const auto* topic = image.topic(name);
    if (topic == nullptr || list.empty()) continue;
    auto sorted = list;
    std::ranges::sort(sorted);
    const auto doubles = std::ranges::unique(sorted);
    sorted.erase(doubles.begin(), doubles.end());
    ids[topic->id] = std::move(sorted);
  }
  return ids;
}

}  // namespace barnabas::coordinator
