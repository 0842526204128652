#include "rocksdb_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/stream/state_keys.hpp>

#include "state_directory.hpp"
#include "waiting_entries.hpp"

namespace holdfast::stream {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view_of(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

Errc code_of(const rocksdb::Status& status) {
  if (status.IsCorruption()) return Errc::kCorrupt;
  if (status.IsNoSpace()) return Errc::kNoSpace;
  if (status.IsNotSupported() || status.IsInvalidArgument()) return Errc::kUnsupported;
  return Errc::kIo;
}

rocksdb::Options options_of(const RocksdbPlace& place, bool create) {
  rocksdb::Options options;
  options.create_if_missing = create;
  options.error_if_exists = false;
  // Its tables are checked as they are read, and where damage is found it takes no more writes.
  options.paranoid_checks = true;
  // A log that is missing is noticed, too.
  options.track_and_verify_wals_in_manifest = true;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  const auto has = rocksdb::GetSupportedCompressions();
  const bool lz4 = std::find(has.begin(), has.end(), rocksdb::kLZ4Compression) != has.end();
  options.compression = lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  options.write_buffer_size = place.buffer_bytes;
  // No memtable_insert_with_hint_prefix_extractor: RocksDB 7.8 mixes its places up with those of
  // range deletes.
  options.max_write_buffer_number = 3;  // A checkpoint need not wait for one that is written out.
  options.level_compaction_dynamic_level_bytes = true;
  options.max_background_jobs = 2;
  options.max_open_files = 512;
  options.bytes_per_sync = kMiB;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.max_log_file_size = kMiB;
  options.keep_log_file_num = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(place.cache_bytes);
  table.cache_index_and_filter_blocks = true;
  table.block_size = 16 * kKiB;  // Reads are scans.
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// The directory and what is open in it.
class Database {
 public:
  static Result<std::shared_ptr<Database>> open(const std::string& spec);
  ~Database() {
    if (!db_) return;
    rocksdb::CancelAllBackgroundWork(db_.get(), true);
    (void)note_tables();
    (void)db_->Close();
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB& db() { return *db_; }
  // An epoch was completed.
  Status note(std::uint32_t query, std::uint64_t epoch) {
    HF_RETURN_IF_ERROR(directory_.raise(query, epoch));
    return note_tables();
  }
  Error error(const rocksdb::Status& status) const {
    return {code_of(status), "rocksdb " + directory_.path() + ": " + status.ToString()};
  }
  Error corrupt(const std::string& what) const {
    return {Errc::kCorrupt, "rocksdb " + directory_.path() + ": " + what};
  }
  // None: there is none.
  Result<std::optional<std::string>> get(const std::string& key) {
    std::string value;
    const auto status = db_->Get({}, key, &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return error(status);
    return std::optional(std::move(value));
  }
  Result<std::optional<Checkpoint>> checkpoint_of(std::uint32_t query) {
    HF_ASSIGN_OR_RETURN(const auto value, get(StateKeys(query).other('m')));
    if (!value) return std::optional<Checkpoint>();
    if (value->size() < StateKeys::kEpochBytes)
      return corrupt("the record of the last checkpoint is too short");
    return std::optional(
        Checkpoint{StateKeys::number_at(*value), value->substr(StateKeys::kEpochBytes)});
  }
  Status write(rocksdb::WriteBatch& batch, bool sync) {
    rocksdb::WriteOptions options;
    options.sync = sync;
    const auto status = db_->Write(options, &batch);
    batch.Clear();
    return status.ok() ? Status() : Status(error(status));
  }

 private:
  explicit Database(StateDirectory directory) : directory_(std::move(directory)) {}
  Status check_floors();
  Status note_tables();

  StateDirectory directory_;
  KernelMutex noting_;
  std::unique_ptr<rocksdb::DB> db_;
};

Result<std::shared_ptr<Database>> Database::open(const std::string& spec) {
  HF_ASSIGN_OR_RETURN(const auto place, RocksdbPlace::parse(spec));
  HF_ASSIGN_OR_RETURN(auto directory, StateDirectory::open(place.path));
  std::shared_ptr<Database> database(new Database(std::move(directory)));
  const bool is_new = database->directory_.is_new();
  if (!is_new) database->directory_.keep_logs();
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::Open(options_of(place, is_new), place.path, &db);
  if (!status.ok()) return database->error(status);
  database->db_.reset(db);
  if (is_new) HF_RETURN_IF_ERROR(database->directory_.made());
  HF_RETURN_IF_ERROR(database->check_floors());
  HF_RETURN_IF_ERROR(database->note_tables());
  database->directory_.forget_logs();
  return database;
}

// Each checkpoint that was completed is there.
Status Database::check_floors() {
  HF_ASSIGN_OR_RETURN(const auto floors, directory_.floors());
  for (const auto& [query, floor] : floors) {
    HF_ASSIGN_OR_RETURN(const auto found, checkpoint_of(query));
    const std::uint64_t epoch = found ? found->epoch : 0;
    if (HF_MUTANT("RS1", epoch >= floor, true)) continue;
    return corrupt("checkpoint " + std::to_string(floor) + " of query " + std::to_string(query) +
                   " was completed, the last one found is " + std::to_string(epoch) +
                   ": a log is damaged or missing; the logs are kept in " + directory_.kept_logs());
  }
  return {};
}

Status Database::note_tables() {
  const Lock lock(noting_);
  std::vector<std::string> files;  // "/CURRENT", "/MANIFEST-000005" and all others.
  std::uint64_t bytes = 0;
  const auto status = db_->GetLiveFiles(files, &bytes, false);
  if (!status.ok()) return error(status);
  const auto manifest = std::find_if(files.begin(), files.end(), [](const std::string& name) {
    return name.starts_with("/MANIFEST-");
  });
  if (manifest == files.end()) return corrupt("it has no manifest");
  return directory_.note_manifest(manifest->substr(1), bytes);
}

class RocksdbStateStore final : public StateStore {
 public:
  RocksdbStateStore(std::shared_ptr<Database> database, std::uint32_t query)
      : database_(std::move(database)),
        query_(query),
        keys_(query),
        meta_(keys_.other('m')),
        early_(keys_.other('s')) {}

  Result<std::optional<Checkpoint>> open() override;
  Result<std::vector<std::int64_t>> slices() override;
  Status for_each(std::int64_t slice, Visit visit) override;
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override {
    return put_copy(slice, key, state, HF_MUTANT("RS2", epoch_ + 1, epoch_));
  }
  Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                  std::uint64_t number) override;
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t& version) override;
  Status for_each_version(std::int64_t slice, VisitVersion visit) override;
  void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) override {
    replaced_.emplace_back(keys_.of_entry(slice, key, version));
  }
  void drop(std::int64_t slice) override { dropped_.push_back(slice); }
  Status complete(const Checkpoint& checkpoint) override;
  bool keeps_entries() const override { return true; }
  // Of this query. What was dropped counts until compaction has come to it.
  std::uint64_t bytes() const override;

 private:
  // Each entry of [from, to): visit(its key in the store, its state).
  Status scan(const std::string& from, const std::string& to, Visit visit) const;
  Status scan_slice(std::int64_t slice, VisitVersion visit) const;
  Status remove_later_epochs();
  Status write_early();
  // The entries that wait, in a batch.
  Result<rocksdb::WriteBatch> take_waiting();
  static Status check(const rocksdb::Status& status, const Database& database) {
    return status.ok() ? Status() : Status(database.error(status));
  }

  std::shared_ptr<Database> database_;
  const std::uint32_t query_;
  const StateKeys keys_;
  const std::string meta_, early_;  // Keys: the last checkpoint, entries were written early.
  std::uint64_t epoch_ = 0;         // Of the last completed checkpoint.
  WaitingEntries waiting_{
      keys_.entries().size()};  // Entries that were put and are not yet written.
  bool wrote_early_ = false;
  std::vector<std::string> replaced_;  // Keys that the next checkpoint does without.
  std::vector<std::int64_t> dropped_;
};

Status RocksdbStateStore::scan(const std::string& from, const std::string& to, Visit visit) const {
  rocksdb::ReadOptions options;
  const auto end = slice_of(to);
  options.iterate_upper_bound = &end;
  const std::unique_ptr<rocksdb::Iterator> at(database_->db().NewIterator(options));
  for (at->Seek(slice_of(from)); at->Valid(); at->Next()) {
    const auto key = view_of(at->key());
    if (key.size() < keys_.least_bytes())
      return database_->corrupt("a record is no state of a query");
    HF_RETURN_IF_ERROR(visit(key, view_of(at->value())));
  }
  return check(at->status(), *database_);
}

// visit(the group's key, its state, its epoch), of completed checkpoints.
Status RocksdbStateStore::scan_slice(std::int64_t slice, VisitVersion visit) const {
  const auto look = [&](std::string_view key, std::string_view state) -> Status {
    const auto epoch = StateKeys::epoch_of(key);
    if (epoch > epoch_) return {};
    key.remove_prefix(keys_.least_bytes() - StateKeys::kEpochBytes);
    key.remove_suffix(StateKeys::kEpochBytes);
    return visit(key, state, epoch);
  };
  return scan(keys_.of_slice(slice), keys_.behind_slice(slice), look);
}

Result<std::optional<Checkpoint>> RocksdbStateStore::open() {
  HF_ASSIGN_OR_RETURN(auto checkpoint, database_->checkpoint_of(query_));
  epoch_ = checkpoint ? checkpoint->epoch : 0;
  waiting_.clear();
  replaced_.clear();
  dropped_.clear();
  HF_ASSIGN_OR_RETURN(const auto early, database_->get(early_));
  wrote_early_ = false;
  if (HF_MUTANT("RS3", early.has_value(), false)) HF_RETURN_IF_ERROR(remove_later_epochs());
  return checkpoint;
}

// What an epoch wrote that was never completed. 's' goes last: a crash in between finds it again.
Status RocksdbStateStore::remove_later_epochs() {
  rocksdb::WriteBatch batch;
  const auto look = [&](std::string_view key, std::string_view) -> Status {
    if (StateKeys::epoch_of(key) <= epoch_) return {};
    HF_RETURN_IF_ERROR(check(batch.Delete(slice_of(key)), *database_));
    return batch.GetDataSize() < kEarlyBytes ? Status() : database_->write(batch, false);
  };
  HF_RETURN_IF_ERROR(scan(keys_.entries(), keys_.behind_entries(), look));
  HF_RETURN_IF_ERROR(check(batch.Delete(early_), *database_));
  return database_->write(batch, false);
}

// One seek per slice: the first entry beyond the one before.
Result<std::vector<std::int64_t>> RocksdbStateStore::slices() {
  std::vector<std::int64_t> slices;
  rocksdb::ReadOptions options;
  const auto last = keys_.behind_entries();
  const auto end = slice_of(last);
  options.iterate_upper_bound = &end;
  const std::unique_ptr<rocksdb::Iterator> at(database_->db().NewIterator(options));
  for (at->Seek(keys_.entries()); at->Valid(); at->Seek(keys_.behind_slice(slices.back()))) {
    const auto key = view_of(at->key());
    if (key.size() < keys_.least_bytes())
      return database_->corrupt("a record is no state of a query");
    slices.push_back(keys_.slice_of(key));
  }
  HF_RETURN_IF_ERROR(check(at->status(), *database_));
  return slices;
}

Status RocksdbStateStore::for_each(std::int64_t slice, Visit visit) {
  return scan_slice(slice, [&](std::string_view key, std::string_view state, std::uint64_t) {
    return visit(key, state);
  });
}

// A copy of a checkpoint of kv may hold an entry without bytes: it goes, with what it hides.
Status RocksdbStateStore::for_each_version(std::int64_t slice, VisitVersion visit) {
  return scan_slice(slice, [&](std::string_view key, std::string_view state, std::uint64_t epoch) {
    if (state.empty()) remove_version(slice, key, epoch);
    return visit(key, state, epoch);
  });
}

Status RocksdbStateStore::put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                                   std::uint64_t number) {
  waiting_.put(keys_.of_entry(slice, key, number), state);
  return waiting_.bytes() < kEarlyBytes ? Status() : write_early();
}

Status RocksdbStateStore::replace(std::int64_t slice, std::string_view key, std::string_view state,
                                  std::uint64_t& version) {
  const std::uint64_t epoch = epoch_ + 1;
  if (version != 0 && HF_MUTANT("RS4", version != epoch, false))
    remove_version(slice, key, version);
  if (!state.empty()) {
    version = epoch;
    return put(slice, key, state);
  }
  // One that this epoch put waits, or was written early.
  const bool put_before = version == epoch;
  version = 0;
  if (put_before) waiting_.erase(keys_.of_entry(slice, key, epoch));
  return {};
}

Result<rocksdb::WriteBatch> RocksdbStateStore::take_waiting() {
  rocksdb::WriteBatch batch(waiting_.bytes());
  rocksdb::Status status;
  waiting_.take([&](std::string_view key, std::string_view state, bool is_erased) {
    if (!status.ok()) return;
    status = is_erased ? batch.Delete(slice_of(key)) : batch.Put(slice_of(key), slice_of(state));
  });
  if (!status.ok()) return database_->error(status);
  return batch;
}

// Not synced: what follows in the log is, and a crash before that finds 's'.
Status RocksdbStateStore::write_early() {
  HF_ASSIGN_OR_RETURN(auto batch, take_waiting());
  if (!wrote_early_) HF_RETURN_IF_ERROR(check(batch.Put(early_, {}), *database_));
  wrote_early_ = true;
  return database_->write(batch, false);
}

Status RocksdbStateStore::complete(const Checkpoint& checkpoint) {
  std::string value;
  StateKeys::append_number(checkpoint.epoch, value);
  value += checkpoint.metadata;
  HF_ASSIGN_OR_RETURN(auto batch, take_waiting());
  auto status = batch.Put(meta_, value);
  for (std::size_t i = 0; i < replaced_.size() && status.ok(); ++i)
    status = batch.Delete(replaced_[i]);
  for (std::size_t i = 0; i < dropped_.size() && status.ok(); ++i)
    status = batch.DeleteRange(keys_.of_slice(dropped_[i]), keys_.behind_slice(dropped_[i]));
  if (status.ok() && wrote_early_) status = batch.Delete(early_);
  HF_RETURN_IF_ERROR(check(status, *database_));
  HF_RETURN_IF_ERROR(database_->write(batch, true));
  epoch_ = checkpoint.epoch;
  wrote_early_ = false;
  replaced_.clear();
  dropped_.clear();
  return database_->note(query_, epoch_);
}

std::uint64_t RocksdbStateStore::bytes() const {
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = true;
  const auto end = keys_.behind_entries();
  const rocksdb::Range range(keys_.entries(), end);
  std::uint64_t bytes = 0;
  auto& db = database_->db();
  const auto status = db.GetApproximateSizes(options, db.DefaultColumnFamily(), &range, 1, &bytes);
  return status.ok() ? bytes : 0;
}

Status take_option(std::string_view option, std::string_view spec, RocksdbPlace& place) {
  const auto equals = option.find('=');
  const auto name = option.substr(0, equals);
  const auto wrong = [&](const std::string& what) {
    return Error{Errc::kInvalidOption, "RocksDB state \"" + escape(spec) + "\": " + what};
  };
  const bool cache = name == "cache";
  if (equals == std::string_view::npos || (!cache && name != "buffer"))
    return wrong("unknown option \"" + escape(option) +
                 "\"; known are cache=BYTES and buffer=BYTES");
  HF_ASSIGN_OR_RETURN(const auto bytes, parse_bytes(option.substr(equals + 1), name));
  if (bytes < kMiB || (!cache && bytes > 4 * kGiB))
    return wrong(escape(option) + ": allowed are " + (cache ? "1M and more" : "1M to 4G"));
  (cache ? place.cache_bytes : place.buffer_bytes) = bytes;
  return {};
}

}  // namespace

Result<RocksdbPlace> RocksdbPlace::parse(std::string_view spec) {
  RocksdbPlace place;
  const auto parts = parts_of(spec);
  place.path = parts.place;
  while (place.path.size() > 1 && place.path.back() == '/')
    place.path.pop_back();
  if (place.path.empty()) return Error{Errc::kInvalidOption, "RocksDB state wants a directory"};
  if (parts.options.empty()) return place;
  for (auto rest = std::string_view(parts.options).substr(1);;) {
    const auto option = rest.substr(0, rest.find('&'));
    HF_RETURN_IF_ERROR(take_option(option, spec, place));
    if (option.size() == rest.size()) return place;
    rest.remove_prefix(option.size() + 1);
  }
}

Result<StateOfQuery> open_rocksdb_state(const std::string& spec) {
  HF_ASSIGN_OR_RETURN(auto database, Database::open(spec));
  return StateOfQuery([database](std::uint32_t query) -> Result<std::unique_ptr<StateStore>> {
    return std::unique_ptr<StateStore>(std::make_unique<RocksdbStateStore>(database, query));
  });
}

}  // namespace holdfast::stream
