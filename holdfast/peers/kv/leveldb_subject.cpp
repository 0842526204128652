// LevelDB: sync off, and on under --durability power. No compression, bloom filters of 10 bits,
// 128 MiB write buffer, 512 MiB block cache. It has no batched read: get_many is gets one by one.
// An iterator shows what was there when it was made: each scan makes one.
#include <cstring>
#include <filesystem>
#include <memory>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/options.h>
#include <leveldb/write_batch.h>

#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::kv {
namespace {

leveldb::Slice slice(const Key& key) { return {key.data, key.size}; }
leveldb::Slice slice(ValueView value) {
  return {reinterpret_cast<const char*>(value.data), value.size};
}

class LeveldbSession {
 public:
  LeveldbSession(leveldb::DB& db, bool sync, const Records& records) : db_(db), records_(records) {
    options_.sync = sync;
  }

  bool put(const Key& key, ValueView value) {
    return note(db_.Put(options_, slice(key), slice(value)));
  }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    batch_.Clear();
    for (unsigned i = 0; i < count; ++i)
      batch_.Put(slice(keys[i]), slice(values[i]));
    return note(db_.Write(options_, &batch_));
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    if (!note(db_.Get(read_, slice(key), &value_)) || value_.size() > records_.max_value_bytes())
      return kAbsent;
    std::memcpy(out, value_.data(), value_.size());
    return static_cast<std::uint32_t>(value_.size());
  }
  bool get_many(const Key* keys, unsigned count, std::byte* out, std::size_t stride,
                ValueView* values) {
    for (unsigned i = 0; i < count; ++i)
      values[i] = {out + i * stride, get(keys[i], out + i * stride)};
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    if (!note(db_.Get(read_, slice(key), &value_)) || value_.size() < 8) return false;
    stamp_value(value_.data(), stamp);
    return note(db_.Put(options_, slice(key), value_));
  }
  bool erase(const Key& key) { return note(db_.Delete(options_, slice(key))); }
  bool scan(const Key& from, unsigned count, ScanAnswer& answer) {
    const std::unique_ptr<leveldb::Iterator> iterator(db_.NewIterator(read_));
    for (iterator->Seek(slice(from)); iterator->Valid(); iterator->Next()) {
      const auto key = iterator->key(), value = iterator->value();
      answer({key.data(), key.size()}, {value.data(), value.size()});
      if (--count == 0) break;
    }
    return note(iterator->status());
  }
  std::string error() const { return status_.ToString(); }

 private:
  bool note(leveldb::Status status) {
    const bool ok = status.ok();
    if (!ok) status_ = std::move(status);
    return ok;
  }

  leveldb::DB& db_;
  leveldb::WriteOptions options_;
  const leveldb::ReadOptions read_;
  const Records& records_;
  leveldb::WriteBatch batch_;
  std::string value_;
  leveldb::Status status_;
};

class LeveldbStore {
 public:
  static constexpr bool kKeepsFiles = true;
  static constexpr bool kReclaims = false;
  static constexpr bool kCountsPersists = false;
  static constexpr std::size_t kLoadBatch = 1000;

  LeveldbStore(const Context& context, const Records& records, const std::string& name)
      : context_(context),
        records_(records),
        path_(context.peer_directory + "/" + name),
        filter_(leveldb::NewBloomFilterPolicy(10)) {}

  bool supports(const std::string&) const { return true; }
  Status open(Opening opening) {
    const bool create = opening != Opening::kExisting;
    cache_.reset(leveldb::NewLRUCache(512 * MiB));
    leveldb::Options options;
    options.create_if_missing = create;
    options.error_if_exists = create;
    options.compression = leveldb::kNoCompression;
    options.write_buffer_size = 128 * MiB;
    options.filter_policy = filter_.get();
    options.block_cache = cache_.get();
    leveldb::DB* db = nullptr;
    const auto status = leveldb::DB::Open(options, path_, &db);
    if (!status.ok()) return Error{Errc::kIo, "leveldb " + path_ + ": " + status.ToString()};
    db_.reset(db);
    filling_ = opening == Opening::kPlanned;  // What grows is timed with its log and its sync.
    return {};
  }
  Status reserve(std::uint64_t, std::uint64_t) { return {}; }
  Status settle() {
    filling_ = false;
    return {};
  }
  Status close() {
    db_.reset();
    cache_.reset();
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
    facts.set("settings", "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." +
                              std::to_string(leveldb::kMinorVersion) + ", sync " +
                              (context_.promise == Promise::kPower ? "on" : "off") +
                              ", no compression, bloom 10 bits, 128 MiB buffer, 512 MiB cache");
    return facts;
  }
  LeveldbSession session(unsigned) {
    return {*db_, !filling_ && context_.promise == Promise::kPower, records_};
  }

 private:
  const Context& context_;
  const Records& records_;
  const std::string path_;
  const std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<leveldb::DB> db_;
  bool filling_ = false;
};

SubjectKind kind(const Shape&) { return kind_of<LeveldbStore>("leveldb"); }
const modules::Offer offer{"leveldb", kind};

}  // namespace

}  // namespace holdfast::bench::kv
