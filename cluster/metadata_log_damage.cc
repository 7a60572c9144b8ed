#include "cluster/metadata_log_damage.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "storage/batch_scanner.h"
#include "storage/log_files.h"

namespace barnabas::cluster {
namespace {

struct BatchPlace {
  Offset offset;
  uint64_t position = 0;
};

/// Something that follows on what was read so far and is no batch, or is not there.
struct Damage {
  std::string what;  ///< with path
  Offset end;        ///< of the good part before it
};

std::unexpected<Error> refuse(const Damage& damage, const std::string& why) {
  return fail(ErrorKind::corrupt, damage.what + ", " + why +
                                      ": changes of the metadata that were acknowledged are damaged. Restore "
                                      "the file from a copy; or, to go "
                                      "on with the state at offset " +
                                      std::to_string(damage.end.value()) +
                                      " and lose what came after it, cut the log off there");
}

Result<std::vector<std::byte>> read_from(io::File& file, uint64_t position, uint64_t size) {
  std::vector<std::byte> bytes(size - position);
  BARNABAS_ASSIGN(const std::size_t got, file.read_at(bytes, position));
  bytes.resize(got);
  return bytes;
}

/// The first whole batch at or behind `position`, wherever it begins, with an offset at or above `least`.
Result<std::optional<BatchPlace>> find_batch(io::File& file, uint64_t position, uint64_t size, Offset least) {
  BARNABAS_ASSIGN(const auto bytes, read_from(file, std::min(position, size), size));
  constexpr auto header_bytes = protocol::batch_format::records_at;
  for (std::size_t at = 0; at + header_bytes <= bytes.size(); ++at) {
    const ByteView rest = ByteView(bytes).subspan(at);
    if (rest[protocol::batch_format::magic_at] != std::byte{protocol::batch_format::magic}) continue;
    const auto batch = protocol::RecordBatchView::parse(rest);
    if (batch && batch->base_offset() >= least && batch->verify_crc())
      return BatchPlace{batch->base_offset(), position + at};
  }
  return std::nullopt;
}

/// The segments, in order, up to the first damage.
class Walk {
 public:
  Walk(io::Disk& disk, const std::string& directory, std::vector<Offset> bases)
      : disk_(disk), directory_(directory), bases_(std::move(bases)), end_(bases_.front()) {}

  Result<void> run() {
    for (; index_ < bases_.size(); ++index_) {
      if (bases_[index_] != end_) {
        damage_ = Damage{directory_ + ": no segment begins at offset " + std::to_string(end_.value()) +
                             ", where the one before ends; the next one begins at " +
                             std::to_string(bases_[index_].value()),
                         end_};
        position_ = 0;
        return {};
      }
      BARNABAS_TRY(read_segment());
      if (damage_) return {};
    }
    return {};
  }

  const std::optional<Damage>& damage() const { return damage_; }
  Offset end() const { return end_; }

  /// A whole batch behind the damage.
  Result<std::optional<std::string>> find_more() {
    for (std::size_t i = index_; i < bases_.size(); ++i) {
      BARNABAS_ASSIGN(const auto file, disk_.open(path(i), io::OpenMode::read));
      BARNABAS_ASSIGN(const uint64_t size, file->size());
      BARNABAS_ASSIGN(const auto found, find_batch(*file, i == index_ ? position_ : 0, size, end_));
      if (found)
        return "and a whole batch of offset " + std::to_string(found->offset.value()) + " follows at byte " +
               std::to_string(found->position) + " of " + path(i);
    }
    return std::nullopt;
  }

 private:
  std::string path(std::size_t index) const {
    return directory_ + "/" + storage::segment_file_name(bases_[index], storage::log_suffix);
  }

  /// Offset and epoch are not under the checksum. Offsets have no gaps, and only a leader's first batch, a
  /// control batch, begins an epoch.
  std::string out_of_place(const protocol::RecordBatchView& batch) const {
    const auto found_and_expected = [](const char* what, auto found, auto expected) {
      return std::string(what) + " " + std::to_string(found.value()) + ", expected " +
             std::to_string(expected.value());
    };
    if (batch.base_offset() != end_)
      return found_and_expected("a batch of offset", batch.base_offset(), end_);
    const LeaderEpoch epoch = batch.partition_leader_epoch();
    if (epoch_ != no_leader_epoch && (epoch < epoch_ || (epoch > epoch_ && !batch.is_control())))
      return found_and_expected("a batch of epoch", epoch, epoch_);
    return {};
  }

  Result<void> read_segment() {
    BARNABAS_ASSIGN(const auto file, disk_.open(path(index_), io::OpenMode::read));
    BARNABAS_ASSIGN(const uint64_t size, file->size());
    storage::BatchVerifier verifier(*file, bases_[index_], size);
    while (true) {
      BARNABAS_ASSIGN(const auto batch, verifier.next());
      if (!batch) break;
      if (auto wrong = out_of_place(*batch); !wrong.empty()) {
        position_ = verifier.position();
        damage_ = Damage{path(index_) + ", byte " + std::to_string(position_) + ": " + wrong, end_};
        return {};
      }
      end_ = batch->next_offset();
      epoch_ = batch->partition_leader_epoch();
    }
    position_ = verifier.position();
    if (position_ < size) damage_ = Damage{path(index_) + ": " + verifier.damage(), end_};
    return {};
  }

  io::Disk& disk_;
  const std::string& directory_;
  const std::vector<Offset> bases_;
  std::size_t index_ = 0;
  uint64_t position_ = 0;
  Offset end_;
  LeaderEpoch epoch_ = no_leader_epoch;
  std::optional<Damage> damage_;
};

}  // namespace

Result<void> find_damage(io::Disk& disk, const std::string& directory, Offset from, bool clean) {
  BARNABAS_ASSIGN(const auto entries, disk.list(directory));
  std::vector<Offset> bases;
  Offset known{0};  // some run had everything below it on disk
  for (const auto& entry : entries) {
    if (const auto base = storage::offset_of_file_name(entry.name, storage::log_suffix))
      bases.push_back(*base);
    if (const auto at = storage::offset_of_file_name(entry.name, storage::producer_snapshot_suffix))
      known = std::max(known, *at);
  }
  std::ranges::sort(bases);
  // The segment that `from` falls into, and those after it.
  auto first = std::ranges::upper_bound(bases, from);
  if (first != bases.begin()) --first;
  bases.erase(bases.begin(), first);
  Offset end = from;
  if (!bases.empty()) {
    Walk walk(disk, directory, std::move(bases));
    BARNABAS_TRY(walk.run());
    if (walk.damage()) {
      BARNABAS_ASSIGN(const auto more, walk.find_more());
      if (more) return refuse(*walk.damage(), *more);
      if (clean) return refuse(*walk.damage(), "although the last stop was clean");
    }
    end = std::max(end, walk.end());
  }
  if (known > end)
    return refuse({directory + ": the log ends at offset " + std::to_string(end.value()), end},
                  "and " + storage::segment_file_name(known, storage::producer_snapshot_suffix) +
                      " was written when it reached " + std::to_string(known.value()));
  return {};
}

}  // namespace barnabas::cluster
