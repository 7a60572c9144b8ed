#include <gtest/gtest.h>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

constexpr std::string_view elr = "eligible.leader.replicas.version";

class UpdateFeatures : public testing::ControllerTest {
 protected:
  struct Update {
    std::string_view feature;
    int16_t level;
    int8_t type = 1;
  };
  protocol::UpdateFeaturesResponse update(std::vector<Update> updates, bool validate_only = false) {
    protocol::UpdateFeaturesRequest request;
    request.validate_only = validate_only;
    for (const auto& each : updates) {
      auto& item = request.feature_updates.emplace_back();
      item.feature = each.feature;
      item.max_version_level = each.level;
      item.upgrade_type = each.type;
    }
    return done(controller_.update_features(request, state()));
  }
  void set_level(std::string_view feature, int16_t level) {
    protocol::FeatureLevelRecord record;
    record.name = feature;
    record.feature_level = level;
    image = metadata::testing::apply(*image, record).image;
  }
  void claim_kafkas_features(int32_t id) {
    auto record = metadata::testing::broker(id, 50 + id);
    record.fenced = false;
    for (const auto& [name, min, max] :
         {std::tuple{"metadata.version", 7, 33}, {elr.data(), 0, 1}, {"group.version", 0, 1}}) {
      auto& feature = record.features.emplace_back();
      feature.name = name;
      feature.min_supported_version = static_cast<int16_t>(min);
      feature.max_supported_version = static_cast<int16_t>(max);
    }
    image = metadata::testing::apply(*image, record).image;
  }
  std::optional<std::string_view> min_insync(std::string_view broker) const {
    return image->config_value(metadata::ConfigResourceType::broker, broker, "min.insync.replicas");
  }
};

TEST_F(UpdateFeatures, a_level_that_a_registered_broker_does_not_claim_is_refused) {
  claim_kafkas_features(1);
  auto foreign = metadata::testing::broker(2, 60);
  auto& feature = foreign.features.emplace_back();
  feature.name = "group.version";
  feature.max_supported_version = 0;
  image = metadata::testing::apply(*image, foreign).image;
  const auto response = update({{"group.version", 1}});
  EXPECT_EQ(response.error_code, to_wire(ErrorCode::invalid_update_version));
  EXPECT_EQ(response.error_message->view(),
            "The update failed for all features since the following feature had an error: Invalid update "
            "version 1 for "
            "feature group.version. Broker 2 does not support this feature.");
}

TEST_F(UpdateFeatures, metadata_version_goes_up_and_down_only_where_no_record_would_be_lost) {
  claim_kafkas_features(1);
  const auto go = [&](int16_t from, int16_t to) {
    set_level(elr, 0);
    set_level("metadata.version", from);
    return update({{"metadata.version", to, static_cast<int8_t>(to < from ? 2 : 1)}}).error_code == 0;
  };
  EXPECT_TRUE(go(7, 33));
  EXPECT_EQ(image->metadata_version(), 33);
  EXPECT_TRUE(go(29, 24));
  EXPECT_EQ(image->metadata_version(), 24);
  EXPECT_TRUE(go(22, 17));
  EXPECT_TRUE(go(10, 8));
  EXPECT_TRUE(go(31, 30));
  for (const auto& [from, to] : {std::pair{33, 32},
                                 {32, 31},
                                 {30, 29},
                                 {23, 22},
                                 {17, 16},
                                 {15, 14},
                                 {14, 13},
                                 {13, 12},
                                 {11, 10},
                                 {8, 7}}) {
    EXPECT_FALSE(go(static_cast<int16_t>(from), static_cast<int16_t>(to))) << from;
    EXPECT_EQ(image->metadata_version(), from);
  }
}

TEST_F(UpdateFeatures,
       eligible_leader_replicas_need_their_metadata_version_and_a_common_min_insync_replicas) {
  claim_kafkas_features(1);
  set_level(elr, 0);
  set_level("metadata.version", 22);
  EXPECT_EQ(update({{elr, 1}}).error_message->view(),
            "The update failed for all features since the following feature had an error: Invalid update "
            "version 1 for "
            "feature eligible.leader.replicas.version. eligible.leader.replicas.version could not be set to "
            "1 because "
            "it depends on metadata.version level 23");
  image = metadata::testing::apply(*image, metadata::testing::config(metadata::ConfigResourceType::broker,
                                                                     "1", "min.insync.replicas", "2"))
              .image;
  EXPECT_EQ(update({{elr, 1}, {"metadata.version", 33}}, true).error_code, 0);
  EXPECT_TRUE(record_types.empty());
  EXPECT_EQ(update({{elr, 1}, {"metadata.version", 33}}).error_code, 0);
  EXPECT_EQ(image->features.at(std::string(elr)), 1);
  EXPECT_EQ(min_insync(""), "1");
  EXPECT_EQ(min_insync("1"), std::nullopt);
}

TEST_F(UpdateFeatures, a_quorum_of_fixed_voters_stays_one) {
  claim_kafkas_features(1);
  const auto response = update({{"kraft.version", 1}});
  // The broker here does not even claim it; a controller that does says why it cannot be.
  EXPECT_EQ(response.error_code, to_wire(ErrorCode::invalid_update_version));
  EXPECT_TRUE(record_types.empty());
  EXPECT_EQ(update({{"kraft.version", 0}}).error_code, 0);
}

}  // namespace
}  // namespace barnabas::cluster
