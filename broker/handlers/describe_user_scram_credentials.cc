#include "broker/handlers/describe_user_scram_credentials.h"

#include <map>
#include <string>
#include <string_view>

#include "protocol/error_code.h"

namespace barnabas::broker {

using protocol::DescribeUserScramCredentialsResponse;
using protocol::ErrorCode;

namespace {

using Result = DescribeUserScramCredentialsResponse::DescribeUserScramCredentialsResult;

void describe(const metadata::MetadataImage& image, std::string_view user, Result& result) {
  using metadata::ScramMechanism;
  for (const auto mechanism : {ScramMechanism::sha_256, ScramMechanism::sha_512}) {
    const auto* credential = image.scram_credential(mechanism, user);
    if (credential == nullptr) continue;
    auto& info = result.credential_infos.emplace_back();
    info.mechanism = static_cast<int8_t>(mechanism);
    info.iterations = credential->iterations;
  }
  if (!result.credential_infos.empty()) return;
  result.error_code = to_wire(ErrorCode::resource_not_found);
  result.error_message =
      protocol::String("Attempt to describe a user credential that does not exist: " + std::string(user));
}

DescribeUserScramCredentialsResponse refuse(const protocol::DescribeUserScramCredentialsRequest& request) {
  constexpr ErrorCode error = ErrorCode::cluster_authorization_failed;
  DescribeUserScramCredentialsResponse response;
  response.error_code = to_wire(error);
  response.error_message.reset();  // Kafka says no more than the code
  if (!request.users) return response;
  for (std::size_t i = 0; i < request.users->size(); ++i) {
    Result& result = response.results.emplace_back();
    result.error_code = response.error_code;
    result.error_message.reset();
  }
  return response;
}

}  // namespace

DescribeUserScramCredentialsResponse DescribeUserScramCredentialsHandler::handle(Call& call,
                                                                                 const Request& request) {
  if (!call.rights().may(Right::describe_scram)) return refuse(request);
  const auto image = call.services().metadata.current();
  std::map<std::string_view, int> times;
  if (request.users && !request.users->empty()) {
    for (const auto& user : *request.users) ++times[user.name.view()];
  } else {
    for (const auto& credential : image->scram_credentials) times[credential->key.user] = 1;
  }
  DescribeUserScramCredentialsResponse response;
  for (const auto& [user, count] : times) {
    Result& result = response.results.emplace_back();
    result.user = protocol::String(user);
    if (count > 1) {
      result.error_code = to_wire(ErrorCode::duplicate_resource);
      result.error_message =
          protocol::String("Cannot describe SCRAM credentials for the same user twice in a single request: " +
                           std::string(user));
    } else {
      describe(*image, user, result);
    }
  }
  return response;
}

}  // namespace barnabas::broker
