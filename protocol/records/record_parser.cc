#include "protocol/records/record_parser.h"

namespace barnabas::protocol {

const char* to_string(RecordFault fault) {
  switch (fault) {
    case RecordFault::none:
      return "nothing is wrong";
    case RecordFault::record_missing:
      return "the batch ends before as many records as its header counts";
    case RecordFault::record_length:
      return "negative record length";
    case RecordFault::record_cut:
      return "the batch ends within the record";
    case RecordFault::varint:
      return "a number is cut off or too long";
    case RecordFault::key_length:
      return "the key is longer than the record";
    case RecordFault::value_length:
      return "the value is longer than the record";
    case RecordFault::header_count:
      return "negative header count";
    case RecordFault::header_key:
      return "a header key is null or longer than the record";
    case RecordFault::header_value:
      return "a header value is longer than the record";
    case RecordFault::bytes_left_in_record:
      return "bytes are left over in the record";
    case RecordFault::bytes_left_in_batch:
      return "bytes follow after as many records as the header counts";
    case RecordFault::count:
      return "negative record count in the batch header";
  }
  return "unknown fault";
}

std::string describe(RecordFault fault, int64_t record_index) {
  return "record " + std::to_string(record_index) + ": " + to_string(fault);
}

}  // namespace barnabas::protocol
