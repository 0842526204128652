// std::unordered_map behind one std::mutex: what people write first. DRAM only, nothing survives.
#include <mutex>
#include <unordered_map>

#include <holdfast/bench/kv/volatile_store.hpp>

namespace holdfast::bench::kv {
namespace {

template <class KeyBytes, class ValueBytes>
class LockedMap {
 public:
  static const char* settings() {
    return "std::unordered_map behind one std::mutex, buckets reserved";
  }

  void reserve(std::uint64_t records) { map_.reserve(records); }
  void put(const KeyBytes& key, ValueView value) {
    const std::lock_guard lock(mutex_);
    map_[key].assign(value.data, value.size);
  }
  template <class Body>
  bool read(const KeyBytes& key, Body&& body) {
    return change(key, body);
  }
  template <class Body>
  bool change(const KeyBytes& key, Body&& body) {
    const std::lock_guard lock(mutex_);
    const auto found = map_.find(key);
    if (found == map_.end()) return false;
    body(found->second);
    return true;
  }
  bool erase(const KeyBytes& key) {
    const std::lock_guard lock(mutex_);
    return map_.erase(key) == 1;
  }

 private:
  struct Hash {
    std::size_t operator()(const KeyBytes& key) const { return hash_of(key); }
  };
  std::mutex mutex_;
  std::unordered_map<KeyBytes, ValueBytes, Hash> map_;
};

}  // namespace

SubjectKind map_kind(const Shape& shape) {
  return with_types(shape, []<class K, class V>() {
    return kind_of<VolatileStore<LockedMap<K, V>, K, V>>("map");
  });
}

}  // namespace holdfast::bench::kv
