#include <holdfast/kv/backup.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/backup_directory.hpp>
#include <holdfast/kv/checkpoint.hpp>

namespace holdfast::kv {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

BackupInfo info_of(const Manifest& manifest) {
  return {manifest.number,  manifest.contents.version,      manifest.contents.runs.size(),
          manifest.bytes(), manifest.contents.medium_bytes, {}};
}

// Which runs have a copy, and where.
using Places = std::map<RunName, ManifestRun>;

Places places_of(const BackupDirectory& directory, std::span<const Manifest> manifests) {
  Places places;
  for (const Manifest& manifest : manifests) {
    for (std::size_t i = 0; i < manifest.places.size(); ++i) {
      if (directory.has(manifest.places[i]))
        places[manifest.contents.runs[i].name] = manifest.places[i];
    }
  }
  return places;
}

// Files of which the checkpoint needs less than half hold back more than they are worth.
void forget_sparse_files(Places& places, const Checkpoint& checkpoint) {
  std::map<PackName, std::uint64_t> needed, present;
  for (const auto& [name, place] : places)
    present[place.pack] = std::max(present[place.pack], place.offset + place.bytes);
  for (const CheckpointRun& run : checkpoint.runs()) {
    if (const auto found = places.find(run.name); found != places.end())
      needed[found->second.pack] += run.bytes;
  }
  std::erase_if(places, [&](const auto& entry) {
    const PackName pack = entry.second.pack;
    return needed[pack] * 2 < present[pack];
  });
}

// Half of the time is the writers', if there are any.
class Rests {
 public:
  Rests(const Checkpoint& checkpoint, bool wanted)
      : checkpoint_(checkpoint), wanted_(wanted), opened_(checkpoint.runs_opened()) {}

  // After each run.
  void take_one_if_due() {
    const auto now = Clock::now();
    if (!wanted_ || now - worked_since_ < kWork) return;
    const std::uint64_t opened = checkpoint_.runs_opened();
    if (std::exchange(opened_, opened) != opened) {
      std::this_thread::sleep_for(now - worked_since_);
      rested_ += Clock::now() - now;
    }
    worked_since_ = Clock::now();
  }
  double seconds() const { return std::chrono::duration<double>(rested_).count(); }

 private:
  static constexpr std::chrono::milliseconds kWork{2};
  const Checkpoint& checkpoint_;
  const bool wanted_;
  std::uint64_t opened_;
  Clock::time_point worked_since_ = Clock::now();
  Clock::duration rested_{};
};

// Copies what is new, and notes where everything lies.
Status copy_runs(const Checkpoint& checkpoint, const Places& places, BackupDirectory& directory,
                 const BackupOptions& options, Manifest& manifest, BackupReport& report) {
  std::uint64_t to_copy = 0;
  for (const CheckpointRun& run : checkpoint.runs())
    to_copy += places.contains(run.name) ? 0 : run.bytes;
  std::vector<std::byte> bytes;
  Rests rests(checkpoint, options.considerate);
  for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
    const CheckpointRun& run = checkpoint.runs()[i];
    ++report.runs;
    report.bytes += run.bytes;
    if (const auto found = places.find(run.name); found != places.end()) {
      manifest.places.push_back(found->second);
      continue;
    }
    bytes.resize(run.bytes);
    HF_RETURN_IF_ERROR(checkpoint.read(i, bytes));
    HF_ASSIGN_OR_RETURN(const ManifestRun place, directory.append(bytes));
    manifest.places.push_back(place);
    ++report.copied_runs;
    report.copied_bytes += run.bytes;
    if (options.progress) (*options.progress)(report.copied_bytes, to_copy);
    rests.take_one_if_due();
  }
  report.rested_seconds = rests.seconds();
  return {};
}

Status refuse_other_store(const Manifest& newest, std::uint64_t store_id,
                          const std::string& directory) {
  if (newest.contents.store_id == store_id) return {};
  return Error{Errc::kWrongType,
               directory + " holds backups of another store; choose another directory"};
}

// A store that was put back from a copy of its files goes on with names that the runs of its other
// history have had. If there is one such run, then the newest of those that a copy is there of is
// one: some of these are read and compared.
Status refuse_other_history(const Checkpoint& checkpoint, const Places& places,
                            const std::string& directory) {
  constexpr std::size_t kLooked = 4;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
    if (places.contains(checkpoint.runs()[i].name)) known.push_back(i);
  }
  std::sort(known.begin(), known.end(), [&](std::size_t a, std::size_t b) {
    return checkpoint.runs()[a].name.generation > checkpoint.runs()[b].name.generation;
  });
  known.resize(std::min(known.size(), kLooked));
  std::vector<std::byte> bytes;
  for (const std::size_t i : known) {
    const CheckpointRun& run = checkpoint.runs()[i];
    const ManifestRun& place = places.at(run.name);
    bytes.resize(run.bytes);
    const auto read = checkpoint.read(i, bytes);
    if (read.code() == Errc::kCorrupt) continue;  // Damaged since: the copy is of use.
    HF_RETURN_IF_ERROR(std::move(read));
    if (HF_MUTANT("K148", run.bytes == place.bytes && hash64(bytes) == place.checksum, true))
      continue;
    return Error{Errc::kWrongType,
                 directory +
                     " holds backups of another history of this store, which was put back "
                     "from a copy of its files since; choose another directory"};
  }
  return {};
}

}  // namespace

