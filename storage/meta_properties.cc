#include "storage/meta_properties.h"

#include <charconv>
#include <map>

#include "base/properties.h"

namespace barnabas::storage {
namespace {

constexpr uint64_t file_bytes_max = 1 << 20;
constexpr std::string_view file_version = "1";

std::string path_in(const std::string& directory) {
  return directory + "/" + std::string(meta_properties_name);
}

std::unexpected<Error> bad_value(const Property& property, std::string_view expected) {
  return fail(ErrorKind::corrupt, "line " + std::to_string(property.line) + ": " + property.name + "=" +
                                      property.value.substr(0, 100) + " found, " + std::string(expected) +
                                      " expected");
}

std::unexpected<Error> missing(std::string_view name) {
  return fail(ErrorKind::corrupt, "no line \"" + std::string(name) + "=…\" found");
}

}  // namespace

Result<MetaProperties> parse_meta_properties(std::string_view text) {
  auto properties = parse_properties(text);
  if (!properties) {
    Error error = std::move(properties).error();
    error.kind = ErrorKind::corrupt;
    return std::unexpected(std::move(error));
  }
  // As in java.util.Properties the last line of a name counts.
  std::map<std::string_view, const Property*> by_name;
  for (const Property& property : *properties) by_name[property.name] = &property;
  const auto find = [&](std::string_view name) -> const Property* {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  };

  const Property* version = find("version");
  if (version == nullptr) return missing("version");
  if (version->value != file_version) {
    return fail(ErrorKind::unsupported, "line " + std::to_string(version->line) + ": version " +
                                            version->value.substr(0, 100) + " found, 1 expected");
  }
  MetaProperties result;
  const Property* cluster_id = find("cluster.id");
  if (cluster_id == nullptr || cluster_id->value.empty()) return missing("cluster.id");
  result.cluster_id = cluster_id->value;

  const Property* node_id = find("node.id");
  if (node_id == nullptr) return missing("node.id");
  int32_t number = -1;
  const std::string& digits = node_id->value;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || end != digits.data() + digits.size() || number < 0)
    return bad_value(*node_id, "a number from 0 on");
  result.node_id = NodeId{number};

  if (const Property* directory_id = find("directory.id")) {
    const auto id = Uuid::parse(directory_id->value);
    if (!id || id->is_zero()) return bad_value(*directory_id, "a directory id");
    result.directory_id = *id;
  }
  return result;
}

std::string format_meta_properties(const MetaProperties& properties) {
  std::string text = "#\n";
  text += "cluster.id=" + properties.cluster_id + "\n";
  if (!properties.directory_id.is_zero())
    text += "directory.id=" + properties.directory_id.to_string() + "\n";
  text += "node.id=" + std::to_string(properties.node_id.value()) + "\n";
  text += "version=" + std::string(file_version) + "\n";
  return text;
}

Result<std::optional<MetaProperties>> read_meta_properties(io::Disk& disk, const std::string& directory) {
  const std::string path = path_in(directory);
  const auto text = io::read_file(disk, path, file_bytes_max);
  if (!text) {
    if (text.error().kind == ErrorKind::not_found) return std::optional<MetaProperties>();
    return std::unexpected(text.error());
  }
  auto properties = parse_meta_properties(*text);
  if (!properties) {
    Error error = std::move(properties).error();
    error.message +=
        ". Put the file back as it was (version=1, cluster.id, node.id, directory.id), or take the "
        "directory out of log.dirs";
    return fail(path, std::move(error));
  }
  return std::optional<MetaProperties>(std::move(*properties));
}

Result<void> write_meta_properties(io::Disk& disk, const std::string& directory,
                                   const MetaProperties& properties) {
  return io::replace_file(disk, path_in(directory), format_meta_properties(properties));
}

}  // namespace barnabas::storage
