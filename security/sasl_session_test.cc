#include "security/sasl_session.h"

#include <gtest/gtest.h>

#include <deque>

#include "protocol/api.h"
#include "protocol/messages/api_versions_request.h"
#include "protocol/messages/request_header.h"
#include "protocol/messages/sasl_authenticate_request.h"
#include "protocol/messages/sasl_authenticate_response.h"
#include "protocol/messages/sasl_handshake_request.h"
#include "protocol/messages/sasl_handshake_response.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

namespace barnabas::security {
namespace {

using std::chrono::milliseconds;
using Action = SaslVerdict::Action;

/// "hello" is asked back, "yes NAME" is believed, "until NAME" is believed for 500 ms, "bad" is no and
/// nothing said, "worse" is no with a word.
class ToyExchange final : public SaslExchange {
 public:
  SaslStep respond(ByteView message, TimestampMs now) override {
    const std::string text(as_text(message));
    if (text == "hello") return {.state = SaslStep::State::challenge, .bytes = bytes("who?")};
    if (text == "worse") return {.message = "You are not he"};
    const auto space = text.find(' ');
    if (space == text.npos) return {};
    principal_.name = text.substr(space + 1);
    if (text.starts_with("until ")) expires_ = now + 500;
    return {.state = SaslStep::State::complete, .bytes = text.starts_with("yes") ? bytes("") : bytes("fine")};
  }
  Principal principal() const override { return principal_; }
  std::optional<TimestampMs> expires_at() const override { return expires_; }

 private:
  static std::vector<std::byte> bytes(std::string_view text) {
    return {as_byte_view(text).begin(), as_byte_view(text).end()};
  }
  Principal principal_;
  std::optional<TimestampMs> expires_;
};
class ToyMechanism final : public SaslMechanism {
 public:
  std::unique_ptr<SaslExchange> begin() const override { return std::make_unique<ToyExchange>(); }
};

template <class Request>
std::vector<std::byte> frame_of(const Request& request, int16_t version, int32_t correlation_id = 7) {
  protocol::RequestHeader header;
  header.request_api_key = static_cast<int16_t>(Request::api_key);
  header.request_api_version = version;
  header.correlation_id = correlation_id;
  header.client_id = protocol::String("client");
  protocol::Writer writer;
  header.encode(writer, protocol::api_info(Request::api_key).request_header_version(version));
  request.encode(writer, version);
  return {writer.bytes().begin(), writer.bytes().end()};
}
std::vector<std::byte> handshake(std::string_view mechanism, int16_t version = 1) {
  protocol::SaslHandshakeRequest request;
  request.mechanism = mechanism;
  return frame_of(request, version);
}
std::vector<std::byte> token(std::string_view text, int16_t version = 2) {
  protocol::SaslAuthenticateRequest request;
  request.auth_bytes = protocol::Bytes::of_text(text);
  return frame_of(request, version, 8);
}
std::vector<std::byte> raw(std::string_view text) {
  return {as_byte_view(text).begin(), as_byte_view(text).end()};
}
std::vector<std::byte> versions(int16_t version = 3) {
  return frame_of(protocol::ApiVersionsRequest(), version);
}
/// A Metadata request: what clients must not get through before.
std::vector<std::byte> metadata_request() {
  return {std::byte{0}, std::byte{3}, std::byte{0}, std::byte{1},    std::byte{0},
          std::byte{0}, std::byte{0}, std::byte{9}, std::byte{0xFF}, std::byte{0xFF},
          std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}};
}

template <class Response>
Response answer(const SaslVerdict& verdict, int16_t version) {
  EXPECT_TRUE(verdict.frame.has_value());
  if (!verdict.frame) return {};
  static std::deque<std::vector<std::byte>> frames;  // what is decoded borrows from them
  protocol::Reader reader(frames.emplace_back(*verdict.frame));
  EXPECT_GT(reader.int32(), 6);
  if (protocol::api_info(Response::api_key).response_header_version(version) >= 1) {
    EXPECT_EQ(reader.uvarint(), 0u);
  }
  const auto response = Response::decode(reader, version);
  EXPECT_TRUE(response);
  EXPECT_EQ(reader.remaining(), 0u);
  return response.value_or(Response());
}

class Session : public testing::Test {
 protected:
  Session() {
    for (const std::string name : {"TOY", "OTHER", "GSSAPI"})
      listener_.mechanisms.push_back({name, std::make_unique<ToyMechanism>()});
  }
  SaslVerdict send(const std::vector<std::byte>& frame) {
    auto verdict = session_.receive(frame, now_);
    if (verdict.action != Action::evaluate) return verdict;
    auto step = session_.evaluate(TimestampMs(1'000'000));
    return session_.conclude(std::move(step), TimestampMs(1'000'000), now_);
  }
  void log_in(std::string_view how = "yes alice") {
    ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
    ASSERT_EQ(send(token(how)).action, Action::answer);
    ASSERT_TRUE(session_.authenticated());
  }
  void expect_refused(const SaslVerdict& verdict, std::string_view reason) {
    EXPECT_EQ(verdict.action, Action::refuse);
    EXPECT_NE(verdict.reason.find(reason), std::string::npos) << verdict.reason;
  }

