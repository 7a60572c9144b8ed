#include "app/doctor/disk_examination.h"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "app/directories.h"
#include "io/posix_disk.h"
#include "storage/meta_properties.h"

namespace barnabas::app {
namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;

constexpr uint64_t gib = uint64_t{1} << 30;
constexpr int64_t nfs_magic = 0x6969;
constexpr int64_t cifs_magic = 0xFF534D42;
constexpr int64_t smb2_magic = 0xFE534D42;
constexpr int64_t fuse_magic = 0x65735546;
constexpr int64_t vfat_magic = 0x4d44;
/// 2026-01-01: this program is younger.
constexpr int64_t made_s = 1'767'225'600;

void problem(Findings& findings, std::string what, std::string why, std::string remedy) {
  findings.push_back({Level::problem, "disk", std::move(what), std::move(why), std::move(remedy)});
}

/// The directory, or the nearest one above it that is there.
std::string existing(std::string path) {
  struct stat status {};
  while (path.size() > 1 && ::stat(path.c_str(), &status) != 0) {
    path = fs::path(path).parent_path().string();
    if (path.empty()) path = "/";
  }
  return path;
}

void examine_rights(const std::string& path, Findings& findings) {
  struct stat status {};
  const std::string place = existing(path);
  if (::stat(place.c_str(), &status) != 0) {
    problem(findings, place + ": " + std::strerror(errno), "the broker cannot keep its data there",
            "make it readable for this user, or set log.dirs to another directory");
    return;
  }
  if (!S_ISDIR(status.st_mode)) {
    problem(findings, place + ": is no directory", "the broker cannot keep its data there",
            "set log.dirs to a directory");
    return;
  }
  if (::access(place.c_str(), R_OK | W_OK | X_OK) == 0) return;
  if (errno == EROFS) {
    problem(findings, place + ": the file system is mounted read-only",
            "the broker cannot write anything there",
            "mount it for writing (the kernel makes it read-only after errors of the device: dmesg tells)");
  } else {
    problem(findings,
            place + ": this user (" + std::to_string(::geteuid()) +
                ") may not write there; the owner is user " + std::to_string(status.st_uid),
            "the broker cannot start as this user",
            "run it as the owner, or: chown -R " + std::to_string(::geteuid()) + " " + place);
  }
}

/// Whether another process holds the directory.
bool is_locked(const std::string& path) {
  const std::string lock = path + "/.lock";
  if (::access(lock.c_str(), R_OK | W_OK) != 0) return false;
  io::PosixDisk disk;
  const auto held = disk.lock(lock);
  return !held && held.error().kind == ErrorKind::already_exists;
}

void examine_owner(const metadata::StaticConfig& config, const std::vector<std::string>& paths,
                   Findings& findings) {
  io::PosixDisk disk;
  std::map<std::string, std::string> clusters;
  for (const std::string& path : paths) {
    auto found = storage::read_meta_properties(disk, path);
    if (!found) {
      if (found.error().kind == ErrorKind::corrupt || found.error().kind == ErrorKind::unsupported)
        problem(findings, found.error().message, "the directory cannot be known as this node's",
                "barnabas check " + path + " says more");
      continue;
    }
    if (!*found) continue;
    const storage::MetaProperties& owner = **found;
    clusters[owner.cluster_id] = path;
    if (owner.node_id.value() >= 0 && owner.node_id != node_of(config))
      problem(findings,
              path + ": belongs to node " + std::to_string(owner.node_id.value()) + ", but node.id is " +
                  std::to_string(node_of(config).value()),
              "the broker refuses to start on another node's data",
              "set node.id to " + std::to_string(owner.node_id.value()) +
                  ", or log.dirs to this node's directory");
  }
  if (clusters.size() > 1)
    problem(findings,
            clusters.begin()->second + " and " + clusters.rbegin()->second +
                " belong to different clusters (" + clusters.begin()->first + ", " +
                clusters.rbegin()->first + ")",
            "the broker refuses to start with both", "take the one that is foreign out of log.dirs");
}

void examine_volume(const std::string& path, Findings& findings) {
  const std::string place = existing(path);
  struct statvfs room {};
  if (::statvfs(place.c_str(), &room) == 0)
    tell_room(place, uint64_t{room.f_bavail} * room.f_frsize, uint64_t{room.f_blocks} * room.f_frsize,
              findings);
  struct statfs kind {};
  if (::statfs(place.c_str(), &kind) == 0)
    tell_file_system(place, static_cast<int64_t>(kind.f_type), findings);
}

/// When the newest of the logs' files was written, with its name; 0 when there is none.
int64_t newest_file_s(const std::vector<std::string>& paths, std::string& name) {
  int64_t newest = 0;
  std::size_t looked_at = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    auto each = fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
    // A directory with very many logs is not gone through to its end: any of them tells.
    for (; !error && each != fs::recursive_directory_iterator() && looked_at < 200'000;
         each.increment(error)) {
      ++looked_at;
      struct stat status {};
      if (each->path().extension() != ".log" || ::stat(each->path().c_str(), &status) != 0) continue;
      if (status.st_mtim.tv_sec <= newest) continue;
      newest = status.st_mtim.tv_sec;
      name = each->path().string();
    }
  }
  return newest;
}

}  // namespace

