#pragma once

#include <cstdint>
#include <utility>

#include "broker/call.h"
#include "cluster/controller_gateway.h"
#include "cluster/error_responses.h"

namespace barnabas::broker {

/// Hands a request to the controller and answers with what it says. `adapt(response, version)` may take away
/// what the version has no place for. The request borrows from the call's frame, which stays until the
/// answer.
template <class Request, class Response, class Adapt>
void forward(Call call, Request request,
             void (cluster::ControllerGateway::*method)(Request, cluster::ControllerGateway::Done<Response>),
             Adapt adapt) {
  cluster::ControllerGateway& controller = call.services().controller;
  (controller.*method)(std::move(request), [call = std::move(call), adapt](Response response) mutable {
    adapt(response, call.version());
    call.reply(response);
  });
}

/// For what needs a right on the cluster: who has it not is answered in the controller's stead.
template <class Request, class Response, class Adapt>
void forward_if(Right right, Call call, Request request,
                void (cluster::ControllerGateway::*method)(Request,
                                                           cluster::ControllerGateway::Done<Response>),
                Adapt adapt) {
  if (call.rights().may(right)) return forward(std::move(call), std::move(request), method, adapt);
  Response response = cluster::error_response(request, authorization_failed(right));
  adapt(response, call.version());
  call.reply(response);
}

template <class Request, class Response>
void forward_if(Right right, Call call, Request request,
                void (cluster::ControllerGateway::*method)(Request,
                                                           cluster::ControllerGateway::Done<Response>)) {
  forward_if(right, std::move(call), std::move(request), method, [](Response&, int16_t) {});
}

template <class Request, class Response>
void forward(Call call, Request request,
             void (cluster::ControllerGateway::*method)(Request,
                                                        cluster::ControllerGateway::Done<Response>)) {
  forward(std::move(call), std::move(request), method, [](Response&, int16_t) {});
}

}  // namespace barnabas::broker
