#include "metadata/static_config.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/assert.h"
#include "metadata/dynamic_broker_config.h"

namespace barnabas::metadata {
namespace {

/// Settings whose full names carry a listener, a mechanism or a plug-in's own key.
constexpr std::array family_prefixes = {std::string_view("listener.name."), std::string_view("rsm.config."),
                                        std::string_view("rlmm.config."),
                                        std::string_view("config.providers.")};

/// Sorted. A setting is listed here when changing it changes what the broker does, and only then.
constexpr auto effective = std::to_array<std::string_view>({
    "advertised.listeners",
    "allow.everyone.if.no.acl.found",
    "alter.config.policy.class.name",
    "authorizer.class.name",
    "auto.create.topics.enable",
    "broker.id",
    "broker.rack",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "connection.failed.authentication.delay.ms",
    "connections.max.idle.ms",
    "connections.max.reauth.ms",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quota.window.num",
    "controller.quota.window.size.seconds",
    "create.topic.policy.class.name",
    "default.replication.factor",
    "delegation.token.expiry.check.interval.ms",
    "delegation.token.expiry.time.ms",
    "delegation.token.max.lifetime.ms",
    "delegation.token.secret.key",
    "delete.topic.enable",
    "disk.threads",
    "fetch.max.bytes",
    "group.consumer.assignment.interval.ms",
    "group.consumer.assignors",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.max.assignment.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
    "group.consumer.max.session.timeout.ms",
    "group.consumer.max.size",
    "group.consumer.migration.policy",
    "group.consumer.min.assignment.interval.ms",
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.min.session.timeout.ms",
    "group.consumer.regex.refresh.interval.ms",
    "group.consumer.session.timeout.ms",
    "group.coordinator.background.threads",
    "group.coordinator.rebalance.protocols",
    "group.coordinator.threads",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.min.session.timeout.ms",
    "http.listeners",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "listeners",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.delete.retention.ms",
    "log.cleaner.enable",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.threads",
    "log.cleanup.policy",
    "log.dir",
    "log.dirs",
    "log.flush.before.ack",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.index.interval.bytes",
    "log.index.size.max.bytes",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.type",
    "log.open.files.max",
    "log.retention.bytes",
    "log.retention.check.interval.ms",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
    "log.roll.hours",
    "log.roll.jitter.hours",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "log.segment.delete.delay.ms",
    "log.validate.contents",
    "logger.format",
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "max.decompressed.message.bytes",
    "max.incremental.fetch.session.cache.slots",
    "max.request.partition.size.limit",
    "message.max.bytes",
    "metadata.log.dir",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.segment.bytes",
    "metadata.log.segment.ms",
    "metadata.max.retention.bytes",
    "metadata.max.retention.ms",
    "metrics.partitions.max",
    "min.insync.replicas",
    "node.id",
    "num.network.threads",
    "num.partitions",
    "num.recovery.threads.per.data.dir",
    "num.replica.alter.log.dirs.threads",
    "offset.metadata.max.bytes",
    "offsets.commit.timeout.ms",
    "offsets.retention.check.interval.ms",
    "offsets.retention.minutes",
    "offsets.topic.compression.codec",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "offsets.topic.segment.bytes",
    "principal.builder.class",
    "process.roles",
    "producer.id.expiration.check.interval.ms",
    "producer.id.expiration.ms",
    "queued.max.request.bytes",
    "quota.window.num",
    "quota.window.size.seconds",
    "remote.log.storage.system.enable",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "replica.high.watermark.checkpoint.interval.ms",
    "sasl.enabled.mechanisms",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
    "security.inter.broker.protocol",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.request.max.bytes",
    "socket.send.buffer.bytes",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "ssl.cipher.suites",
    "ssl.client.auth",
    "ssl.enabled.protocols",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.principal.mapping.rules",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "super.users",
    "telemetry.max.bytes",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.max.timeout.ms",
    "transaction.partition.verification.enable",
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
    "transaction.state.log.segment.bytes",
    "transactional.id.expiration.ms",
});
static_assert(std::ranges::is_sorted(effective));

/// Behind "listener.name.<listener>.", and behind "listener.name.<listener>.<mechanism>." of SASL as well.
constexpr auto effective_of_listener_and_mechanism = std::to_array<std::string_view>({
    "connections.max.reauth.ms",
    "sasl.kerberos.principal.to.local.rules",
    "sasl.kerberos.service.name",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.server.callback.handler.class",
});
static_assert(std::ranges::is_sorted(effective_of_listener_and_mechanism));
constexpr auto effective_of_listener_only = std::to_array<std::string_view>({
    "max.connections",
    "sasl.enabled.mechanisms",
    "sasl.server.max.receive.size",
});
static_assert(std::ranges::is_sorted(effective_of_listener_only));
constexpr std::string_view effective_of_mechanism_only = "sasl.jaas.config";

/// Settings of classes that come with Kafka, which the broker only hands on to them.
constexpr std::array plug_in_names = {std::string_view("allow.everyone.if.no.acl.found"),
                                      std::string_view("super.users")};

/// Of Kafka's before 4.0, as old settings files have them.
bool was_removed(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>({
      "advertised.host.name",
      "advertised.port",
      "broker.id.generation.enable",
      "control.plane.listener.name",
      "delegation.token.master.key",
      "host.name",
      "inter.broker.protocol.version",
      "log.message.format.version",
      "log.message.timestamp.difference.max.ms",
      "offsets.commit.required.acks",
      "password.encoder.cipher.algorithm",
      "password.encoder.iterations",
      "password.encoder.key.length",
      "password.encoder.keyfactory.algorithm",
      "password.encoder.old.secret",
      "password.encoder.secret",
      "port",
      "reserved.broker.max.id",
  });
  static_assert(std::ranges::is_sorted(names));
  return name.starts_with("zookeeper.") || std::ranges::binary_search(names, name);
}

bool in_family(std::string_view name) {
  if (std::ranges::find(plug_in_names, name) != plug_in_names.end()) return true;
  return std::ranges::any_of(family_prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool speaks_of_secrets(std::string_view text) {
  constexpr std::array words = {std::string_view("credential"), std::string_view("jaas"),
                                std::string_view("key"),        std::string_view("pass"),
                                std::string_view("pwd"),        std::string_view("secret"),
                                std::string_view("token")};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return c < 128 ? static_cast<char>(std::tolower(c)) : '?'; });
  return std::ranges::any_of(words, [&](std::string_view word) { return lower.contains(word); });
}

/// Whether the name, or what is left of it without prefixes of listeners and mechanisms, is most like that of
/// a password.
bool is_like_a_password(std::string_view name) {
  for (;;) {
    const ConfigDefinition* nearest = find_broker_config(nearest_broker_config(name));
    if (nearest != nullptr && nearest->type == ConfigType::password) return true;
    const auto dot = name.find('.');
    if (dot == name.npos) return false;
    name.remove_prefix(dot + 1);
  }
}

/// Whether an error about a name that nobody knows may repeat its value. Only where the name is a harmless
/// one with a letter too many: anything else may be a piece of a secret, such as the second line of a JAAS
/// string without its backslash.
bool may_be_shown(std::string_view name, std::string_view nearest, std::string_view value) {
  return !nearest.empty() && !speaks_of_secrets(name) && !speaks_of_secrets(value) && !value.contains('@') &&
         !is_like_a_password(name);
}

}  // namespace

bool has_effect(std::string_view broker_setting) {
  if (std::ranges::binary_search(effective, broker_setting)) return true;
  const std::string_view of_listener = without_listener_prefix(broker_setting);
  if (of_listener.size() == broker_setting.size()) return false;
  if (of_listener.starts_with("ssl.")) return std::ranges::binary_search(effective, of_listener);
  const std::string_view of_mechanism = of_listener.substr(of_listener.find('.') + 1);
  return std::ranges::binary_search(effective_of_listener_only, of_listener) ||
         std::ranges::binary_search(effective_of_listener_and_mechanism, of_listener) ||
         std::ranges::binary_search(effective_of_listener_and_mechanism, of_mechanism) ||
         of_mechanism == effective_of_mechanism_only;
}

StaticConfig::StaticConfig() {
  given_ = states_.emplace_back(std::make_unique<Entries>()).get();
}

StaticConfig::StaticConfig(const StaticConfig& other) {
  given_ = states_.emplace_back(std::make_unique<Entries>(other.all_given())).get();
}

StaticConfig::StaticConfig(StaticConfig&& other) noexcept
    : states_(std::move(other.states_)), given_(other.given_.exchange(nullptr)) {}

StaticConfig& StaticConfig::operator=(StaticConfig other) noexcept {
  states_.swap(other.states_);
  given_ = states_.back().get();
  return *this;
}

void StaticConfig::take_over(const StaticConfig& wanted, const std::vector<std::string>& names) {
  auto next = std::make_unique<Entries>(all_given());
  for (const std::string& name : names) {
    const Entry* entry = wanted.given(name);
    if (entry != nullptr)
      next->insert_or_assign(name, *entry);
    else
      next->erase(name);
  }
  given_.store(states_.emplace_back(std::move(next)).get(), std::memory_order_release);
}

Result<void> StaticConfig::set(std::string_view name, std::string value, std::string origin) {
  // What is set for one listener has to be as good as what is set for all.
  const ConfigDefinition* definition = find_broker_config(without_listener_prefix(name));
  if (definition == nullptr && !in_family(name)) {
    if (was_removed(name))
      return fail(ErrorKind::not_found,
                  origin + ": " + std::string(name) + " was removed in Kafka 4.0 or before; take it out");
    std::string text = origin + ": unknown setting " + std::string(name);
    const std::string_view nearest = nearest_broker_config(name);
    if (may_be_shown(name, nearest, value)) text += " (value \"" + value + "\")";
    if (!nearest.empty())
      text += "; did you mean " + std::string(nearest) + "?";
    else
      text += "; allowed are the names of Kafka 4.4's broker settings and those in docs/settings.md";
    return fail(ErrorKind::not_found, std::move(text));
  }
  if (definition != nullptr) {
    if (const auto valid = validate_config(*definition, value); !valid) {
      std::string allowed(definition->valid_values);
      if (allowed.empty())
        allowed = definition->type == ConfigType::boolean ? "[true, false]" : "a value of its type";
      return fail(ErrorKind::invalid, origin + ": " + valid.error().message + " (allowed: " + allowed + ")");
    }
  }
  if (name == "max.connections.per.ip.overrides")
    if (const auto valid = parse_connection_overrides(value); !valid)
      return fail(ErrorKind::invalid, origin + ": " + valid.error().message);
  own().insert_or_assign(std::string(name), Entry{std::move(value), std::move(origin)});
  return {};
}

void StaticConfig::forget(std::string_view name) {
  if (const auto at = own().find(name); at != own().end()) own().erase(at);
}

const StaticConfig::Entry* StaticConfig::given(std::string_view name) const {
  const Entries& entries = all_given();
  const auto at = entries.find(name);
  return at == entries.end() ? nullptr : &at->second;
}

std::optional<std::string> StaticConfig::value(std::string_view name) const {
  if (const Entry* entry = given(name)) return entry->value;
  const ConfigDefinition* definition = find_broker_config(name);
  BARNABAS_ASSERT(definition != nullptr);
  if (definition->default_value == nullptr) return std::nullopt;
  return definition->default_value;
}

int64_t StaticConfig::integer(std::string_view name) const {
  const auto number = parse_integer(text(name));
  BARNABAS_ASSERT(number.has_value());
  return *number;
}

bool StaticConfig::boolean(std::string_view name) const {
  return parse_boolean(text(name)).value_or(false);
}

std::string StaticConfig::text(std::string_view name) const {
  return value(name).value_or("");
}

std::vector<std::string> StaticConfig::list(std::string_view name) const {
  const std::string whole = text(name);
  std::vector<std::string> items;
  for (std::string_view item : split_list(whole)) items.emplace_back(item);
  return items;
}

std::vector<std::string> StaticConfig::without_effect() const {
  std::vector<std::string> lines;
  for (const auto& [name, entry] : all_given())
    if (!has_effect(name)) lines.push_back(entry.origin + ": " + name + " has no effect in this version");
  return lines;
}

std::optional<std::string> topic_default(const ConfigDefinition& topic_setting, const StaticConfig& config) {
  for (const ConfigSynonym& synonym : topic_setting.synonyms) {
    const auto* entry = config.given(synonym.name);
    if (entry == nullptr) continue;
    if (synonym.multiplier == 1) return entry->value;
    const auto number = parse_integer(entry->value);
    BARNABAS_ASSERT(number.has_value());
    // -1 hours, minutes or ms all mean "no limit".
    return std::to_string(*number < 0 ? *number : *number * synonym.multiplier);
  }
  if (topic_setting.default_value == nullptr) return std::nullopt;
  return topic_setting.default_value;
}

}  // namespace barnabas::metadata
