#include "kv_connector.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/connector.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/format.hpp>
#include <holdfast/stream/malformed.hpp>

namespace holdfast::stream {
namespace {

using SharedStore = std::shared_ptr<kv::Store<>>;

// Changes that wait for their checkpoint; more of them ask for one.
constexpr std::size_t kFullBytes = 4 << 20;

// Keyspace of the store in which each run that writes to it has the number of its last checkpoint.
constexpr std::string_view kRuns = "holdfast.stream.runs";
// How a checkpoint's state begins that names its run.
constexpr std::uint64_t kOfARun = 2;

// One store per path in this process: a script may write a table and look things up in it.
Result<SharedStore> open_shared(const std::string& path, RegionAccess access) {
  static KernelMutex mutex;
  static std::map<std::string, std::weak_ptr<kv::Store<>>> open HF_GUARDED_BY(mutex);
  const Lock lock(mutex);
  if (auto store = open[path].lock()) return store;
  kv::StoreOptions options;
  options.access = access;
  options.order = true;
  options.verify_reads = true;
  HF_ASSIGN_OR_RETURN(auto opened, kv::Store<>::open(path, options));
  auto store = std::make_shared<kv::Store<>>(std::move(opened));
  open[path] = store;
  return store;
}

Result<std::string> path_of(TableOptions& options) {
  const auto path = options.text("path").value_or("");
  if (path.empty()) return options.wrong("path", "the region of a store");
  return path;
}

// ---- Sink ----

class KvSink final : public Sink {
 public:
  KvSink(SharedStore store, const std::vector<sql::Column>& columns,
         std::vector<std::size_t> key_columns, std::unique_ptr<RowWriter> key,
         std::unique_ptr<RowWriter> value)
      : store_(std::move(store)),
        columns_(columns),
        key_columns_(std::move(key_columns)),
        key_(std::move(key)),
        value_(std::move(value)) {}

  Status begin(std::uint64_t epoch, std::string_view state) override {
    run_ = random_name();
    if (epoch == 0) return {};
    ByteReader bytes(state);
    const bool has_run = !state.empty() && bytes.number() == kOfARun;
    if (has_run) run_ = bytes.text();
    if (!has_run) bytes = ByteReader(state);  // Of an earlier build: its changes alone.
    HF_RETURN_IF_ERROR(take_changes(bytes));
    if (has_run && !is_random_name(run_)) return damaged();
    HF_ASSIGN_OR_RETURN(const auto written, written_epoch());
    if (written < epoch) return write_all(epoch);
    forget();
    return {};
  }
  Status begin_from(std::uint64_t epoch, std::string_view state) override {
    HF_RETURN_IF_ERROR(begin(epoch, state));
    run_ = random_name();
    return {};
  }

  Status write(const sql::Row& row) override { return write_change(RowKind::kInsert, row); }
  bool takes_changes() const override { return true; }
  Status write_change(RowKind kind, const sql::Row& row) override {
    for (const std::size_t column : key_columns_) {
      if (row[column].null)
        return Error{Errc::kInvalidOption,
                     "a row has NULL in column " + escape(columns_[column].name) +
                         " of the primary key; filter such rows out (WHERE … IS NOT NULL)"};
    }
    std::string key, value;
    HF_RETURN_IF_ERROR(key_->append(row, key));
    // Here, not when it is written: a checkpoint that has it would be of no use any more.
    if (key.size() > kv::kMaxKeyBytes)
      return Error{Errc::kTooLarge, "the primary key of a row has " + std::to_string(key.size()) +
                                        " bytes; a store takes keys of at most " +
                                        std::to_string(kv::kMaxKeyBytes) +
                                        "; filter such rows out (WHERE CHAR_LENGTH(…) < …)"};
    HF_RETURN_IF_ERROR(value_->append(row, value));
    const auto [at, is_new] = waiting_.try_emplace(std::move(key));
    if (!is_new) waiting_bytes_ -= bytes_of(*at);
    auto& change = at->second;
    if (adds(kind)) {
      change.put = std::move(value);
    } else if (change.put == value) {
      change.put.reset();
    } else if (!change.erases) {
      HF_ASSIGN_OR_RETURN(change.erases, stands(at->first, value));
    }
    waiting_bytes_ += bytes_of(*at);
    return {};
  }

  bool full() const override { return waiting_bytes_ >= kFullBytes; }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t epoch) override { return write_all(epoch); }
  std::string state() const override {
    ByteWriter bytes;
    bytes.number(kOfARun);
    bytes.text(run_);
    for (const auto& [key, change] : waiting_) {
      if (!change.put && !change.erases) continue;
      bytes.number(change.put ? 1 : 0);
      bytes.text(key);
      bytes.text(change.put.value_or(""));
    }
    return bytes.take();
  }
  bool transactional() const override { return true; }

