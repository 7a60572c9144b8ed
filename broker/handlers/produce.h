#pragma once

#include "broker/call.h"
#include "protocol/messages/produce_request.h"

namespace barnabas::broker {

/// Produce (0), v3–v13 (0 to 2 are announced and not served, as in Kafka 4).
///  - Each partition is validated and appended where its records lie in the request; errors are per
///  partition.
///  - acks=0: no answer; an error closes the connection, which is all that such a producer can see. acks=1:
///  answered
///    from the page cache. acks=-1: answered when it is on disk; the next request of the connection starts
///    meanwhile.
///  - A transactional batch whose transaction is not open in its partition waits for the coordinator's word
///  (produce_transaction.h); meanwhile the connection starts no other request, so nothing overtakes it.
///  - v8: record errors and message. v13: topics by id.
///  - null records are refused with invalid_record (Kafka never answers them).
struct ProduceHandler {
  using Request = protocol::ProduceRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
