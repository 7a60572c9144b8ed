#include "broker/handlers/fetch_operation.h"

#include <algorithm>
#include <limits>

#include "broker/handlers/topic_description.h"
#include "broker/quotas/quotas.h"
#include "network/event_loops.h"

namespace barnabas::broker {
namespace {

using protocol::FetchResponse;

/// Whether an incremental answer must name the partition, and what it names from now on.
bool changed_since_sent(const FetchRead& read, FetchPartition& partition) {
  bool changed = read.bytes > 0 || read.failed() || read.diverged;
  if (read.failed()) {
    // So that the next answer without an error is named, too.
    partition.sent_high_watermark = no_offset;
    return true;
  }
  const Offset high_watermark{read.data.high_watermark};
  const Offset log_start{read.data.log_start_offset};
  changed |= partition.sent_high_watermark != high_watermark || partition.sent_log_start_offset != log_start;
  partition.sent_high_watermark = high_watermark;
  partition.sent_log_start_offset = log_start;
  return changed;
}

/// About the bytes of the answer that would tell of it all; the records are exact.
uint64_t answer_bytes(const std::vector<FetchRead>& reads, bool incremental) {
  constexpr uint64_t bytes_of_head = 20;
  constexpr uint64_t bytes_of_partition = 44;
  uint64_t bytes = bytes_of_head;
  for (const FetchRead& read : reads) {
    if (incremental && read.bytes == 0 && !read.failed()) continue;
    bytes += bytes_of_partition + read.bytes;
  }
  return bytes;
}

/// Of an answer that is about to leave.
void count(const ReplicaManager& replicas, const FetchPartition& asked, const FetchRead& read) {
  const auto one = [&](Traffic what, uint64_t amount) {
    if (asked.partition) return asked.partition->count(what, amount);
    replicas.traffic().count(what, amount);
  };
  one(Traffic::fetch_requests, 1);
  if (read.failed()) one(Traffic::failed_fetch_requests, 1);
  if (read.bytes > 0) one(Traffic::bytes_out, read.bytes);
}

/// Adds a partition's answer, under the topic entry it shares with its predecessor when that is the same
/// topic.
void add_to_response(FetchResponse& response, const FetchPartition& partition, FetchRead& read) {
  auto* topic = response.responses.empty() ? nullptr : &response.responses.back();
  if (topic == nullptr || topic->topic_id != partition.topic_id || topic->topic != partition.topic) {
    topic = &response.responses.emplace_back();
    topic->topic = protocol::String(partition.topic);
    topic->topic_id = partition.topic_id;
  }
  topic->partitions.push_back(std::move(read.data));
}

/// KIP-951: who leads instead, in answers to those who asked with an old epoch or at the wrong place.
class LeaderHints {
 public:
  explicit LeaderHints(const Call& call) : call_(call) {}

  void add(const FetchPartition& partition, FetchRead& read) {
    constexpr int16_t first_version_with_leader = 12;
    const auto error = static_cast<protocol::ErrorCode>(read.data.error_code);
    const bool moved = error == protocol::ErrorCode::fenced_leader_epoch ||
                       error == protocol::ErrorCode::not_leader_or_follower;
    if (!moved || !partition.partition || call_.version() < first_version_with_leader) return;
    read.data.current_leader.leader_id = call_.services().node.value();
    read.data.current_leader.leader_epoch = partition.partition->leader_epoch().value();
    any_ = true;
  }

  /// Addresses of the leaders that were named.
  void add_endpoints(FetchResponse& response) const {
    constexpr int16_t first_version_with_endpoints = 16;
    if (!any_ || call_.version() < first_version_with_endpoints) return;
    const auto image = call_.services().metadata.current();
    for (const BrokerAddress& address : broker_addresses(call_, *image)) {
      if (address.id != call_.services().node) continue;
      auto& endpoint = response.node_endpoints.emplace_back();
      endpoint.node_id = address.id.value();
      endpoint.host = protocol::String(address.host);
      endpoint.port = address.port;
      if (address.broker->rack) endpoint.rack = protocol::String(*address.broker->rack);
    }
  }

