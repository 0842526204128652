#include "malformed.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {
namespace {

// A run that was killed, or whose disk was full, may have left part of a record.
bool ends_within_line(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char last = '\n';
  return file && ::pread(file.get(), &last, 1, info.st_size - 1) == 1 && last != '\n';
}

}  // namespace

Result<Malformed> Malformed::of(const sql::Table& table, TableOptions& options, bool ignore_errors,
                                std::string ignore_option) {
  Malformed malformed;
  malformed.table_ = table.name;
  malformed.ignore_errors_ = ignore_errors;
  malformed.ignore_option_ = std::move(ignore_option);
  if (const auto path = options.text("malformed-records.path")) {
    malformed.path_ = *path;
    malformed.file_ =
        FileDescriptor(::open(path->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!malformed.file_) return memory_detail::system_error("open", *path, errno);
    if (ends_within_line(*path)) HF_RETURN_IF_ERROR(malformed.append("\n"));
  }
  return malformed;
}

Result<bool> Malformed::take(std::string_view place, std::string_view wrong,
                             std::string_view record, bool made) {
  const auto said = std::string(place) + ": " + std::string(wrong);
  if (!ignore_errors_ && !file_) {
    return Error{Errc::kCorrupt, "table " + escape(table_) + ", " + said + "; '" + ignore_option_ +
                                     "' = 'true' goes on without it, 'malformed-records.path' "
                                     "puts such records into a file"};
  }
  ++count_;
  if (samples_.size() < kSamples) samples_.push_back(said);
  if (!file_) return made;
  HF_RETURN_IF_ERROR(append((record.data() == nullptr ? said : std::string(record)) + "\n"));
  return false;
}

// Not at an offset: it may be a pipe.
Status Malformed::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const int fault = memory_detail::injected_fault(memory_detail::Call::kWrite, file_.get());
    if (fault != 0) return memory_detail::system_error("write", path_, fault);
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return memory_detail::system_error("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace holdfast::stream
