// UpdateFeatures (57): rules and texts as Apache Kafka 4.4 has them.

#include <algorithm>
#include <array>
#include <map>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "metadata/record_versions.h"
#include "metadata/supported_features.h"
#include "protocol/messages/config_record.h"
#include "protocol/messages/feature_level_record.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using protocol::ErrorCode;
using Request = protocol::UpdateFeaturesRequest;
using Response = protocol::UpdateFeaturesResponse;
using Levels = std::map<std::string_view, int16_t>;

constexpr std::string_view metadata_version = "metadata.version";
constexpr std::string_view kraft_version = "kraft.version";
constexpr std::string_view elr_version = "eligible.leader.replicas.version";
constexpr int16_t elr_needs_metadata_version = 23;

enum class UpgradeType : int8_t { upgrade = 1, safe_downgrade = 2, unsafe_downgrade = 3 };

ApiError invalid(std::string_view feature, int16_t level, const std::string& why) {
  return {ErrorCode::invalid_update_version, "Invalid update version " + std::to_string(level) +
                                                 " for feature " + std::string(feature) + ". " + why};
}

std::string range_text(int16_t min, int16_t max) {
  return min == max ? std::to_string(min) : std::to_string(min) + "-" + std::to_string(max);
}

/// Why somebody with this range cannot live with the level.
std::optional<std::string> range_problem(const std::string& who, int16_t min, int16_t max, int16_t level) {
  if (min <= level && level <= max) return std::nullopt;
  if (max == 0) return who + " does not support this feature.";
  return who + " only supports versions " + range_text(min, max);
}

class FeatureUpdate {
 public:
  FeatureUpdate(const MetadataImage& image, NodeId node, const Levels& wanted)
      : image_(image), node_(node), wanted_(wanted) {}

  std::optional<ApiError> check(std::string_view feature, int16_t level, int8_t type_code) const {
    if (type_code < static_cast<int8_t>(UpgradeType::upgrade) ||
        type_code > static_cast<int8_t>(UpgradeType::unsafe_downgrade))
      return invalid(feature, level, "The controller does not support the given upgrade type.");
    const auto type = static_cast<UpgradeType>(type_code);
    if (level < 0) return invalid(feature, level, "A feature version cannot be less than 0.");
    if (const auto why = support_problem(feature, level)) return invalid(feature, level, *why);
    const int16_t present = level_of(feature);
    const bool upgrade = type == UpgradeType::upgrade;
    if (level < present && upgrade)
      return invalid(
          feature, level,
          "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
          "unsafe downgrade.");
    if (level > present && !upgrade) return invalid(feature, level, "Can't downgrade to a newer version.");
    if (feature == metadata_version) return check_metadata_version(present, level, type);
    if (feature == kraft_version) return check_kraft_version(present, level);
    return check_dependencies(feature, level);
  }

  int16_t level_of(std::string_view feature) const {
    if (feature == kraft_version) return image_.kraft_version;
    const auto found = image_.features.find(feature);
    return found == image_.features.end() ? int16_t{0} : found->second;
  }

 private:
  std::optional<std::string> support_problem(std::string_view feature, int16_t level) const {
    const auto own =
        std::ranges::find(metadata::supported_features, feature, &metadata::SupportedFeature::name);
    const bool known = own != metadata::supported_features.end();
    const std::string self = "Local controller " + std::to_string(node_.value());
    if (auto why = range_problem(self, known ? own->min : int16_t{0}, known ? own->max : int16_t{0}, level))
      return why;
    for (const auto& [id, broker] : image_.brokers) {
      const auto claimed = broker->features.find(feature);
      const auto range = claimed == broker->features.end() ? metadata::FeatureRange{} : claimed->second;
      if (auto why = range_problem("Broker " + std::to_string(id.value()), range.min, range.max, level))
        return why;
    }
    return std::nullopt;
  }

