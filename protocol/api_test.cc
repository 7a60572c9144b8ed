#include "protocol/api.h"

#include <gtest/gtest.h>

#include <utility>

#include "protocol/messages/api_versions_request.h"
#include "protocol/messages/fetch_request.h"
#include "protocol/messages/fetch_response.h"

namespace barnabas::protocol {
namespace {

TEST(Api, is_found_by_number) {
  EXPECT_EQ(api_key(1), ApiKey::fetch);
  EXPECT_EQ(api_key(18), ApiKey::api_versions);
  EXPECT_EQ(api_key(9999), std::nullopt);
  EXPECT_EQ(api_key(-1), std::nullopt);
  EXPECT_EQ(api_key(4), std::nullopt);  // LeaderAndIsr, gone
}

TEST(Api, table_agrees_with_the_messages) {
  const ApiInfo& fetch = api_info(ApiKey::fetch);
  EXPECT_EQ(fetch.name, "Fetch");
  EXPECT_EQ(fetch.min_version, FetchRequest::min_version);
  EXPECT_EQ(fetch.max_version, FetchRequest::max_version);
  EXPECT_EQ(fetch.first_flexible_version, FetchRequest::first_flexible_version);
  EXPECT_EQ(FetchRequest::api_key, FetchResponse::api_key);
  static_assert(std::is_same_v<FetchRequest::Response, FetchResponse>);
}

TEST(Api, header_versions_follow_from_the_first_flexible_version) {
  EXPECT_EQ(api_info(ApiKey::fetch).request_header_version(11), 1);
  EXPECT_EQ(api_info(ApiKey::fetch).request_header_version(12), 2);
  EXPECT_EQ(api_info(ApiKey::fetch).response_header_version(11), 0);
  EXPECT_EQ(api_info(ApiKey::fetch).response_header_version(12), 1);
  EXPECT_EQ(api_info(ApiKey::sasl_handshake).request_header_version(1), 1);
}

TEST(Api, versions_answers_always_have_the_oldest_header) {
  const ApiInfo& info = api_info(ApiKey::api_versions);
  EXPECT_EQ(info.request_header_version(3), 2);
  for (const int version : {0, 2, 3, 5, 99})
    EXPECT_EQ(info.response_header_version(static_cast<int16_t>(version)), 0);
}

TEST(Api, table_is_ordered_by_number) {
  int last = -1;
  for (const ApiInfo& info : all_apis()) {
    EXPECT_GT(std::to_underlying(info.key), last);
    last = std::to_underlying(info.key);
    EXPECT_TRUE(info.supports(info.min_version) && info.supports(info.max_version));
    EXPECT_FALSE(info.supports(static_cast<int16_t>(info.max_version + 1)));
  }
}

}  // namespace
}  // namespace barnabas::protocol
