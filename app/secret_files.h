#pragma once

#include <string>
#include <vector>

#include "app/environment.h"
#include "base/result.h"

namespace barnabas::app {

/// Where container images of Kafka have the files that the variables below name.
inline constexpr const char* secrets_directory = "/etc/kafka/secrets";

/// The settings that Kafka's container images make of files in `directory`: KAFKA_SSL_KEYSTORE_FILENAME and
/// KAFKA_SSL_TRUSTSTORE_FILENAME name stores; KAFKA_SSL_KEYSTORE_CREDENTIALS, KAFKA_SSL_KEY_CREDENTIALS and
/// KAFKA_SSL_TRUSTSTORE_CREDENTIALS name files with a password, of which the first line counts. An error
/// names variable and file. `environment` as `environ` has it.
Result<std::vector<EnvironmentSetting>> settings_of_secret_files(const char* const* environment,
                                                                 const std::string& directory);

}  // namespace barnabas::app
