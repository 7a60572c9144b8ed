#include "broker/authentication.h"

#include <any>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "network/event_loops.h"

namespace barnabas::broker {

using Action = security::SaslVerdict::Action;

namespace {

constinit Logger log_{"security"};

}  // namespace

/// What is kept of one connection.
class Authentication::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const security::SaslListener& listener) : session(listener) {}

  security::SaslSession session;

  /// Refuses now, or after `delay`.
  void refuse(network::ConnectionContext& connection, network::ReplySlot slot, security::SaslVerdict verdict,
              std::chrono::milliseconds delay) {
    slot_ = std::move(slot);
    verdict_ = std::move(verdict);
    if (delay.count() <= 0 || connection.loop == nullptr) return refuse_now();
    timer_.emplace(connection.loop->context(), delay);
    timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->refuse_now();
    });
  }
  void refuse_now() {
    if (!slot_.pending()) return;
    timer_.reset();
    std::string reason = "authentication failed: " + verdict_.reason;
    if (!verdict_.frame) return slot_.close(std::move(reason));
    slot_.reply(network::OutgoingFrame(std::move(*verdict_.frame)),
                network::AfterReply{.close = true, .reason = std::move(reason)});
  }
  /// The slot holds the connection, and the connection this.
  void forget() {
    timer_.reset();
    slot_ = {};
  }

 private:
  network::ReplySlot slot_;  ///< of a refusal that waits
  security::SaslVerdict verdict_;
  std::optional<boost::asio::steady_timer> timer_;
};

/// One frame of a connection on its way.
struct Authentication::Turn {
  std::shared_ptr<network::ConnectionContext> connection;
  std::shared_ptr<State> state;
  network::ReplySlot slot;
};

std::shared_ptr<Authentication::State> Authentication::state_of(
    network::ConnectionContext& connection) const {
  if (auto* known = std::any_cast<std::shared_ptr<State>>(&connection.authentication)) return *known;
  const auto listener = options_.listeners.find(connection.listener);
  BARNABAS_ASSERT(listener != options_.listeners.end());
  auto state = std::make_shared<State>(listener->second);
  connection.authentication = state;
  return state;
}

bool Authentication::take(network::IncomingRequest& request) {
  auto state = state_of(*request.connection);
  auto verdict = state->session.receive(request.frame.bytes(), options_.clock());
  if (verdict.action == Action::hand_on) return false;
  Turn turn{request.connection, std::move(state), std::move(request.slot)};
  request.frame = network::Frame{};
  if (verdict.action != Action::evaluate) {
    act_upon(std::move(turn), std::move(verdict));
  } else if (turn.state->session.may_block()) {
    evaluate_on_pool(std::move(turn));
  } else {
    auto step = turn.state->session.evaluate(options_.wall_clock());
    verdict = turn.state->session.conclude(std::move(step), options_.wall_clock(), options_.clock());
    act_upon(std::move(turn), std::move(verdict));
  }
  return true;
}

/// The connection starts nothing else meanwhile: its slot is pending.
void Authentication::evaluate_on_pool(Turn turn) const {
  auto shared = std::make_shared<Turn>(std::move(turn));
  const bool accepted = disk_pool_.submit([this, shared] {
    auto step = std::make_shared<security::SaslStep>(shared->state->session.evaluate(options_.wall_clock()));
    shared->connection->loop->post([this, shared, step] {
      auto verdict =
          shared->state->session.conclude(std::move(*step), options_.wall_clock(), options_.clock());
      act_upon(std::move(*shared), std::move(verdict));
    });
  });
  if (!accepted) shared->slot.close("the disk pool refuses to evaluate a token");
}

void Authentication::act_upon(Turn turn, security::SaslVerdict verdict) const {
  network::ConnectionContext& connection = *turn.connection;
  if (verdict.action == Action::refuse) {
    const auto delay = verdict.delayed ? options_.failure_delay : std::chrono::milliseconds(0);
    return turn.state->refuse(connection, std::move(turn.slot), std::move(verdict), delay);
  }
  if (verdict.authenticated) {
    connection.principal = turn.state->session.principal();
    connection.admitted = true;
    if (log_.enabled(LogLevel::debug))
      log_.debug("authenticated peer={} listener={} principal={}", connection.peer(), connection.listener,
                 log_text(connection.principal.to_string()));
  }
  if (!verdict.frame) return turn.slot.no_reply();
  turn.slot.reply(network::OutgoingFrame(std::move(*verdict.frame)));
}

void Authentication::versions_told(network::ConnectionContext& connection) {
  if (auto* state = std::any_cast<std::shared_ptr<State>>(&connection.authentication))
    (*state)->session.versions_told();
}

void Authentication::connection_closed(network::ConnectionContext& connection) {
  if (auto* state = std::any_cast<std::shared_ptr<State>>(&connection.authentication)) (*state)->forget();
}

void Authentication::end_waiting(network::ConnectionContext& connection) {
  if (auto* state = std::any_cast<std::shared_ptr<State>>(&connection.authentication)) (*state)->refuse_now();
}

}  // namespace barnabas::broker
