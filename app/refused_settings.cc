#include "app/refused_settings.h"

#include <array>
#include <set>
#include <string>

#include "app/setting_error.h"
#include "protocol/compression/codec.h"
#include "security/authorizer.h"

namespace barnabas::app {
namespace {

using metadata::StaticConfig;

std::unexpected<Error> refuse(const StaticConfig& config, std::string_view name, std::string_view why) {
  return setting_error(ErrorKind::unsupported, config, name, why);
}

bool is_set(const StaticConfig& config, std::string_view name) {
  return config.given(name) != nullptr && !config.text(name).empty();
}

Result<void> check_roles(const StaticConfig& config) {
  if (!is_set(config, "process.roles")) return {};
  const auto given = config.list("process.roles");
  const std::set<std::string> roles(given.begin(), given.end());
  if (roles == std::set<std::string>{"broker", "controller"}) return {};
  return refuse(
      config, "process.roles",
      "this version is broker and controller in one process, alone; expected broker,controller. A node that "
      "shares a cluster with others cannot move in: its topics and settings are with the other controllers");
}

Result<void> check_voters(const StaticConfig& config, NodeId node) {
  if (!is_set(config, "controller.quorum.voters")) return {};
  const auto voters = config.list("controller.quorum.voters");
  if (voters.size() == 1 && voters.front().starts_with(std::to_string(node.value()) + "@")) return {};
  return refuse(config, "controller.quorum.voters",
                "this version runs alone; expected one voter, this node: " + std::to_string(node.value()) +
                    "@host:port");
}

struct Promise {
  std::string_view setting;
  std::string_view why;
};

/// Classes that decide what clients may set. None of Java's can run here.
constexpr std::array plug_ins = {
    Promise{"create.topic.policy.class.name",
            "this version cannot run it, so topics would be created that it forbids. If that is what you "
            "want, say so "
            "with --override create.topic.policy.class.name="},
    Promise{"alter.config.policy.class.name",
            "this version cannot run it, so settings would be changed that it protects. If that is what you "
            "want, say "
            "so with --override alter.config.policy.class.name="},
};

Result<void> check_plug_ins(const StaticConfig& config) {
  for (const Promise& promise : plug_ins)
    if (is_set(config, promise.setting)) return refuse(config, promise.setting, promise.why);
  return {};
}

/// Whoever makes principals of another kind means other people by the same names.
Result<void> check_principals(const StaticConfig& config) {
  constexpr std::string_view name = "principal.builder.class";
  constexpr std::string_view usual =
      "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder";
  if (!is_set(config, name) || config.text(name) == usual) return {};
  return refuse(
      config, name,
      "a class of Java's cannot run here, and without it clients would be taken for others; expected "
      "none, which is Kafka's own");
}

/// Kafka's own authorizer is served; others are somebody's Java class.
Result<void> check_authorizer(const StaticConfig& config) {
  constexpr std::string_view name = "authorizer.class.name";
  if (!is_set(config, name)) return {};
  if (config.text(name) != security::standard_authorizer_class)
    return refuse(
        config, name,
        "this version cannot run it, so what it forbids would be allowed; expected " +
            std::string(security::standard_authorizer_class) +
            ", which works as Kafka's. If nobody is to be kept from anything, say so with --override "
            "authorizer.class.name= (the entries stay in the metadata log)");
  BARNABAS_TRY(security::authorizer_options(config));
  return {};
}

Result<void> check_offsets_codec(const StaticConfig& config) {
  constexpr std::string_view name = "offsets.topic.compression.codec";
  const int64_t id = config.integer(name);
  if (id >= 0 && id < protocol::codec_count) return {};
  return refuse(config, name, "no such codec; expected 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)");
}

}  // namespace

Result<void> refuse_broken_promises(const StaticConfig& config, NodeId node) {
  BARNABAS_TRY(check_roles(config));
  BARNABAS_TRY(check_voters(config, node));
  BARNABAS_TRY(check_authorizer(config));
  BARNABAS_TRY(check_plug_ins(config));
  BARNABAS_TRY(check_principals(config));
  BARNABAS_TRY(check_offsets_codec(config));
  if (config.boolean("remote.log.storage.system.enable"))
    return refuse(
        config, "remote.log.storage.system.enable",
        "this version reads local segments only, so what lies in remote storage would be missing. Bring the "
        "records back (remote.copy.disable, or copy the topics), and disable it in Apache Kafka first");
  return {};
}

}  // namespace barnabas::app
