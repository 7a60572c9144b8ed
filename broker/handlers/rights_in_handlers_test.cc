#include "broker/call.h"
#include "broker/handlers/deaf_gateway.h"
#include "broker/handlers/transaction_handlers_test_support.h"
#include "protocol/messages/delete_topics_request.h"
#include "protocol/messages/delete_topics_response.h"
#include "protocol/messages/fetch_request.h"
#include "protocol/messages/fetch_response.h"
#include "protocol/messages/offset_commit_request.h"
#include "protocol/messages/offset_commit_response.h"
#include "protocol/messages/offset_fetch_request.h"
#include "protocol/messages/offset_fetch_response.h"
#include "protocol/messages/produce_request.h"
#include "protocol/messages/produce_response.h"
#include "security/authorizer.h"

/// What happens between the moment at which a handler asks whether the sender may, and the one at which it
/// acts.
namespace barnabas::broker {
namespace {

using metadata::AclOperation;
using metadata::AclResourceType;
using protocol::ErrorCode;
using protocol::String;
using testing::TestConnection;

const std::string alice = "User:alice";

/// Notes what DeleteTopics asks of the controller, and says yes to all of it.
class Obliging : public testing::DeafGateway {
 public:
  void delete_topics(protocol::DeleteTopicsRequest request, Done<protocol::DeleteTopicsResponse> done,
                     std::shared_ptr<cluster::MutationQuota>) override {
    asked.clear();
    protocol::DeleteTopicsResponse response;
    const auto answer = [&](const std::optional<String>& name, const Uuid& id) {
      asked.push_back(name ? name->str() : id.to_string());
      auto& result = response.responses.emplace_back();
      result.name = name;
      result.topic_id = id;
    };
    for (const auto& topic : request.topics) answer(topic.name, topic.topic_id);
    for (const auto& name : request.topic_names) answer(name, Uuid{});
    done(std::move(response));
  }

  std::vector<std::string> asked;
};

/// A broker whose requests are looked at with the metadata of a moment ago, when there was the topic "mine"
/// but not yet "secret", which its logs and coordinators know already. Only "mine" is alice's.
class BetweenAskingAndActing : public testing::TransactionHandlersTest {
 protected:
  void SetUp() override {
    TransactionHandlersTest::SetUp();
    ASSERT_TRUE(machine.create_topic("mine", 1));
    before_.publish(metadata::all_of(*machine.image()), machine.image());
    ASSERT_TRUE(machine.create_topic("secret", 1));
    for (const auto& [type, name, operation] :
         {std::tuple{AclResourceType::topic, "mine", AclOperation::all},
          std::tuple{AclResourceType::topic, "to-come", AclOperation::describe},
          std::tuple{AclResourceType::group, "group", AclOperation::all},
          std::tuple{AclResourceType::transactional_id, "id", AclOperation::all}})
      image_.access_control.put(std::make_shared<const metadata::AclEntry>(
          metadata::AclEntry{{type, name, metadata::AclPatternType::literal, alice, "*", operation,
                              metadata::AclPermission::allow},
                             Uuid::random()}));
    authorizer_.apply(metadata::all_of(image_), image_);
    const Services& all = machine.services();
    services_.emplace(Services{.node = all.node,
                               .cluster_id = all.cluster_id,
                               .listeners = all.listeners,
                               .config = all.config,
                               .metadata = before_,
                               .controller = gateway_,
                               .replicas = all.replicas,
                               .logs = all.logs,
                               .disk_pool = all.disk_pool,
                               .fetch_sessions = all.fetch_sessions,
                               .producer_ids = all.producer_ids,
                               .groups = all.groups,
                               .transactions = all.transactions,
                               .transaction_verifier = all.transaction_verifier,
                               .telemetry = all.telemetry,
                               .verify_transactions = all.verify_transactions,
                               .authorizer = &authorizer_});
    anybody_ = connection;
    connection = std::make_shared<TestConnection>(*services_, security::Principal{"User", "alice"});
  }

