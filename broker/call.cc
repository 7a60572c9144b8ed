#include "broker/call.h"

namespace barnabas::broker {

void Call::write_header(protocol::Writer& writer, int16_t version) const {
  writer.int32(correlation_id_);
  if (protocol::api_info(api_).response_header_version(version) >= 1) writer.uvarint(0);  // no tagged fields
}

void Call::send(protocol::Writer writer) {
  auto written = writer.take();
  if (!written)
    return incoming_.slot.close("answer to " + std::string(protocol::name(api_)) + " v" +
                                std::to_string(version_) + " cannot be encoded: " + written.error().message);
  incoming_.slot.reply(network::outgoing_frame(std::move(*written)));
}

}  // namespace barnabas::broker
