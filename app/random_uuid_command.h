#pragma once

#include "command/command.h"

namespace barnabas::app {

/// `barnabas random-uuid`: prints an id for a new cluster, as `kafka-storage.sh random-uuid` does.
class RandomUuidCommand : public command::Command {
 public:
  std::string name() const override { return "random-uuid"; }
  std::string summary() const override { return "Print an id for a new cluster"; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;
};

}  // namespace barnabas::app
