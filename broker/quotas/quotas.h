#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "base/quota_buckets.h"
#include "base/rate_window.h"
#include "broker/quotas/quota_rules.h"
#include "cluster/mutation_quota.h"
#include "metadata/publisher.h"

namespace barnabas::broker {

/// Whose requests are counted together.
struct QuotaClient {
  std::string user;       ///< name of the principal
  std::string client_id;  ///< empty: none was given
};

/// What is measured in units a second.
enum class RateKind : uint8_t {
  produce,  ///< bytes of requests
  fetch,    ///< bytes of answers
  request,  ///< percent of one thread's time, as Kafka has it: 100 is all of one thread
};

/// What clients of this broker may use (KIP-13, KIP-55, KIP-124, KIP-599): quotas of the metadata, and what
/// was used, one bucket for all connections and threads. Any thread. Costs a look at a flag while there is no
/// quota.
class Quotas {
 public:
  using Wait = std::chrono::milliseconds;

  /// quota.window.*, and for partitions that are changed controller.quota.window.*.
  Quotas(const RateSettings& settings, const RateSettings& mutation_settings);

  /// For ImagePublisher: takes over what changed.
  void apply(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image);

  /// Whether any client has any quota.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  /// Whether any client has a quota of the kind.
  bool limits(RateKind kind) const {
    return rates_[static_cast<std::size_t>(kind)].in_force.load(std::memory_order_relaxed);
  }

  /// Counts `amount`. How long the client has to be kept quiet to be back within its quota.
  Wait record(RateKind kind, const QuotaClient& client, double amount, Instant now);
  /// Counts without a judgement; what is negative is taken back.
  void note(RateKind kind, const QuotaClient& client, double amount, Instant now);
  /// What a client may use at once without being throttled when it has used nothing before; infinite without
  /// a quota.
  double most_at_once(RateKind kind, const QuotaClient& client);

  /// How long the client must wait until it may change partitions again.
  Wait mutation_wait(const QuotaClient& client, Instant now);
  /// Counts changed partitions, also beyond the quota.
  void take_mutations(const QuotaClient& client, double partitions, Instant now);

 private:
  template <class Bucket>
  struct Kind {
    explicit Kind(Wait idle_max) : buckets(idle_max) {}
    std::atomic<bool> in_force = false;
    std::mutex mutex;  ///< of all below
    QuotaRules rules;
    QuotaBuckets<Bucket> buckets;
  };
  template <class Bucket>
  static void set(Kind<Bucket>& kind, const metadata::QuotaEntity& entity, std::optional<double> bound);
  Kind<RateWindow>& of(RateKind kind) { return rates_[static_cast<std::size_t>(kind)]; }
  double burst_seconds() const { return std::chrono::duration<double>(mutation_settings_.whole()).count(); }

  const RateSettings settings_;
  const RateSettings mutation_settings_;
  std::atomic<bool> any_ = false;
  std::array<Kind<RateWindow>, 3> rates_;
  Kind<TokenBucket> mutations_;
};

/// The mutation quota of the client of one request. Strict: what is beyond it is refused; else it is done,
/// and the client has to wait afterwards (KIP-599: before the versions that know THROTTLING_QUOTA_EXCEEDED).
class ClientMutationQuota final : public cluster::MutationQuota {
 public:
  ClientMutationQuota(Quotas& quotas, std::shared_ptr<const QuotaClient> client, bool strict)
      : quotas_(quotas), client_(std::move(client)), strict_(strict) {}

  bool admit(int64_t partitions) override;
  /// How long the client has to wait from now on. After the decision.
  Quotas::Wait wait_left(Instant now) const;

 private:
  Quotas& quotas_;
  const std::shared_ptr<const QuotaClient> client_;
  const bool strict_;
  Quotas::Wait wait_{0};
  Instant measured_{};
};

}  // namespace barnabas::broker
