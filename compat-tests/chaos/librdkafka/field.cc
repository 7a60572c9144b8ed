#include "field.h"

#include <cstdio>
#include <cstdlib>

namespace barnabas::compat {
namespace {

std::map<std::string, std::string> parse(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> parsed;
  for (const auto& argument : arguments) {
    const auto at = argument.find('=');
    parsed[argument.substr(0, at)] = at == std::string::npos ? "" : argument.substr(at + 1);
  }
  return parsed;
}

}  // namespace

Field::Field(const std::vector<std::string>& arguments)
    : arguments_(parse(arguments)),
      history_(argument("history")),
      chance_(static_cast<std::mt19937::result_type>(number("seed"))) {}

const std::string& Field::argument(const std::string& name) const {
  const auto found = arguments_.find(name);
  if (found == arguments_.end()) {
    std::fprintf(stderr, "no %s= among the arguments\n", name.c_str());
    std::exit(2);
  }
  return found->second;
}

int Field::number(const std::string& name) const {
  return std::atoi(argument(name).c_str());
}

std::string Field::key(const std::string& topic, std::int32_t partition) const {
  return topic.substr(argument("prefix").size()) + "/" + std::to_string(partition);
}

std::unique_ptr<RdKafka::Conf> configuration(const Field& field, const Settings& settings) {
  std::unique_ptr<RdKafka::Conf> conf{RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL)};
  Settings all{{"bootstrap.servers", field.argument("bootstrap")},
               {"reconnect.backoff.max.ms", "500"},
               {"log_level", "2"}};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const auto& [name, value] : all) {
    std::string error;
    if (conf->set(name, value, error) != RdKafka::Conf::CONF_OK) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::exit(1);
    }
  }
  return conf;
}

Settings consuming(const std::string& isolation) {
  return {{"isolation.level", isolation}, {"enable.auto.commit", "false"}, {"auto.offset.reset", "earliest"}};
}

}  // namespace barnabas::compat
