#include "state_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include <holdfast/base/hash.hpp>
#include <holdfast/memory/lock.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream {
namespace {

namespace fs = std::filesystem;
using memory_detail::system_error;

constexpr std::string_view kAnyFormat = "holdfast stream state ";
constexpr std::string_view kFormat = "holdfast stream state 1\n";
constexpr std::string_view kManifest = "MANIFEST-";

struct Note {                // On media, little-endian, of RocksDB's manifest.
  std::uint64_t number = 0;  // 0: there is none.
  std::uint64_t bytes = 0;
  std::uint64_t content = 0;
  std::uint64_t hash = 0;  // Of the three before.

  std::uint64_t own_hash() const {
    const std::uint64_t all[] = {number, bytes, content};
    return hash64(std::as_bytes(std::span(all)));
  }
};
constexpr std::uint64_t kNoteAt = 32;
static_assert(kFormat.size() <= kNoteAt && kNoteAt + sizeof(Note) == StateDirectory::kHeadBytes);

struct Floor {  // On media, little-endian.
  std::uint64_t epoch = 0;
  std::uint64_t hash = 0;
};
static_assert(sizeof(Floor) == StateDirectory::kFloorBytes);

std::uint64_t hash_of(std::uint32_t query, std::uint64_t epoch) {
  const std::uint64_t both[] = {query, epoch};
  return hash64(std::as_bytes(std::span(both)));
}

Status write_at(int file, std::string_view bytes, std::uint64_t offset, const std::string& path) {
  const std::array buffers{std::as_bytes(std::span(bytes))};
  return memory_detail::write_all(file, buffers, offset, path);
}

// What lies between, at most to the end of the file.
Result<std::string> read_at(int file, std::uint64_t offset, std::uint64_t count,
                            const std::string& path) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const auto got =
        ::pread(file, bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("pread", path, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

// Of "MANIFEST-000005". 0: it is none.
std::uint64_t manifest_number(std::string_view name) {
  std::uint64_t number = 0;
  if (!name.starts_with(kManifest)) return 0;
  name.remove_prefix(kManifest.size());
  while (!name.empty() && (name.back() == '\n' || name.back() == '\r'))
    name.remove_suffix(1);
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  return read.ec == std::errc() && read.ptr == name.data() + name.size() ? number : 0;
}

// The hash64 of the first `bytes` of a file. None: it has fewer.
Result<std::optional<std::uint64_t>> content_of(const std::string& path, std::uint64_t bytes) {
  const memory_detail::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error("open", path, errno);
  HF_ASSIGN_OR_RETURN(const auto content, read_at(file.get(), 0, bytes, path));
  if (content.size() < bytes) return std::optional<std::uint64_t>();
  return std::optional(hash64(content));
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const std::string& path) {
  StateDirectory directory(path);
  std::error_code code;
  if (fs::exists(path, code) && !fs::is_directory(path, code))
    return directory.about(Errc::kNotHoldfast, "is no directory; RocksDB wants one");
  if (const Status made = make_directories(path); !made)
    return directory.about(made.code(), "cannot be made a directory: " + made.error().detail);
  HF_RETURN_IF_ERROR(directory.lock());
  HF_RETURN_IF_ERROR(directory.look());
  return directory;
}

Status StateDirectory::lock() {
  directory_ =
      memory_detail::FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) return system_error("open", path_, errno);
  const Status locked = memory_detail::lock_file(directory_.get(), true, path_);
  if (locked || locked.code() != Errc::kBusy) return locked;
  auto detail = locked.error().detail;
  detail.resize(std::min(detail.size(), detail.find(';')));
  return Error{Errc::kBusy, detail + "; one process at a time opens the state"};
}

// What is there.
Status StateDirectory::look() {
  std::error_code code;
  const bool ours = fs::exists(file_path(), code);
  if (!ours && !fs::is_empty(path_, code))
    return about(Errc::kNotHoldfast,
                 "holds other files and no state of streams; name a directory that is empty or not "
                 "there, or that of an earlier run with --state rocksdb");
  if (code) return about(Errc::kIo, code.message());
  file_ = memory_detail::FileDescriptor(
      ::open(file_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file_) return system_error("open", file_path(), errno);
  HF_ASSIGN_OR_RETURN(auto head, read_at(file_.get(), 0, kHeadBytes, file_path()));
  head.resize(kHeadBytes, '\0');
  if (head.starts_with(std::string(kFormat.size(), '\0'))) {
    is_new_ = true;
  } else if (!head.starts_with(kFormat)) {
    if (head.starts_with(kAnyFormat))
      return about(Errc::kNewerFormat, "was written by a later version of this program");
    return Error{Errc::kCorrupt, file_path() + ": its first bytes are damaged"};
  }
  HF_RETURN_IF_ERROR(check_files());
  return is_new_ ? Status() : check_manifest();
}

// A process that ended while it made the database leaves neither tables nor logs without CURRENT.
Status StateDirectory::check_files() const {
  std::error_code code;
  if (fs::exists(path_ + "/CURRENT", code)) return {};
  bool missing = !is_new_;
  for (const auto& entry : fs::directory_iterator(path_, code)) {
    const auto end = entry.path().extension();
    missing = missing || end == ".sst" || end == ".log";
  }
  if (!missing) return {};
  return about(Errc::kCorrupt,
               "its file CURRENT is missing, so RocksDB cannot open it; nothing "
               "was changed");
}

// The noted one, as far as it was noted. A later one begins with all that was known.
Status StateDirectory::check_manifest() const {
  HF_ASSIGN_OR_RETURN(const auto bytes, read_at(file_.get(), kNoteAt, sizeof(Note), file_path()));
  Note note;
  std::memcpy(&note, bytes.data(), bytes.size());
  if (note.number == 0 && note.bytes == 0 && note.content == 0 && note.hash == 0) return {};
  if (note.hash != note.own_hash())
    return Error{Errc::kCorrupt, file_path() + ": its bytes for the manifest are damaged"};
  HF_ASSIGN_OR_RETURN(const auto name, read_file(path_ + "/CURRENT"));
  const auto number = manifest_number(name);
  if (number > note.number) return {};
  if (number < note.number)
    return about(Errc::kCorrupt, "its file CURRENT is damaged; nothing was changed");
  const auto path = path_ + "/" + name.substr(0, name.find('\n'));
  HF_ASSIGN_OR_RETURN(const auto content, content_of(path, note.bytes));
  if (content == note.content) return {};
  return Error{Errc::kCorrupt, path +
                                   ", which says what tables there are, is damaged; nothing was "
                                   "changed"};
}

Status StateDirectory::note_manifest(const std::string& name, std::uint64_t bytes) {
  if (name == noted_ && bytes == noted_bytes_) return {};
  Note note{manifest_number(name), bytes, 0, 0};
  HF_ASSIGN_OR_RETURN(const auto content, content_of(path_ + "/" + name, bytes));
  if (note.number == 0 || !content)
    return about(Errc::kCorrupt, name + " is shorter than RocksDB says");
  note.content = *content;
  note.hash = note.own_hash();
  const std::string_view all(reinterpret_cast<const char*>(&note), sizeof note);
  HF_RETURN_IF_ERROR(write_at(file_.get(), all, kNoteAt, file_path()));
  noted_ = name;
  noted_bytes_ = bytes;
  return {};
}

Status StateDirectory::made() {
  std::string head(kFormat);
  head.resize(kNoteAt, '\0');
  HF_RETURN_IF_ERROR(write_at(file_.get(), head, 0, file_path()));
  HF_RETURN_IF_ERROR(memory_detail::sync_data(file_.get(), file_path()));
  HF_RETURN_IF_ERROR(memory_detail::sync_directory(directory_.get(), path_));
  is_new_ = false;
  return {};
}

Result<std::map<std::uint32_t, std::uint64_t>> StateDirectory::floors() const {
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return system_error("fstat", file_path(), errno);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto bytes = size > kHeadBytes ? size - kHeadBytes : 0;
  HF_ASSIGN_OR_RETURN(const auto all, read_at(file_.get(), kHeadBytes, bytes, file_path()));
  std::map<std::uint32_t, std::uint64_t> floors;
  for (std::size_t at = 0; at < all.size(); at += kFloorBytes) {
    const auto query = static_cast<std::uint32_t>(at / kFloorBytes);
    Floor floor;
    std::memcpy(&floor, all.data() + at, std::min(sizeof floor, all.size() - at));
    if (floor.epoch == 0 && floor.hash == 0) continue;
    if (floor.hash != hash_of(query, floor.epoch))
      return Error{Errc::kCorrupt,
                   file_path() + ": its bytes for query " + std::to_string(query) + " are damaged"};
    floors[query] = floor.epoch;
  }
  return floors;
}

Status StateDirectory::raise(std::uint32_t query, std::uint64_t epoch) const {
  const Floor floor{epoch, hash_of(query, epoch)};
  const std::string_view bytes(reinterpret_cast<const char*>(&floor), sizeof floor);
  return write_at(file_.get(), bytes, kHeadBytes + query * kFloorBytes, file_path());
}

// Where a file system has no second names, there are none.
void StateDirectory::keep_logs() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored)) {
    if (entry.path().extension() != ".log") continue;
    fs::create_directory(kept_logs(), ignored);
    fs::create_hard_link(entry.path(), fs::path(kept_logs()) / entry.path().filename(), ignored);
  }
}

void StateDirectory::forget_logs() const {
  std::error_code ignored;
  fs::remove_all(kept_logs(), ignored);
}

}  // namespace holdfast::stream
