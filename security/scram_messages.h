#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

/// The messages of a SCRAM client (RFC 5802, section 7), as strict as Kafka is about them: printable ASCII,
/// the gs2 header "n" only. What is given points into the message.
namespace barnabas::security {

/// n,[a=authzid],[m=…,]n=user,r=nonce[,extension=value]…
struct ScramClientFirst {
  std::string_view as_whom;  ///< as it stands there, escaped; empty: nobody else
  std::string user;          ///< unescaped: =2C is a comma, =3D an equals sign
  std::string_view nonce;
  std::map<std::string_view, std::string_view> extensions;
  std::string_view bare;  ///< without the gs2 header, and without m=, which Kafka overlooks
};
/// Nothing for any other bytes.
std::optional<ScramClientFirst> parse_scram_client_first(ByteView message);

/// c=channel-binding,r=nonce[,extension=value]…,p=proof
struct ScramClientFinal {
  std::string_view nonce;
  std::vector<std::byte> proof;
  std::string_view without_proof;
};
std::optional<ScramClientFinal> parse_scram_client_final(ByteView message);

}  // namespace barnabas::security
