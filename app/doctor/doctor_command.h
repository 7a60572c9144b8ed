#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "app/configuration.h"
#include "app/doctor/finding.h"
#include "command/command.h"

namespace barnabas::app {

/// `barnabas doctor`: looks at what a start would meet, and says in plain words what is wrong with it.
class DoctorCommand final : public command::Command {
 public:
  std::string name() const override { return "doctor"; }
  std::string summary() const override {
    return "Say what is wrong with settings, ports, disks and certificates";
  }
  void declare(CLI::App& app) override;
  /// 1 when there is a problem; warnings and notes leave it at 0.
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  std::string settings_file_;
  std::vector<std::string> overrides_;
  std::string output_ = "text";
};

/// All examinations, in the order in which a start would meet them.
Findings examine(const ConfigurationSources& sources);

}  // namespace barnabas::app
