#pragma once

#include <string>
#include <vector>

#include "command/command.h"

namespace barnabas::app {

/// Runs the broker until SIGTERM or SIGINT, tells a service manager about it, and reads the settings again
/// upon SIGHUP. Takes what Kafka's start script takes: [server.properties]
/// [--override name=value]…. Exit code 1: it did not start, and one line says why, or did not stop in time.
class ServeCommand : public command::Command {
 public:
  std::string name() const override { return "serve"; }
  std::string summary() const override {
    return "A broker that speaks the Apache Kafka protocol and keeps its data in Kafka's files.";
  }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  std::string settings_file_;           ///< empty: the embedded default
  std::vector<std::string> overrides_;  ///< "name=value", in order
};

}  // namespace barnabas::app
