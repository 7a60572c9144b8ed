#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace barnabas::security {

struct PemBlock {
  std::string label;  ///< "CERTIFICATE"
  std::string der;
  bool old_encryption = false;  ///< under a password in the way of before PKCS8 ("Proc-Type: 4,ENCRYPTED")
};

/// The blocks of a text (RFC 7468), with any text around them. Lines may be broken anywhere, also not at all
/// or by blanks, as a setting in one line has them. Text without a block has none; a block that is cut off or
/// holds no base64 is ErrorKind::invalid.
Result<std::vector<PemBlock>> parse_pem(std::string_view text);

}  // namespace barnabas::security
