#include <gtest/gtest.h>

#include <map>

#include "cluster/controller_test_support.h"
#include "cluster/delegation_token_requests.h"
#include "security/delegation_token.h"
#include "security/scram_keys.h"

namespace barnabas::cluster {
namespace {

using metadata::ScramMechanism;
using testing::ErrorCode;
using testing::to_wire;

class Credentials : public testing::ControllerTest {
 protected:
  using AlterRequest = protocol::AlterUserScramCredentialsRequest;

  static AlterRequest::ScramCredentialUpsertion upsertion(const std::string& user, int8_t mechanism = 1,
                                                          int32_t iterations = 4096) {
    AlterRequest::ScramCredentialUpsertion upsertion;
    upsertion.name = user;
    upsertion.mechanism = mechanism;
    upsertion.iterations = iterations;
    upsertion.salt = protocol::Bytes::of_text("salt");
    upsertion.salted_password = protocol::Bytes::of_text("salted password");
    return upsertion;
  }
  static AlterRequest::ScramCredentialDeletion deletion(const std::string& user, int8_t mechanism = 1) {
    AlterRequest::ScramCredentialDeletion deletion;
    deletion.name = user;
    deletion.mechanism = mechanism;
    return deletion;
  }
  /// Code by user.
  std::map<std::string, int16_t> alter(std::vector<AlterRequest::ScramCredentialDeletion> deletions,
                                       std::vector<AlterRequest::ScramCredentialUpsertion> upsertions) {
    AlterRequest request;
    request.deletions = std::move(deletions);
    request.upsertions = std::move(upsertions);
    std::map<std::string, int16_t> codes;
    for (const auto& result : done(controller_.alter_user_scram_credentials(request, state())).results)
      EXPECT_TRUE(codes.emplace(result.user.str(), result.error_code).second) << result.user.str();
    return codes;
  }

  const security::Principal alice_{"User", "alice"};
  const security::Principal bob_{"User", "bob"};

  void turn_tokens_on() {
    ASSERT_TRUE(config.set("delegation.token.secret.key", "key", "test"));
    ASSERT_TRUE(config.set("delegation.token.max.lifetime.ms", "1000", "test"));
    ASSERT_TRUE(config.set("delegation.token.expiry.time.ms", "400", "test"));
  }
  ControllerState at(int64_t now) const { return {*image, image->position.offset + 1, TimestampMs(now)}; }
  protocol::CreateDelegationTokenResponse create(CreateDelegationToken request, int64_t now = 100) {
    return done(controller_.create_delegation_token(request, at(now)));
  }
  protocol::RenewDelegationTokenResponse renew(const protocol::Bytes& hmac, int64_t period, int64_t now,
                                               const security::Principal& who) {
    RenewDelegationToken request{{}, who};
    request.request.hmac = hmac;
    request.request.renew_period_ms = period;
    return done(controller_.renew_delegation_token(request, at(now)));
  }
  protocol::ExpireDelegationTokenResponse expire(const protocol::Bytes& hmac, int64_t period, int64_t now,
                                                 const security::Principal& who) {
    ExpireDelegationToken request{{}, who};
    request.request.hmac = hmac;
    request.request.expiry_time_period_ms = period;
    return done(controller_.expire_delegation_token(request, at(now)));
  }
};

TEST_F(Credentials, only_what_cannot_be_turned_back_is_kept_of_a_password) {
  EXPECT_EQ(alter({}, {upsertion("alice", 1, 4096)}), (std::map<std::string, int16_t>{{"alice", 0}}));
  EXPECT_EQ(alter({}, {upsertion("alice", 2, 16384)}), (std::map<std::string, int16_t>{{"alice", 0}}));
  const auto* sha_256 = image->scram_credential(ScramMechanism::sha_256, "alice");
  ASSERT_NE(sha_256, nullptr);
  const ByteView salted = as_byte_view("salted password");
  EXPECT_EQ(sha_256->stored_key, security::scram_stored_key(ScramMechanism::sha_256, salted));
  EXPECT_EQ(sha_256->server_key, security::scram_server_key(ScramMechanism::sha_256, salted));
  EXPECT_EQ(as_text(sha_256->salt), "salt");
  EXPECT_EQ(image->scram_credential(ScramMechanism::sha_512, "alice")->iterations, 16384);
  EXPECT_EQ(alter({deletion("alice", 1)}, {}), (std::map<std::string, int16_t>{{"alice", 0}}));
  EXPECT_EQ(image->scram_credential(ScramMechanism::sha_256, "alice"), nullptr);
  EXPECT_NE(image->scram_credential(ScramMechanism::sha_512, "alice"), nullptr);
}

TEST_F(Credentials, each_user_is_refused_for_itself) {
  alter({}, {upsertion("there"), upsertion("both")});
  auto empty = upsertion("empty");
  empty.salted_password = {};
  const auto codes =
      alter({deletion("there"), deletion("gone"), deletion("both"), deletion(""), deletion("odd", 3)},
            {upsertion("fine"), upsertion("both"), upsertion("twice", 1), upsertion("twice", 2),
             upsertion("few", 1, 4095), upsertion("many", 2, 16385), upsertion("unknown", 0), empty});
  const int16_t unacceptable = to_wire(ErrorCode::unacceptable_credential);
  const int16_t doubled = to_wire(ErrorCode::duplicate_resource);
  const int16_t unsupported = to_wire(ErrorCode::unsupported_sasl_mechanism);
  EXPECT_EQ(codes, (std::map<std::string, int16_t>{{"there", 0},
                                                   {"gone", to_wire(ErrorCode::resource_not_found)},
                                                   {"both", doubled},
                                                   {"", unacceptable},
                                                   {"odd", unsupported},
                                                   {"fine", 0},
                                                   {"twice", doubled},
                                                   {"few", unacceptable},
                                                   {"many", unacceptable},
                                                   {"unknown", unsupported},
                                                   {"empty", unacceptable}}));
  EXPECT_NE(image->scram_credential(ScramMechanism::sha_256, "both"), nullptr);
  EXPECT_EQ(image->scram_credential(ScramMechanism::sha_256, "twice"), nullptr);
}

TEST_F(Credentials, tokens_are_off_without_a_secret_key) {
  const int16_t disabled = to_wire(ErrorCode::delegation_token_auth_disabled);
  const auto response = create({{}, alice_});
  EXPECT_EQ(response.error_code, disabled);
  EXPECT_EQ(response.principal_name, "alice");
  EXPECT_EQ(renew({}, 1, 100, alice_).error_code, disabled);
  EXPECT_EQ(expire({}, 1, 100, alice_).error_code, disabled);
  EXPECT_TRUE(record_types.empty());
}

TEST_F(Credentials, a_token_lives_as_long_as_the_settings_and_the_request_allow) {
  turn_tokens_on();
  auto response = create({{}, alice_});
  EXPECT_EQ(response.error_code, 0);
  EXPECT_EQ(response.issue_timestamp_ms, 100);
  EXPECT_EQ(response.expiry_timestamp_ms, 500);
  EXPECT_EQ(response.max_timestamp_ms, 1100);
  const auto* token = image->delegation_token(response.token_id);
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->owner, "User:alice");
  EXPECT_EQ(token->requester, "User:alice");
  const auto hmac = security::delegation_token_hmac(token->id, "key");
  EXPECT_EQ(as_text(response.hmac.view()), as_text(hmac));

