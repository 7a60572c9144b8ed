#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/coordinators/runtime_test_support.h"
#include "broker/dispatcher.h"
#include "protocol/api.h"
#include "protocol/messages/request_header.h"
#include "protocol/messages/response_header.h"

namespace barnabas::broker::testing {

/// A client's connection without a network: bytes go to the dispatcher, bytes come back. Any thread answers.
class TestConnection : public network::ReplyTarget, public std::enable_shared_from_this<TestConnection> {
 public:
  /// The answer with its header; none: the connection was closed.
  using Answer = std::optional<std::vector<std::byte>>;

  explicit TestConnection(Services& services, const security::Principal& principal = {})
      : dispatcher_(services) {
    context_->principal = principal;
    context_->peer_address = "127.0.0.1";
    context_->listener = "PLAINTEXT";
  }

  /// A whole request, without its size in front.
  std::shared_ptr<Awaited<Answer>> send(ByteView request) {
    auto answer = std::make_shared<Awaited<Answer>>();
    uint64_t number = 0;
    {
      const std::scoped_lock lock(mutex_);
      number = ++last_;
      waiting_[number] = answer;
    }
    dispatcher_.start({network::Frame::copy_of(request), context_,
                       network::ReplySlot(shared_from_this(), number), std::chrono::steady_clock::now()});
    return answer;
  }

  template <class Request>
  static std::vector<std::byte> bytes_of(const Request& request, int16_t version) {
    protocol::RequestHeader header;
    header.request_api_key = static_cast<int16_t>(Request::api_key);
    header.request_api_version = version;
    header.correlation_id = correlation_id_;
    header.client_id = protocol::String("test");
    protocol::Writer writer;
    header.encode(writer, protocol::api_info(Request::api_key).request_header_version(version));
    request.encode(writer, version);
    EXPECT_TRUE(writer.ok()) << writer.error().message;
    return {writer.bytes().begin(), writer.bytes().end()};
  }
  /// The answer, which must be right to its last byte; it may borrow from bytes that are kept with it. Null
  /// when the connection was closed.
  template <class Request>
  std::shared_ptr<const typename Request::Response> ask(const Request& request, int16_t version) {
    using Response = typename Request::Response;
    struct Kept {
      std::vector<std::byte> bytes;
      Response response;
    };
    const auto answer = send(bytes_of(request, version))->wait();
    if (!answer || !*answer) return nullptr;
    auto kept = std::make_shared<Kept>();
    kept->bytes = **answer;
    protocol::Reader reader(kept->bytes);
    const auto header = protocol::ResponseHeader::decode(
        reader, protocol::api_info(Request::api_key).response_header_version(version));
    EXPECT_TRUE(header && header->correlation_id == correlation_id_);
    auto response = Response::decode(reader, version);
    EXPECT_TRUE(response) << response.error().message;
    EXPECT_EQ(reader.remaining(), 0U);
    if (response) kept->response = std::move(*response);
    return {kept, &kept->response};
  }

  /// What was to happen to the connection after the last answer.
  network::AfterReply after_reply() {
    const std::scoped_lock lock(mutex_);
    return after_reply_;
  }

  void on_reply(uint64_t request, network::OutgoingFrame frame, network::AfterReply after) override {
    {
      const std::scoped_lock lock(mutex_);
      after_reply_ = std::move(after);
    }
    std::vector<std::byte> bytes;
    for (const auto& piece : frame.pieces()) {
      const ByteView view = std::get<network::MemoryPiece>(piece).bytes;
      bytes.insert(bytes.end(), view.begin(), view.end());
    }
    finish(request, std::move(bytes));
  }
  void on_no_reply(uint64_t request, network::AfterReply) override {
    finish(request, std::vector<std::byte>());
  }
  void on_close(uint64_t request, std::string) override { finish(request, std::nullopt); }
  void on_allow_next(uint64_t) override {}

 private:
  static constexpr int32_t correlation_id_ = 77;

  void finish(uint64_t request, Answer answer) {
    std::shared_ptr<Awaited<Answer>> waiting;
    {
      const std::scoped_lock lock(mutex_);
      waiting = waiting_.at(request);
    }
    waiting->set(std::move(answer));
  }

  Dispatcher dispatcher_;
  std::shared_ptr<network::ConnectionContext> context_ = std::make_shared<network::ConnectionContext>();
  std::mutex mutex_;
  network::AfterReply after_reply_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::shared_ptr<Awaited<Answer>>> waiting_;
};

}  // namespace barnabas::broker::testing
