// import: many records, in bounded memory.
//
// Records go to put_many in batches; what a batch acknowledged stays, whatever comes after. Nothing
// is skipped in silence: each skipped piece is counted, the first are shown with their line, and
// the exit code is 1.
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
#include <memory>

#include "console.hpp"
#include "import/format_guess.hpp"
#include "import/gzip.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"
#include "text_encoding.hpp"

namespace holdfast::tools {
namespace {

constexpr std::size_t kBatchRecords = 256;
constexpr std::size_t kBatchBytes = 1 * MiB;

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

// What is read becomes records: gzip is undone, and the format told by its beginning if need be.
class ImportText {
 public:
  ImportText(const ParserOptions& options, bool detect, Importer& importer)
      : options_(options), detect_(detect), importer_(importer) {}

  // False: stop. Errors: kInvalidOption (options that do not go with the format), kIo (the gzip).
  Result<bool> feed(std::string_view bytes) {
    return checked(gzip_.feed(bytes, [this](std::string_view text) { return parse(text); }));
  }
  Status finish() {
    const auto more = checked(gzip_.finish([this](std::string_view text) { return parse(text); }));
    if (!more) return more.error();
    if (!*more) return {};
    if (!parser_) {
      const auto format = detect_ ? guess_.end() : options_.format;
      if (!format) return {};
      HF_RETURN_IF_ERROR(choose(*format));
      guess_.feed_earlier(*parser_, importer_);
    }
    (void)parser_->finish(importer_);
    return {};
  }

 private:
  Result<bool> checked(Result<bool> fed) {
    if (fed && !status_) return status_.error();
    return fed;
  }
  bool parse(std::string_view text) {
    if (!parser_) {
      const auto format = detect_ ? guess_.look(text) : options_.format;
      if (!format) return true;
      status_ = choose(*format);
      if (!status_) return false;
      guess_.feed_earlier(*parser_, importer_);
    }
    return parser_->feed(text, importer_);
  }
  Status choose(RecordFormat format) {
    options_.format = format;
    if (format == RecordFormat::kControl && options_.key_fields.empty())
      options_.key_fields = {"Package"};
    HF_RETURN_IF_ERROR(options_.validate());
    parser_ = make_parser(options_);
    return {};
  }

  ParserOptions options_;
  const bool detect_;
  Importer& importer_;
  GzipReader gzip_;
  FormatGuess guess_;
  std::unique_ptr<RecordParser> parser_;
  Status status_;
};

// Reads `input` to its end, or to where the sink or a signal says stop. Errors: of ImportText, and
// kIo if reading failed.
Status pump(int input, std::uint64_t total_bytes, ImportText& text, const Importer& importer) {
  ProgressLine progress{true};
  const auto start = std::chrono::steady_clock::now();
  std::vector<char> buffer(1 * MiB);
  std::uint64_t read_bytes = 0;
  while (!interrupted.load()) {
    pollfd waits[2] = {{input, POLLIN, 0}, {wake_up[0], POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR)
      return Error{Errc::kIo, fmt::format("poll: {}", std::strerror(errno))};
    if (waits[0].revents == 0) continue;
    const ssize_t got = ::read(input, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Errc::kIo, std::strerror(errno)};
    if (got == 0) return interrupted.load() ? ok_status() : text.finish();
    read_bytes += static_cast<std::uint64_t>(got);
    HF_ASSIGN_OR_RETURN(const bool go_on,
                        text.feed({buffer.data(), static_cast<std::size_t>(got)}));
    if (!go_on) break;
    if (progress.due())
      progress.show(progress_text(importer, read_bytes, total_bytes, seconds_since(start)));
  }
  return ok_status();
}

// `input`: the file's name, for people, or empty.
void print_import(const KvTarget& target, std::string_view input, const Importer& importer,
                  std::uint64_t count, double seconds, const Survival& survival, bool created) {
  for (const Importer::Skipped& skipped : importer.first_skipped) {
    note("skipped {}line {}: {}\n", input, skipped.line, skipped.reason);
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
      append_json_string(skips, visible(skipped.reason));
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
  const auto format = arguments.format ? arguments.format : format_of_name(arguments.file);
  ParserOptions options;
  options.format = format.value_or(RecordFormat::kJsonLines);
  options.key_fields = arguments.key_fields;
  options.header = arguments.header;
  options.limits.record_bytes = arguments.max_record_bytes;
  if (options.format == RecordFormat::kControl && options.key_fields.empty())
    options.key_fields = {"Package"};
  // With the format yet to be told, a list of keys can only be judged then.
  ParserOptions judged = options;
  if (!format && judged.key_fields.size() > 1) judged.format = RecordFormat::kControl;
  if (const Status status = judged.validate(); !status) return report_error(target, status.error());

  const bool from_stdin = arguments.file == "-";
  const Descriptor input{from_stdin ? STDIN_FILENO
                                    : ::open(arguments.file.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status{};
  if (input.get() < 0 || ::fstat(input.get(), &status) != 0)
    return report_unreadable(target, arguments.file, errno);
  if (S_ISDIR(status.st_mode)) {
    return refuse(
        target,
        fmt::format("cannot import '{}': it is a directory; name a file, or - for standard input",
                    arguments.file));
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
  ImportText text{options, !format.has_value(), importer};
  Status read;
  if (done) read = pump(input.get(), total_bytes, text, importer);
  if (done && read && importer.failure) (void)importer.flush();
  if (done && !importer.failure) done = importer.failure;
  if (const Status synced = store->sync(); done && !synced) done = synced;
  const double seconds = seconds_since(start);
  const auto count = keys->count();
  if (done && !count) done = count.error();
  const Survival survival = survival_of(store->region_report());
  if (const Status closed = store->close(); done && !closed) done = closed;

  const auto name = visible(arguments.file);
  if (!done || !read) {
    complain(kKvCommand, fmt::format("stopped after {} records; they are in the store",
                                     with_separators(importer.records)));
    if (!done) return report_error(target, done.error());
    const Error error{read.code(), fmt::format("{}: {}", from_stdin ? "standard input" : name,
                                               read.error().detail)};
    KvTarget no_store;  // It is not about the store.
    no_store.json = target.json;
    return report_error(no_store, error);
  }
  print_import(target, from_stdin ? "" : name + ", ", importer, *count, seconds, survival, created);
  if (!format && importer.records == 0 && importer.skipped != 0) {
    note("what it is was told by how it begins; if that is wrong, add --format csv, tsv, …\n");
  }
  if (interrupted.load()) {
    complain(kKvCommand,
             "interrupted before the end of the input; what was imported is in the store");
    return kExitFailed;
  }
  return importer.skipped == 0 ? kExitDone : kExitFailed;
}

}  // namespace holdfast::tools