  Uuid id_of(const char* topic) { return machine.image()->topic(topic)->id; }
  static std::vector<std::byte> batch(const testing::TestProducer* producer = nullptr) {
    protocol::RecordBatchOptions options;
    if (producer != nullptr)
      options = {.producer_id = producer->id,
                 .producer_epoch = producer->epoch,
                 .base_sequence = 0,
                 .transactional = true};
    return protocol::single_record_batch(wall_clock_now(), std::nullopt, as_byte_view("x"), options);
  }
  /// The error of producing a record.
  ErrorCode produce(const Uuid& id, const testing::TestProducer* producer = nullptr) {
    protocol::ProduceRequest request;
    request.acks = 1;
    request.timeout_ms = 10'000;
    if (producer != nullptr) request.transactional_id = String(producer->transactional_id);
    auto& topic = request.topic_data.emplace_back();
    topic.topic_id = id;
    topic.partition_data.emplace_back().records = protocol::Records(protocol::Bytes(batch(producer)));
    const auto answer = ask(request, 13);
    if (answer == nullptr) return ErrorCode::unknown_server_error;
    return code(answer->responses.at(0).partition_responses.at(0).error_code);
  }
  ErrorCode fetch(const Uuid& id) {
    protocol::FetchRequest request;
    request.max_bytes = 1 << 20;
    request.session_epoch = -1;
    auto& topic = request.topics.emplace_back();
    topic.topic_id = id;
    topic.partitions.emplace_back().partition_max_bytes = 1 << 20;
    const auto answer = ask(request, 13);
    if (answer == nullptr) return ErrorCode::unknown_server_error;
    return code(answer->responses.at(0).partitions.at(0).error_code);
  }
  static protocol::OffsetCommitRequest commit_of(const char* name, const Uuid& id) {
    protocol::OffsetCommitRequest request;
    request.group_id = String("group");
    request.generation_id_or_member_epoch = -1;
    auto& topic = request.topics.emplace_back();
    topic.name = String(name);
    topic.topic_id = id;
    topic.partitions.emplace_back().committed_offset = 3;
    return request;
  }
  ErrorCode commit(const Uuid& id) {
    const auto answer = ask(commit_of("", id), 10);
    if (answer == nullptr) return ErrorCode::unknown_server_error;
    return code(answer->topics.at(0).partitions.at(0).error_code);
  }
  /// By somebody who may everything.
  void commit_for_both() {
    for (const char* name : {"mine", "secret"}) {
      const auto answer = anybody_->ask(commit_of(name, {}), 9);
      ASSERT_TRUE(answer);
      ASSERT_EQ(answer->topics.at(0).partitions.at(0).error_code, 0);
    }
  }
  /// Topic and offset, or error, of each partition that is told; no id: all of the group's.
  std::vector<std::string> fetch_offsets(std::optional<Uuid> id, int16_t version = 10) {
    protocol::OffsetFetchRequest request;
    auto& group = request.groups.emplace_back();
    group.group_id = String("group");
    group.topics.reset();
    if (id) {
      auto& topic = group.topics.emplace().emplace_back();
      topic.topic_id = *id;
      topic.partition_indexes = {0};
    }
    const auto answer = ask(request, version);
    std::vector<std::string> told;
    if (answer == nullptr) return told;
    for (const auto& topic : answer->groups.at(0).topics)
      for (const auto& partition : topic.partitions)
        told.push_back((version >= 10 ? topic.topic_id.to_string() : topic.name.str()) + " " +
                       (partition.error_code != 0 ? "error " + std::to_string(partition.error_code)
                                                  : std::to_string(partition.committed_offset)));
    return told;
  }