Result<BackupReport> backup(StoreBase& store, const std::string& path,
                            const BackupOptions& options) {
  const auto start = Clock::now();
  HF_ASSIGN_OR_RETURN(BackupDirectory directory, BackupDirectory::open(path, true));
  std::vector<Manifest> manifests;
  for (const std::uint32_t number : directory.numbers()) {
    auto manifest = directory.read(number);
    if (manifest.code() == Errc::kCorrupt) {
      return Error{Errc::kCorrupt, manifest.error().detail +
                                       "; that backup is lost: move this file elsewhere, and "
                                       "backups go on"};
    }
    if (!manifest) return std::move(manifest).error();
    manifests.push_back(*std::move(manifest));
  }
  // What a backup copied that fails would stay on a medium that had no room for it.
  const auto or_remove = [&](Status done) {
    if (!done) (void)directory.remove_all_but(manifests);
    return done;
  };
  BackupReport report;
  Manifest manifest;
  manifest.number = report.number = manifests.empty() ? 1 : manifests.back().number + 1;
  {
    const auto began = Clock::now();
    HF_ASSIGN_OR_RETURN(const Checkpoint checkpoint, store.checkpoint());
    report.checkpoint_seconds = seconds_since(began);
    report.version = checkpoint.version();
    HF_ASSIGN_OR_RETURN(manifest.private_part, checkpoint.private_part());
    HF_ASSIGN_OR_RETURN(manifest.contents, read_private_part(manifest.private_part));
    if (!manifests.empty())
      HF_RETURN_IF_ERROR(refuse_other_store(manifests.back(), manifest.contents.store_id, path));
    HF_RETURN_IF_ERROR(directory.remove_all_but(manifests));  // Of a backup that was interrupted.
    Places places = places_of(directory, manifests);
    HF_RETURN_IF_ERROR(refuse_other_history(checkpoint, places, path));
    if (options.keep != 0) forget_sparse_files(places, checkpoint);
    directory.begin(manifest.number);
    HF_RETURN_IF_ERROR(
        or_remove(copy_runs(checkpoint, places, directory, options, manifest, report)));
  }
  HF_RETURN_IF_ERROR(or_remove(directory.finish_packs()));
  HF_RETURN_IF_ERROR(directory.publish(manifest));
  manifests.push_back(std::move(manifest));
  if (options.keep != 0 && manifests.size() > options.keep) {
    const auto kept = manifests.end() - options.keep;
    std::vector<std::uint32_t> removed;
    for (auto old = manifests.begin(); old != kept; ++old)
      removed.push_back(old->number);
    HF_RETURN_IF_ERROR(directory.remove(removed));
    HF_RETURN_IF_ERROR(directory.remove_all_but({kept, manifests.end()}));
    report.removed_backups = static_cast<std::uint32_t>(removed.size());
  }
  report.seconds = seconds_since(start);
  return report;
}

Result<std::vector<BackupInfo>> list_backups(const std::string& path) {
  HF_ASSIGN_OR_RETURN(const BackupDirectory directory, BackupDirectory::open(path, false));
  std::vector<BackupInfo> backups;
  for (const std::uint32_t number : directory.numbers()) {
    BackupInfo& info = backups.emplace_back();
    if (const auto manifest = directory.read(number))
      info = info_of(*manifest);
    else
      info.number = number, info.defect = manifest.error().detail;
  }
  return backups;
}

Result<BackupInfo> restore_backup(const std::string& path, std::string_view spec,
                                  std::uint32_t number, const StoreOptions& options,
                                  std::optional<Progress> progress) {
  HF_ASSIGN_OR_RETURN(const BackupDirectory directory, BackupDirectory::open(path, false));
  const auto& numbers = directory.numbers();
  if (numbers.empty()) return Error{Errc::kNotFound, path + " has no backup"};
  if (number == 0) number = numbers.back();
  if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
    return Error{Errc::kNotFound, path + " has no backup " + std::to_string(number) + "; it has " +
                                      std::to_string(numbers.front()) + " to " +
                                      std::to_string(numbers.back())};
  }
  HF_ASSIGN_OR_RETURN(const Manifest manifest, directory.read(number));
  const std::uint64_t all = manifest.bytes();
  std::size_t next = 0;
  std::uint64_t done = 0;
  const auto read = [&](const CheckpointRun& run, std::span<std::byte> to) -> Status {
    HF_RETURN_IF_ERROR(directory.read_run(manifest.places[next++], to));
    done += run.bytes;
    if (progress) (*progress)(done, all);
    return {};
  };
  HF_RETURN_IF_ERROR(restore(spec, manifest.private_part, read, options));
  return info_of(manifest);
}

Result<BackupVerification> verify_backup(const std::string& path,
                                         std::optional<Progress> progress) {
  HF_ASSIGN_OR_RETURN(const BackupDirectory directory, BackupDirectory::open(path, false));
  BackupVerification verification;
  std::map<std::pair<PackName, std::uint64_t>, ManifestRun> places;  // Each is read once.
  std::uint64_t all = 0;
  for (const std::uint32_t number : directory.numbers()) {
    const auto manifest = directory.read(number);
    ++verification.backups;
    if (!manifest) {
      verification.defects.push_back(manifest.error().detail);
      continue;
    }
    for (const ManifestRun& place : manifest->places) {
      if (places.emplace(std::pair(place.pack, place.offset), place).second) all += place.bytes;
    }
  }
  std::vector<std::byte> bytes;
  for (const auto& [at, place] : places) {
    bytes.resize(place.bytes);
    if (const Status read = directory.read_run(place, bytes); !read)
      verification.defects.push_back(read.error().detail);
    ++verification.runs;
    verification.bytes += place.bytes;
    if (progress) (*progress)(verification.bytes, all);
  }
  return verification;
}

}  // namespace holdfast::kv
