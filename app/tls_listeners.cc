#include "app/tls_listeners.h"

#include <sys/stat.h>

#include <utility>

#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

constexpr int retries_max = 3;

void tell(std::string_view what, const std::string& listener, const security::TlsContext& context) {
  log_.info("{} listener={} {}", what, listener, context.summary());
  if (context.expired())
    log_.warn("the certificate has expired, so clients will refuse it listener={} {}", listener,
              context.summary());
}

}  // namespace

std::vector<TlsListeners::Stamp> TlsListeners::stamps_of(const security::TlsSettings& settings) {
  std::vector<Stamp> stamps;
  for (const auto* location : {&settings.key_store.location, &settings.trust_store.location}) {
    if (!*location) continue;
    Stamp stamp{.path = **location};
    struct stat status {};
    if (::stat(stamp.path.c_str(), &status) == 0) {
      stamp.device = static_cast<int64_t>(status.st_dev);
      stamp.inode = static_cast<int64_t>(status.st_ino);
      stamp.size = status.st_size;
      stamp.modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    }
    stamps.push_back(std::move(stamp));
  }
  return stamps;
}

Result<std::shared_ptr<TlsListeners>> TlsListeners::open(
    const metadata::BrokerConfigView& settings, const std::vector<network::ListenerConfig>& listeners) {
  auto result = std::make_shared<TlsListeners>();
  for (const network::ListenerConfig& config : listeners) {
    if (!security::encrypts(config.security_protocol)) continue;
    const std::string place = "listener " + config.name;
    auto read = security::read_tls_settings(settings, config.name, config.security_protocol);
    if (!read) return fail(place, std::move(read).error());
    Listener listener;
    listener.name = config.name;
    listener.protocol = config.security_protocol;
    listener.settings = std::move(*read);
    listener.tickets = std::make_shared<security::TicketKeys>();
    listener.stamps = stamps_of(listener.settings);
    auto context = security::TlsContext::load(listener.settings, listener.tickets);
    if (!context) return fail(place, std::move(context).error());
    tell("certificate", listener.name, **context);
    listener.source = std::make_shared<security::TlsContextSource>(std::move(*context));
    result->listeners_.push_back(std::move(listener));
  }
  return result;
}

std::shared_ptr<security::TlsContextSource> TlsListeners::source(std::string_view listener) const {
  for (const Listener& candidate : listeners_)
    if (candidate.name == listener) return candidate.source;
  return nullptr;
}

/// What may change at run time from `settings`, the rest as it was at the start.
Result<security::TlsSettings> TlsListeners::next_settings(const Listener& listener,
                                                          const metadata::BrokerConfigView& settings) {
  BARNABAS_ASSIGN(security::TlsSettings read,
                  security::read_tls_settings(settings, listener.name, listener.protocol));
  security::TlsSettings next = listener.settings;
  next.key_store = std::move(read.key_store);
  next.trust_store = std::move(read.trust_store);
  return next;
}

Result<std::shared_ptr<const security::TlsContext>> TlsListeners::load_next(
    const Listener& listener, const security::TlsSettings& settings) {
  BARNABAS_ASSIGN(auto context, security::TlsContext::load(settings, listener.tickets));
  BARNABAS_TRY(listener.source->current()->check_replacement(*context));
  return context;
}

Result<void> TlsListeners::check(const metadata::BrokerConfigView& settings) {
  const std::lock_guard lock(mutex_);
  for (const Listener& listener : listeners_) {
    auto next = next_settings(listener, settings);
    auto loaded = next ? load_next(listener, *next)
                       : Result<std::shared_ptr<const security::TlsContext>>(std::unexpected(next.error()));
    if (!loaded)
      return fail("Invalid dynamic configuration: listener " + listener.name, std::move(loaded).error());
  }
  return {};
}

void TlsListeners::reload(Listener& listener) {
  listener.stamps = stamps_of(listener.settings);
  auto context = load_next(listener, listener.settings);
  if (context) {
    listener.complaint.reset();
    listener.retries = 0;
    tell("certificate changed", listener.name, **context);
    listener.source->replace(std::move(*context));
    return;
  }
  if (listener.complaint == context.error().message) return;
  listener.complaint = std::move(context).error().message;
  log_.error("a changed store cannot be used, the one before stays in force listener={} error={}",
             listener.name, log_text(*listener.complaint, 1000));
}

void TlsListeners::follow(const metadata::BrokerConfigView& settings, uint64_t change) {
  const std::lock_guard lock(mutex_);
  if (change <= followed_) return;
  followed_ = change;
  for (Listener& listener : listeners_) {
    auto next = next_settings(listener, settings);
    if (!next) continue;  // it was checked before it was set
    const bool same =
        next->key_store == listener.settings.key_store && next->trust_store == listener.settings.trust_store;
    if (same && stamps_of(*next) == listener.stamps) continue;
    listener.settings = std::move(*next);
    listener.retries = retries_max;
    reload(listener);
  }
}

void TlsListeners::look_at_files() {
  const std::lock_guard lock(mutex_);
  for (Listener& listener : listeners_) {
    listener.tickets->forget_expired(std::chrono::steady_clock::now());
    const bool changed = stamps_of(listener.settings) != listener.stamps;
    if (changed) {
      listener.retries = retries_max;
    } else if (!listener.complaint || listener.retries-- <= 0) {
      continue;
    }
    reload(listener);
  }
}

}  // namespace barnabas::app
