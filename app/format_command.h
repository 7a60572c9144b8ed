#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/command.h"

namespace barnabas::app {

/// What `barnabas format` is told.
struct FormatArguments {
  std::string config;                     ///< path of server.properties
  std::optional<std::string> cluster_id;  ///< a new one if it is not given
  std::vector<std::string> scram;
  std::string release_version;
  std::vector<std::string> features;  ///< "name=level"
  bool ignore_formatted = false;
  bool standalone = false;
};

/// `barnabas format`: makes log directories for a new cluster of one node, with users if wanted, as
/// `kafka-storage.sh format` does and with its options. Exit code 1: refused; 2 also for levels of features
/// that are not those of a new cluster here.
class FormatCommand : public command::Command {
 public:
  std::string name() const override { return "format"; }
  std::string summary() const override {
    return "Make log directories for a new cluster of one node, as kafka-storage.sh format does";
  }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  FormatArguments arguments_;
};

}  // namespace barnabas::app
