#include "app/secret_files.h"

#include <array>
#include <fstream>
#include <string_view>

namespace barnabas::app {
namespace {

struct SecretFile {
  std::string_view variable;
  std::string_view setting;
  bool holds_password;
};

constexpr auto secret_files = std::to_array<SecretFile>({
    {"KAFKA_SSL_KEYSTORE_FILENAME", "ssl.keystore.location", false},
    {"KAFKA_SSL_KEYSTORE_CREDENTIALS", "ssl.keystore.password", true},
    {"KAFKA_SSL_KEY_CREDENTIALS", "ssl.key.password", true},
    {"KAFKA_SSL_TRUSTSTORE_FILENAME", "ssl.truststore.location", false},
    {"KAFKA_SSL_TRUSTSTORE_CREDENTIALS", "ssl.truststore.password", true},
});

Result<std::string> value_of(const SecretFile& secret, const std::string& path) {
  std::ifstream file(path);
  std::string line;
  // A directory opens, but nothing can be read from it.
  if (!file || file.peek() == std::ifstream::traits_type::eof())
    return fail(ErrorKind::not_found, std::string(secret.variable) + ": " + path +
                                          ": cannot be read, or is empty; expected " +
                                          (secret.holds_password ? "a file with the password" : "a store"));
  if (!secret.holds_password) return path;
  std::getline(file, line);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

Result<std::vector<EnvironmentSetting>> settings_of_secret_files(const char* const* environment,
                                                                 const std::string& directory) {
  std::vector<EnvironmentSetting> settings;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    for (const SecretFile& secret : secret_files) {
      if (!entry.starts_with(secret.variable) || !entry.substr(secret.variable.size()).starts_with('='))
        continue;
      const std::string_view name = entry.substr(secret.variable.size() + 1);
      if (name.empty()) continue;
      BARNABAS_ASSIGN(auto value, value_of(secret, directory + "/" + std::string(name)));
      settings.push_back({std::string(secret.variable), std::string(secret.setting), std::move(value)});
    }
  }
  return settings;
}

}  // namespace barnabas::app
