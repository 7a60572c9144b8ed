#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker/coordinators/transaction_machine.h"
#include "broker/handlers/test_connection.h"
#include "protocol/api.h"
#include "protocol/messages/add_offsets_to_txn_request.h"
#include "protocol/messages/add_offsets_to_txn_response.h"
#include "protocol/messages/add_partitions_to_txn_request.h"
#include "protocol/messages/add_partitions_to_txn_response.h"
#include "protocol/messages/describe_producers_request.h"
#include "protocol/messages/describe_producers_response.h"
#include "protocol/messages/describe_transactions_request.h"
#include "protocol/messages/describe_transactions_response.h"
#include "protocol/messages/end_txn_request.h"
#include "protocol/messages/end_txn_response.h"
#include "protocol/messages/find_coordinator_request.h"
#include "protocol/messages/find_coordinator_response.h"
#include "protocol/messages/init_producer_id_request.h"
#include "protocol/messages/init_producer_id_response.h"
#include "protocol/messages/list_transactions_request.h"
#include "protocol/messages/list_transactions_response.h"
#include "protocol/messages/txn_offset_commit_request.h"
#include "protocol/messages/txn_offset_commit_response.h"
#include "protocol/messages/write_txn_markers_request.h"
#include "protocol/messages/write_txn_markers_response.h"

namespace barnabas::broker::testing {

using protocol::ErrorCode;

/// Handlers of transactions as a client sees them: a broker with the topic "t" of three partitions, on a disk
/// in memory, and whoever coordinates is ready.
class TransactionHandlersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(machine.start());
    ASSERT_TRUE(machine.create_topic("t", 3));
    ASSERT_TRUE(machine.wait_until_ready());
    connection = std::make_shared<TestConnection>(machine.services());
  }

  template <class Request>
  static std::vector<std::byte> bytes_of(const Request& request, int16_t version) {
    return TestConnection::bytes_of(request, version);
  }
  /// The answer; null, and a failed test, when there is none.
  template <class Request>
  std::shared_ptr<const typename Request::Response> ask(const Request& request, int16_t version) {
    auto answer = connection->ask(request, version);
    EXPECT_NE(answer, nullptr) << "no answer in version " << version;
    return answer;
  }
  /// Whether it is answered by closing the connection.
  bool closes(ByteView request) {
    const auto answer = connection->send(request)->wait();
    return answer && !*answer;
  }

  /// Begun by InitProducerId.
  TestProducer init(const std::string& id) {
    auto producer = machine.init(id);
    EXPECT_TRUE(producer);
    return producer.value_or(TestProducer{});
  }
  template <class Request>
  static Request by(const TestProducer& producer) {
    Request request;
    request.transactional_id = protocol::String(producer.transactional_id);
    request.producer_id = producer.id.value();
    request.producer_epoch = producer.epoch.value();
    return request;
  }
  static ErrorCode code(int16_t wire) {
    return protocol::error_code(wire).value_or(ErrorCode::unknown_server_error);
  }
  template <class Request>
  static void for_each_version(const std::function<void(int16_t)>& test) {
    const protocol::ApiInfo& api = protocol::api_info(Request::api_key);
    const int newest = api.max_version - (api.latest_version_unstable ? 1 : 0);
    for (int16_t version = api.min_version; version <= newest; ++version) {
      SCOPED_TRACE("version " + std::to_string(version));
      test(version);
    }
  }

  TransactionMachine machine;
  std::shared_ptr<TestConnection> connection;
};

}  // namespace barnabas::broker::testing
