#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "broker/handlers/handlers.h"

namespace barnabas::broker {

/// A handler that has its answer at once: static Response handle(Call&, const Request&).
template <class Handler>
concept ImmediateHandler = requires(Call& call, const typename Handler::Request& request) {
  { Handler::handle(call, request) } -> std::same_as<typename Handler::Request::Response>;
};

/// A handler that answers later, or not at all: static void handle(Call, Request). The request borrows from
/// the call's frame.
template <class Handler>
concept DeferredHandler = requires(Call call, typename Handler::Request request) {
  { Handler::handle(std::move(call), std::move(request)) } -> std::same_as<void>;
};

template <class Handler>
  requires ImmediateHandler<Handler> || DeferredHandler<Handler>
void run_handler(Call call, protocol::Reader& body) {
  auto request = Handler::Request::decode(body, call.version());
  if (!request)
    return call.close(std::string(protocol::name(Handler::Request::api_key)) + " v" +
                      std::to_string(call.version()) + " malformed: " + request.error().message);
  if constexpr (ImmediateHandler<Handler>) {
    const auto response = Handler::handle(call, *request);
    call.reply(response);
  } else {
    Handler::handle(std::move(call), std::move(*request));
  }
}

/// The entry of a handler that serves every version Kafka 4.4 serves.
template <class Handler>
constexpr HandlerEntry entry() {
  using Request = typename Handler::Request;
  return {Request::api_key, Request::min_version, Request::max_version, Request::min_version,
          &run_handler<Handler>};
}

}  // namespace barnabas::broker
