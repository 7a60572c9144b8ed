#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace barnabas::broker {

/// One number that a client pushed.
struct PushedPoint {
  enum class Kind { gauge, total, change };  ///< change: since the last push (delta temporality)
  std::string name;                          ///< the client's: "org.apache.kafka.producer.record.send.total"
  Kind kind = Kind::gauge;
  bool monotonic = false;
  std::map<std::string, std::string> attributes;
  double value = 0;
};

/// Reads what a client pushed, already decompressed: OpenTelemetry's MetricsData. Histograms and what else
/// the clients never send are skipped, also points without a number. At most `points_max` points are given.
/// ErrorKind::corrupt when it is no such message.
Result<std::vector<PushedPoint>> read_pushed_metrics(ByteView bytes, std::size_t points_max);

}  // namespace barnabas::broker