 private:
  const Call& call_;
  bool any_ = false;
};

}  // namespace

FetchOperation::FetchOperation(Call call, Plan plan) : call_(std::move(call)), plan_(std::move(plan)) {}

void FetchOperation::start() {
  call_.release_frame();
  auto reads = read_all();
  if (plan_.max_wait_ms <= 0 || reads.empty() || enough(reads)) return finish(std::move(reads));
  timer_.emplace(call_.connection().loop->context(), std::chrono::milliseconds(plan_.max_wait_ms));
  timer_->async_wait([self = shared_from_this()](const boost::system::error_code&) {
    self->final_ = true;
    if (!self->woken_.exchange(true)) self->resume();
  });
  call_.connection().broker_state = std::weak_ptr<FetchOperation>(shared_from_this());
  if (!wait_for_progress(reads)) counted(std::numeric_limits<int32_t>::max());
}

std::vector<FetchRead> FetchOperation::read_all() {
  std::unique_lock<std::mutex> lock;
  if (plan_.session) lock = std::unique_lock(plan_.session->lock());
  std::vector<FetchRead> reads;
  reads.reserve(partitions().size());
  int64_t left = plan_.limits.max_bytes;
  bool nothing_yet = true;
  for (FetchPartition& partition : partitions()) {
    reads.push_back(read_one(partition, left, nothing_yet));
    reads.back().entry = &partition;
    const auto bytes = static_cast<int64_t>(reads.back().bytes);
    if (bytes > 0) nothing_yet = false;
    left = std::max<int64_t>(left - bytes, 0);
  }
  return reads;
}

FetchRead FetchOperation::read_one(FetchPartition& partition, int64_t bytes_max, bool at_least_one_batch) {
  using protocol::ErrorCode;
  const ReplicaManager& replicas = call_.services().replicas;
  const ErrorCode refusal = plan_.rights ? plan_.rights->refusal_of(partition) : ErrorCode::none;
  if (refusal == ErrorCode::unknown_topic_id) return unknown_id_fetch(replicas, partition);
  if (refusal != ErrorCode::none) return failed_fetch(partition, refusal);
  return read_partition(replicas, partition, plan_.limits, bytes_max, at_least_one_batch);
}

bool FetchOperation::enough(const std::vector<FetchRead>& reads) const {
  uint64_t bytes = 0;
  for (const FetchRead& read : reads) {
    if (read.failed() || read.diverged) return true;
    bytes += read.bytes;
  }
  return plan_.min_bytes <= 0 || bytes >= static_cast<uint64_t>(plan_.min_bytes);
}

bool FetchOperation::wait_for_progress(const std::vector<FetchRead>& reads) {
  uint64_t bytes = 0;
  for (const FetchRead& read : reads) bytes += read.bytes;
  bytes_wanted_.store(plan_.min_bytes - static_cast<int64_t>(bytes), std::memory_order_relaxed);
  registrations_.reserve(reads.size());
  for (const FetchRead& read : reads) {
    Registration registration{read.partition, {}};
    if (!read.partition->add_waiter(shared_from_this(), read.seen_high_watermark, registration.handle))
      return false;
    registrations_.push_back(std::move(registration));
  }
  return true;
}

void FetchOperation::on_progress(const Progress& progress) {
  counted(plan_.limits.read_committed ? progress.committed_bytes : progress.bytes);
}

void FetchOperation::counted(uint64_t bytes) {
  const auto counted = static_cast<int64_t>(std::min<uint64_t>(bytes, std::numeric_limits<int32_t>::max()));
  if (bytes_wanted_.fetch_sub(counted, std::memory_order_acq_rel) > counted) return;
  if (woken_.exchange(true)) return;
  call_.connection().loop->post([self = shared_from_this()] { self->resume(); });
}

void FetchOperation::unregister() {
  for (Registration& registration : registrations_)
    registration.partition->remove_waiter(registration.handle);
  registrations_.clear();
}

void FetchOperation::end_wait() {
  unregister();
  if (timer_) timer_->cancel();
  call_.connection().broker_state.reset();
}

void FetchOperation::resume() {
  unregister();
  if (call_.connection().closed) {
    end_wait();
    return call_.no_reply();
  }
  auto reads = read_all();
  if (!final_ && !enough(reads)) {
    // What woke it was seen before, or is not enough after all. The timer still runs.
    woken_.store(false);
    if (!wait_for_progress(reads)) counted(std::numeric_limits<int32_t>::max());
    return;
  }
  end_wait();
  finish(std::move(reads));
}

void FetchOperation::cancel() {
  if (!woken_.exchange(true)) {
    end_wait();
    call_.no_reply();
  }
}

/// Counts the answer against the client's quotas. True: it is over one, and gets an empty answer, which is
/// not counted.
bool FetchOperation::throttled(const std::vector<FetchRead>& reads) {
  if (!call_.quota_client()) return false;
  Quotas& quotas = *call_.services().quotas;
  const auto& client = *call_.quota_client();
  const auto bytes = static_cast<double>(answer_bytes(reads, plan_.incremental));
  const Instant now = std::chrono::steady_clock::now();
  call_.charge_time();
  call_.throttle(quotas.record(RateKind::fetch, client, bytes, now));
  if (call_.throttle_time_ms() == 0) return false;
  quotas.note(RateKind::fetch, client, -bytes, now);
  return true;
}

void FetchOperation::finish_throttled() {
  FetchResponse response;
  if (plan_.session && plan_.incremental) {
    response.session_id = plan_.session->id();
  } else if (plan_.session) {
    // The answer names no session, so nobody could ever use it.
    call_.services().fetch_sessions.remove(*plan_.session);
  }
  call_.reply(response);
}

void FetchOperation::finish(std::vector<FetchRead> reads) {
  if (throttled(reads)) return finish_throttled();
  FetchResponse response;
  std::unique_lock<std::mutex> lock;
  if (plan_.session) {
    response.session_id = plan_.session->id();
    lock = std::unique_lock(plan_.session->lock());
  }
  auto at = partitions().begin();
  std::vector<FetchSession::List::iterator> had_records;
  LeaderHints hints(call_);
  for (FetchRead& read : reads) {
    if (at == partitions().end() || &*at != read.entry)
      break;  // another request changed the session meanwhile; its answer tells the rest
    const auto partition = at++;
    if (read.bytes > 0 && plan_.session && plan_.incremental) had_records.push_back(partition);
    hints.add(*partition, read);
    const bool changed = changed_since_sent(read, *partition);
    count(call_.services().replicas, *partition, read);
    if (changed || !plan_.incremental) add_to_response(response, *partition, read);
  }
  for (const auto partition : had_records) plan_.session->move_to_end(partition);
  if (lock) lock.unlock();
  hints.add_endpoints(response);
  call_.reply(response);
}

void cancel_waiting_fetch(network::ConnectionContext& connection) {
  auto* waiting = std::any_cast<std::weak_ptr<FetchOperation>>(&connection.broker_state);
  if (waiting == nullptr) return;
  if (const auto operation = waiting->lock()) operation->cancel();
}

}  // namespace barnabas::broker
