#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "broker/call.h"
#include "broker/fetch_session.h"
#include "broker/handlers/fetch_read.h"
#include "broker/handlers/fetch_rights.h"
#include "broker/partition.h"

namespace barnabas::broker {

/// One fetch request: reads, waits if there is too little, reads again and answers. Lives on its connection's
/// loop; only on_progress may come from elsewhere.
class FetchOperation : public ProgressWaiter, public std::enable_shared_from_this<FetchOperation> {
 public:
  struct Plan {
    FetchLimits limits;
    int32_t max_wait_ms = 0;
    int32_t min_bytes = 0;
    std::shared_ptr<FetchSession> session;  ///< null: the partitions are in `partitions`
    bool incremental = false;               ///< the answer names changed partitions only
    FetchSession::List partitions;
    std::shared_ptr<FetchRights> rights;  ///< null: everything may be read
  };

  FetchOperation(Call call, Plan plan);

  void start();
  void on_progress(const Progress& progress) override;
  /// The connection is gone: stops waiting without an answer.
  void cancel();
  /// Stops waiting and answers with what there is.
  void hurry() {
    final_ = true;
    if (!woken_.exchange(true)) resume();
  }

 private:
  struct Registration {
    std::shared_ptr<Partition> partition;
    Partition::WaiterHandle handle;
  };

  FetchSession::List& partitions() { return plan_.session ? plan_.session->partitions() : plan_.partitions; }
  std::vector<FetchRead> read_all();
  FetchRead read_one(FetchPartition& partition, int64_t bytes_max, bool at_least_one_batch);
  bool enough(const std::vector<FetchRead>& reads) const;
  /// False when something happened meanwhile and it is better to read again.
  bool wait_for_progress(const std::vector<FetchRead>& reads);
  void counted(uint64_t bytes);
  void unregister();
  void end_wait();
  void resume();
  void finish(std::vector<FetchRead> reads);
  bool throttled(const std::vector<FetchRead>& reads);
  void finish_throttled();

  Call call_;
  Plan plan_;
  std::optional<boost::asio::steady_timer> timer_;
  std::vector<Registration> registrations_;
  std::atomic<int64_t> bytes_wanted_{0};
  std::atomic<bool> woken_{false};
  bool final_ = false;  ///< time is up: answered with what there is. On the loop only
};

/// Ends the fetch that waits on this connection, if one does. On the connection's loop.
void cancel_waiting_fetch(network::ConnectionContext& connection);

}  // namespace barnabas::broker
