#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "broker/services.h"
#include "network/file_records.h"
#include "network/request_handler.h"
#include "protocol/api.h"
#include "protocol/reader.h"
#include "protocol/string.h"
#include "protocol/writer.h"

namespace barnabas::broker {

/// One request on its way through a handler: what it came with, and the duty to answer it. Move-only.
/// Everything that was decoded from the frame borrows from it: release_frame() ends that.
class Call {
 public:
  Call(Services& services, network::IncomingRequest incoming, protocol::ApiKey api, int16_t version,
       int32_t correlation_id, protocol::String client_id)
      : services_(&services),
        incoming_(std::move(incoming)),
        api_(api),
        version_(version),
        correlation_id_(correlation_id),
        client_id_(std::move(client_id)) {}

  Services& services() const { return *services_; }
  network::ConnectionContext& connection() const { return *incoming_.connection; }
  const std::shared_ptr<network::ConnectionContext>& connection_ptr() const { return incoming_.connection; }
  network::Frame& frame() { return incoming_.frame; }
  int16_t version() const { return version_; }
  std::string_view client_id() const { return client_id_; }
  Instant received() const { return incoming_.received; }

  /// Encodes and sends the answer in the request's version. Any thread. What cannot be encoded closes the
  /// connection.
  template <class Response>
  void reply(const Response& response) {
    protocol::Writer writer;
    write_header(writer, version_);
    response.encode(writer, version_);
    send(std::move(writer));
  }
  /// For ApiVersions, whose answer to an unknown version is of version 0.
  template <class Response>
  void reply_in_version(const Response& response, int16_t version) {
    protocol::Writer writer;
    write_header(writer, version);
    response.encode(writer, version);
    send(std::move(writer));
  }
  void no_reply() { incoming_.slot.no_reply(); }
  void close(std::string reason) { incoming_.slot.close(std::move(reason)); }
  /// The next request of the connection may start before this one is answered.
  void allow_next() { incoming_.slot.allow_next(); }
  /// Gives the request's memory back before the answer is ready. Nothing decoded from it may be used
  /// afterwards.
  void release_frame() {
    client_id_ = {};
    incoming_.frame = network::Frame{};
  }

 private:
  void write_header(protocol::Writer& writer, int16_t version) const;
  void send(protocol::Writer writer);

  Services* services_;
  network::IncomingRequest incoming_;
  protocol::ApiKey api_;
  int16_t version_;
  int32_t correlation_id_;
  protocol::String client_id_;
};

}  // namespace barnabas::broker
