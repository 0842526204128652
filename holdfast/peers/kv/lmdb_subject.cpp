// LMDB: one transaction per call. Without a promise of power durability with WRITEMAP and NOSYNC,
// its fastest mode that survives the death of the process; under --durability power as it comes,
// with fdatasync at each commit. A reading session keeps one transaction handle and one cursor,
// and renews them per call.
#include <cstring>
#include <filesystem>

#include <lmdb.h>

#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::kv {
namespace {

MDB_val as_val(const Key& key) { return {key.size, const_cast<char*>(key.data)}; }
MDB_val as_val(ValueView value) { return {value.size, const_cast<std::byte*>(value.data)}; }

class LmdbSession {
 public:
  LmdbSession(MDB_env* env, MDB_dbi dbi, const Records& records)
      : env_(env), dbi_(dbi), records_(records), value_(records.value_stride()) {}
  ~LmdbSession() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
    if (reader_ != nullptr) mdb_txn_abort(reader_);
  }
  LmdbSession(const LmdbSession&) = delete;
  LmdbSession& operator=(const LmdbSession&) = delete;

  bool put(const Key& key, ValueView value) { return put_many(&key, &value, 1); }
  bool overwrite(const Key& key, ValueView value) { return put_many(&key, &value, 1); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    return write([&](MDB_txn* txn) {
      int code = 0;
      for (unsigned i = 0; i < count && code == 0; ++i) {
        auto key = as_val(keys[i]), value = as_val(values[i]);
        code = mdb_put(txn, dbi_, &key, &value, 0);
      }
      return code;
    });
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    ValueView value;
    return get_many(&key, 1, out, 0, &value) ? value.size : kAbsent;
  }
  bool get_many(const Key* keys, unsigned count, std::byte* out, std::size_t stride,
                ValueView* values) {
    if (!begin_reading()) return false;
    for (unsigned i = 0; i < count; ++i) {
      auto key = as_val(keys[i]);
      MDB_val value{};
      values[i] = {out + i * stride, kAbsent};
      if (mdb_get(reader_, dbi_, &key, &value) != 0 || value.mv_size > records_.max_value_bytes())
        continue;
      std::memcpy(out + i * stride, value.mv_data, value.mv_size);
      values[i].size = static_cast<std::uint32_t>(value.mv_size);
    }
    mdb_txn_reset(reader_);
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    return write([&](MDB_txn* txn) {
      auto name = as_val(key);
      MDB_val value{};
      if (const int code = mdb_get(txn, dbi_, &name, &value); code != 0) return code;
      if (value.mv_size < 8 || value.mv_size > value_.size()) return MDB_BAD_VALSIZE;
      std::memcpy(value_.data(), value.mv_data, value.mv_size);
      stamp_value(value_.data(), stamp);
      value.mv_data = value_.data();
      return mdb_put(txn, dbi_, &name, &value, 0);
    });
  }
  bool erase(const Key& key) {
    return write([&](MDB_txn* txn) {
      auto name = as_val(key);
      return mdb_del(txn, dbi_, &name, nullptr);
    });
  }
  bool scan(const Key& from, unsigned count, ScanAnswer& answer) {
    if (!begin_reading()) return false;
    auto code = cursor_ == nullptr ? mdb_cursor_open(reader_, dbi_, &cursor_)
                                   : mdb_cursor_renew(reader_, cursor_);
    auto key = as_val(from);
    MDB_val value{};
    if (code == 0) code = mdb_cursor_get(cursor_, &key, &value, MDB_SET_RANGE);
    while (code == 0) {
      answer({static_cast<const char*>(key.mv_data), key.mv_size},
             {static_cast<const char*>(value.mv_data), value.mv_size});
      if (--count == 0) break;
      code = mdb_cursor_get(cursor_, &key, &value, MDB_NEXT);
    }
    mdb_txn_reset(reader_);
    return note(code == MDB_NOTFOUND ? 0 : code);
  }
  std::string error() const { return mdb_strerror(code_); }

 private:
  bool begin_reading() {
    return note(reader_ == nullptr ? mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_)
                                   : mdb_txn_renew(reader_));
  }
  template <class Body>
  bool write(Body&& body) {
    MDB_txn* txn = nullptr;
    if (!note(mdb_txn_begin(env_, nullptr, 0, &txn))) return false;
    if (!note(body(txn))) {
      mdb_txn_abort(txn);
      return false;
    }
    return note(mdb_txn_commit(txn));
  }
  bool note(int code) {
    if (code != 0) code_ = code;
    return code == 0;
  }

  MDB_env* env_;
  MDB_dbi dbi_;
  const Records& records_;
  std::vector<std::byte> value_;
  MDB_txn* reader_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  int code_ = 0;
};

class LmdbStore {
 public:
  static constexpr bool kKeepsFiles = true;
  static constexpr bool kReclaims = false;
  static constexpr bool kCountsPersists = false;
  static constexpr std::size_t kLoadBatch = 50'000;

  LmdbStore(const Context& context, const Records& records, const std::string& name)
      : context_(context), records_(records), path_(context.peer_directory + "/" + name) {}
  ~LmdbStore() { (void)close(); }

  bool supports(const std::string&) const { return true; }
  Status open(Opening opening) {
    std::error_code error;
    if (opening != Opening::kExisting) std::filesystem::create_directory(path_, error);
    const auto open = [&]() -> int {
      if (const int code = mdb_env_create(&env_); code != 0) return code;
      // Addresses only; the file grows as it is written to.
      const auto record = std::uint64_t{records_.max_key_bytes()} + records_.max_value_bytes() + 64;
      if (const int code =
              mdb_env_set_mapsize(env_, round_up(4 * GiB + 16 * context_.records * record, MiB));
          code != 0)
        return code;
      if (const int code = mdb_env_set_maxreaders(env_, context_.threads + 128); code != 0)
        return code;
      const unsigned flags =
          MDB_NORDAHEAD | (context_.promise == Promise::kPower ? 0u : MDB_WRITEMAP | MDB_NOSYNC);
      if (const int code = mdb_env_open(env_, path_.c_str(), flags, 0600); code != 0) return code;
      MDB_txn* txn = nullptr;
      if (const int code = mdb_txn_begin(env_, nullptr, 0, &txn); code != 0) return code;
      if (const int code = mdb_dbi_open(txn, nullptr, 0, &dbi_); code != 0) {
        mdb_txn_abort(txn);
        return code;
      }
      return mdb_txn_commit(txn);
    };
    if (const int code = open(); code != 0)
      return Error{Errc::kIo, "lmdb " + path_ + ": " + mdb_strerror(code)};
    return {};
  }
  Status reserve(std::uint64_t, std::uint64_t) { return {}; }
  Status settle() { return {}; }
  Status close() {
    if (env_ != nullptr) mdb_env_close(env_);
    env_ = nullptr;
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
    facts.set("settings",
              "LMDB " + std::to_string(MDB_VERSION_MAJOR) + "." +
                  std::to_string(MDB_VERSION_MINOR) + "." + std::to_string(MDB_VERSION_PATCH) +
                  ", " +
                  (context_.promise == Promise::kPower ? "sync at commit" : "WRITEMAP + NOSYNC") +
                  ", one transaction per call");
    return facts;
  }
  LmdbSession session(unsigned) { return {env_, dbi_, records_}; }

 private:
  const Context& context_;
  const Records& records_;
  const std::string path_;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

SubjectKind kind(const Shape&) { return kind_of<LmdbStore>("lmdb"); }
const modules::Offer offer{"lmdb", kind};

}  // namespace

}  // namespace holdfast::bench::kv
