// AlterUserScramCredentials (51), the controller's part: rules and texts as Apache Kafka 4.4 has them
// (KIP-554).

#include <map>
#include <optional>
#include <set>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "metadata/image_writer.h"
#include "metadata/record_versions.h"
#include "protocol/messages/remove_user_scram_credential_record.h"
#include "security/scram_keys.h"

namespace barnabas::cluster {
namespace {

using metadata::ScramMechanism;
using protocol::ErrorCode;
using Request = protocol::AlterUserScramCredentialsRequest;
using Response = protocol::AlterUserScramCredentialsResponse;
using Problem = std::optional<ApiError>;

Problem name_problem(std::string_view user, int8_t mechanism) {
  if (user.empty()) return ApiError{ErrorCode::unacceptable_credential, "Username must not be empty"};
  if (security::scram_name(static_cast<ScramMechanism>(mechanism)).empty())
    return ApiError{ErrorCode::unsupported_sasl_mechanism, "Unknown SCRAM mechanism"};
  return std::nullopt;
}

Problem deletion_problem(const Request::ScramCredentialDeletion& deletion,
                         const metadata::MetadataImage& image) {
  if (auto problem = name_problem(deletion.name, deletion.mechanism)) return problem;
  if (image.scram_credential(static_cast<ScramMechanism>(deletion.mechanism), deletion.name) == nullptr)
    return ApiError{ErrorCode::resource_not_found, "Attempt to delete a user credential that does not exist"};
  return std::nullopt;
}

Problem upsertion_problem(const Request::ScramCredentialUpsertion& upsertion) {
  if (auto problem = name_problem(upsertion.name, upsertion.mechanism)) return problem;
  if (upsertion.iterations < security::scram_iterations_min)
    return ApiError{ErrorCode::unacceptable_credential, "Too few iterations"};
  if (upsertion.iterations > security::scram_iterations_max)
    return ApiError{ErrorCode::unacceptable_credential, "Too many iterations"};
  // Kafka fails over it with an exception of Java's; nobody could ever log in with such a one.
  if (upsertion.salted_password.empty())
    return ApiError{ErrorCode::unacceptable_credential, "Salted password must not be empty"};
  return std::nullopt;
}

metadata::ScramCredential credential_of(const Request::ScramCredentialUpsertion& upsertion) {
  const ByteView salt = upsertion.salt.view();
  return security::scram_credential_of_salted(
      {static_cast<ScramMechanism>(upsertion.mechanism), upsertion.name.str()},
      upsertion.salted_password.view(), {salt.begin(), salt.end()}, upsertion.iterations);
}

/// What becomes of each user of a request. Whoever stands in it twice is refused as a whole.
class Changes {
 public:
  Changes(const ControllerState& state) : state_(state) {}

  void take(const Request::ScramCredentialDeletion& deletion) {
    take_one(deletion.name, deletions_, &deletion, [&] { return deletion_problem(deletion, state_.image); });
  }
  void take(const Request::ScramCredentialUpsertion& upsertion) {
    take_one(upsertion.name, upsertions_, &upsertion, [&] { return upsertion_problem(upsertion); });
  }

  Outcome<Response> outcome() const {
    Outcome<Response> outcome;
    for (const auto& [user, deletion] : deletions_) {
      answer(outcome.response, user);
      protocol::RemoveUserScramCredentialRecord record;
      record.name = deletion->name.owned();
      record.mechanism = deletion->mechanism;
      outcome.records.add(record);
    }
    for (const auto& [user, upsertion] : upsertions_) {
      answer(outcome.response, user);
      outcome.records.add(metadata::scram_record(credential_of(*upsertion)));
    }
    for (const auto& [user, error] : errors_) set_error(answer(outcome.response, user), error);
    return outcome;
  }

 private:
  template <class Map, class Item, class Check>
  void take_one(std::string_view user, Map& map, const Item* item, Check check) {
    if (errors_.contains(user)) return;
    if (deletions_.erase(user) + upsertions_.erase(user) > 0) {
      errors_.emplace(user, ApiError{ErrorCode::duplicate_resource,
                                     "A user credential cannot be altered twice in the same request"});
    } else if (!metadata::has_scram(state_.image.metadata_version())) {
      errors_.emplace(user, ApiError{ErrorCode::unsupported_version,
                                     "The current metadata.version does not support SCRAM"});
    } else if (auto problem = check()) {
      errors_.emplace(user, std::move(*problem));
    } else {
      map.emplace(user, item);
    }
  }

  static Response::AlterUserScramCredentialsResult& answer(Response& response, std::string_view user) {
    auto& result = response.results.emplace_back();
    result.user = protocol::String(user);
    result.error_message.reset();
    return result;
  }

  const ControllerState& state_;
  std::map<std::string_view, const Request::ScramCredentialDeletion*> deletions_;
  std::map<std::string_view, const Request::ScramCredentialUpsertion*> upsertions_;
  std::map<std::string_view, ApiError> errors_;
};

}  // namespace

Outcome<Response> LocalController::alter_user_scram_credentials(const Request& request,
                                                                const ControllerState& state) const {
  Changes changes(state);
  for (const auto& deletion : request.deletions) changes.take(deletion);
  for (const auto& upsertion : request.upsertions) changes.take(upsertion);
  return changes.outcome();
}

}  // namespace barnabas::cluster
