#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_transactions_request.h"

namespace barnabas::broker {

/// DescribeTransactions (65).
struct DescribeTransactionsHandler {
  using Request = protocol::DescribeTransactionsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
