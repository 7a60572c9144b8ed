#include "broker/producer_ids.h"

#include <utility>

namespace barnabas::broker {

using protocol::ErrorCode;

void ProducerIds::next(Done done) {
  bool request = false;
  int64_t id = -1;
  {
    const std::scoped_lock lock(mutex_);
    if (next_ < end_) {
      id = next_++;
    } else {
      waiting_.push_back(std::move(done));
      request = !std::exchange(requested_, true);
    }
  }
  if (id >= 0) return done(ProducerId{id}, ErrorCode::none);
  if (request) request_block();
}

void ProducerIds::request_block() {
  protocol::AllocateProducerIdsRequest request;
  request.broker_id = node_.value();
  const auto image = metadata_.current();
  if (const auto* self = image->broker(node_)) request.broker_epoch = self->epoch.value();
  controller_.allocate_producer_ids(
      std::move(request),
      [this](const protocol::AllocateProducerIdsResponse& response) { block_arrived(response); });
}

void ProducerIds::block_arrived(const protocol::AllocateProducerIdsResponse& response) {
  const auto error = static_cast<ErrorCode>(response.error_code);
  std::vector<std::pair<Done, ProducerId>> served;
  bool more = false;
  {
    const std::scoped_lock lock(mutex_);
    if (error == ErrorCode::none) {
      next_ = response.producer_id_start;
      end_ = next_ + response.producer_id_len;
    }
    std::size_t count = 0;
    for (Done& done : waiting_) {
      if (error == ErrorCode::none && next_ == end_) break;
      served.emplace_back(std::move(done), ProducerId{error == ErrorCode::none ? next_++ : -1});
      ++count;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    more = requested_ = !waiting_.empty();
  }
  for (auto& [done, id] : served) done(id, error);
  if (more) request_block();
}

}  // namespace barnabas::broker
