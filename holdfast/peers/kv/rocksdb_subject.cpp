// RocksDB with its write-ahead log: sync off, and on under --durability power. No compression (the
// values do not compress), bloom filters of 10 bits, 128 MiB write buffers, 512 MiB block cache,
// two background jobs. Under --memory-limit the cache takes at most a quarter of it and a buffer an
// eighth: two of them may be in memory, and the page cache serves reads, too. Filling is in batches
// without the log and ends with a flush; update8 and erase are what its interface has: get + put,
// and a blind delete. A session keeps one iterator and refreshes it per scan.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::kv {
namespace {

rocksdb::Slice slice(const Key& key) { return {key.data, key.size}; }
rocksdb::Slice slice(ValueView value) {
  return {reinterpret_cast<const char*>(value.data), value.size};
}

class RocksdbSession {
 public:
  RocksdbSession(rocksdb::DB& db, const rocksdb::WriteOptions& options, const Records& records)
      : db_(db), options_(options), records_(records), value_(records.value_stride()) {}

  bool put(const Key& key, ValueView value) {
    return note(db_.Put(options_, slice(key), slice(value)));
  }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    batch_.Clear();
    for (unsigned i = 0; i < count; ++i) {
      if (!note(batch_.Put(slice(keys[i]), slice(values[i])))) return false;
    }
    return note(db_.Write(options_, &batch_));
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    pinned_.Reset();
    status_ = db_.Get(read_, db_.DefaultColumnFamily(), slice(key), &pinned_);
    return copy_out(status_, pinned_, out);
  }
  bool get_many(const Key* keys, unsigned count, std::byte* out, std::size_t stride,
                ValueView* views) {
    slices_.resize(count);
    values_.resize(count);
    statuses_.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      slices_[i] = slice(keys[i]);
      values_[i].Reset();
    }
    db_.MultiGet(read_, db_.DefaultColumnFamily(), count, slices_.data(), values_.data(),
                 statuses_.data());
    for (unsigned i = 0; i < count; ++i) {
      if (!statuses_[i].ok() && !statuses_[i].IsNotFound()) return note(statuses_[i]);
      views[i] = {out + i * stride, copy_out(statuses_[i], values_[i], out + i * stride)};
    }
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    const auto size = get(key, value_.data());
    if (size == kAbsent || size < 8) return false;
    stamp_value(value_.data(), stamp);
    return put(key, {value_.data(), size});
  }
  bool erase(const Key& key) { return note(db_.Delete(options_, slice(key))); }
  bool scan(const Key& from, unsigned count, ScanAnswer& answer) {
    if (!iterator_)
      iterator_.reset(db_.NewIterator(read_));
    else if (!note(iterator_->Refresh()))  // To what has been put since.
      return false;
    for (iterator_->Seek(slice(from)); iterator_->Valid(); iterator_->Next()) {
      const auto key = iterator_->key(), value = iterator_->value();
      answer({key.data(), key.size()}, {value.data(), value.size()});
      if (--count == 0) break;
    }
    return note(iterator_->status());
  }
  std::string error() const { return status_.ToString(); }

 private:
  bool note(rocksdb::Status status) {
    const bool ok = status.ok();
    if (!ok) status_ = std::move(status);
    return ok;
  }
  std::uint32_t copy_out(const rocksdb::Status& status, const rocksdb::PinnableSlice& value,
                         std::byte* out) const {
    if (!status.ok() || value.size() > records_.max_value_bytes()) return kAbsent;
    std::memcpy(out, value.data(), value.size());
    return static_cast<std::uint32_t>(value.size());
  }

  rocksdb::DB& db_;
  const rocksdb::WriteOptions options_;
  const rocksdb::ReadOptions read_;
  const Records& records_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  rocksdb::WriteBatch batch_;
  rocksdb::PinnableSlice pinned_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
  std::vector<std::byte> value_;
  rocksdb::Status status_;
};

class RocksdbStore {
 public:
  static constexpr bool kKeepsFiles = true;
  static constexpr bool kReclaims = false;
  static constexpr bool kCountsPersists = false;
  static constexpr std::size_t kLoadBatch = 1000;

