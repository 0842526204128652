// The source 'connector' = 'filesystem': a file, or the files of a directory in the order of their
// names, each from its beginning to its end. With 'source.monitor-interval' the directory is looked
// at again and again, and files that appear are read; the source never ends then.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/duration.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/malformed.hpp>
#include <holdfast/stream/record_rows.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A file or directory that is not yet to be read, as in Flink.
bool is_hidden(const fs::path& name) {
  return name.string().starts_with('.') || name.string().starts_with('_');
}

// Files below a directory that are not hidden, by their paths in it, in order.
Result<std::vector<std::string>> files_below(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code code;
  fs::recursive_directory_iterator at(directory, code), end;
  for (; !code && at != end; at.increment(code)) {
    std::error_code gone;
    const bool is_directory = at->is_directory(gone);
    const bool hidden = is_hidden(at->path().filename());
    if (hidden && is_directory) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file(gone))
      names.push_back(at->path().lexically_relative(directory).string());
  }
  if (code) return Error{Errc::kIo, "read " + directory + ": " + code.message()};
  std::sort(names.begin(), names.end());
  return names;
}

class FileSource final : public Source {
 public:
  FileSource(std::string path, bool directory, std::chrono::milliseconds monitor_interval,
             ReadFormat format, Malformed malformed)
      : path_(std::move(path)),
        directory_(directory),
        monitor_interval_(monitor_interval),
        format_(std::move(format)),
        malformed_(std::move(malformed)) {}

  Status begin() {
    if (!directory_) return open(path_);
    return look_for_files();
  }

  Result<bool> next(sql::Row& row) override {
    pauses_ = false;
    for (int malformed = 0;;) {
      if (rows_ == nullptr) {
        HF_ASSIGN_OR_RETURN(const bool opened, open_next());
        if (!opened) return false;
      }
      HF_ASSIGN_OR_RETURN(const bool got, rows_->next(row, misread_));
      if (!got) {
        finish_file();
        continue;
      }
      if (misread_.wrong.empty()) return true;
      HF_ASSIGN_OR_RETURN(const bool counts,
                          malformed_.take(where(), misread_.wrong, misread_.bytes, misread_.made));
      if (counts) return true;
      pauses_ = ++malformed == Malformed::kAtOnce;
      if (pauses_) return false;
    }
  }
  bool ended() const override { return monitor_interval_.count() == 0 && !pauses_; }

  std::string position() const override {
    ByteWriter bytes;
    bytes.number(malformed_.count());
    bytes.text(current_);
    const auto at = rows_ == nullptr ? FileRows::Position{} : rows_->position();
    bytes.number(at.offset);
    bytes.number(at.records);
    bytes.number(rows_ == nullptr ? 1 : 0);
    bytes.number(finished_.size());
    for (const auto& name : finished_)
      bytes.text(name);
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    malformed_.set_count(bytes.number());
    const std::string current(bytes.text());
    const auto offset = bytes.number(), records = bytes.number();
    const bool between = bytes.number() != 0;
    finished_.clear();
    for (auto count = bytes.number(); count > 0 && bytes.ok(); --count)
      finished_.emplace(bytes.text());
    if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint has no place in a file"};
    current_ = current;
    rows_.reset();
    if (directory_) HF_RETURN_IF_ERROR(look_for_files());
    if (between) return {};
    HF_RETURN_IF_ERROR(open(directory_ ? path_ + "/" + current : path_));
    return rows_->seek({offset, records});
  }
  std::string place() const override {
    if (rows_ == nullptr) return directory_ ? "behind file '" + escape(current_) + "'" : "the end";
    return directory_ ? "file " + escape(current_) + ", " + rows_->place() : rows_->place();
  }
  std::uint64_t malformed() const override { return malformed_.count(); }
  std::vector<std::string> malformed_samples() const override { return malformed_.samples(); }