 private:
  // Where the key of the table is not that of the query, a row may come before the one that had its
  // key is taken back. So a row that goes takes only itself away.
  struct Change {
    std::optional<std::string> put;
    bool erases = false;  // What the store has: it goes, if nothing is put.
  };
  using Changes = std::map<std::string, Change>;
  static std::size_t bytes_of(const Changes::value_type& change) {
    return change.first.size() + (change.second.put ? change.second.put->size() : 0);
  }
  // Whether the store has this value of the key.
  Result<bool> stands(const std::string& key, const std::string& value) const {
    std::string present;
    const auto found = store_->get(key, present);
    if (!found && found.code() != Errc::kNotFound) return found.error();
    return found && present == value;
  }

  static Error damaged() {
    return Error{Errc::kCorrupt, "the checkpoint's changes for the store are damaged"};
  }
  Status take_changes(ByteReader& bytes) {
    while (!bytes.at_end()) {
      const bool puts = bytes.number() != 0;
      const std::string key(bytes.text());
      const auto value = bytes.text();
      if (!bytes.ok()) return damaged();
      auto& change = waiting_[key];
      if (puts)
        change.put = value;
      else
        change.erases = true;
    }
    return {};
  }

  // The last epoch of this run whose changes the store has; 0: none.
  Result<std::uint64_t> written_epoch() const {
    auto runs = store_->space(kRuns);
    if (!runs && runs.code() == Errc::kNotFound) return std::uint64_t{0};
    if (!runs) return runs.error();
    std::string found;
    const auto there = runs->get(run_, found);
    if (!there && there.code() == Errc::kNotFound) return std::uint64_t{0};
    if (!there) return there.error();
    ByteReader bytes(found);
    const auto epoch = bytes.number();
    return bytes.ok() && bytes.at_end() ? Result<std::uint64_t>(epoch) : damaged();
  }
  // With them the number of the checkpoint that they are of: after a crash nobody needs to write
  // them again, over what others have put since.
  Status write_all(std::uint64_t epoch) {
    if (waiting_.empty()) return {};
    kv::WriteBatch batch;
    for (const auto& [key, change] : waiting_) {
      if (change.put) {
        batch.put(key, *change.put);
      } else if (change.erases) {
        batch.erase(key);
      }
    }
    HF_ASSIGN_OR_RETURN(const auto runs, space_of_runs());
    ByteWriter number;
    number.number(epoch);
    batch.put(runs, run_, number.take());
    HF_RETURN_IF_ERROR(store_->write(batch));
    HF_RETURN_IF_ERROR(store_->sync());
    forget();
    return {};
  }
  Result<kv::Space> space_of_runs() const {
    if (auto found = store_->space(kRuns); found || found.code() != Errc::kNotFound) return found;
    auto made = store_->create_space(kRuns);
    return made.code() == Errc::kAlreadyExists ? store_->space(kRuns) : std::move(made);
  }
  void forget() {
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  SharedStore store_;
  const std::vector<sql::Column>& columns_;
  std::vector<std::size_t> key_columns_;
  std::unique_ptr<RowWriter> key_, value_;
  std::string run_;  // Of this run and those that resume it.
  Changes waiting_;  // By key: since the last checkpoint.
  std::size_t waiting_bytes_ = 0;
};

Result<std::unique_ptr<Sink>> open_kv_sink(const sql::Table& table,
                                           const std::vector<sql::Column>& columns,
                                           TableOptions& options, const Output&) {
  HF_ASSIGN_OR_RETURN(const auto path, path_of(options));
  if (table.primary_key.empty())
    return sql::error_at(table.at, "table " + escape(table.name) +
                                       ": PRIMARY KEY (…) NOT ENFORCED is wanted: it is the key "
                                       "under which the store finds a row");
  FormatScope scope{{}, "key."};
  for (const auto column : table.primary_key) {
    const auto& name = table.columns[column].name;
    const auto at = std::find_if(columns.begin(), columns.end(),
                                 [&](const sql::Column& other) { return other.name == name; });
    if (at == columns.end())
      return sql::error_at(table.at, "column " + escape(name) +
                                         " of the primary key is computed, so it is not written");
    scope.columns.push_back(static_cast<std::size_t>(at - columns.begin()));
  }
  WriteFormat key, value;
  if (options.text("key.format")) {
    HF_ASSIGN_OR_RETURN(key, write_format_of(columns, scope, options));
  } else if (scope.columns.size() == 1 && columns[scope.columns[0]].type == sql::kStringType) {
    HF_ASSIGN_OR_RETURN(key.writer, write_raw_format(columns, scope, options));
  } else {
    HF_RETURN_IF_ERROR(check_flat(columns, scope, options));
    HF_ASSIGN_OR_RETURN(key.writer, write_csv_format(columns, scope, options));
  }
  if (options.text("format")) {
    HF_ASSIGN_OR_RETURN(value,
                        write_format_of(columns, all_of(columns, Carrier::kMessage), options));
  } else {
    HF_ASSIGN_OR_RETURN(value.writer,
                        write_json_format(columns, all_of(columns, Carrier::kMessage), options));
  }
  options.text("malformed-records.path");  // Of reading.
  HF_RETURN_IF_ERROR(options.all_known());
  HF_ASSIGN_OR_RETURN(auto store, open_shared(path, RegionAccess::kOpenOrCreate));
  return std::unique_ptr<Sink>(
      std::make_unique<KvSink>(std::move(store), columns, std::move(scope.columns),
                               std::move(key.writer), std::move(value.writer)));
}

// ---- Source ----

class KvSource final : public Source {
 public:
  KvSource(SharedStore store, ReadFormat format, Malformed malformed)
      : store_(std::move(store)),
        format_(std::move(format)),
        malformed_(std::move(malformed)),
        snapshot_(store_->snapshot()) {}
  Status open() {
    HF_ASSIGN_OR_RETURN(auto cursor, snapshot_.cursor());
    cursor_.emplace(std::move(cursor));
    if (format_.reader->at_once() < 2) return {};
    HF_ASSIGN_OR_RETURN(auto ahead, snapshot_.cursor());
    ahead_.emplace(std::move(ahead));
    return {};
  }

