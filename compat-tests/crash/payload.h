// The records of the crash test: who sent it and as which of its records, and bytes that follow from those
// two, so that a reader can tell any record that was damaged, mixed up or made up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace barnabas::compat {

struct Stamp {
  std::uint32_t producer = 0;  // counts producers, each of which has a producer id of its own at the broker
  std::uint64_t sequence = 0;  // counts the producer's records of one partition, from 0

  bool operator==(const Stamp&) const = default;
};

// The value of the record with this stamp: the stamp, then 0 to about 1,500 bytes that only this stamp has.
std::string payload(Stamp stamp);

// The stamp of a value, or nothing when the value is not exactly the stamp's payload.
std::optional<Stamp> read_payload(std::string_view value);

}  // namespace barnabas::compat