  metadata::ImagePublisher before_;
  metadata::MetadataImage image_;
  security::Authorizer authorizer_{security::AuthorizerOptions{}};
  Obliging gateway_;
  std::optional<Services> services_;
  std::shared_ptr<TestConnection> anybody_;
};

TEST_F(BetweenAskingAndActing, nothing_is_written_to_an_id_that_nobody_was_asked_about) {
  EXPECT_EQ(produce(id_of("mine")), ErrorCode::none);
  EXPECT_EQ(produce(id_of("secret")), ErrorCode::unknown_topic_id);
  EXPECT_EQ(produce(id_of("t")), ErrorCode::topic_authorization_failed);
  const auto producer = init("id");
  EXPECT_EQ(produce(id_of("secret"), &producer), ErrorCode::unknown_topic_id);
  EXPECT_TRUE(machine.content("secret").empty());
}

TEST_F(BetweenAskingAndActing, nothing_is_read_from_an_id_that_nobody_was_asked_about) {
  EXPECT_EQ(fetch(id_of("mine")), ErrorCode::none);
  EXPECT_EQ(fetch(id_of("secret")), ErrorCode::unknown_topic_id);
  EXPECT_EQ(fetch(id_of("t")), ErrorCode::topic_authorization_failed);
}

TEST_F(BetweenAskingAndActing, no_offset_is_committed_or_told_for_an_id_that_nobody_was_asked_about) {
  EXPECT_EQ(commit(id_of("mine")), ErrorCode::none);
  EXPECT_EQ(commit(id_of("secret")), ErrorCode::unknown_topic_id);
  EXPECT_EQ(commit(id_of("t")), ErrorCode::topic_authorization_failed);
  const std::string mine = id_of("mine").to_string();
  const std::string secret = id_of("secret").to_string();
  EXPECT_EQ(fetch_offsets(id_of("secret")), std::vector<std::string>{secret + " error 100"});
  ASSERT_NO_FATAL_FAILURE(commit_for_both());
  EXPECT_EQ(fetch_offsets(id_of("mine")), std::vector<std::string>{mine + " 3"});
  EXPECT_EQ(fetch_offsets(id_of("secret")), std::vector<std::string>{secret + " error 100"});
  // All offsets of the group: topics that its coordinator knows, and the image does not.
  EXPECT_EQ(fetch_offsets(std::nullopt), std::vector<std::string>{mine + " 3"});
  EXPECT_EQ(fetch_offsets(std::nullopt, 9), std::vector<std::string>{"mine 3"});
}

TEST_F(BetweenAskingAndActing,
       no_offset_is_committed_in_a_transaction_for_an_id_that_nobody_was_asked_about) {
  const auto producer = init("id");
  const auto told = [&](const Uuid& id) {
    auto request = by<protocol::TxnOffsetCommitRequest>(producer);
    request.group_id = String("group");
    auto& topic = request.topics.emplace_back();
    topic.topic_id = id;
    topic.partitions.emplace_back().committed_offset = 3;
    const auto answer = ask(request, 6);
    return answer ? code(answer->topics.at(0).partitions.at(0).error_code) : ErrorCode::unknown_server_error;
  };
  EXPECT_EQ(told(id_of("secret")), ErrorCode::unknown_topic_id);
  EXPECT_EQ(told(id_of("t")), ErrorCode::topic_authorization_failed);
  EXPECT_EQ(told(id_of("mine")), ErrorCode::none);
}

TEST_F(BetweenAskingAndActing, no_deletion_reaches_the_controller_that_might_find_a_topic_made_just_now) {
  protocol::DeleteTopicsRequest request;
  const auto add = [&](const char* name, const Uuid& id) {
    auto& topic = request.topics.emplace_back();
    topic.name.reset();
    if (name != nullptr) topic.name = String(name);
    topic.topic_id = id;
  };
  // Alice may know of "to-come", and not delete it; of "secret" she may not even know.
  for (const char* name : {"mine", "to-come", "secret", "t"}) add(name, {});
  add(nullptr, id_of("secret"));
  add(nullptr, id_of("t"));
  const auto answer = ask(request, 6);
  ASSERT_TRUE(answer);
  EXPECT_EQ(gateway_.asked, std::vector<std::string>{"mine"});
  std::map<std::string, ErrorCode> told;
  for (const auto& result : answer->responses)
    told[result.name ? result.name->str() : result.topic_id.to_string()] = code(result.error_code);
  EXPECT_EQ(told, (std::map<std::string, ErrorCode>{
                      {"mine", ErrorCode::none},
                      {"to-come", ErrorCode::unknown_topic_or_partition},
                      {"secret", ErrorCode::topic_authorization_failed},
                      {"t", ErrorCode::topic_authorization_failed},
                      {id_of("secret").to_string(), ErrorCode::unknown_topic_id},
                      {id_of("t").to_string(), ErrorCode::topic_authorization_failed}}));
}

TEST_F(BetweenAskingAndActing,
       a_request_has_the_rights_of_who_sent_it_whoever_the_connection_acts_for_later) {
  const auto context = std::make_shared<network::ConnectionContext>();
  context->principal = {"User", "alice"};
  const Call call(*services_, {network::Frame{}, context, network::ReplySlot{}, Instant{}},
                  protocol::ApiKey::fetch, 13, 1, {});
  context->principal = {"User", "bob"};
  EXPECT_TRUE(call.rights().may(Right::fetch_topic, "mine"));
  EXPECT_FALSE(call.rights().may(Right::fetch_topic, "secret"));
}

}  // namespace
}  // namespace barnabas::broker
