#pragma once

#include <concepts>
#include <utility>

#include "protocol/json_printer.h"
#include "protocol/registry.h"

namespace barnabas::protocol::detail {

template <class Message>
class TypedMessage final : public AnyMessage {
 public:
  explicit TypedMessage(Message message) : message_(std::move(message)) {}
  void encode(Writer& writer, int16_t version) const override { message_.encode(writer, version); }
  std::string to_json(int16_t version) const override { return protocol::to_json(message_, version); }
  bool equals(const AnyMessage& other) const override {
    const auto* same_type = dynamic_cast<const TypedMessage*>(&other);
    return same_type && message_ == same_type->message_;
  }

 private:
  Message message_;
};

template <class Message>
Result<std::unique_ptr<AnyMessage>> decode_any(Reader& reader, int16_t version) {
  auto message = Message::decode(reader, version);
  if (!message) return std::unexpected(std::move(message).error());
  return std::make_unique<TypedMessage<Message>>(*std::move(message));
}

template <class Message>
MessageInfo registry_row(MessageKind kind) {
  MessageInfo info{Message::message_name,           kind,         Message::min_version, Message::max_version,
                   Message::first_flexible_version, std::nullopt, std::nullopt,         &decode_any<Message>};
  if constexpr (requires { Message::api_key; }) info.api_key = Message::api_key;
  if constexpr (requires { Message::record_type; }) info.record_type = Message::record_type;
  return info;
}

}  // namespace barnabas::protocol::detail
