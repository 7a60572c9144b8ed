#include "cluster/format.h"

#include <memory>

#include "cluster/local_quorum.h"
#include "cluster/metadata_snapshots.h"
#include "storage/partition_directory.h"

namespace barnabas::cluster {
namespace {

metadata::MetadataImage first_image(const FormatOptions& options) {
  metadata::MetadataImage image;
  image.position = {Offset{-1}, LeaderEpoch{0}, TimestampMs{0}};
  for (const FeatureLevel& feature : default_feature_levels())
    image.features.emplace(feature.name, feature.level);
  // Eligible leader replicas are chosen under one min.insync.replicas for all brokers.
  metadata::ConfigImage defaults{{metadata::ConfigResourceType::broker, ""}, {{"min.insync.replicas", "1"}}};
  image.configs.put(std::make_shared<const metadata::ConfigImage>(std::move(defaults)));
  if (!options.static_quorum) {
    image.kraft_version = 1;
    image.voters = {{options.node_id, options.directory_id, {options.controller_endpoint}, {0, 1}}};
  }
  for (const metadata::ScramCredential& credential : options.credentials)
    image.scram_credentials.put(std::make_shared<const metadata::ScramCredential>(credential));
  return image;
}

}  // namespace

Result<void> format_metadata_log(io::Disk& disk, const FormatOptions& options, TimestampMs now) {
  const std::string directory = options.log_directory + "/" + std::string(storage::metadata_directory_name);
  BARNABAS_ASSIGN(const bool exists, disk.exists(directory));
  if (exists) return fail(ErrorKind::already_exists, directory + ": there is a metadata log");
  BARNABAS_TRY(disk.create_directories(directory));
  MetadataSnapshots snapshots(disk, directory);
  BARNABAS_TRY(snapshots.write(first_image(options), now));
  return disk.sync_directory(options.log_directory);
}

}  // namespace barnabas::cluster