  CreateDelegationToken request{{}, alice_};
  request.request.max_lifetime_ms = 50;
  request.request.owner_principal_type = protocol::String("User");
  request.request.owner_principal_name = protocol::String("carol");
  response = create(request);
  EXPECT_EQ(response.expiry_timestamp_ms, 150);
  EXPECT_EQ(response.principal_name, "carol");
  EXPECT_EQ(response.token_requester_principal_name, "alice");
  EXPECT_EQ(image->delegation_token(response.token_id)->owner, "User:carol");
  request.request.max_lifetime_ms = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(create(request).max_timestamp_ms, 1100);
}

TEST_F(Credentials, owner_and_renewers_renew_up_to_the_longest_life) {
  turn_tokens_on();
  CreateDelegationToken request{{}, alice_};
  auto& renewer = request.request.renewers.emplace_back();
  renewer.principal_type = "User";
  renewer.principal_name = "bob";
  const auto token = create(request);
  const protocol::Bytes hmac = token.hmac.owned();
  EXPECT_EQ(renew(hmac, -1, 200, alice_).expiry_timestamp_ms, 600);
  EXPECT_EQ(renew(hmac, 100, 200, bob_).expiry_timestamp_ms, 300);
  EXPECT_EQ(renew(hmac, 5000, 250, bob_).expiry_timestamp_ms, 650);
  EXPECT_EQ(renew(hmac, 5000, 650, bob_).expiry_timestamp_ms, 1050);
  EXPECT_EQ(renew(hmac, 5000, 1000, bob_).expiry_timestamp_ms, 1100);
  EXPECT_EQ(renew(hmac, 1, 1000, {"User", "mallory"}).error_code,
            to_wire(ErrorCode::delegation_token_owner_mismatch));
  EXPECT_EQ(renew(protocol::Bytes::of_text("x"), 1, 1000, bob_).error_code,
            to_wire(ErrorCode::delegation_token_not_found));
  EXPECT_EQ(renew(hmac, 1, 1101, bob_).error_code, to_wire(ErrorCode::delegation_token_expired));
  renewer.principal_type = "Group";
  EXPECT_EQ(create(request).error_code, to_wire(ErrorCode::invalid_principal_type));
}

TEST_F(Credentials, a_token_expires_at_once_or_later) {
  turn_tokens_on();
  const auto token = create({{}, alice_});
  const protocol::Bytes hmac = token.hmac.owned();
  EXPECT_EQ(expire(hmac, -1, 200, bob_).error_code, to_wire(ErrorCode::delegation_token_owner_mismatch));
  EXPECT_EQ(expire(hmac, 60, 200, alice_).expiry_timestamp_ms, 260);
  EXPECT_EQ(expire(hmac, std::numeric_limits<int64_t>::max(), 200, alice_).expiry_timestamp_ms, 1100);
  EXPECT_EQ(expire(hmac, 60, 1101, alice_).error_code, to_wire(ErrorCode::delegation_token_expired));
  EXPECT_EQ(expire(hmac, -1, 300, alice_).expiry_timestamp_ms, 300);
  EXPECT_EQ(image->delegation_tokens.size(), 0u);
  EXPECT_EQ(expire(hmac, -1, 300, alice_).error_code, to_wire(ErrorCode::delegation_token_not_found));
}

TEST_F(Credentials, tokens_whose_time_is_over_are_removed) {
  turn_tokens_on();
  const auto first = create({{}, alice_}, 100);
  const auto second = create({{}, alice_}, 300);
  (void)done(controller_.remove_expired_tokens({}, at(500)));
  EXPECT_EQ(image->delegation_tokens.size(), 2u);
  (void)done(controller_.remove_expired_tokens({}, at(501)));
  EXPECT_EQ(image->delegation_token(first.token_id), nullptr);
  EXPECT_NE(image->delegation_token(second.token_id), nullptr);
}

}  // namespace
}  // namespace barnabas::cluster
