#include "app/token_key_refresher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace barnabas::app {
namespace {

using security::TokenKeyEndpoint;
using std::chrono::milliseconds;

/// Key sets with one and two keys.
const std::string key = R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                        R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})";
const std::string one_key = R"({"keys":[)" + key + "]}";
const std::string two_keys = R"({"keys":[)" + key + "," + key + "]}";

std::size_t count(const security::TokenKeys& keys) {
  const auto current = keys.current();
  return current ? current->size() : 0;
}

/// Whether it comes to hold this many keys within ten seconds.
bool comes_to(const security::TokenKeys& keys, std::size_t expected) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count(keys) != expected && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(1));
  return count(keys) == expected;
}

/// An endpoint whose words the test changes.
struct Endpoint {
  std::mutex mutex;
  std::string text;
  int asked = 0;

  void say(std::string words) {
    const std::lock_guard lock(mutex);
    text = std::move(words);
  }
  int times() {
    const std::lock_guard lock(mutex);
    return asked;
  }
  TokenKeyRefresher::Fetch fetch() {
    return [this](const std::atomic<bool>&) -> Result<std::optional<std::string>> {
      const std::lock_guard lock(mutex);
      ++asked;
      if (text.empty()) return fail(ErrorKind::io, "down");
      return text;
    };
  }
};

TokenKeyEndpoint often() {
  return {.url = "",
          .refresh = milliseconds(2),
          .retry_backoff = milliseconds(1),
          .retry_backoff_max = milliseconds(4)};
}
TokenKeyEndpoint seldom() {
  return {.url = "",
          .refresh = std::chrono::hours(1),
          .retry_backoff = milliseconds(1),
          .retry_backoff_max = milliseconds(1)};
}

TEST(TokenKeyRefresher, has_keys_from_the_beginning_and_follows_the_endpoint) {
  Endpoint endpoint;
  endpoint.say(one_key);
  const TokenKeyRefresher keys(often(), "test", endpoint.fetch());
  EXPECT_EQ(count(keys), 1U);
  endpoint.say(two_keys);
  EXPECT_TRUE(comes_to(keys, 2));
}

TEST(TokenKeyRefresher, keeps_its_keys_when_the_endpoint_fails_and_comes_back) {
  Endpoint endpoint;
  endpoint.say(one_key);
  const TokenKeyRefresher keys(often(), "test", endpoint.fetch());
  for (const auto* broken : {"", "no JSON", R"({"keys":[]})"}) {
    endpoint.say(broken);
    const int before = endpoint.times();
    while (endpoint.times() < before + 3) std::this_thread::yield();
    EXPECT_EQ(count(keys), 1U) << broken;
    EXPECT_TRUE(keys.complaint().has_value());
  }
  endpoint.say(two_keys);
  EXPECT_TRUE(comes_to(keys, 2));
}

TEST(TokenKeyRefresher, an_endpoint_that_is_down_at_first_is_asked_again) {
  Endpoint endpoint;
  const TokenKeyRefresher keys(seldom(), "test", endpoint.fetch());
  EXPECT_EQ(keys.current(), nullptr);
  endpoint.say(one_key);
  EXPECT_TRUE(comes_to(keys, 1));
}

TEST(TokenKeyRefresher, looks_again_when_a_key_is_missed) {
  Endpoint endpoint;
  endpoint.say(one_key);
  TokenKeyRefresher keys(seldom(), "test", endpoint.fetch());
  endpoint.say(two_keys);
  keys.look_again();
  EXPECT_TRUE(comes_to(keys, 2));
}

TEST(TokenKeyRefresher, is_asked_no_more_often_than_the_endpoint_bears) {
  Endpoint endpoint;
  endpoint.say(one_key);
  TokenKeyEndpoint patient = seldom();
  patient.retry_backoff_max = std::chrono::hours(1);
  TokenKeyRefresher keys(patient, "test", endpoint.fetch());
  for (int i = 0; i < 1000; ++i) keys.look_again();
  EXPECT_EQ(endpoint.times(), 1);
}

class TokenKeyFile : public testing::Test {
 protected:
  TokenKeyFile()
      : path_(std::filesystem::temp_directory_path() / ("keys-" + std::to_string(::getpid()) + ".json")) {}
  ~TokenKeyFile() override { std::filesystem::remove(path_); }

  void write(const std::string& text) const {
    std::ofstream(path_.string() + ".new") << text;
    std::filesystem::rename(path_.string() + ".new", path_);
  }
  TokenKeyEndpoint endpoint() const { return {.url = "file://" + path_.string()}; }

  std::filesystem::path path_;
};

TEST_F(TokenKeyFile, is_read_anew_when_it_changes) {
  write(one_key);
  TokenKeyEndpoints endpoints;
  const auto keys = endpoints.open(endpoint());
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(count(**keys), 1U);
  write("broken");
  write(two_keys);
  EXPECT_TRUE(comes_to(**keys, 2));
}

TEST_F(TokenKeyFile, must_hold_keys_at_the_start) {
  TokenKeyEndpoints endpoints;
  EXPECT_FALSE(endpoints.open(endpoint()));
  for (const auto* text : {"", "{}", R"({"keys":[]})"}) {
    write(text);
    EXPECT_FALSE(endpoints.open(endpoint())) << text;
  }
}

TEST_F(TokenKeyFile, listeners_with_the_same_settings_share_it) {
  write(one_key);
  TokenKeyEndpoints endpoints;
  const auto first = endpoints.open(endpoint());
  const auto second = endpoints.open(endpoint());
  EXPECT_EQ(*first, *second);
}

TEST(TokenKeyEndpoints, are_of_https_http_or_file) {
  TokenKeyEndpoints endpoints;
  for (const auto* url :
       {"", "keys.json", "/keys.json", "ftp://host/keys", "file://other-host/keys", "file:keys"})
    EXPECT_FALSE(endpoints.open({.url = url})) << url;
}

}  // namespace
}  // namespace barnabas::app
