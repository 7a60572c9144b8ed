#include "app/directories.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace barnabas::app {
namespace {

/// Absolute, without doubled and trailing slashes, as Java's File makes it and so Kafka's tools know it.
std::string absolute(const std::string& path) {
  std::string whole = path.starts_with('/') ? path : std::filesystem::current_path().string() + "/" + path;
  whole.erase(std::ranges::unique(whole, [](char a, char b) { return a == '/' && b == '/'; }).begin(),
              whole.end());
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

}  // namespace

NodeId node_of(const metadata::StaticConfig& config) {
  const auto* given = config.given("node.id");
  const int64_t id = given != nullptr ? config.integer("node.id") : config.integer("broker.id");
  return NodeId{static_cast<int32_t>(id < 0 ? 1 : id)};
}

bool is_cluster_id(std::string_view text) {
  constexpr std::size_t length_max = 64;
  return !text.empty() && text.size() <= length_max && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_+/=").contains(static_cast<char>(c));
  });
}

std::vector<std::string> log_paths(const metadata::StaticConfig& config) {
  auto paths = config.list("log.dirs");
  if (paths.empty()) paths = config.list("log.dir");
  std::ranges::transform(paths, paths.begin(), absolute);
  return paths;
}

std::string metadata_path(const metadata::StaticConfig& config, const std::vector<std::string>& paths) {
  const std::string own = config.text("metadata.log.dir");
  return own.empty() ? paths.front() : absolute(own);
}

}  // namespace barnabas::app
