#pragma once

#include <cstdint>

#include "app/doctor/finding.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// The log directories: there, ours, writable, with room, on a file system that keeps what is written, of one
/// node and cluster. Changes nothing. Returns whether a broker has them right now.
bool examine_directories(const metadata::StaticConfig& config, Findings& findings);

/// Whether the clock can be right: not before this program was made, nor before what the directories hold.
/// Seconds since 1970.
void examine_clock(const metadata::StaticConfig& config, int64_t now_s, Findings& findings);
/// Whether somebody keeps it right, as far as the kernel has been told; a note if not.
void examine_clock_service(Findings& findings);

/// Descriptors that the process may open: `limit` is the hard one, up to which the broker goes by itself.
void examine_descriptor_limit(uint64_t limit, Findings& findings);
void examine_limits(Findings& findings);

/// What is to be said of a file system, by its magic number in statfs(2); nothing about most.
void tell_file_system(const std::string& path, int64_t magic, Findings& findings);

/// Of one volume.
void tell_room(const std::string& path, uint64_t free_bytes, uint64_t all_bytes, Findings& findings);

}  // namespace barnabas::app
