#include <gtest/gtest.h>

#include "cluster/format.h"
#include "cluster/local_quorum.h"
#include "io/fake_disk.h"
#include "metadata/metadata_test_support.h"
#include "security/scram_keys.h"

namespace barnabas::cluster {
namespace {

using metadata::ScramMechanism;

class Formatted : public ::testing::Test {
 protected:
  Formatted() {
    EXPECT_TRUE(disk.create_directories("/data"));
    EXPECT_TRUE(disk.sync_directory("/"));
    first.log_directory = "/data";
    first.node_id = NodeId{1};
    first.directory_id = metadata::testing::id(7);
    for (const auto mechanism : {ScramMechanism::sha_256, ScramMechanism::sha_512})
      first.credentials.push_back(security::scram_credential_of_salted(
          {mechanism, "alice"}, as_byte_view("x"), {std::byte{1}}, 4096));
    options.log_directory = "/data";
    options.cluster_id = "cluster";
    options.node_id = NodeId{1};
    options.directory_id = first.directory_id;
  }
  metadata::MetadataImagePtr start() {
    auto quorum = LocalQuorum::open(disk, files, options, TimestampMs{1000});
    EXPECT_TRUE(quorum) << quorum.error().message;
    if (!quorum) return std::make_shared<metadata::MetadataImage>();
    const auto image = (*quorum)->image();
    EXPECT_TRUE((*quorum)->close_clean(TimestampMs{2000}));
    return image;
  }

  io::FakeDisk disk;
  storage::FilePool files{disk, 16};
  FormatOptions first;
  LocalQuorumOptions options;
};

TEST_F(Formatted, the_first_start_finds_users_features_and_its_quorum) {
  ASSERT_TRUE(format_metadata_log(disk, first, TimestampMs{500}));
  for (int starts = 0; starts < 2; ++starts) {
    const auto image = start();
    EXPECT_EQ(image->scram_credentials.size(), 2u);
    const auto* credential = image->scram_credential(ScramMechanism::sha_512, "alice");
    ASSERT_NE(credential, nullptr);
    EXPECT_EQ(credential->stored_key, first.credentials[1].stored_key);
    EXPECT_EQ(image->metadata_version(), 33);
    EXPECT_EQ(image->features.size(), default_feature_levels().size());
    ASSERT_EQ(image->voters.size(), 1u);
    EXPECT_EQ(image->voters.front().directory_id, first.directory_id);
    EXPECT_EQ(image->config_value(metadata::ConfigResourceType::broker, "", "min.insync.replicas"), "1");
  }
}

TEST_F(Formatted, a_quorum_of_the_settings_is_not_written_down) {
  first.static_quorum = true;
  ASSERT_TRUE(format_metadata_log(disk, first, TimestampMs{500}));
  const auto image = start();
  EXPECT_EQ(image->kraft_version, 0);
  EXPECT_TRUE(image->voters.empty());
  EXPECT_EQ(image->scram_credentials.size(), 2u);
}

TEST_F(Formatted, a_metadata_log_that_is_there_is_left_alone) {
  ASSERT_TRUE(format_metadata_log(disk, first, TimestampMs{500}));
  const auto again = format_metadata_log(disk, first, TimestampMs{600});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::already_exists);
}

TEST_F(Formatted, it_survives_a_power_cut) {
  ASSERT_TRUE(format_metadata_log(disk, first, TimestampMs{500}));
  disk.power_cut();
  EXPECT_EQ(start()->scram_credentials.size(), 2u);
}

}  // namespace
}  // namespace barnabas::cluster
