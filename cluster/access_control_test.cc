#include <gtest/gtest.h>

#include "cluster/controller_test_support.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using protocol::to_wire;

class AccessControl : public testing::ControllerTest {
 protected:
  using Creation = protocol::CreateAclsRequest::AclCreation;
  using Filter = protocol::DeleteAclsRequest::DeleteAclsFilter;

  static Creation entry(std::string_view name, int8_t pattern = 3,
                        std::string_view principal = "User:alice") {
    Creation creation;
    creation.resource_type = 2;
    creation.resource_name = name;
    creation.resource_pattern_type = pattern;
    creation.principal = principal;
    creation.host = "*";
    creation.operation = 3;
    creation.permission_type = 3;
    return creation;
  }
  static Filter everything() {
    Filter filter;
    filter.resource_type_filter = 1;
    filter.resource_name_filter.reset();
    filter.pattern_type_filter = 1;
    filter.principal_filter.reset();
    filter.host_filter.reset();
    filter.operation = 1;
    filter.permission_type = 1;
    return filter;
  }
  protocol::CreateAclsResponse create(std::vector<Creation> creations) {
    protocol::CreateAclsRequest request;
    request.creations = std::move(creations);
    return done(controller_.create_acls(request, state()));
  }
  protocol::DeleteAclsResponse remove(std::vector<Filter> filters) {
    protocol::DeleteAclsRequest request;
    request.filters = std::move(filters);
    return done(controller_.delete_acls(request, state()));
  }
  void expect_refused(Creation creation, std::string_view message,
                      ErrorCode code = ErrorCode::invalid_request) {
    const auto response = create({std::move(creation)});
    ASSERT_EQ(response.results.size(), 1u);
    EXPECT_EQ(response.results[0].error_code, to_wire(code)) << message;
    ASSERT_TRUE(response.results[0].error_message.has_value()) << message;
    EXPECT_EQ(response.results[0].error_message->view(), message);
    EXPECT_TRUE(record_types.empty());
  }
  std::size_t count() const { return image->access_control.by_id.size(); }
};

TEST_F(AccessControl, entries_are_made_once_and_asking_again_is_no_error) {
  auto response = create({entry("t"), entry("t"), entry("t", 4)});
  ASSERT_EQ(response.results.size(), 3u);
  for (const auto& result : response.results) EXPECT_EQ(result.error_code, 0);
  EXPECT_EQ(record_types, (std::vector<int>{18, 18}));
  response = create({entry("t")});
  EXPECT_EQ(response.results[0].error_code, 0);
  EXPECT_TRUE(record_types.empty());
  EXPECT_EQ(count(), 2u);
}

TEST_F(AccessControl, one_that_is_not_allowed_does_not_keep_the_others_out) {
  auto bad = entry("");
  const auto response = create({entry("a"), bad, entry("b")});
  EXPECT_EQ(response.results[0].error_code, 0);
  EXPECT_EQ(response.results[1].error_code, to_wire(ErrorCode::invalid_request));
  EXPECT_EQ(response.results[2].error_code, 0);
  EXPECT_EQ(count(), 2u);
}

TEST_F(AccessControl, what_no_entry_may_say_is_refused) {
  auto creation = entry("t");
  creation.resource_type = 1;
  expect_refused(creation, "Invalid resourceType ANY");
  creation.resource_type = 99;
  expect_refused(creation, "Invalid resourceType UNKNOWN");
  creation = entry("t", 2);
  expect_refused(creation, "Invalid patternType MATCH");
  creation = entry("t", 1);
  expect_refused(creation, "Invalid patternType ANY");
  creation = entry("t");
  creation.operation = 1;
  expect_refused(creation, "Invalid operation ANY");
  creation.operation = 77;
  expect_refused(creation, "Invalid operation UNKNOWN");
  creation = entry("t");
  creation.permission_type = 1;
  expect_refused(creation, "Invalid permissionType ANY");
  creation = entry("");
  expect_refused(creation, "Invalid empty resource name");
  creation = entry("not-kafka-cluster");
  creation.resource_type = 4;
  expect_refused(creation, "The only valid name for the CLUSTER resource is kafka-cluster");
  expect_refused(
      entry("t", 3, "alice"),
      "Could not parse principal from `alice` (no colon is present separating the principal type from "
      "the principal name)");
}

