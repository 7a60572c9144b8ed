#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/answer.h"
#include "client/connection_settings.h"

namespace CLI {
class App;
}

namespace barnabas::client {

/// The options that all commands of a client have: where the cluster is, how to log in, how to print. What is
/// said on the command line wins over the environment (BARNABAS_BROKERS, BARNABAS_USER …), that over -X, and
/// that over the file.
class ConnectionOptions {
 public:
  /// Values are bound to this object, which outlives `app`; several models may share it.
  void declare(CLI::App& app);
  enum class Use : uint8_t { questions, records };  ///< only records go through librdkafka
  /// Reads the file, and puts it all together. ErrorKind::invalid says where what is wrong.
  Result<ConnectionSettings> settings(Use use) const;
  /// What --timeout says; nothing where it is not on the command line.
  std::optional<std::chrono::milliseconds> asked_timeout() const;
  OutputFormat format() const { return output_ == "json" ? OutputFormat::json : OutputFormat::text; }

 private:
  void apply_shortcuts(ConnectionSettings& settings) const;

  std::string bootstrap_;
  std::string command_config_;
  std::vector<std::string> librdkafka_;
  std::string user_;
  std::string password_;
  std::string mechanism_;
  bool tls_ = false;
  std::string tls_ca_;
  std::string tls_cert_;
  std::string tls_key_;
  bool tls_skip_verify_ = false;
  double timeout_s_ = 0;
  std::string output_ = "text";
};

}  // namespace barnabas::client
