#include "broker/authentication.h"

#include <gtest/gtest.h>

#include <future>

#include "network/event_loops.h"
#include "protocol/api.h"
#include "protocol/messages/request_header.h"
#include "protocol/messages/sasl_authenticate_request.h"
#include "protocol/messages/sasl_handshake_request.h"
#include "protocol/writer.h"
#include "security/plain_mechanism.h"

namespace barnabas::broker {
namespace {

using std::chrono::milliseconds;

/// What became of one request.
struct Settled {
  bool replied = false;
  bool closed = false;
  std::string reason;
};

class Target final : public network::ReplyTarget {
 public:
  void on_reply(uint64_t, network::OutgoingFrame, network::AfterReply after) override {
    settled.set_value({true, after.close, after.reason});
  }
  void on_no_reply(uint64_t, network::AfterReply) override { settled.set_value({}); }
  void on_close(uint64_t, std::string reason) override {
    settled.set_value({false, true, std::move(reason)});
  }
  void on_allow_next(uint64_t) override {}

  std::promise<Settled> settled;
};

/// Believes whoever says anything, and says that this may take its time.
class SlowExchange final : public security::SaslExchange {
 public:
  security::SaslStep respond(ByteView, TimestampMs) override {
    on_thread = std::this_thread::get_id();
    return {.state = security::SaslStep::State::complete};
  }
  bool may_block() const override { return true; }
  security::Principal principal() const override { return {"User", "slow"}; }
  static inline std::thread::id on_thread;
};
class SlowMechanism final : public security::SaslMechanism {
 public:
  std::unique_ptr<security::SaslExchange> begin() const override { return std::make_unique<SlowExchange>(); }
};

template <class Request>
std::vector<std::byte> frame_of(const Request& request, int16_t version) {
  protocol::RequestHeader header;
  header.request_api_key = static_cast<int16_t>(Request::api_key);
  header.request_api_version = version;
  protocol::Writer writer;
  header.encode(writer, protocol::api_info(Request::api_key).request_header_version(version));
  request.encode(writer, version);
  return {writer.bytes().begin(), writer.bytes().end()};
}
std::vector<std::byte> handshake(std::string_view mechanism) {
  protocol::SaslHandshakeRequest request;
  request.mechanism = mechanism;
  return frame_of(request, 1);
}
std::vector<std::byte> token(std::string_view text) {
  protocol::SaslAuthenticateRequest request;
  request.auth_bytes = protocol::Bytes::of_text(text);
  return frame_of(request, 2);
}
const std::string right("\0alice\0secret", 13);
const std::string wrong("\0alice\0guess", 12);
const std::vector<std::byte> metadata_request(14);

class AuthenticationTest : public testing::Test {
 protected:
  AuthenticationTest() : loops_(1), pool_({.name = "disk", .threads = 1}) {
    loops_.start();
    connection_->listener = "CLIENTS";
    connection_->security_protocol = security::SecurityProtocol::sasl_plaintext;
    connection_->admitted = false;
    connection_->loop = &loops_[0];
  }
  ~AuthenticationTest() override {
    pool_.shut_down();
    loops_.stop();
  }
  void begin(milliseconds delay = milliseconds(0)) {
    Authentication::Options options;
    options.failure_delay = delay;
    auto& mechanisms = options.listeners["CLIENTS"].mechanisms;
    mechanisms.push_back(
        {"PLAIN", std::make_unique<security::PlainMechanism>(security::PlainUsers{{"alice", "secret"}})});
    mechanisms.push_back({"SLOW", std::make_unique<SlowMechanism>()});
    authentication_.emplace(std::move(options), pool_);
  }
  /// Nothing: the request was left to the handlers.
  std::optional<std::future<Settled>> start(const std::vector<std::byte>& frame) {
    auto target = std::make_shared<Target>();
    targets_.push_back(target);
    std::promise<bool> taken;
    loops_[0].post([&] {
      network::IncomingRequest request{network::Frame::copy_of(frame), connection_,
                                       network::ReplySlot(target, 1), std::chrono::steady_clock::now()};
      taken.set_value(authentication_->take(request));
      // Only an ended test drops it.
      if (request.slot.pending()) request.slot.no_reply();
    });
    if (!taken.get_future().get()) return std::nullopt;
    return target->settled.get_future();
  }
  Settled send(const std::vector<std::byte>& frame) {
    auto settled = start(frame);
    EXPECT_TRUE(settled.has_value());
    return settled ? settled->get() : Settled();
  }

