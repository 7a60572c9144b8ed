#include "security/kerberos_exchange.h"

#include <array>
#include <utility>

namespace barnabas::security {
namespace {

constexpr std::byte no_layer{1};
/// What is sent to the client: the layers, and how much of them may come at once, three bytes. Kafka's,
/// although without a layer nothing comes.
constexpr std::array<std::byte, 4> offered_layers{no_layer, std::byte{1}, std::byte{0}, std::byte{0}};
/// Kerberos needs one; a client that goes on and on is not one.
constexpr int rounds_max = 4;

}  // namespace

SaslStep KerberosExchange::respond(ByteView message, TimestampMs) {
  switch (state_) {
    case State::establishing:
      return establish(message);
    case State::established:
      if (!message.empty()) return refuse("expected an empty message behind the context");
      return offer();
    case State::offered:
      break;
  }
  return take_choice(message);
}

SaslStep KerberosExchange::establish(ByteView token) {
  if (++rounds_ > rounds_max) return refuse("no context after 4 tokens");
  auto step = context_->accept(token);
  if (!step) return refuse(std::move(step).error().message);
  if (!step->established) return {.state = SaslStep::State::challenge, .bytes = std::move(step->token)};
  // The client without mutual authentication has nothing to wait for.
  if (step->token.empty()) return offer();
  state_ = State::established;
  return {.state = SaslStep::State::challenge, .bytes = std::move(step->token)};
}

SaslStep KerberosExchange::offer() {
  auto wrapped = context_->wrap(offered_layers);
  if (!wrapped) return refuse(std::move(wrapped).error().message);
  state_ = State::offered;
  return {.state = SaslStep::State::challenge, .bytes = std::move(*wrapped)};
}

SaslStep KerberosExchange::take_choice(ByteView message) {
  const auto choice = context_->unwrap(message);
  if (!choice) return refuse(choice.error().message);
  if (choice->size() < 4)
    return refuse("a choice of a layer of " + std::to_string(choice->size()) + " bytes");
  if (choice->front() != no_layer) return refuse("a layer was chosen that was not offered");
  const auto initiator = context_->initiator();
  if (!initiator) return refuse(initiator.error().message);
  const auto name = KerberosName::parse(*initiator);
  if (!name) return refuse(name.error().message);
  auto local = rules_.local_name(*name);
  if (!local) return refuse("sasl.kerberos.principal.to.local.rules: " + local.error().message);
  if (local->empty()) return refuse("sasl.kerberos.principal.to.local.rules make an empty name");
  principal_.name = std::move(*local);
  return {.state = SaslStep::State::complete};
}

SaslStep KerberosExchange::refuse(std::string reason) {
  return {.reason = std::move(reason)};
}

}  // namespace barnabas::security
