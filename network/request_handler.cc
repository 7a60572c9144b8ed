#include "network/request_handler.h"

#include <utility>

#include "base/assert.h"

namespace barnabas::network {

std::string ConnectionContext::peer() const {
  const bool bracket = peer_address.find(':') != std::string::npos;
  return (bracket ? "[" + peer_address + "]" : peer_address) + ":" + std::to_string(peer_port);
}

ReplySlot& ReplySlot::operator=(ReplySlot&& other) noexcept {
  std::swap(target_, other.target_);
  std::swap(request_, other.request_);
  return *this;
}

ReplySlot::~ReplySlot() {
  if (target_) target_->on_close(request_, "request dropped without an answer");
}

void ReplySlot::reply(OutgoingFrame frame, AfterReply after) {
  BARNABAS_ASSERT(pending());
  std::exchange(target_, nullptr)->on_reply(request_, std::move(frame), std::move(after));
}

void ReplySlot::no_reply(AfterReply after) {
  BARNABAS_ASSERT(pending());
  std::exchange(target_, nullptr)->on_no_reply(request_, std::move(after));
}

void ReplySlot::close(std::string reason) {
  BARNABAS_ASSERT(pending());
  std::exchange(target_, nullptr)->on_close(request_, std::move(reason));
}

void ReplySlot::allow_next() {
  BARNABAS_ASSERT(pending());
  target_->on_allow_next(request_);
}

}  // namespace barnabas::network
