// SCRAM credentials and delegation tokens of the metadata log.

#include "metadata/delta.h"

namespace barnabas::metadata {
namespace {

std::vector<std::byte> bytes_of(const protocol::Bytes& bytes) {
  const ByteView view = bytes.view();
  return {view.begin(), view.end()};
}

}  // namespace

Result<void> MetadataDelta::apply(const protocol::UserScramCredentialRecord& record) {
  ScramCredential credential;
  credential.key = {static_cast<ScramMechanism>(record.mechanism), record.name.str()};
  credential.salt = bytes_of(record.salt);
  credential.stored_key = bytes_of(record.stored_key);
  credential.server_key = bytes_of(record.server_key);
  credential.iterations = record.iterations;
  image_.scram_credentials.put(std::make_shared<const ScramCredential>(std::move(credential)));
  changes_.credentials = true;
  return {};
}

Result<void> MetadataDelta::apply(const protocol::RemoveUserScramCredentialRecord& record) {
  changes_.credentials |= image_.scram_credentials.erase(
      ScramKey{static_cast<ScramMechanism>(record.mechanism), record.name.str()});
  return {};
}

Result<void> MetadataDelta::apply(const protocol::DelegationTokenRecord& record) {
  DelegationToken token;
  token.id = record.token_id.str();
  token.owner = record.owner.str();
  token.requester = record.requester.str();
  for (const auto& renewer : record.renewers) token.renewers.push_back(renewer.str());
  token.issued = TimestampMs(record.issue_timestamp);
  token.expires = TimestampMs(record.expiration_timestamp);
  token.expires_at_last = TimestampMs(record.max_timestamp);
  image_.delegation_tokens.put(std::make_shared<const DelegationToken>(std::move(token)));
  changes_.credentials = true;
  return {};
}

Result<void> MetadataDelta::apply(const protocol::RemoveDelegationTokenRecord& record) {
  changes_.credentials |= image_.delegation_tokens.erase(record.token_id.str());
  return {};
}

}  // namespace barnabas::metadata