  network::EventLoops loops_;
  io::DiskPool pool_;
  std::shared_ptr<network::ConnectionContext> connection_ = std::make_shared<network::ConnectionContext>();
  std::optional<Authentication> authentication_;
  std::vector<std::shared_ptr<Target>> targets_;
};

TEST_F(AuthenticationTest, a_request_before_it_is_never_handed_on) {
  begin();
  const Settled settled = send(metadata_request);
  EXPECT_TRUE(settled.closed);
  EXPECT_FALSE(settled.replied);
  EXPECT_EQ(settled.reason.substr(0, 22), "authentication failed:");
  EXPECT_TRUE(send(metadata_request).closed);
}

TEST_F(AuthenticationTest, who_has_the_password_is_known_and_let_in) {
  begin();
  EXPECT_TRUE(send(handshake("PLAIN")).replied);
  EXPECT_FALSE(connection_->admitted);
  const Settled settled = send(token(right));
  EXPECT_TRUE(settled.replied);
  EXPECT_FALSE(settled.closed);
  EXPECT_EQ(connection_->principal.to_string(), "User:alice");
  EXPECT_TRUE(connection_->admitted);
  EXPECT_FALSE(start(metadata_request).has_value());
}

TEST_F(AuthenticationTest, who_guesses_waits_for_the_answer_and_is_put_out) {
  begin(milliseconds(50));
  EXPECT_TRUE(send(handshake("PLAIN")).replied);
  const auto before = std::chrono::steady_clock::now();
  const Settled settled = send(token(wrong));
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(50));
  EXPECT_TRUE(settled.replied && settled.closed);
  EXPECT_EQ(settled.reason,
            "authentication failed: PLAIN: Authentication failed: Invalid username or password");
  EXPECT_FALSE(connection_->admitted);
  EXPECT_EQ(connection_->principal, security::Principal());
}

TEST_F(AuthenticationTest, a_stop_ends_the_wait) {
  begin(std::chrono::hours(1));
  EXPECT_TRUE(send(handshake("PLAIN")).replied);
  auto settled = start(token(wrong));
  ASSERT_TRUE(settled.has_value());
  EXPECT_EQ(settled->wait_for(milliseconds(20)), std::future_status::timeout);
  loops_[0].post([this] { Authentication::end_waiting(*connection_); });
  EXPECT_TRUE(settled->get().closed);
}

TEST_F(AuthenticationTest, a_connection_that_closes_while_its_refusal_waits_is_let_go_of) {
  begin(std::chrono::hours(1));
  EXPECT_TRUE(send(handshake("PLAIN")).replied);
  ASSERT_TRUE(start(token(wrong)).has_value());
  const std::weak_ptr<Target> waiting = targets_.back();
  targets_.clear();
  EXPECT_FALSE(waiting.expired());
  std::promise<void> done;
  loops_[0].post([&] {
    Authentication::connection_closed(*connection_);
    done.set_value();
  });
  done.get_future().get();
  EXPECT_TRUE(waiting.expired());
}

TEST_F(AuthenticationTest, what_may_wait_for_a_device_does_so_on_the_disk_pool) {
  begin();
  EXPECT_TRUE(send(handshake("SLOW")).replied);
  EXPECT_TRUE(send(token("x")).replied);
  EXPECT_EQ(connection_->principal.name, "slow");
  std::promise<std::thread::id> loop;
  loops_[0].post([&] { loop.set_value(std::this_thread::get_id()); });
  EXPECT_NE(SlowExchange::on_thread, loop.get_future().get());
}

TEST_F(AuthenticationTest, listeners_without_it_have_nothing_to_forget) {
  network::ConnectionContext plain;
  Authentication::connection_closed(plain);
  Authentication::end_waiting(plain);
}

}  // namespace
}  // namespace barnabas::broker