  RocksdbStore(const Context& context, const Records& records, const std::string& name)
      : context_(context), records_(records), path_(context.peer_directory + "/" + name) {}
  ~RocksdbStore() { (void)close(); }

  bool supports(const std::string&) const { return true; }
  Status open(Opening opening) {
    const bool create = opening != Opening::kExisting;
    rocksdb::Options options;
    options.create_if_missing = create;
    options.error_if_exists = create;
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = write_buffer_bytes();
    options.max_background_jobs = 2;
    options.info_log_level = rocksdb::ERROR_LEVEL;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.block_cache = rocksdb::NewLRUCache(block_cache_bytes());
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    const auto status = rocksdb::DB::Open(options, path_, &db);
    if (!status.ok()) return Error{Errc::kIo, "rocksdb " + path_ + ": " + status.ToString()};
    db_.reset(db);
    filling_ = opening == Opening::kPlanned;  // What grows is timed with its log and its sync.
    return {};
  }
  Status reserve(std::uint64_t, std::uint64_t) { return {}; }
  // Flushed, and every compaction that follows from it done, so that reads see the store at rest.
  Status settle() {
    filling_ = false;
    const auto status = db_->Flush(rocksdb::FlushOptions());
    if (!status.ok()) return Error{Errc::kIo, "rocksdb " + path_ + ": " + status.ToString()};
    for (int i = 0; i < 600 && busy() && !interrupted(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (busy() && !interrupted())
      return Error{Errc::kIo, "rocksdb " + path_ + ": still compacting after 60 s"};
    return {};
  }
  Status close() {
    if (!db_) return {};
    const auto status = db_->Close();
    db_.reset();
    if (!status.ok()) return Error{Errc::kIo, "rocksdb " + path_ + ": " + status.ToString()};
    return {};
  }
  void remove() {
    (void)close();
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  bool reopens() const { return true; }
  std::uint64_t medium_bytes() const { return allocated_bytes(path_); }
  bool persist_total(PersistCounts&) const { return false; }
  results::Fields facts() const {
    results::Fields facts;
    facts.set("durability", context_.promise == Promise::kPower ? "power" : "process");
    facts.set("settings", "RocksDB " + rocksdb::GetRocksVersionAsString() + ", WAL, sync " +
                              (context_.promise == Promise::kPower ? "on" : "off") +
                              ", no compression, bloom 10 bits, " +
                              std::to_string(write_buffer_bytes() / MiB) + " MiB buffers, " +
                              std::to_string(block_cache_bytes() / MiB) +
                              " MiB cache, 2 background jobs");
    return facts;
  }
  RocksdbSession session(unsigned) {
    rocksdb::WriteOptions options;
    options.sync = !filling_ && context_.promise == Promise::kPower;
    options.disableWAL = filling_;
    return RocksdbSession(*db_, options, records_);
  }

 private:
  std::uint64_t within_limit(std::uint64_t bytes, std::uint64_t share) const {
    const auto limit = context_.memory_limit_bytes;
    return limit == 0 ? bytes : std::min(bytes, limit / share);
  }
  std::uint64_t write_buffer_bytes() const { return within_limit(128 * MiB, 8); }
  std::uint64_t block_cache_bytes() const { return within_limit(512 * MiB, 4); }
  bool busy() const {
    for (const auto* property : {"rocksdb.compaction-pending", "rocksdb.num-running-compactions",
                                 "rocksdb.num-running-flushes"}) {
      std::uint64_t value = 0;
      if (db_->GetIntProperty(property, &value) && value != 0) return true;
    }
    return false;
  }

  const Context& context_;
  const Records& records_;
  const std::string path_;
  std::unique_ptr<rocksdb::DB> db_;
  bool filling_ = false;
};

SubjectKind kind(const Shape&) { return kind_of<RocksdbStore>("rocksdb"); }
const modules::Offer offer{"rocksdb", kind};

}  // namespace

}  // namespace holdfast::bench::kv
