#pragma once

#include <expected>
#include <string>
#include <utility>

namespace barnabas {

/// What went wrong, in as few kinds as callers act upon differently. The table from kinds to Kafka's error
/// codes is broker/error_map.h; nothing below the broker room knows error codes of the wire.
enum class ErrorKind {
  io,                 ///< a system call failed; Error::system_error has errno
  no_space,           ///< ENOSPC or EDQUOT: nothing was appended, reads go on
  corrupt,            ///< bytes contradict their checksum or their format
  invalid,            ///< an argument, setting or request breaks a rule
  unsupported,        ///< known, but not served (a codec in an old version, an old message format)
  not_found,          ///< no such file, topic, partition
  already_exists,     ///< the reverse
  out_of_range,       ///< an offset outside of the log
  too_large,          ///< a batch, frame or value above its limit
  invalid_timestamp,  ///< a record's timestamp outside of the topic's bounds
  invalid_record,  ///< a record that the topic refuses (no key in a compacted topic, counts that do not fit)
  out_of_order_sequence,      ///< idempotence: a gap in the sequence numbers
  invalid_producer_epoch,     ///< idempotence: an older producer epoch
  unknown_producer,           ///< idempotence: no state for the producer id
  invalid_transaction_state,  ///< a batch that belongs to no transaction that is open, or outside of one that
                              ///< is
  coordinator_fenced,         ///< a marker of an older transaction coordinator
  offline,                    ///< the log directory failed earlier
  closed,                     ///< the object is shut down
  timed_out,                  ///< a deadline passed
};

/// An operating error: disk, peer or client input. The message names the place, what was found and what was
/// expected.
struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::io;
  std::string message;
  int system_error = 0;  ///< errno for ErrorKind::io and no_space, else 0
};

template <class T>
using Result = std::expected<T, Error>;

/// Short for `return fail(ErrorKind::corrupt, "…")`.
inline std::unexpected<Error> fail(ErrorKind kind, std::string message, int system_error = 0) {
  return std::unexpected<Error>(Error{kind, std::move(message), system_error});
}

/// Passes on an error with the place where it was met in front.
inline std::unexpected<Error> fail(const std::string& place, Error error) {
  error.message = place + ": " + error.message;
  return std::unexpected<Error>(std::move(error));
}

}  // namespace barnabas

/// Returns from the enclosing function with the error of `expression`, if it has one.
#define BARNABAS_TRY(expression)                                                 \
  do {                                                                           \
    if (auto try_result_ = (expression); !try_result_)                           \
      return std::unexpected<::barnabas::Error>(std::move(try_result_).error()); \
  } while (false)

#define BARNABAS_CONCAT_INNER(a, b) a##b
#define BARNABAS_CONCAT(a, b) BARNABAS_CONCAT_INNER(a, b)

/// Declares `variable` with the value of `expression`, or returns from the enclosing function with its error.
#define BARNABAS_ASSIGN(variable, expression) \
  BARNABAS_ASSIGN_IMPL(BARNABAS_CONCAT(assign_result_, __LINE__), variable, expression)
#define BARNABAS_ASSIGN_IMPL(temporary, variable, expression)                              \
  auto temporary = (expression);                                                           \
  if (!temporary) return std::unexpected<::barnabas::Error>(std::move(temporary).error()); \
  variable = std::move(temporary).value()