  /// Records of the versions between would be lost.
  static std::optional<ApiError> check_metadata_version(int16_t present, int16_t level, UpgradeType type) {
    const auto changed = std::ranges::find_if(metadata::versions_with_new_records, [&](int16_t version) {
      return level < version && version <= present;
    });
    if (level >= present || changed == metadata::versions_with_new_records.end()) return std::nullopt;
    return ApiError{
        ErrorCode::invalid_update_version,
        "Unsupported metadata.version downgrade from " + std::to_string(present) + " to " +
            std::to_string(level) +
            (type == UpgradeType::unsafe_downgrade
                 ? ". Unsafe metadata downgrade is not supported in this version."
                 : ". Refusing to perform the requested downgrade because it might delete metadata "
                   "information.")};
  }

  static std::optional<ApiError> check_kraft_version(int16_t present, int16_t level) {
    if (level < present) return invalid(kraft_version, level, "Can't downgrade the version of this feature.");
    if (level > present)
      return invalid(kraft_version, level,
                     "This quorum was formatted with voters fixed in the settings (kraft.version 0), and a "
                     "broker on its "
                     "own does not change that.");
    return std::nullopt;
  }

  std::optional<ApiError> check_dependencies(std::string_view feature, int16_t level) const {
    const bool known =
        std::ranges::find(metadata::supported_features, feature, &metadata::SupportedFeature::name) !=
        metadata::supported_features.end();
    if (!known) return invalid(feature, level, "Feature " + std::string(feature) + " not found.");
    const auto wanted = wanted_.find(metadata_version);
    const int16_t with = wanted == wanted_.end() ? level_of(metadata_version) : wanted->second;
    if (feature == elr_version && level > 0 && with < elr_needs_metadata_version)
      return invalid(feature, level,
                     std::string(feature) + " could not be set to " + std::to_string(level) +
                         " because it depends on metadata.version level " +
                         std::to_string(elr_needs_metadata_version));
    return std::nullopt;
  }

  const MetadataImage& image_;
  NodeId node_;
  const Levels& wanted_;
};

/// With eligible leader replicas min.insync.replicas is cluster metadata: all brokers must mean the same by
/// it.
void add_min_insync_replicas(const MetadataImage& image, const metadata::StaticConfig& config,
                             metadata::RecordList& records) {
  constexpr std::string_view setting = "min.insync.replicas";
  protocol::ConfigRecord record;
  record.resource_type = static_cast<int8_t>(metadata::ConfigResourceType::broker);
  record.name = setting;
  if (!image.config_value(metadata::ConfigResourceType::broker, "", setting)) {
    record.value = protocol::String(std::to_string(config.integer(setting)));
    records.add(record);
  }
  for (const auto& each : image.configs) {
    const bool of_one_broker =
        each->resource.type == metadata::ConfigResourceType::broker && !each->resource.name.empty();
    if (!of_one_broker || !each->values.contains(setting)) continue;
    record.resource_name = each->resource.name;
    record.value.reset();
    records.add(record);
  }
}

}  // namespace

Outcome<Response> LocalController::update_features(const Request& request,
                                                   const ControllerState& state) const {
  Outcome<Response> outcome;
  outcome.response.error_message.reset();
  // Of a feature that is named twice the last level and type count, as they do in Kafka.
  Levels levels;
  std::map<std::string_view, int8_t> types;
  for (const auto& update : request.feature_updates) {
    levels[update.feature.view()] = update.max_version_level;
    types[update.feature.view()] = update.upgrade_type;
  }
  const FeatureUpdate checks(state.image, options_.node_id, levels);
  metadata::RecordList records;
  for (const auto& update : request.feature_updates) {
    const std::string_view feature = update.feature.view();
    const int16_t level = levels[feature];
    if (auto error = checks.check(feature, level, types[feature])) {
      error->message =
          "The update failed for all features since the following feature had an error: " + *error->message;
      outcome.response.results.clear();
      set_error(outcome.response, *error);
      return outcome;
    }
    auto& result = outcome.response.results.emplace_back();
    result.feature = update.feature.owned();
    result.error_message = protocol::String("NONE");
  }
  for (const auto& [feature, level] : levels) {
    if (level == checks.level_of(feature)) continue;
    protocol::FeatureLevelRecord record;
    record.name = feature;
    record.feature_level = level;
    records.add(record);
    if (feature == elr_version && level > 0)
      add_min_insync_replicas(state.image, *options_.static_config, records);
  }
  if (!request.validate_only) outcome.records = std::move(records);
  return outcome;
}

}  // namespace barnabas::cluster
