#include "malformed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <holdfast/base/format.hpp>

namespace holdfast::stream {

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
  std::string line(record);
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t put = ::write(file_.get(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return memory_detail::system_error("write", path_, errno);
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  return false;
}

}  // namespace holdfast::stream