TEST_F(AccessControl, a_host_is_anything_but_nothing_and_networks_need_a_metadata_version) {
  auto creation = entry("t");
  creation.host = "";
  expect_refused(creation, "Host pattern cannot be null or empty");
  creation.host = "10.0.0.0/40";
  expect_refused(creation, "Invalid CIDR notation '10.0.0.0/40': Value [40] not in range [0,32]");
  creation.host = "host.example";
  EXPECT_EQ(create({creation}).results[0].error_code, 0);
  creation.host = "10.0.0.0/8";
  protocol::FeatureLevelRecord version;
  version.name = "metadata.version";
  version.feature_level = 31;
  image = metadata::testing::apply(*image, version).image;
  expect_refused(creation, "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.",
                 ErrorCode::unsupported_version);
  version.feature_level = 32;
  image = metadata::testing::apply(*image, version).image;
  EXPECT_EQ(create({creation}).results[0].error_code, 0);
}

TEST_F(AccessControl, filters_remove_what_they_match_and_say_what_it_was) {
  create({entry("a"), entry("b"), entry("b", 4), entry("c")});
  auto filter = everything();
  filter.resource_name_filter = "b";
  auto unknown = everything();
  unknown.operation = 0;
  auto odd = everything();
  odd.resource_type_filter = 50;
  const auto response = remove({filter, unknown, odd, filter});
  ASSERT_EQ(response.filter_results.size(), 4u);
  EXPECT_EQ(response.filter_results[0].error_code, 0);
  ASSERT_EQ(response.filter_results[0].matching_acls.size(), 2u);
  const auto& match = response.filter_results[0].matching_acls[1];
  EXPECT_EQ(match.resource_name.view(), "b");
  EXPECT_EQ(match.pattern_type, 4);
  EXPECT_EQ(match.principal.view(), "User:alice");
  EXPECT_EQ(match.error_code, 0);
  EXPECT_EQ(response.filter_results[1].error_message->view(), "Unknown entryFilter.");
  EXPECT_EQ(response.filter_results[2].error_message->view(), "Unknown patternFilter.");
  EXPECT_EQ(response.filter_results[3].matching_acls.size(), 2u) << "both filters match what goes once";
  EXPECT_EQ(record_types, (std::vector<int>{19, 19}));
  EXPECT_EQ(count(), 2u);
}

TEST_F(AccessControl, ten_thousand_at_once_and_not_one_more) {
  std::vector<std::string> names;
  for (int i = 0; i <= 10'000; ++i) names.push_back("t" + std::to_string(i));
  std::vector<Creation> creations;
  for (const auto& name : names) creations.push_back(entry(name));
  auto response = create(creations);
  ASSERT_EQ(response.results.size(), creations.size());
  EXPECT_EQ(response.results.front().error_code, to_wire(ErrorCode::policy_violation));
  EXPECT_EQ(response.results.back().error_code, to_wire(ErrorCode::policy_violation));
  EXPECT_EQ(response.results.back().error_message->view(),
            "Unable to perform excessively large batch operation.");
  EXPECT_EQ(count(), 0u);
  creations.pop_back();
  EXPECT_EQ(create(creations).results.back().error_code, 0);
  EXPECT_EQ(count(), 10'000u);
  create({entry("one-more")});
  const auto removed = remove({everything(), everything()});
  ASSERT_EQ(removed.filter_results.size(), 2u);
  EXPECT_EQ(removed.filter_results[1].error_message->view(),
            "Cannot remove more than 10000 acls in a single delete operation.");
  EXPECT_EQ(count(), 10'001u);
}

TEST_F(AccessControl, an_answer_that_would_name_the_same_entries_again_and_again_is_refused) {
  std::vector<Creation> creations;
  const std::string padding(1000, 'x');
  for (int i = 0; i < 1000; ++i) creations.push_back(entry(padding + std::to_string(i)));
  create(creations);
  EXPECT_EQ(count(), 1000u);
  // Of each of the filters a megabyte.
  const auto refused = remove(std::vector<Filter>(100, everything()));
  ASSERT_EQ(refused.filter_results.size(), 100u);
  for (const auto& result : refused.filter_results) {
    EXPECT_EQ(result.error_code, to_wire(ErrorCode::invalid_request));
    EXPECT_TRUE(result.matching_acls.empty());
    EXPECT_EQ(result.error_message->view(),
              "The filters match more than fits into an answer; name fewer at once.");
  }
  EXPECT_EQ(count(), 1000u);
  EXPECT_EQ(remove({everything(), everything()}).filter_results[1].matching_acls.size(), 1000u);
  EXPECT_EQ(count(), 0u);
}

}  // namespace
}  // namespace barnabas::cluster
