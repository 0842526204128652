#include <holdfast/kv/backup_directory.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/files.hpp>
#include <holdfast/memory/lock.hpp>

namespace holdfast::kv {
namespace {

using memory_detail::FileDescriptor;
using memory_detail::system_error;

constexpr const char* kUnfinished = "backup.unfinished";

// "backup-<number>", with a number above 0.
bool number_in(const std::string& name, std::uint32_t& number) {
  unsigned parsed = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "backup-%8u%n", &parsed, &end) != 1 ||
      static_cast<std::size_t>(end) != name.size() || parsed == 0)
    return false;
  number = parsed;
  return true;
}

Result<FileDescriptor> open_file(const std::string& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (!file) return system_error("open", path, errno);
  return file;
}

// Reads all of `to` at `offset`; kCorrupt where the file ends before.
Status read_all(int fd, std::span<std::byte> to, std::uint64_t offset, const std::string& path) {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got =
        ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("pread", path, errno);
    if (got == 0) {
      return Error{Errc::kCorrupt,
                   path + ": it ends at byte " + std::to_string(offset + done) + ", within a run"};
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

// That there is such a directory outlasts the power.
Status sync_name_of(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return memory_detail::sync_parent(path);
}

}  // namespace

std::string BackupDirectory::name_of(std::uint32_t number) {
  char name[32];
  std::snprintf(name, sizeof name, "backup-%08u", number);
  return name;
}

std::string BackupDirectory::name_of(PackName pack) {
  char name[48];
  std::snprintf(name, sizeof name, "runs-%08u-%03u", pack.backup, pack.index);
  return name;
}

Result<BackupDirectory> BackupDirectory::open(const std::string& path, bool writing) {
  if (writing && ::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return system_error("mkdir", path, errno);
  HF_ASSIGN_OR_RETURN(FileDescriptor fd, open_file(path, O_RDONLY | O_DIRECTORY));
  HF_RETURN_IF_ERROR(memory_detail::lock_file(fd.get(), writing, path));
  BackupDirectory directory(path, std::move(fd));
  HF_RETURN_IF_ERROR(directory.list());
  // Before the first backup is there. Who made the directory may have been killed before this.
  if (writing && directory.numbers_.empty()) HF_RETURN_IF_ERROR(sync_name_of(path));
  return directory;
}

Status BackupDirectory::list() {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(path_, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    std::uint32_t number = 0;
    if (number_in(name, number)) {
      numbers_.push_back(number);
    } else if (name.starts_with("runs-") || name == kUnfinished) {
      files_.push_back(name);
    }
  }
  if (failed) return system_error("readdir", path_, failed.value());
  std::sort(numbers_.begin(), numbers_.end());
  return {};
}

Result<std::vector<std::byte>> BackupDirectory::read_file(const std::string& name) const {
  const std::string path = path_of(name);
  HF_ASSIGN_OR_RETURN(const FileDescriptor file, open_file(path, O_RDONLY));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_error("fstat", path, errno);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  HF_RETURN_IF_ERROR(read_all(file.get(), bytes, 0, path));
  return bytes;
}

Result<Manifest> BackupDirectory::read(std::uint32_t number) const {
  const std::string name = name_of(number);
  HF_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_file(name));
  auto manifest = Manifest::decode(bytes);
  if (manifest && manifest->number != number)
    manifest = Error{Errc::kCorrupt,
                     "list of a backup: it is of backup " + std::to_string(manifest->number)};
  if (!manifest) return Error{manifest.code(), path_of(name) + ": " + manifest.error().detail};
  return manifest;
}

Status BackupDirectory::read_run(const ManifestRun& place, std::span<std::byte> to) const {
  const std::string path = path_of(name_of(place.pack));
  if (!read_pack_ || read_pack_name_ != place.pack) {
    HF_ASSIGN_OR_RETURN(FileDescriptor file, open_file(path, O_RDONLY));
    read_pack_ = std::move(file);
    read_pack_name_ = place.pack;
  }
  HF_RETURN_IF_ERROR(read_all(read_pack_.get(), to, place.offset, path));
  if (hash64(to) != place.checksum) {
    return Error{Errc::kCorrupt, path + ", byte " + std::to_string(place.offset) +
                                     ": the checksum of a run does not hold"};
  }
  return {};
}

bool BackupDirectory::has(const ManifestRun& place) const {
  struct stat status{};
  return ::stat(path_of(name_of(place.pack)).c_str(), &status) == 0 &&
         static_cast<std::uint64_t>(status.st_size) >= place.offset + place.bytes;
}

Status BackupDirectory::remove_all_but(std::span<const Manifest> kept) {
  std::set<std::string> named;
  for (const Manifest& manifest : kept) {
    for (const ManifestRun& place : manifest.places)
      named.insert(name_of(place.pack));
  }
  for (const std::string& name : files_) {
    if (!named.contains(name) && ::unlink(path_of(name).c_str()) != 0 && errno != ENOENT)
      return system_error("unlink", path_of(name), errno);
  }
  std::erase_if(files_, [&](const std::string& name) { return !named.contains(name); });
  return {};
}

Result<ManifestRun> BackupDirectory::append(std::span<const std::byte> run) {
  if (pack_ && pack_bytes_ >= kPackBytes) HF_RETURN_IF_ERROR(end_pack());
  if (!pack_) {
    pack_name_ = {number_, pack_name_.backup == number_ ? pack_name_.index + 1 : 0};
    pack_bytes_ = 0;
    const std::string name = name_of(pack_name_);
    HF_ASSIGN_OR_RETURN(pack_, open_file(path_of(name), O_WRONLY | O_CREAT | O_EXCL));
    files_.push_back(name);
  }
  HF_RETURN_IF_ERROR(
      memory_detail::write_all(pack_.get(), {&run, 1}, pack_bytes_, path_of(name_of(pack_name_))));
  const ManifestRun place{pack_name_, pack_bytes_, run.size(), hash64(run)};
  pack_bytes_ += run.size();
  return place;
}

Status BackupDirectory::end_pack() {
  FileDescriptor pack = std::move(pack_);
  pack_ = FileDescriptor();
  return HF_MUTANT("K93", memory_detail::sync_data(pack.get(), path_of(name_of(pack_name_))),
                   ok_status());
}

Status BackupDirectory::finish_packs() {
  if (pack_) HF_RETURN_IF_ERROR(end_pack());
  return memory_detail::sync_directory(fd_.get(), path_);
}

Status BackupDirectory::publish(const Manifest& manifest) {
  const std::vector<std::byte> bytes = manifest.encode();
  const std::string unfinished = path_of(kUnfinished);
  {
    HF_ASSIGN_OR_RETURN(const FileDescriptor file,
                        open_file(unfinished, O_WRONLY | O_CREAT | O_TRUNC));
    const std::span<const std::byte> all(bytes);
    HF_RETURN_IF_ERROR(memory_detail::write_all(file.get(), {&all, 1}, 0, unfinished));
    HF_RETURN_IF_ERROR(memory_detail::sync_data(file.get(), unfinished));
  }
  HF_RETURN_IF_ERROR(
      memory_detail::rename_at(fd_.get(), kUnfinished, name_of(manifest.number), path_));
  HF_RETURN_IF_ERROR(memory_detail::sync_directory(fd_.get(), path_));
  numbers_.push_back(manifest.number);
  return {};
}

Status BackupDirectory::remove(std::span<const std::uint32_t> numbers) {
  if (numbers.empty()) return {};
  for (const std::uint32_t number : numbers) {
    if (::unlink(path_of(name_of(number)).c_str()) != 0)
      return system_error("unlink", path_of(name_of(number)), errno);
    std::erase(numbers_, number);
  }
  return memory_detail::sync_directory(fd_.get(), path_);
}

}  // namespace holdfast::kv
