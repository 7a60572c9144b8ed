#include "http/client.h"

#include <gtest/gtest.h>

namespace barnabas::http {
namespace {

using namespace std::chrono_literals;

TEST(HttpClient, gets_what_a_server_says) {
  Server server(
      [](const Request& request, const Respond& respond) {
        respond(text_response(request.path == "/readyz" ? 200 : 503, "said " + request.path));
      },
      {});
  ASSERT_TRUE(server.bind({"127.0.0.1", 0}));
  server.start();
  const auto good = get(server.bound().front(), "/readyz", 60s);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->status, 200u);
  EXPECT_EQ(good->body, "said /readyz\n");
  const auto bad = get({"", server.bound().front().port}, "/x", 60s);
  ASSERT_TRUE(bad) << bad.error().message;
  EXPECT_EQ(bad->status, 503u);
}

TEST(HttpClient, does_not_wait_for_a_server_that_says_nothing) {
  Server mute([](const Request&, const Respond&) {}, {});
  ASSERT_TRUE(mute.bind({"127.0.0.1", 0}));
  mute.start();
  const auto answer = get(mute.bound().front(), "/", 100ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::timed_out);
  EXPECT_NE(answer.error().message.find("no answer within 100 ms"), std::string::npos);
}

TEST(HttpClient, says_where_nobody_is) {
  // A port below 1024 that nothing here listens on.
  const auto answer = get({"127.0.0.1", 1}, "/", 60s);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("127.0.0.1:1: "), std::string::npos);
}

TEST(HttpClient, takes_no_answer_without_end) {
  const auto body = std::make_shared<const std::string>(1 << 20, 'x');
  Server server([&](const Request&, const Respond& respond) { respond({200, "text/plain", body}); }, {});
  ASSERT_TRUE(server.bind({"127.0.0.1", 0}));
  server.start();
  EXPECT_FALSE(get(server.bound().front(), "/", 60s));
}

}  // namespace
}  // namespace barnabas::http