void tell_room(const std::string& path, uint64_t free_bytes, uint64_t all_bytes, Findings& findings) {
  const std::string left =
      std::to_string(free_bytes >> 20) + " MiB of " + std::to_string(all_bytes >> 20) + " MiB";
  if (all_bytes == 0) {
    problem(findings, path + ": is on a file system that holds no files",
            "the broker cannot keep its data there", "set log.dirs to a directory on a disk");
  } else if (free_bytes < std::min(gib / 8, all_bytes / 10)) {
    problem(findings, path + ": the volume is full (" + left + " are free)",
            "what is written is refused, and the broker may not start",
            "make room: shorten log.retention, delete topics, or grow the volume");
  } else if (free_bytes < gib || free_bytes < all_bytes / 20) {
    findings.push_back({Level::warning, "disk", path + ": little room is left (" + left + ")",
                        "when it is used up, what is written is refused",
                        "shorten log.retention, delete topics, or grow the volume"});
  }
}

void tell_file_system(const std::string& path, int64_t magic, Findings& findings) {
  const auto warn = [&](const std::string& kind, const std::string& why) {
    findings.push_back({Level::warning, "disk", path + ": is on " + kind, why,
                        "use a local file system that survives a restart: ext4 or xfs"});
  };
  switch (magic) {
    case TMPFS_MAGIC:
      return warn("a file system in memory (tmpfs)", "all records are gone when the machine restarts");
    case nfs_magic:
    case cifs_magic:
    case smb2_magic:
      return warn("a network file system", "locks and what fdatasync promises depend on the server");
    case fuse_magic:
      return warn("a FUSE file system", "locks and what fdatasync promises depend on the program behind it");
    case vfat_magic:
      return warn("FAT", "it has no rights, no large files, and loses names when the power fails");
    case OVERLAYFS_SUPER_MAGIC:
      return warn("a container's own file system (overlay)",
                  "all records are gone with the container; mount a volume");
    default:
      return;
  }
}

bool examine_directories(const metadata::StaticConfig& config, Findings& findings) {
  auto paths = log_paths(config);
  if (paths.empty()) {
    problem(findings, "log.dirs names no directory", "the broker has nowhere to keep its data",
            "set log.dirs");
    return false;
  }
  const std::string metadata = metadata_path(config, paths);
  if (std::ranges::find(paths, metadata) == paths.end()) paths.push_back(metadata);
  bool running = false;
  for (const std::string& path : paths) {
    examine_rights(path, findings);
    examine_volume(path, findings);
    running |= is_locked(path);
  }
  examine_owner(config, paths, findings);
  if (running)
    findings.push_back({Level::note, "disk", paths.front() + ": a broker is running on it",
                        "ports that it has are not looked at, and another one cannot start on it", ""});
  return running;
}

void examine_clock(const metadata::StaticConfig& config, int64_t now_s, Findings& findings) {
  const auto wrong = [&](std::string what) {
    findings.push_back({Level::problem, "clock", std::move(what),
                        "records get wrong times: retention deletes too early or never, and logins and "
                        "certificates are refused",
                        "set the clock (timedatectl set-ntp true) before the broker starts"});
  };
  if (now_s < made_s) {
    wrong("the clock says " + std::to_string(now_s) +
          " seconds since 1970, which is before this program was made");
    return;
  }
  std::string name;
  constexpr int64_t tolerated_s = 120;
  const int64_t newest = newest_file_s(log_paths(config), name);
  if (newest > now_s + tolerated_s)
    wrong("the clock is " + std::to_string(newest - now_s) + " seconds behind the last write to " + name);
}

void examine_clock_service(Findings& findings) {
  timex state{};
  if (::adjtimex(&state) == -1 || (state.status & STA_UNSYNC) == 0) return;
  findings.push_back({Level::note, "clock", "nothing tells the kernel that the clock is right (adjtimex)",
                      "a clock that drifts gives records wrong times, and refuses logins and certificates; "
                      "chrony, ntpd or systemd-timesyncd keep it right, or the host does it unseen",
                      ""});
}

void examine_descriptor_limit(uint64_t limit, Findings& findings) {
  constexpr uint64_t few = 4096, enough = 65536;
  if (limit >= enough) return;
  findings.push_back(
      {limit < few ? Level::problem : Level::warning, "limits",
       "no more than " + std::to_string(limit) + " files and connections can be open (hard nofile)",
       "each partition takes three files or more, and each client connections; beyond the limit "
       "they are refused",
       "raise it to 100000: LimitNOFILE= of the service, --ulimit nofile= of a container, or ulimit -Hn"});
}

void examine_limits(Findings& findings) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) examine_descriptor_limit(limit.rlim_max, findings);
}

}  // namespace barnabas::app