  SaslListener listener_;
  SaslSession session_{listener_};
  Instant now_ = Instant(std::chrono::hours(1));
};

TEST_F(Session, versions_then_handshake_then_tokens_make_a_principal) {
  EXPECT_EQ(send(versions()).action, Action::hand_on);
  session_.versions_told();
  const auto hello = answer<protocol::SaslHandshakeResponse>(send(handshake("TOY")), 1);
  EXPECT_EQ(hello.error_code, 0);
  EXPECT_EQ(hello.mechanisms.size(), 3u);
  EXPECT_EQ(hello.mechanisms.front(), "TOY");
  for (const int16_t version : {int16_t{0}, int16_t{1}, int16_t{2}}) {
    const auto verdict = send(token("hello", version));
    const auto step = answer<protocol::SaslAuthenticateResponse>(verdict, version);
    EXPECT_EQ(as_text(step.auth_bytes.view()), "who?");
    EXPECT_FALSE(session_.authenticated());
  }
  const auto verdict = send(token("sure alice"));
  EXPECT_TRUE(verdict.authenticated);
  const auto step = answer<protocol::SaslAuthenticateResponse>(verdict, 2);
  EXPECT_EQ(as_text(step.auth_bytes.view()), "fine");
  EXPECT_EQ(step.error_code, 0);
  EXPECT_EQ(step.error_message->view(), "");  // as Kafka has it
  EXPECT_EQ(step.session_lifetime_ms, 0);
  EXPECT_EQ(session_.principal().to_string(), "User:alice");
  EXPECT_EQ(send(metadata_request()).action, Action::hand_on);
  // Without an end of the session there is nothing to renew: the handler answers.
  EXPECT_EQ(send(handshake("TOY")).action, Action::hand_on);
  EXPECT_EQ(send(token("hello")).action, Action::hand_on);
}

TEST_F(Session, after_handshake_0_tokens_have_no_envelope) {
  ASSERT_EQ(answer<protocol::SaslHandshakeResponse>(send(handshake("TOY", 0)), 0).error_code, 0);
  EXPECT_EQ(send(raw("hello")).frame, raw("who?"));
  const auto verdict = send(raw("yes alice"));
  EXPECT_EQ(verdict.action, Action::answer);
  EXPECT_EQ(verdict.frame, raw(""));
  EXPECT_TRUE(session_.authenticated());
  EXPECT_EQ(send(metadata_request()).action, Action::hand_on);
}

TEST_F(Session, gssapi_without_envelope_ends_without_a_frame) {
  ASSERT_EQ(send(handshake("GSSAPI", 0)).action, Action::answer);
  const auto verdict = send(raw("yes alice"));
  EXPECT_EQ(verdict.action, Action::answer);
  EXPECT_FALSE(verdict.frame);
  EXPECT_TRUE(session_.authenticated());
}

TEST_F(Session, a_raw_token_that_fails_closes_without_an_answer) {
  ASSERT_EQ(send(handshake("TOY", 0)).action, Action::answer);
  const auto verdict = send(raw("bad"));
  expect_refused(verdict, "TOY: Authentication failed");
  EXPECT_FALSE(verdict.frame);
}

TEST_F(Session, a_mechanism_that_is_not_enabled_gets_33_and_the_list) {
  const auto verdict = send(handshake("SCRAM-SHA-1"));
  expect_refused(verdict, "SASL mechanism \"SCRAM-SHA-1\" is not enabled");
  const auto response = answer<protocol::SaslHandshakeResponse>(verdict, 1);
  EXPECT_EQ(response.error_code, 33);
  EXPECT_EQ(response.mechanisms.size(), 3u);
  expect_refused(send(handshake("TOY")), "after a failed authentication");
}

TEST_F(Session, a_failed_token_gets_58_and_the_text_of_kafka) {
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  auto verdict = send(token("bad"));
  expect_refused(verdict, "TOY: ");
  EXPECT_TRUE(verdict.delayed);
  auto response = answer<protocol::SaslAuthenticateResponse>(verdict, 2);
  EXPECT_EQ(response.error_code, 58);
  EXPECT_EQ(response.error_message->view(),
            "Authentication failed during authentication due to invalid credentials with SASL mechanism TOY");
  SaslSession second(listener_);
  EXPECT_EQ(second.receive(handshake("TOY"), now_).action, Action::answer);
  EXPECT_EQ(second.receive(token("worse", 0), now_).action, Action::evaluate);
  verdict = second.conclude(second.evaluate(TimestampMs(0)), TimestampMs(0), now_);
  EXPECT_EQ(answer<protocol::SaslAuthenticateResponse>(verdict, 0).error_message->view(), "You are not he");
}

TEST_F(Session, nothing_else_gets_through_before) {
  expect_refused(send(metadata_request()), "unexpected Metadata before authentication");
  for (const auto& first :
       {token("yes alice"), raw("yes alice"), raw(""), raw("\x60\x03\x01"), raw("\x7F\x7F")}) {
    SaslSession fresh(listener_);
    EXPECT_EQ(fresh.receive(first, now_).action, Action::refuse);
  }
}

TEST_F(Session, versions_are_asked_for_until_they_are_told) {
  EXPECT_EQ(send(versions(99)).action, Action::hand_on);
  EXPECT_EQ(send(versions(3)).action, Action::hand_on);  // and is refused by its handler, perhaps
  EXPECT_EQ(send(versions(0)).action, Action::hand_on);
  session_.versions_told();
  expect_refused(send(versions(0)), "ApiVersions where SaslHandshake was expected");
}

TEST_F(Session, nothing_but_tokens_may_follow_a_handshake) {
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  const auto verdict = send(handshake("TOY"));
  expect_refused(verdict, "unexpected SaslHandshake during authentication");
  EXPECT_EQ(answer<protocol::SaslHandshakeResponse>(verdict, 1).error_code, 34);
  SaslSession second(listener_);
  EXPECT_EQ(second.receive(handshake("TOY"), now_).action, Action::answer);
  EXPECT_EQ(second.receive(metadata_request(), now_).action, Action::refuse);
}

TEST_F(Session, versions_that_nobody_serves_and_torn_requests_are_refused) {
  for (const auto& bad : {handshake("TOY", 1), token("hello", 2)}) {
    for (std::size_t length = 0; length < bad.size(); ++length) {
      SaslSession fresh(listener_);
      const bool is_token = bad.size() > 2 && bad[1] == std::byte{36};
      if (is_token) {
        ASSERT_EQ(fresh.receive(handshake("TOY"), now_).action, Action::answer);
      }
      EXPECT_EQ(fresh.receive(std::span(bad).first(length), now_).action, Action::refuse) << length;
    }
  }
  auto too_new = handshake("TOY");
  too_new[3] = std::byte{2};
  expect_refused(send(too_new), "SaslHandshake v2 is not served");
}

TEST_F(Session, frames_before_authentication_are_small) {
  listener_.message_bytes_max = 100;
  expect_refused(send(handshake(std::string(100, 'x'))), "sasl.server.max.receive.size is 100");
  SaslSession second(listener_);
  EXPECT_EQ(second.receive(handshake("TOY"), now_).action, Action::answer);
  EXPECT_EQ(second.receive(token(std::string(100, 'x')), now_).action, Action::refuse);
  SaslSession third(listener_);
  EXPECT_EQ(third.receive(handshake("TOY"), now_).action, Action::answer);
  EXPECT_EQ(third.receive(token("yes alice"), now_).action, Action::evaluate);
  EXPECT_TRUE(third.conclude(third.evaluate(TimestampMs(0)), TimestampMs(0), now_).authenticated);
  EXPECT_EQ(third.receive(handshake(std::string(1000, 'x')), now_).action, Action::hand_on);
}

TEST_F(Session, a_session_ends_unless_it_is_renewed) {
  listener_.mechanisms[0].session_max = milliseconds(2000);
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  EXPECT_EQ(answer<protocol::SaslAuthenticateResponse>(send(token("yes alice")), 2).session_lifetime_ms,
            2000);
  now_ += milliseconds(1500);
  EXPECT_EQ(send(metadata_request()).action, Action::hand_on);
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  EXPECT_TRUE(session_.authenticated());
  const auto renewed = send(token("yes alice"));
  EXPECT_TRUE(renewed.authenticated);
  EXPECT_EQ(answer<protocol::SaslAuthenticateResponse>(renewed, 2).session_lifetime_ms, 2000);
  now_ += milliseconds(2000);
  EXPECT_EQ(send(metadata_request()).action, Action::hand_on);
  now_ += milliseconds(1);
  const auto late = send(metadata_request());
  expect_refused(late, "session of \"User:alice\" expired");
  EXPECT_FALSE(late.frame);
  EXPECT_FALSE(late.delayed);
}

TEST_F(Session, an_expired_session_can_still_be_renewed) {
  listener_.mechanisms[0].session_max = milliseconds(2000);
  log_in();
  now_ += milliseconds(60'000);
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  EXPECT_TRUE(send(token("yes alice")).authenticated);
}

TEST_F(Session, a_credential_that_expires_sooner_ends_the_session_sooner) {
  log_in("until alice");
  EXPECT_EQ(session_.expires_at(), now_ + milliseconds(500));
  now_ += milliseconds(501);
  expect_refused(send(metadata_request()), "expired");
  SaslSession second(listener_);
  listener_.mechanisms[0].session_max = milliseconds(200);
  EXPECT_EQ(second.receive(handshake("TOY"), now_).action, Action::answer);
  EXPECT_EQ(second.receive(token("until alice"), now_).action, Action::evaluate);
  auto step = second.evaluate(TimestampMs(1000));
  EXPECT_EQ(answer<protocol::SaslAuthenticateResponse>(second.conclude(step, TimestampMs(1000), now_), 2)
                .session_lifetime_ms,
            200);
}

TEST_F(Session, an_already_expired_credential_has_no_negative_lifetime) {
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  ASSERT_EQ(session_.receive(token("until alice"), now_).action, Action::evaluate);
  auto step = session_.evaluate(TimestampMs(1000));
  const auto verdict = session_.conclude(std::move(step), TimestampMs(9000), now_);
  EXPECT_EQ(answer<protocol::SaslAuthenticateResponse>(verdict, 2).session_lifetime_ms, 0);
  now_ += milliseconds(1);
  expect_refused(send(metadata_request()), "expired");
}

TEST_F(Session, renewing_more_often_than_once_a_second_is_an_ordinary_request) {
  listener_.mechanisms[0].session_max = milliseconds(60'000);
  log_in();
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  ASSERT_TRUE(send(token("yes alice")).authenticated);
  now_ += milliseconds(999);
  EXPECT_EQ(send(handshake("TOY")).action, Action::hand_on);
  now_ += milliseconds(1);
  EXPECT_EQ(send(handshake("TOY")).action, Action::answer);
}

TEST_F(Session, neither_principal_nor_mechanism_changes_upon_renewal) {
  listener_.mechanisms[0].session_max = milliseconds(60'000);
  log_in();
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  auto verdict = send(token("yes mallory"));
  expect_refused(verdict, "principal changed");
  EXPECT_EQ(answer<protocol::SaslAuthenticateResponse>(verdict, 2).error_message->view(),
            "Cannot change principals during re-authentication from User.alice: User.mallory");
  SaslSession second(listener_);
  EXPECT_EQ(second.receive(handshake("TOY"), now_).action, Action::answer);
  EXPECT_EQ(second.receive(token("yes alice"), now_).action, Action::evaluate);
  EXPECT_TRUE(second.conclude(second.evaluate(TimestampMs(0)), TimestampMs(0), now_).authenticated);
  EXPECT_EQ(second.receive(handshake("OTHER"), now_).action, Action::answer);
  verdict = second.receive(token("yes alice"), now_);
  expect_refused(verdict, "another mechanism than TOY");
  EXPECT_FALSE(verdict.frame);
}

TEST_F(Session, a_failure_upon_renewal_says_so) {
  listener_.mechanisms[0].session_max = milliseconds(60'000);
  log_in();
  ASSERT_EQ(send(handshake("TOY")).action, Action::answer);
  EXPECT_EQ(
      answer<protocol::SaslAuthenticateResponse>(send(token("bad")), 2).error_message->view(),
      "Authentication failed during re-authentication due to invalid credentials with SASL mechanism TOY");
}

}  // namespace
}  // namespace barnabas::security
