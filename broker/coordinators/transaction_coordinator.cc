#include "broker/coordinators/transaction_coordinator.h"

#include <expected>
#include <memory>
#include <utility>

namespace barnabas::broker {

using coordinator::Decision;
using coordinator::Now;
using coordinator::TransactionShard;
using protocol::ErrorCode;

namespace {

CoordinatorTopic::Settings topic_settings(const metadata::StaticConfig& config) {
  constexpr std::string_view min_isr = "transaction.state.log.min.isr";
  auto settings =
      CoordinatorTopic::Settings::of(config, "__transaction_state", "transaction.state.log.", "uncompressed");
  settings.configs.emplace_back("unclean.leader.election.enable", "false");
  // As few replicas as there may be are never in sync by the default, which is for three.
  if (settings.replication_factor || config.given(min_isr) != nullptr)
    settings.configs.emplace_back("min.insync.replicas", config.text(min_isr));
  return settings;
}

CoordinatorOptions options_of_transactions() {
  CoordinatorOptions options;
  options.name = "txn";
  options.load_in_each_epoch = true;
  // A shard whose outcome is slow to get to the disk waits for it: else nobody would carry the outcome out.
  options.durable_timeout = std::chrono::hours(1);
  return options;
}

}  // namespace

TransactionVerifier::Verified refuse_transaction(const TransactionVerifier::Transaction& transaction,
                                                 ErrorCode error) {
  TransactionVerifier::Verified refused;
  refused.transactional_id = transaction.transactional_id;
  for (const auto& topic : transaction.topics) {
    auto& result = refused.topic_results.emplace_back();
    result.name = topic.name;
    for (const int32_t partition : topic.partitions) {
      auto& one = result.results_by_partition.emplace_back();
      one.partition_index = partition;
      one.partition_error_code = to_wire(error);
    }
  }
  return refused;
}

TransactionCoordinator::TransactionCoordinator(NodeId node, const metadata::StaticConfig& config,
                                               metadata::ImagePublisher& metadata,
                                               cluster::ControllerGateway& controller,
                                               ReplicaManager& replicas, GroupCoordinator& groups,
                                               ProducerIds& producer_ids)
    : KeyedCoordinator(
          node, topic_settings(config), options_of_transactions(), replicas,
          [this, &config](const ShardOrigin& origin) {
            coordinator::TransactionEffects& effects = *this;
            return std::make_unique<TransactionShard>(
                coordinator::TransactionEnvironment{.config = config,
                                                    .settings = settings_,
                                                    .image = origin.image,
                                                    .coordinator_epoch = origin.epoch.value(),
                                                    .effects = effects});
          },
          metadata, controller),
      settings_(coordinator::TransactionSettings::of(config)),
      producer_ids_(producer_ids),
      markers_(replicas, groups) {}

void TransactionCoordinator::verify(Transaction transaction,
                                    std::move_only_function<void(Verified)> verified) {
  struct Question {
    Transaction transaction;
    std::move_only_function<void(Verified)> verified;
  };
  const auto asked = std::make_shared<Question>(std::move(transaction), std::move(verified));
  const auto answer = [asked](std::expected<Verified, ErrorCode> told) {
    const bool verify_only = asked->transaction.verify_only;
    Verified result = told ? std::move(*told) : refuse_transaction(asked->transaction, told.error());
    result.transactional_id = result.transactional_id.owned();
    for (auto& topic : result.topic_results) {
      topic.name = topic.name.owned();
      for (auto& partition : topic.results_by_partition)
        partition.partition_error_code =
            to_wire(told_to_writers(static_cast<ErrorCode>(partition.partition_error_code), verify_only));
    }
    asked->verified(std::move(result));
  };
  schedule(
      asked->transaction.transactional_id.view(),
      [asked, answer](TransactionShard& shard, const Now& now) {
        const coordinator::RequestContext context{.version = protocol::AddPartitionsToTxnRequest::max_version,
                                                  .client_id = {},
                                                  .client_host = {},
                                                  .now = now};
        return shard.add_partitions(context, asked->transaction, {answer});
      },
      [answer](ErrorCode error) { answer(std::unexpected(error)); });
}

void TransactionCoordinator::next_producer_id(std::string transactional_id, Resume resume,
                                              std::move_only_function<void(ErrorCode)> refused) {
  producer_ids_.next([this, transactional_id = std::move(transactional_id), resume = std::move(resume),
                      refused = std::move(refused)](ProducerId id, ErrorCode error) mutable {
    schedule(
        transactional_id,
        [resume = std::move(resume), id, error](TransactionShard& shard, const Now& now) mutable {
          return resume(shard, id, error, now);
        },
        std::move(refused));
  });
}

void TransactionCoordinator::write_markers(coordinator::TransactionMarkers markers) {
  const auto written = std::make_shared<const coordinator::TransactionMarkers>(std::move(markers));
  markers_.write(*written, [this, written](MarkerWriter::Results results) {
    schedule(
        written->transactional_id,
        [written, results = std::move(results)](TransactionShard& shard, const Now& now) {
          return shard.markers_written(*written, results, now);
        },
        // Whoever leads the log next begins again with the outcome that is in it.
        [](ErrorCode) {});
  });
}

}  // namespace barnabas::broker
