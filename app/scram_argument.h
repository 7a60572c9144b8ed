#pragma once

#include <string_view>

#include "base/result.h"
#include "metadata/credential_image.h"

namespace barnabas::app {

/// The credential of an --add-scram, as kafka-storage.sh takes it:
///   SCRAM-SHA-256=[name=alice,password=alice-secret]
///   SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]
/// Without a salt one is made by chance; iterations are 4096 unless given. Values may stand in double quotes
/// and have no commas. ErrorKind::invalid says what is wrong and repeats no password.
Result<metadata::ScramCredential> parse_scram_argument(std::string_view argument);

}  // namespace barnabas::app
