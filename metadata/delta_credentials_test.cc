#include <gtest/gtest.h>

#include "metadata/delta.h"
#include "metadata/metadata_test_support.h"
#include "metadata/snapshot.h"
#include "protocol/messages/remove_delegation_token_record.h"
#include "protocol/messages/remove_user_scram_credential_record.h"

namespace barnabas::metadata {
namespace {

using namespace testing;

protocol::UserScramCredentialRecord credential(const std::string& user, int8_t mechanism,
                                               int32_t iterations) {
  protocol::UserScramCredentialRecord record;
  record.name = user;
  record.mechanism = mechanism;
  record.salt = protocol::Bytes::of_text("salt");
  record.stored_key = protocol::Bytes::of_text("stored");
  record.server_key = protocol::Bytes::of_text("server");
  record.iterations = iterations;
  return record;
}

protocol::DelegationTokenRecord token(const std::string& id, int64_t expires) {
  protocol::DelegationTokenRecord record;
  record.token_id = id;
  record.owner = "User:alice";
  record.requester = "User:bob";
  record.renewers = {protocol::String("User:carol"), protocol::String("User:dave")};
  record.issue_timestamp = 1;
  record.expiration_timestamp = expires;
  record.max_timestamp = 30;
  return record;
}

TEST(DeltaCredentials, both_hashes_of_a_user_stand_beside_each_other) {
  auto next = apply(MetadataImage{}, credential("alice", 1, 4096), credential("alice", 2, 8192));
  EXPECT_TRUE(next.changes.credentials);
  EXPECT_FALSE(next.changes.kept);
  ASSERT_EQ(next.image->scram_credentials.size(), 2u);
  EXPECT_EQ(next.image->scram_credential(ScramMechanism::sha_256, "alice")->iterations, 4096);
  EXPECT_EQ(next.image->scram_credential(ScramMechanism::sha_512, "alice")->iterations, 8192);
  EXPECT_EQ(next.image->scram_credential(ScramMechanism::sha_512, "Alice"), nullptr);
  next = apply(*next.image, credential("alice", 1, 5000));
  EXPECT_EQ(next.image->scram_credential(ScramMechanism::sha_256, "alice")->iterations, 5000);
  protocol::RemoveUserScramCredentialRecord remove;
  remove.name = "alice";
  remove.mechanism = 1;
  next = apply(*next.image, remove);
  EXPECT_TRUE(next.changes.credentials);
  EXPECT_EQ(next.image->scram_credential(ScramMechanism::sha_256, "alice"), nullptr);
  EXPECT_NE(next.image->scram_credential(ScramMechanism::sha_512, "alice"), nullptr);
  next = apply(*next.image, remove);
  EXPECT_FALSE(next.changes.credentials);
}

TEST(DeltaCredentials, a_token_is_renewed_and_removed) {
  auto next = apply(MetadataImage{}, token("one", 10), token("two", 20));
  EXPECT_TRUE(next.changes.credentials);
  next = apply(*next.image, token("one", 15));
  const DelegationToken* one = next.image->delegation_token("one");
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->expires, TimestampMs(15));
  EXPECT_EQ(one->renewers, (std::vector<std::string>{"User:carol", "User:dave"}));
  EXPECT_FALSE(one->expired(TimestampMs(15)));
  EXPECT_TRUE(one->expired(TimestampMs(16)));
  protocol::RemoveDelegationTokenRecord remove;
  remove.token_id = "one";
  next = apply(*next.image, remove);
  EXPECT_EQ(next.image->delegation_token("one"), nullptr);
  EXPECT_NE(next.image->delegation_token("two"), nullptr);
}

TEST(DeltaCredentials, a_snapshot_holds_all_of_them) {
  const auto image =
      apply(MetadataImage{}, credential("alice", 2, 8192), credential("alice", 1, 4096), token("one", 10))
          .image;
  const auto file = write_snapshot(*image, TimestampMs(1));
  const auto again = read_snapshot(file, SnapshotId{Offset(5), LeaderEpoch(1)}, MetadataImage{});
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ((*again)->scram_credentials.size(), 2u);
  const ScramCredential* read = (*again)->scram_credential(ScramMechanism::sha_512, "alice");
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(as_text(read->salt), "salt");
  EXPECT_EQ(as_text(read->stored_key), "stored");
  EXPECT_EQ(as_text(read->server_key), "server");
  EXPECT_EQ(read->iterations, 8192);
  const DelegationToken* token_read = (*again)->delegation_token("one");
  ASSERT_NE(token_read, nullptr);
  EXPECT_EQ(token_read->owner, "User:alice");
  EXPECT_EQ(token_read->requester, "User:bob");
  EXPECT_EQ(token_read->issued, TimestampMs(1));
  EXPECT_EQ(token_read->expires_at_last, TimestampMs(30));
}

}  // namespace
}  // namespace barnabas::metadata