 private:
  std::string where() const {
    if (!directory_ && !format_.open_file) return rows_->where();
    return "file " + escape(directory_ ? current_ : path_) + ", " + rows_->where();
  }
  Status open(const std::string& path) {
    if (format_.open_file) {
      HF_ASSIGN_OR_RETURN(rows_, format_.open_file(path));
      return {};
    }
    HF_ASSIGN_OR_RETURN(auto input, open_file_input(path));
    rows_ = std::make_unique<RecordRows>(std::move(input), format_);
    return {};
  }
  void finish_file() {
    rows_.reset();
    if (monitor_interval_.count() > 0) finished_.insert(current_);
  }
  // Those that were not read: behind the current one, or, where files come later, not finished.
  Status look_for_files() {
    HF_ASSIGN_OR_RETURN(const auto names, files_below(path_));
    waiting_.clear();
    for (const auto& name : names) {
      const bool monitored = monitor_interval_.count() > 0;
      if (monitored ? !finished_.contains(name) && name != current_ : name > current_)
        waiting_.push_back(name);
    }
    std::reverse(waiting_.begin(), waiting_.end());
    look_again_ = Clock::now() + monitor_interval_;
    return {};
  }
  Result<bool> open_next() {
    if (waiting_.empty() && directory_ && monitor_interval_.count() > 0) {
      const auto now = Clock::now();
      if (now < look_again_) {
        std::this_thread::sleep_for(
            std::min<Clock::duration>(look_again_ - now, std::chrono::milliseconds(100)));
        return false;
      }
      HF_RETURN_IF_ERROR(look_for_files());
    }
    if (waiting_.empty()) return false;
    current_ = std::move(waiting_.back());
    waiting_.pop_back();
    HF_RETURN_IF_ERROR(open(path_ + "/" + current_));
    return true;
  }

  std::string path_;
  bool directory_;
  std::chrono::milliseconds monitor_interval_;  // 0: once.
  ReadFormat format_;
  Malformed malformed_;
  std::unique_ptr<FileRows> rows_;    // Null: between two files.
  std::string current_;               // The last file that was opened, by its path below path_.
  std::vector<std::string> waiting_;  // The next one last.
  std::set<std::string> finished_;    // Where files come later.
  Clock::time_point look_again_;
  bool pauses_ = false;  // The last next() gave no row, but goes on.
  Misread misread_;
};

// The file of malformed records is none of those that are read: it would grow without end.
Status check_apart(const std::string& path, TableOptions& options) {
  constexpr const char* kKey = "malformed-records.path";
  const auto rejected = options.text(kKey);
  if (!rejected) return {};
  std::error_code code;
  bool read = fs::equivalent(path, *rejected, code) && !code;
  if (fs::is_directory(path, code)) {
    const auto below =
        fs::weakly_canonical(*rejected, code).lexically_relative(fs::weakly_canonical(path, code));
    read = !below.empty() && std::none_of(below.begin(), below.end(), is_hidden);
  }
  return read ? options.wrong(kKey, "a file that is not read itself") : Status();
}

}  // namespace

Result<std::unique_ptr<Source>> open_file_source(const sql::Table& table, TableOptions& options) {
  auto path = options.text("path");
  if (!path || path->empty()) return options.wrong("path", "a file or a directory");
  if (path->starts_with("file://")) path->erase(0, 7);
  while (path->size() > 1 && path->ends_with('/'))
    path->pop_back();
  HF_ASSIGN_OR_RETURN(auto format,
                      read_format_of(table, all_physical(table, Carrier::kFile), options));
  const auto name = options.text("format").value_or("");
  HF_RETURN_IF_ERROR(check_apart(*path, options));
  HF_ASSIGN_OR_RETURN(auto malformed, Malformed::of(table, options, format.ignore_errors,
                                                    name + ".ignore-parse-errors"));
  std::error_code code;
  const bool directory = fs::is_directory(*path, code);
  std::chrono::milliseconds monitor{0};
  if (const auto interval = options.text("source.monitor-interval")) {
    const auto parsed = duration_of(*interval, "source.monitor-interval");
    if (!parsed) return options.wrong("source.monitor-interval", "a time such as '10s'");
    if (!directory) return options.wrong("source.monitor-interval", "a 'path' to a directory");
    monitor = *parsed;
  }
  HF_RETURN_IF_ERROR(options.all_known());
  auto source = std::make_unique<FileSource>(*path, directory, monitor, std::move(format),
                                             std::move(malformed));
  HF_RETURN_IF_ERROR(source->begin());
  return std::unique_ptr<Source>(std::move(source));
}

}  // namespace holdfast::stream
