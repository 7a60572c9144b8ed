#pragma once

#include "broker/call.h"
#include "protocol/messages/list_transactions_request.h"

namespace barnabas::broker {

/// ListTransactions (66): those of all shards that are here.
struct ListTransactionsHandler {
  using Request = protocol::ListTransactionsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