  Result<bool> next(sql::Row& row) override {
    std::string wrong;
    pauses_ = false;
    for (int malformed = 0; begun_ ? cursor_->next() : cursor_->seek("");) {
      begun_ = true;
      key_ = cursor_->key();
      ++records_;
      if (ahead_) look_ahead();
      wrong.clear();
      const bool made = format_.reader->read(cursor_->value(), row, wrong);
      HF_RETURN_IF_ERROR(format_.reader->status());
      if (wrong.empty() && made) return true;
      HF_ASSIGN_OR_RETURN(const bool counts, malformed_.take("key '" + escape(key_, 60) + "'",
                                                             wrong, cursor_->value(), made));
      if (counts) return true;
      pauses_ = ++malformed == Malformed::kAtOnce;
      if (pauses_) return false;
    }
    HF_RETURN_IF_ERROR(cursor_->status());
    return false;
  }
  bool ended() const override { return !pauses_; }

  std::string position() const override {
    ByteWriter bytes;
    bytes.number(begun_ ? 1 : 0);
    bytes.text(key_);
    bytes.number(records_);
    bytes.number(malformed_.count());
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    begun_ = bytes.number() != 0;
    expected_ = 0;
    key_ = bytes.text();
    records_ = bytes.number();
    malformed_.set_count(bytes.number());
    if (!bytes.ok() || !bytes.at_end())
      return Error{Errc::kCorrupt, "the checkpoint lacks the place in a store"};
    if (!begun_) return {};
    // The record behind it is the next one, also where that key is gone.
    if (!cursor_->seek(key_)) return cursor_->status();
    if (cursor_->key() != key_) cursor_->prev();
    begun_ = static_cast<bool>(*cursor_);
    return cursor_->status();
  }
  std::string place() const override { return "record " + std::to_string(records_); }
  std::uint64_t malformed() const override { return malformed_.count(); }
  std::vector<std::string> malformed_samples() const override { return malformed_.samples(); }

 private:
  // Tells the format of the record that the cursor is at, and of those behind it, if it does not
  // know of that one.
  void look_ahead() {
    if (expected_ > 0) {
      --expected_;
      return;
    }
    std::vector<std::string> values;
    for (bool more = ahead_->seek(key_); more && values.size() < format_.reader->at_once();
         more = ahead_->next())
      values.emplace_back(ahead_->value());
    const std::vector<std::string_view> views(values.begin(), values.end());
    const auto taken = format_.reader->expect(views);
    expected_ = taken == 0 ? 0 : taken - 1;
  }

  SharedStore store_;
  ReadFormat format_;
  Malformed malformed_;
  kv::Snapshot snapshot_;
  std::optional<kv::Cursor> cursor_, ahead_;
  std::size_t expected_ = 0;  // Records behind this one that the format was told of.
  bool begun_ = false;        // The cursor is at the record that was given last, whose key this is.
  bool pauses_ = false;       // The last next() gave no row, but goes on.
  std::string key_;
  std::uint64_t records_ = 0;
};

Result<std::unique_ptr<Source>> open_kv_source(const sql::Table& table, TableOptions& options) {
  HF_ASSIGN_OR_RETURN(const auto path, path_of(options));
  const auto scope = all_physical(table, Carrier::kMessage);
  const auto name = options.text("format").value_or("json");
  ReadFormat format;
  if (options.text("format")) {
    HF_ASSIGN_OR_RETURN(format, read_format_of(table, scope, options));
  } else {
    HF_ASSIGN_OR_RETURN(format, read_json_format(table, scope, options));
  }
  HF_ASSIGN_OR_RETURN(auto malformed, Malformed::of(table, options, format.ignore_errors,
                                                    name + ".ignore-parse-errors"));
  for (const auto& option : table.options) {
    if (option.key.starts_with("key.")) options.text(option.key);  // Of writing.
  }
  HF_RETURN_IF_ERROR(options.all_known());
  HF_ASSIGN_OR_RETURN(auto store, open_shared(path, RegionAccess::kOpen));
  auto source =
      std::make_unique<KvSource>(std::move(store), std::move(format), std::move(malformed));
  HF_RETURN_IF_ERROR(source->open());
  return std::unique_ptr<Source>(std::move(source));
}

}  // namespace

void offer_kv_connector() { offer_connector("kv", {open_kv_source, open_kv_sink}); }

}  // namespace holdfast::stream
