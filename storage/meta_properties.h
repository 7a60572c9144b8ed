#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/disk.h"

namespace barnabas::storage {

/// Whose a log directory is. Format: docs/formats/meta-properties.md.
struct MetaProperties {
  std::string cluster_id;
  NodeId node_id{-1};
  Uuid directory_id;  ///< zero when the file has none (written before KIP-858)

  bool operator==(const MetaProperties&) const = default;
};

inline constexpr std::string_view meta_properties_name = "meta.properties";

/// Reads the text of a meta.properties file: Java properties, unknown keys are left alone. ErrorKind::corrupt
/// names line and finding; ErrorKind::unsupported for a version other than 1 (version 0 is that of ZooKeeper
/// times).
Result<MetaProperties> parse_meta_properties(std::string_view text);
std::string format_meta_properties(const MetaProperties& properties);

/// nullopt when the directory has no such file.
Result<std::optional<MetaProperties>> read_meta_properties(io::Disk& disk, const std::string& directory);
/// Atomic and durable.
Result<void> write_meta_properties(io::Disk& disk, const std::string& directory,
                                   const MetaProperties& properties);

}  // namespace barnabas::storage
