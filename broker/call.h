#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "broker/rights.h"
#include "broker/services.h"
#include "network/file_records.h"
#include "network/request_handler.h"
#include "protocol/api.h"
#include "protocol/reader.h"
#include "protocol/string.h"
#include "protocol/writer.h"

namespace barnabas::broker {

struct QuotaClient;

/// One request on its way through a handler: what it came with, and the duty to answer it. Move-only; made on
/// the loop of its connection. Everything that was decoded from the frame borrows from it: release_frame()
/// ends that.
///
/// What a connection learns of its peer (its principal first of all) changes on its loop, when the peer logs
/// in again. So whoever goes on elsewhere, on the disk pool or a coordinator's thread, must not look at
/// connection() but for what never changes of it. rights() was taken when the call was made, and serves
/// anywhere.
class Call {
 public:
  Call(Services& services, network::IncomingRequest incoming, protocol::ApiKey api, int16_t version,
       int32_t correlation_id, protocol::String client_id)
      : services_(&services),
        incoming_(std::move(incoming)),
        api_(api),
        version_(version),
        correlation_id_(correlation_id),
        request_bytes_(static_cast<uint32_t>(incoming_.frame.size())),
        rights_(rights_of(services, *incoming_.connection, api)),
        client_id_(std::move(client_id)) {}

  Services& services() const { return *services_; }
  network::ConnectionContext& connection() const { return *incoming_.connection; }
  const std::shared_ptr<network::ConnectionContext>& connection_ptr() const { return incoming_.connection; }
  network::Frame& frame() { return incoming_.frame; }
  int16_t version() const { return version_; }
  std::string_view client_id() const { return client_id_; }
  Instant received() const { return incoming_.received; }
  /// What the sender of this request may do, whoever the connection acts for by now. Any thread; a copy
  /// outlives the call.
  const Rights& rights() const { return rights_; }

  /// Encodes and sends the answer in the request's version. Any thread. What cannot be encoded closes the
  /// connection. A client over a quota is told so in the answer, and its connection is muted.
  template <class Response>
  void reply(const Response& response) {
    reply_in_version(response, version_);
  }
  /// For ApiVersions, whose answer to an unknown version is of version 0.
  template <class Response>
  void reply_in_version(const Response& response, int16_t version) {
    charge_time();
    protocol::Writer writer;
    write_header(writer, version);
    if constexpr (requires { response.throttle_time_ms; }) {
      if (throttle_time_ms_ > 0) {
        Response told = response;
        told.throttle_time_ms = throttle_time_ms_;
        told.encode(writer, version);
        return send(std::move(writer));
      }
    }
    response.encode(writer, version);
    send(std::move(writer));
  }
  void no_reply();
  void close(std::string reason) { incoming_.slot.close(std::move(reason)); }
  /// The next request of the connection may start before this one is answered.
  void allow_next() { incoming_.slot.allow_next(); }
  /// Of the frame as it came, without the size in front.
  uint32_t request_bytes() const { return request_bytes_; }

  /// Who pays for this request; null while nobody has a quota.
  const std::shared_ptr<const QuotaClient>& quota_client() const { return quota_client_; }
  void set_quota_client(std::shared_ptr<const QuotaClient> client) { quota_client_ = std::move(client); }
  /// After the answer the client has to wait for so long; of several the longest counts.
  void throttle(std::chrono::milliseconds wait);
  /// Counts the time that the request has taken, once; the answer does so by itself. Afterwards
  /// throttle_time_ms() is what the answer will say.
  void charge_time();
  int32_t throttle_time_ms() const { return throttle_time_ms_; }

  /// Gives the request's memory back before the answer is ready. Nothing decoded from it may be used
  /// afterwards.
  void release_frame() {
    client_id_ = {};
    incoming_.frame = network::Frame{};
  }

 private:
  void write_header(protocol::Writer& writer, int16_t version) const;
  void send(protocol::Writer writer);
  static Rights rights_of(const Services& services, const network::ConnectionContext& connection,
                          protocol::ApiKey api);

  Services* services_;
  network::IncomingRequest incoming_;
  protocol::ApiKey api_;
  int16_t version_;
  int32_t correlation_id_;
  uint32_t request_bytes_;
  int32_t throttle_time_ms_ = 0;
  bool time_charged_ = false;
  Rights rights_;
  std::shared_ptr<const QuotaClient> quota_client_;
  protocol::String client_id_;
};

}  // namespace barnabas::broker
