#include "app/doctor/doctor_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>

#include "app/configuration.h"
#include "app/doctor/certificate_examination.h"
#include "app/doctor/disk_examination.h"
#include "app/doctor/network_examination.h"
#include "app/doctor/settings_examination.h"
#include "app/listeners.h"

namespace barnabas::app {
namespace {

using Json = nlohmann::ordered_json;

void print_json(std::ostream& out, const Findings& findings, bool wrong) {
  Json list = Json::array();
  for (const Finding& each : findings)
    list.push_back({{"level", to_string(each.level)},
                    {"area", each.area},
                    {"what", each.what},
                    {"why", each.why},
                    {"remedy", each.remedy}});
  out << Json{{"healthy", !wrong}, {"findings", std::move(list)}}.dump(2, ' ', false,
                                                                       Json::error_handler_t::replace)
      << '\n';
}

void print_text(std::ostream& out, const Findings& findings) {
  for (const Finding& each : findings) {
    out << to_string(each.level) << " (" << each.area << "): " << each.what << "\n  " << each.why << '\n';
    if (!each.remedy.empty()) out << "  remedy: " << each.remedy << '\n';
  }
  const auto count = [&](Finding::Level level, const std::string& one) {
    const auto found = std::ranges::count(findings, level, &Finding::level);
    return std::to_string(found) + " " + one + (found == 1 ? "" : "s");
  };
  const bool fine =
      std::ranges::all_of(findings, [](const Finding& each) { return each.level == Finding::Level::note; });
  out << (fine ? "nothing is wrong: " : "") << count(Finding::Level::problem, "problem") << ", "
      << count(Finding::Level::warning, "warning") << "\n";
}

}  // namespace

std::string_view to_string(Finding::Level level) {
  switch (level) {
    case Finding::Level::problem:
      return "problem";
    case Finding::Level::warning:
      return "warning";
    case Finding::Level::note:
      break;
  }
  return "note";
}

Findings examine(const ConfigurationSources& sources) {
  Findings findings;
  const metadata::StaticConfig config = examine_settings(sources, findings);
  const bool running = examine_directories(config, findings);
  examine_clock(config, std::time(nullptr), findings);
  examine_clock_service(findings);
  examine_limits(findings);
  auto listeners = parse_listeners(config);
  if (!listeners) {
    findings.push_back({Finding::Level::problem, "settings", listeners.error().message,
                        "the broker refuses to start with it",
                        "correct it; docs/settings.md has an example"});
  } else {
    examine_network(*listeners, running, findings);
    examine_http(config, running, findings);
    examine_certificates(*listeners, config, findings);
    examine_access(*listeners, config, findings);
  }
  std::ranges::stable_sort(findings, {}, &Finding::level);
  return findings;
}

void DoctorCommand::declare(CLI::App& app) {
  app.add_option("settings", settings_file_,
                 "server.properties; what a start without one would use, if not given")
      ->type_name("FILE");
  app.add_option("--override", overrides_, "a setting that wins over file and environment; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--output", output_, "text, or json for programs")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  app.footer(
      "Example: barnabas doctor /etc/barnabas/server.properties\n"
      "Run it as the user that the broker runs as. It changes nothing.");
}

int DoctorCommand::run(std::ostream& out, std::ostream& errors) {
  ConfigurationSources sources;
  sources.file = settings_file_;
  if (!sources.file.empty()) {
    auto text = read_settings_file(sources.file);
    if (!text) {
      errors << "barnabas: " << text.error().message << '\n';
      return 1;
    }
    sources.file_text = std::move(*text);
  }
  sources.environment = settings_of_environment(environ);
  sources.overrides = overrides_;
  const Findings findings = examine(sources);
  const bool wrong = std::ranges::any_of(
      findings, [](const Finding& each) { return each.level == Finding::Level::problem; });
  if (output_ == "json") {
    print_json(out, findings, wrong);
  } else {
    print_text(out, findings);
  }
  return wrong ? 1 : 0;
}

}  // namespace barnabas::app
