#include "broker/quotas/quotas.h"

#include <algorithm>

namespace barnabas::broker {
namespace {

constexpr std::array<std::string_view, 3> rate_keys = {
    metadata::producer_byte_rate, metadata::consumer_byte_rate, metadata::request_percentage};

std::optional<double> value_of(const metadata::QuotaImage* quotas, std::string_view key) {
  if (quotas == nullptr) return std::nullopt;
  const auto found = quotas->values.find(key);
  // The log may hold anything; what no controller would have let in binds nobody.
  if (found == quotas->values.end() || !(found->second > 0)) return std::nullopt;
  return found->second;
}

}  // namespace

Quotas::Quotas(const RateSettings& settings, const RateSettings& mutation_settings)
    : settings_(settings),
      mutation_settings_(mutation_settings),
      // One window more than are looked at.
      rates_{Kind<RateWindow>(settings.whole() + settings.window),
             Kind<RateWindow>(settings.whole() + settings.window),
             Kind<RateWindow>(settings.whole() + settings.window)},
      // Who overdrew his bucket must not get a new one by waiting a little.
      mutations_(std::chrono::hours(1) + mutation_settings.whole()) {}

template <class Bucket>
void Quotas::set(Kind<Bucket>& kind, const metadata::QuotaEntity& entity, std::optional<double> bound) {
  const std::lock_guard lock(kind.mutex);
  kind.rules.set(entity, bound);
  kind.in_force.store(!kind.rules.empty(), std::memory_order_relaxed);
}

void Quotas::apply(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image) {
  for (const metadata::QuotaEntity& entity : changes.changed_quotas) {
    const auto* found = image.client_quotas.find(entity);
    const metadata::QuotaImage* quotas = found ? found->get() : nullptr;
    for (std::size_t i = 0; i < rates_.size(); ++i) set(rates_[i], entity, value_of(quotas, rate_keys[i]));
    set(mutations_, entity, value_of(quotas, metadata::controller_mutation_rate));
  }
  const bool rates = std::ranges::any_of(rates_, [](const auto& kind) { return kind.in_force.load(); });
  any_.store(rates || mutations_.in_force, std::memory_order_relaxed);
}

Quotas::Wait Quotas::record(RateKind which, const QuotaClient& client, double amount, Instant now) {
  auto& kind = of(which);
  if (!kind.in_force.load(std::memory_order_relaxed)) return Wait(0);
  const std::lock_guard lock(kind.mutex);
  const auto rule = kind.rules.find(client.user, client.client_id);
  if (!rule) return Wait(0);
  RateWindow& window = kind.buckets.use(rule->bucket, now);
  window.record(settings_, amount, now);
  const Wait wait = window.excess(settings_, rule->bound, now);
  // Time that was used is gone, however long one waits.
  return which == RateKind::request ? std::min<Wait>(wait, settings_.window) : wait;
}

void Quotas::note(RateKind which, const QuotaClient& client, double amount, Instant now) {
  auto& kind = of(which);
  if (!kind.in_force.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(kind.mutex);
  const auto rule = kind.rules.find(client.user, client.client_id);
  if (rule) kind.buckets.use(rule->bucket, now).record(settings_, amount, now);
}

double Quotas::most_at_once(RateKind which, const QuotaClient& client) {
  auto& kind = of(which);
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  if (!kind.in_force.load(std::memory_order_relaxed)) return no_limit;
  const std::lock_guard lock(kind.mutex);
  const auto rule = kind.rules.find(client.user, client.client_id);
  if (!rule) return no_limit;
  return rule->bound * (settings_.samples - 1) * std::chrono::duration<double>(settings_.window).count();
}

Quotas::Wait Quotas::mutation_wait(const QuotaClient& client, Instant now) {
  if (!mutations_.in_force.load(std::memory_order_relaxed)) return Wait(0);
  const std::lock_guard lock(mutations_.mutex);
  const auto rule = mutations_.rules.find(client.user, client.client_id);
  if (!rule) return Wait(0);
  return mutations_.buckets.use(rule->bucket, now).excess(rule->bound, burst_seconds(), now);
}

void Quotas::take_mutations(const QuotaClient& client, double partitions, Instant now) {
  if (!mutations_.in_force.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutations_.mutex);
  const auto rule = mutations_.rules.find(client.user, client.client_id);
  if (rule) mutations_.buckets.use(rule->bucket, now).take(partitions, rule->bound, burst_seconds(), now);
}

bool ClientMutationQuota::admit(int64_t partitions) {
  const Instant now = std::chrono::steady_clock::now();
  if (strict_) {
    const auto wait = quotas_.mutation_wait(*client_, now);
    if (wait.count() > 0) {
      wait_ = wait;
      measured_ = now;
      return false;
    }
  }
  quotas_.take_mutations(*client_, static_cast<double>(partitions), now);
  if (!strict_) {
    wait_ = quotas_.mutation_wait(*client_, now);
    measured_ = now;
  }
  return true;
}

Quotas::Wait ClientMutationQuota::wait_left(Instant now) const {
  const auto gone = std::chrono::duration_cast<Quotas::Wait>(now - measured_);
  return std::max(wait_ - gone, Quotas::Wait(0));
}

}  // namespace barnabas::broker
