// export: all records as text, of a consistent snapshot. A file appears complete or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <holdfast/memory/lock.hpp>
#include <holdfast/memory/system.hpp>

#include "console.hpp"
#include "import/format_guess.hpp"
#include "import/gzip.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Where an export goes. A file gets its name once it is complete and on the medium; behind a
// symbolic link, the file that it names. A pipe or device keeps its place: it is written to.
class Destination {
 public:
  explicit Destination(const std::string& file) : to_stdout_(file == "-") {
    if (to_stdout_) return;
    std::error_code none;
    const std::filesystem::path there = std::filesystem::canonical(file, none);
    in_place_ = !none && !std::filesystem::is_regular_file(there, none);
    place_ = none || there.empty() ? file : there.string();
    partial_ = in_place_ ? place_ : place_ + ".partial";
  }

  // Once. Errors: kBusy (another export writes the same file), of the system.
  Status open() {
    if (to_stdout_) return {};
    while (!file_) {
      const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (in_place_ ? O_TRUNC : 0);
      const int fd = ::open(partial_.c_str(), flags, 0644);
      if (fd < 0) return memory_detail::system_error("open", partial_, errno);
      file_.reset(::fdopen(fd, "w"));
      if (!in_place_) HF_RETURN_IF_ERROR(take(fd));
    }
    file_output_.emplace(file_.get(), partial_);
    return {};
  }

  bool to_stdout() const { return to_stdout_; }
  Output& output() { return to_stdout_ ? standard_output() : *file_output_; }

  // The end; `good`: what was written is complete. Errors: kIo.
  Status finish(bool good) {
    Status written = output().finish();
    if (to_stdout_) return written;
    if (written && ::fsync(fileno(file_.get())) != 0 && !(in_place_ && errno == EINVAL))
      written = Error{Errc::kIo, fmt::format("fsync {}: {}", partial_, std::strerror(errno))};
    // Before it is closed, and so given up.
    if (!in_place_ && good && written && ::rename(partial_.c_str(), place_.c_str()) != 0) {
      written = Error{Errc::kIo,
                      fmt::format("rename {} to {}: {}", partial_, place_, std::strerror(errno))};
    }
    if (!in_place_ && (!good || !written)) ::unlink(partial_.c_str());
    file_.reset();
    return written;
  }

 private:
  // Makes the file with the partial text ours alone, and empty. Its owner before may have renamed
  // or removed it meanwhile: then `file_` is null afterwards, and another file is needed.
  Status take(int fd) {
    const Status locked = memory_detail::lock_file(
        fd, true, partial_, ", an export to the same file; wait for it, or name another file");
    if (!locked && locked.code() != Errc::kUnsupported) return locked.error();
    struct stat here{}, there{};
    if (::fstat(fd, &here) != 0 || ::stat(partial_.c_str(), &there) != 0 ||
        here.st_ino != there.st_ino || here.st_dev != there.st_dev) {
      file_.reset();
      return {};
    }
    if (::ftruncate(fd, 0) != 0) return memory_detail::system_error("ftruncate", partial_, errno);
    return {};
  }

  const bool to_stdout_;
  bool in_place_ = false;
  std::string place_, partial_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::optional<Output> file_output_;
};

// Text to an output, as it is or as gzip.
class ExportText {
 public:
  ExportText(Output& output, bool gzip) : output_(output) {
    if (gzip) gzip_.emplace();
  }
  void write(std::string_view text) {
    if (!gzip_) return output_.write(text);
    gzip_->append(text, compressed_);
    pass_on();
  }
  void finish() {
    if (!gzip_) return;
    gzip_->finish(compressed_);
    pass_on();
  }

 private:
  void pass_on() {
    output_.write(compressed_);
    compressed_.clear();
  }

  Output& output_;
  std::optional<GzipWriter> gzip_;
  std::string compressed_;
};

int report_unwritable(const KvTarget& target, const Error& error) {
  print_error(target, kind_of(error.code), fmt::format("cannot write {}", error.detail));
  return error.code == Errc::kBusy ? kExitFailed : kExitBadRequest;
}

}  // namespace

int kv_export(const KvTarget& target, const ExportArguments& arguments) {
  ParserOptions options;
  options.format = arguments.format
                       ? *arguments.format
                       : format_of_name(arguments.file).value_or(RecordFormat::kJsonLines);
  options.key_fields = arguments.key_fields;
  options.header = arguments.header;
  if (options.format == RecordFormat::kControl && options.key_fields.empty())
    options.key_fields = {"Package"};
  if (const Status status = options.validate(); !status)
    return report_error(target, status.error());
  const auto prefix = option_bytes("--prefix", arguments.prefix, arguments.key_encoding);
  if (!prefix) return report_error(target, prefix.error());
  if (arguments.file != "-" && lies_in_store(arguments.file, target.spec)) {
    return report_error(
        target, {Errc::kInvalidOption, fmt::format("{} is in the store {}; name a file elsewhere",
                                                   arguments.file, target.spec)});
  }
  auto store = open_for_reading(target, &options.as_bytes);
  if (!store) return report_error(target, store.error());

  const bool damaged = warn_of_damage(kKvCommand, target.spec, *store);
  const auto keys = Keys::of(*store, target.space, target.ordered);
  if (!keys) return report_error(target, keys.error());
  Destination destination(arguments.file);
  if (const Status opened = destination.open(); !opened)
    return report_unwritable(target, opened.error());
  ExportText output(destination.output(), arguments.gzip || is_gzip_name(arguments.file));
  ProgressLine progress{!destination.to_stdout() || !is_terminal(stdout)};
  const std::uint64_t total = keys->count().value_or(0);  // What is damaged shows below.
  std::uint64_t exported = 0, skipped = 0;
  std::string text;
  append_header(text, options);
  output.write(text);
  const Status walked =
      keys->for_each([&](std::string_view key, std::string_view value, kv::Version) {
        if (!key.starts_with(*prefix)) return true;
        text.clear();
        if (const Status made = append_record(text, options, key, value); made) {
          output.write(text);
          ++exported;
        } else {
          progress.finish();
          if (++skipped <= 10) {
            note("skipped record '{}': {}\n", visible(key.substr(0, 60)), made.error().detail);
          }
        }
        if (progress.due())
          progress.show(
              fmt::format("{} of {} records", with_separators(exported), with_separators(total)));
        return destination.output().open();
      });
  progress.finish();
  output.finish();
  // What is intact beside damage is what this is for.
  const Status written = destination.finish(walked || walked.code() == Errc::kCorrupt);
  if (!walked) {
    if (walked.code() == Errc::kCorrupt && written)
      note("exported {}, all that are intact\n", counted(exported, "record"));
    return report_error(target, walked.error());
  }
  if (!written) return report_error(target, written.error());
  if (skipped > 10) note("… and {} more\n", with_separators(skipped - 10));
  if (!destination.to_stdout() || skipped != 0) {
    note("exported {}; skipped {}\n", counted(exported, "record"), with_separators(skipped));
  }
  return skipped == 0 && !damaged ? kExitDone : kExitFailed;
}

}  // namespace holdfast::tools
