// volatile_store.hpp: what stores in DRAM only share: a map of the standard library, and oneTBB's.
#pragma once

#include <holdfast/bench/kv/fixed_record.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>

namespace holdfast::bench::kv {

// Map: reserve(records), put(key, value), bool read(key, function on the value), bool change(key,
// function), bool erase(key).
template <class Map, class KeyBytes, class ValueBytes>
class VolatileSession {
 public:
  explicit VolatileSession(Map& map) : map_(map) {}

  bool put(const Key& key, ValueView value) {
    key_.assign(key.data, key.size);
    map_.put(key_, value);
    return true;
  }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      (void)put(keys[i], values[i]);
    return true;
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    key_.assign(key.data, key.size);
    auto size = kAbsent;
    map_.read(key_, [&](const ValueBytes& value) {
      std::memcpy(out, value.data(), value.size());
      size = static_cast<std::uint32_t>(value.size());
    });
    return size;
  }
  bool get_many(const Key* keys, unsigned count, std::byte* out, std::size_t stride,
                ValueView* values) {
    for (unsigned i = 0; i < count; ++i)
      values[i] = {out + i * stride, get(keys[i], out + i * stride)};
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    key_.assign(key.data, key.size);
    return map_.change(key_, [&](ValueBytes& value) { stamp_value(value.data(), stamp); });
  }
  bool erase(const Key& key) {
    key_.assign(key.data, key.size);
    return map_.erase(key_);
  }
  std::string error() const { return "the key is not there"; }

 private:
  Map& map_;
  KeyBytes key_;
};

template <class Map, class KeyBytes, class ValueBytes>
class VolatileStore {
 public:
  static constexpr bool kKeepsFiles = false;
  static constexpr bool kReclaims = false;
  static constexpr bool kCountsPersists = false;
  static constexpr std::size_t kLoadBatch = 64;

  VolatileStore(const Context&, const Records&, const std::string&) {}
  // Nothing of it survives anything, so there is no group to wait for.
  bool supports(const std::string& operation) const {
    return operation != "group64" && operation != "waiters64";
  }
  Status open(Opening opening) {
    map_ = std::make_unique<Map>();
    planned_ = opening == Opening::kPlanned;
    return {};
  }
  Status reserve(std::uint64_t records, std::uint64_t) {
    if (planned_) map_->reserve(records);
    return {};
  }
  Status settle() { return {}; }  // Its work is done when its calls return.
  Status close() { return {}; }
  void remove() { map_.reset(); }
  std::uint64_t medium_bytes() const { return 0; }
  bool persist_total(PersistCounts&) const { return false; }
  results::Fields facts() const {
    results::Fields facts;
    facts.set("durability", "none");
    facts.set("settings", Map::settings());
    return facts;
  }
  VolatileSession<Map, KeyBytes, ValueBytes> session(unsigned) {
    return VolatileSession<Map, KeyBytes, ValueBytes>(*map_);
  }

 private:
  std::unique_ptr<Map> map_;
  bool planned_ = false;
};

}  // namespace holdfast::bench::kv
