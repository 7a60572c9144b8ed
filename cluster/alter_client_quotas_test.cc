#include <limits>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster::testing {
namespace {

using metadata::QuotaEntity;

/// How many partitions may still be changed.
struct FewLeft : MutationQuota {
  explicit FewLeft(int64_t few) : left(few) {}
  bool admit(int64_t partitions) override {
    if (left <= 0) return false;
    left -= partitions;
    return true;
  }
  int64_t left;
};

class AlterClientQuotas : public ControllerTest {
 protected:
  using Request = protocol::AlterClientQuotasRequest;
  using Op = std::pair<std::string_view, std::optional<double>>;

  static Request request(const QuotaEntity& entity, const std::vector<Op>& ops) {
    Request request;
    auto& entry = request.entries.emplace_back();
    for (const auto& [type, name] : entity) {
      auto& part = entry.entity.emplace_back();
      part.entity_type = type;
      part.entity_name.reset();
      if (name) part.entity_name = protocol::String(*name);
    }
    for (const auto& [key, value] : ops) {
      auto& op = entry.ops.emplace_back();
      op.key = key;
      op.value = value.value_or(0);
      op.remove = !value;
    }
    return request;
  }
  /// Error code and message of the one entry.
  std::pair<int16_t, std::string> alter(const Request& wanted) {
    const auto response = done(controller_.alter_client_quotas(wanted, state()));
    if (response.entries.size() != 1) return {-1, "not one entry"};
    const auto& entry = response.entries[0];
    return {entry.error_code, entry.error_message ? entry.error_message->str() : ""};
  }
  std::map<std::string, double, std::less<>> values(const QuotaEntity& entity) const {
    const auto* found = image->client_quotas.find(entity);
    return found ? (*found)->values : std::map<std::string, double, std::less<>>{};
  }
};

TEST_F(AlterClientQuotas, writes_records_of_what_changes_only) {
  const QuotaEntity alice = {{"user", "alice"}};
  EXPECT_EQ(alter(request(alice, {{"producer_byte_rate", 1000}, {"request_percentage", 12.5}})).first, 0);
  EXPECT_EQ(record_types, (std::vector<int>{14, 14}));
  EXPECT_EQ(alter(request(alice, {{"producer_byte_rate", 1000}, {"request_percentage", 13}})).first, 0);
  EXPECT_EQ(record_types, std::vector<int>{14});
  EXPECT_EQ(
      alter(request(alice, {{"producer_byte_rate", std::nullopt}, {"never_there", std::nullopt}})).first, 0);
  EXPECT_EQ(record_types, std::vector<int>{14});
  EXPECT_EQ(values(alice).size(), 1U);
  EXPECT_EQ(values(alice).at("request_percentage"), 13);
}

TEST_F(AlterClientQuotas, bad_value_leaves_the_entity_as_it_was) {
  const QuotaEntity user = {{"user", "u"}};
  const auto refused = alter(request(user, {{"consumer_byte_rate", 5}, {"producer_byte_rate", -1}}));
  EXPECT_EQ(refused.first, to_wire(ErrorCode::invalid_request));
  EXPECT_EQ(refused.second, "Quota producer_byte_rate must be greater than 0");
  EXPECT_TRUE(record_types.empty());
}

TEST_F(AlterClientQuotas, addresses_are_numeric) {
  for (const char* good : {"192.0.2.1", "2001:db8::1", "::ffff:1.2.3.4"})
    EXPECT_EQ(alter(request({{"ip", good}}, {{"connection_creation_rate", 5}})).first, 0) << good;
  for (const char* bad : {"localhost", "1.2", "1.2.3.4 ", "fe80::1%lo", "fe80::1%nowhere", "::1%1", "[::1]",
                          "example.org", "1.2.3.4:5"})
    EXPECT_EQ(alter(request({{"ip", bad}}, {{"connection_creation_rate", 5}})).second,
              std::string(bad) + " is not a valid IP or resolvable host.");
  EXPECT_EQ(alter(request({{"ip", std::nullopt}}, {{"connection_creation_rate", 5}})).first, 0);
}

TEST_F(AlterClientQuotas, validation_alone_writes_nothing) {
  auto wanted = request({{"user", "u"}}, {{"producer_byte_rate", 5}});
  wanted.validate_only = true;
  EXPECT_EQ(alter(wanted).first, 0);
  EXPECT_TRUE(record_types.empty());
}

TEST_F(AlterClientQuotas, doubled_keys_and_entities_are_refused) {
  EXPECT_EQ(alter(request({{"user", "u"}}, {{"producer_byte_rate", 5}, {"producer_byte_rate", std::nullopt}}))
                .second,
            "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})");
  auto twice = request({{"user", "u"}, {"client-id", std::nullopt}}, {{"producer_byte_rate", 5}});
  twice.entries.push_back(twice.entries[0]);
  EXPECT_EQ(alter(twice).second,
            "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})");
  EXPECT_EQ(values({{"user", "u"}, {"client-id", std::nullopt}}).size(), 1U);
}

TEST_F(AlterClientQuotas, mutation_quota_refuses_topics_one_by_one) {
  FewLeft quota(4);
  auto asking = [&] {
    auto asked = state();
    asked.mutation_quota = &quota;
    return asked;
  };
  protocol::CreateTopicsRequest create;
  create.topics = {topic("a", 3), topic("bad name", 1), topic("b", 5), topic("c", 1)};
  const auto created = done(controller_.create_topics(create, asking()));
  ASSERT_EQ(created.topics.size(), 4U);
  EXPECT_EQ(created.topics[0].error_code, 0);
  EXPECT_EQ(created.topics[2].error_code, 0) << "what goes over the quota is still done";
  EXPECT_EQ(created.topics[3].error_code, to_wire(ErrorCode::throttling_quota_exceeded));
  EXPECT_FALSE(created.topics[3].error_message);
  EXPECT_EQ(quota.left, -4);
  EXPECT_EQ(image->topic("c"), nullptr);

  protocol::CreatePartitionsRequest widen;
  widen.topics.resize(1);
  widen.topics[0].name = "a";
  widen.topics[0].count = 5;
  widen.topics[0].assignments.reset();
  auto widened = done(controller_.create_partitions(widen, asking()));
  EXPECT_EQ(widened.results[0].error_code, to_wire(ErrorCode::throttling_quota_exceeded));
  quota.left = 1;
  widened = done(controller_.create_partitions(widen, asking()));
  EXPECT_EQ(widened.results[0].error_code, 0);
  EXPECT_EQ(quota.left, -1);

  protocol::DeleteTopicsRequest remove;
  remove.topic_names = {"a"};
  auto removed = done(controller_.delete_topics(remove, asking()));
  EXPECT_EQ(removed.responses[0].error_code, to_wire(ErrorCode::throttling_quota_exceeded));
  EXPECT_NE(image->topic("a"), nullptr);
  quota.left = 1;
  removed = done(controller_.delete_topics(remove, asking()));
  EXPECT_EQ(removed.responses[0].error_code, 0);
  EXPECT_EQ(quota.left, -4);
}

}  // namespace
}  // namespace barnabas::cluster::testing
