#pragma once

#include "base/result.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// The one table from kinds of errors to Kafka's codes.
constexpr protocol::ErrorCode error_code_of(ErrorKind kind) {
  using protocol::ErrorCode;
  switch (kind) {
    case ErrorKind::io:
    case ErrorKind::no_space:
    case ErrorKind::offline:
      return ErrorCode::kafka_storage_error;
    case ErrorKind::corrupt:
      return ErrorCode::corrupt_message;
    case ErrorKind::invalid:
      return ErrorCode::invalid_request;
    case ErrorKind::unsupported:
      return ErrorCode::unsupported_for_message_format;
    case ErrorKind::not_found:
      return ErrorCode::unknown_topic_or_partition;
    case ErrorKind::already_exists:
      return ErrorCode::topic_already_exists;
    case ErrorKind::out_of_range:
      return ErrorCode::offset_out_of_range;
    case ErrorKind::too_large:
      return ErrorCode::record_list_too_large;
    case ErrorKind::invalid_timestamp:
      return ErrorCode::invalid_timestamp;
    case ErrorKind::invalid_record:
      return ErrorCode::invalid_record;
    case ErrorKind::out_of_order_sequence:
      return ErrorCode::out_of_order_sequence_number;
    case ErrorKind::invalid_producer_epoch:
      return ErrorCode::invalid_producer_epoch;
    case ErrorKind::unknown_producer:
      return ErrorCode::unknown_producer_id;
    case ErrorKind::invalid_transaction_state:
      return ErrorCode::invalid_txn_state;
    case ErrorKind::coordinator_fenced:
      return ErrorCode::transaction_coordinator_fenced;
    case ErrorKind::closed:
      return ErrorCode::not_leader_or_follower;
    case ErrorKind::timed_out:
      return ErrorCode::request_timed_out;
  }
  return ErrorCode::unknown_server_error;
}

}  // namespace barnabas::broker
