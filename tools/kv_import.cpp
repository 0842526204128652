// import and export: many records, in bounded memory.
//
// An import hands records to put_many in batches; what a batch acknowledged stays, whatever comes
// after. Nothing is skipped in silence: each skipped piece is counted, the first are shown with
// their line, and the exit code is 1. An export to a file appears there complete or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "console.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"

namespace holdfast::tools {
namespace {

constexpr const char* kCommand = "holdfast kv";
constexpr std::size_t kBatchRecords = 256;
constexpr std::size_t kBatchBytes = 1 * MiB;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::atomic<bool> interrupted{false};
// Readable once a signal came: one that comes just before the import waits for input ends the wait,
// too, whichever thread takes it.
int wake_up[2] = {-1, -1};

// From now on the first SIGINT or SIGTERM ends an import after the batch under way, with a closed
// store and a word on how far it came; the second one ends the process.
Status stop_on_signals() {
  if (::pipe2(wake_up, O_CLOEXEC | O_NONBLOCK) != 0)
    return Error{Errc::kIo, fmt::format("pipe2: {}", std::strerror(errno))};
  struct sigaction action{};
  action.sa_handler = [](int) {
    const int error = errno;
    interrupted.store(true);
    (void)!::write(wake_up[1], "", 1);
    errno = error;
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return ok_status();
}

// Gathers records into batches and puts them; remembers what was skipped and why.
class Importer final : public RecordSink {
 public:
  Importer(Keys& keys_of_store, const ImportArguments& arguments)
      : store_(keys_of_store), arguments_(arguments) {}

  struct Skipped {
    std::uint64_t line;
    std::string reason;
  };
  std::uint64_t records = 0, record_bytes = 0;  // Acknowledged.
  std::uint64_t skipped = 0;
  std::vector<Skipped> first_skipped;
  Status failure;  // The store's: nothing after it was tried.

  bool record(std::string_view key, std::string_view value, std::uint64_t line) override {
    if (key.size() > kv::kMaxKeyBytes) {
      return skip(line, fmt::format("a key of {} bytes; allowed are up to {}", key.size(),
                                    kv::kMaxKeyBytes));
    }
    if (value.size() > kv::kMaxValueBytes) {
      return skip(line, fmt::format("a value of {} bytes; allowed are up to {}", value.size(),
                                    kv::kMaxValueBytes));
    }
    const std::size_t bytes = key.size() + value.size();
    if (bytes >= kBatchBytes) {  // Straight from the parser's buffer.
      return flush() && put({&key, 1}, {&value, 1}, bytes);
    }
    if (keys_.size() == kBatchRecords || batch_bytes_ + bytes > kBatchBytes) {
      if (!flush()) return false;
    }
    keys_.emplace_back(key);
    values_.emplace_back(value);
    batch_bytes_ += bytes;
    return true;
  }

  bool skip(std::uint64_t line, std::string_view reason) override {
    ++skipped;
    if (first_skipped.size() < arguments_.show_skipped)
      first_skipped.push_back({line, std::string{reason}});
    return !arguments_.stop_on_error;
  }

  // Puts what is gathered. False: `failure` says why.
  bool flush() {
    if (keys_.empty()) return failure.has_value();
    const std::vector<std::string_view> keys(keys_.begin(), keys_.end());
    const std::vector<std::string_view> values(values_.begin(), values_.end());
    const bool done = put(keys, values, batch_bytes_);
    keys_.clear();
    values_.clear();
    batch_bytes_ = 0;
    return done;
  }

 private:
  bool put(std::span<const std::string_view> keys, std::span<const std::string_view> values,
           std::size_t bytes) {
    failure = store_.put_many(keys, values, {arguments_.durability});
    if (!failure) return false;
    records += keys.size();
    record_bytes += bytes;
    return true;
  }

  Keys& store_;
  const ImportArguments& arguments_;
  std::vector<std::string> keys_, values_;
  std::size_t batch_bytes_ = 0;
};

// The format of a text, told by its first character that is no blank and no byte order mark. The
// chunks before that one are of no format, but lines are counted from the first.
class FormatGuess {
 public:
  // Nothing while only such characters have been seen.
  std::optional<RecordFormat> look(std::string_view chunk) {
    for (const char c : chunk) {
      if (c == kMark[mark_bytes_]) {  // A pipe may cut it anywhere.
        mark_bytes_ = (mark_bytes_ + 1) % kMark.size();
      } else if (mark_bytes_ == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) {
        newlines_ += c == '\n';
      } else {
        return c == '{' && mark_bytes_ == 0 ? RecordFormat::kJsonLines : RecordFormat::kControl;
      }
    }
    kept_ = {newlines_, mark_bytes_};
    return std::nullopt;
  }

  // Gives the parser of that format what matters of the chunks before the one that told it.
  void feed_earlier(RecordParser& parser, RecordSink& sink) const {
    for (std::uint64_t i = 0; i < kept_.newlines; ++i)
      (void)parser.feed("\n", sink);  // Blank lines: the sink is not called.
    (void)parser.feed(kMark.substr(0, kept_.mark_bytes), sink);
  }

 private:
  static constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::size_t mark_bytes_ = 0;
  std::uint64_t newlines_ = 0;
  struct {
    std::uint64_t newlines = 0;
    std::size_t mark_bytes = 0;
  } kept_;
};

std::string progress_text(const Importer& importer, std::uint64_t read_bytes,
                          std::uint64_t total_bytes, double seconds) {
  std::string text = fmt::format(
      "{} records, {}, {} records/s", with_separators(importer.records),
      human_bytes(static_cast<double>(importer.record_bytes)),
      with_separators(static_cast<std::uint64_t>(static_cast<double>(importer.records) / seconds)));
  if (total_bytes != 0) {
    text += fmt::format(", {:.0f} %",
                        100 * static_cast<double>(read_bytes) / static_cast<double>(total_bytes));
  }
  if (importer.skipped != 0) text += fmt::format(", {} skipped", with_separators(importer.skipped));
  return text;
}

// Reads `input` to its end, or to where the sink or a signal says stop. kIo if reading failed.
Status pump(int input, std::uint64_t total_bytes, const ParserOptions& fixed, bool detect,
            Importer& importer) {
  ParserOptions options = fixed;
  std::unique_ptr<RecordParser> parser;
  if (!detect) parser = make_parser(options);
  FormatGuess guess;
  ProgressLine progress{true};
  const auto start = std::chrono::steady_clock::now();
  std::vector<char> buffer(1 * MiB);
  std::uint64_t read_bytes = 0;
  bool go_on = true;
  while (go_on && !interrupted.load()) {
    pollfd waits[2] = {{input, POLLIN, 0}, {wake_up[0], POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR)
      return Error{Errc::kIo, fmt::format("poll: {}", std::strerror(errno))};
    if (waits[0].revents == 0) continue;
    const ssize_t got = ::read(input, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{Errc::kIo, fmt::format("reading {}: {}", "the input", std::strerror(errno))};
    if (got == 0) break;
    read_bytes += static_cast<std::uint64_t>(got);
    const std::string_view chunk{buffer.data(), static_cast<std::size_t>(got)};
    if (!parser) {
      const auto format = guess.look(chunk);
      if (!format) continue;
      options.format = *format;
      if (*format == RecordFormat::kControl && options.key_fields.empty())
        options.key_fields = {"Package"};
      HF_RETURN_IF_ERROR(options.validate());
      parser = make_parser(options);
      guess.feed_earlier(*parser, importer);
    }
    go_on = parser->feed(chunk, importer);
    if (progress.due())
      progress.show(progress_text(importer, read_bytes, total_bytes, seconds_since(start)));
  }
  if (go_on && parser && !interrupted.load()) (void)parser->finish(importer);
  return ok_status();
}

void print_import(const KvTarget& target, const Importer& importer, std::uint64_t count,
                  double seconds, const Survival& survival, bool created) {
  for (const Importer::Skipped& skipped : importer.first_skipped) {
    note("skipped line {}: {}\n", skipped.line, skipped.reason);
  }
  if (importer.skipped > importer.first_skipped.size()) {
    note("… and {} more (--show-skipped N shows more)\n",
         with_separators(importer.skipped - importer.first_skipped.size()));
  }
  if (target.json) {
    std::string skips;
    for (const Importer::Skipped& skipped : importer.first_skipped) {
      fmt::format_to(std::back_inserter(skips),
                     "{}{{\"line\":{},\"reason\":", skips.empty() ? "" : ",", skipped.line);
      append_json_string(skips, skipped.reason);
      skips += '}';
    }
    out("{{\"imported\":{},\"bytes\":{},\"skipped\":{},\"records\":{},\"created\":{},\"seconds\":{:"
        ".6f},"
        "\"durability\":\"{}\",\"first_skipped\":[{}]}}\n",
        importer.records, importer.record_bytes, importer.skipped, count, created, seconds,
        survival.level, skips);
    return;
  }
  out("imported {} records, {}, in {} ({} records/s); skipped {}\n",
      with_separators(importer.records), human_bytes(static_cast<double>(importer.record_bytes)),
      human_seconds(seconds),
      with_separators(static_cast<std::uint64_t>(static_cast<double>(importer.records) /
                                                 std::max(seconds, 1e-9))),
      with_separators(importer.skipped));
  out("{} store holds {} records; each {}\n", created ? "the new" : "the", with_separators(count),
      survival.words);
}

}  // namespace

int kv_import(const KvTarget& target, const ImportArguments& arguments) {
  ParserOptions options;
  options.format = arguments.format.value_or(RecordFormat::kJsonLines);
  options.key_fields = arguments.key_fields;
  options.limits.record_bytes = arguments.max_record_bytes;
  if (arguments.format == RecordFormat::kControl && options.key_fields.empty())
    options.key_fields = {"Package"};
  // With the format yet to be told, a list of keys can only be judged then.
  ParserOptions judged = options;
  if (!arguments.format && judged.key_fields.size() > 1) judged.format = RecordFormat::kControl;
  if (const Status status = judged.validate(); !status) return report_error(target, status.error());

  const bool from_stdin = arguments.file == "-";
  const Descriptor input{from_stdin ? STDIN_FILENO
                                    : ::open(arguments.file.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status{};
  if (input.get() < 0 || ::fstat(input.get(), &status) != 0) {
    complain(kCommand, fmt::format("cannot read '{}': {}", arguments.file, std::strerror(errno)));
    return kExitBadRequest;
  }
  if (S_ISDIR(status.st_mode)) {
    complain(
        kCommand,
        fmt::format("cannot import '{}': it is a directory; name a file, or - for standard input",
                    arguments.file));
    return kExitBadRequest;
  }
  const auto total_bytes = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;

  auto store = open_for_writing(target.spec, access_to_put(target), true);
  if (!store) return report_error(target, store.error());
  const bool created = store->recovery().created;
  auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());
  Importer importer{*keys, arguments};
  const auto start = std::chrono::steady_clock::now();
  Status done = stop_on_signals();
  if (done) done = pump(input.get(), total_bytes, options, !arguments.format.has_value(), importer);
  if (done && importer.failure) (void)importer.flush();
  if (done && !importer.failure) done = importer.failure;
  if (const Status synced = store->sync(); done && !synced) done = synced;
  const double seconds = seconds_since(start);
  const std::uint64_t count = keys->count();
  const Survival survival = survival_of(store->region_report());
  if (const Status closed = store->close(); done && !closed) done = closed;

  if (!done) {
    complain(kCommand, fmt::format("stopped after {} records; they are in the store",
                                   with_separators(importer.records)));
    return report_error(target, done.error());
  }
  print_import(target, importer, count, seconds, survival, created);
  if (interrupted.load()) {
    complain(kCommand,
             "interrupted before the end of the input; what was imported is in the store");
    return kExitFailed;
  }
  return importer.skipped == 0 ? kExitDone : kExitFailed;
}

int kv_export(const KvTarget& target, const ExportArguments& arguments) {
  ParserOptions options;
  options.format = arguments.format;
  options.key_fields = arguments.key_fields;
  if (options.format == RecordFormat::kControl && options.key_fields.empty())
    options.key_fields = {"Package"};
  if (const Status status = options.validate(); !status)
    return report_error(target, status.error());
  bool typed = false;
  auto store = open_for_reading(target.spec, &typed);
  if (!store) return report_error(target, store.error());

  const bool damaged = warn_of_damage(kCommand, target.spec, *store);
  const auto keys = Keys::of(*store, target.space);
  if (!keys) return report_error(target, keys.error());

  // A file gets its name once it is complete and on the medium; behind a symbolic link, the file
  // that it names. A pipe or device keeps its place: it is written to.
  const bool to_stdout = arguments.file == "-";
  std::error_code none;
  const std::filesystem::path there = std::filesystem::canonical(arguments.file, none);
  const bool in_place = !to_stdout && !none && !std::filesystem::is_regular_file(there, none);
  const std::string place = none || there.empty() ? arguments.file : there.string();
  const std::string partial = in_place ? place : place + ".partial";
  std::unique_ptr<std::FILE, FileCloser> file;
  if (!to_stdout) {
    file.reset(std::fopen(partial.c_str(), "we"));
    if (!file) {
      complain(kCommand, fmt::format("cannot write '{}': {}", partial, std::strerror(errno)));
      return kExitBadRequest;
    }
  }
  Output file_output{file.get(), partial};
  Output& output = to_stdout ? standard_output() : file_output;
  ProgressLine progress{!to_stdout || !is_terminal(stdout)};
  const std::uint64_t total = keys->count();
  std::uint64_t exported = 0, skipped = 0;
  std::string text;
  const Status walked =
      keys->for_each([&](std::string_view key, std::string_view value, kv::Version) {
        if (!key.starts_with(arguments.prefix)) return true;
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
        return output.open();
      });
  progress.finish();
  Status written = output.finish();
  if (!to_stdout) {
    if (written && ::fsync(fileno(file.get())) != 0 && !(in_place && errno == EINVAL)) {
      written = Error{Errc::kIo, fmt::format("fsync {}: {}", partial, std::strerror(errno))};
    }
    file.reset();
    if (!in_place && walked && written && ::rename(partial.c_str(), place.c_str()) != 0) {
      written = Error{Errc::kIo,
                      fmt::format("rename {} to {}: {}", partial, place, std::strerror(errno))};
    }
    if (!in_place && (!walked || !written)) ::unlink(partial.c_str());
  }
  if (!walked) return report_error(target, walked.error());
  if (!written) return report_error(target, written.error());
  if (skipped > 10) note("… and {} more\n", with_separators(skipped - 10));
  if (!to_stdout || skipped != 0) {
    note("exported {} records; skipped {}\n", with_separators(exported), with_separators(skipped));
  }
  return skipped == 0 && !damaged ? kExitDone : kExitFailed;
}

}  // namespace holdfast::tools
