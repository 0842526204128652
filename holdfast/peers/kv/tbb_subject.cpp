// oneTBB concurrent_hash_map: DRAM only, nothing survives. A lock per element, held while it is
// copied.
#include <tbb/concurrent_hash_map.h>

#include <holdfast/bench/kv/volatile_store.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::kv {
namespace {

template <class KeyBytes, class ValueBytes>
class TbbMap {
 public:
  static const char* settings() {
    return "oneTBB concurrent_hash_map, default allocator, buckets reserved";
  }

  void reserve(std::uint64_t records) { map_.rehash(records); }
  void put(const KeyBytes& key, ValueView value) {
    typename Map::accessor found;
    map_.insert(found, key);
    found->second.assign(value.data, value.size);
  }
  template <class Body>
  bool read(const KeyBytes& key, Body&& body) {
    typename Map::const_accessor found;
    if (!map_.find(found, key)) return false;
    body(found->second);
    return true;
  }
  template <class Body>
  bool change(const KeyBytes& key, Body&& body) {
    typename Map::accessor found;
    if (!map_.find(found, key)) return false;
    body(found->second);
    return true;
  }
  bool erase(const KeyBytes& key) { return map_.erase(key); }

 private:
  struct Compare {
    static std::size_t hash(const KeyBytes& key) { return hash_of(key); }
    static bool equal(const KeyBytes& a, const KeyBytes& b) { return a == b; }
  };
  using Map = tbb::concurrent_hash_map<KeyBytes, ValueBytes, Compare>;
  Map map_;
};

SubjectKind kind(const Shape& shape) {
  return with_types(
      shape, []<class K, class V>() { return kind_of<VolatileStore<TbbMap<K, V>, K, V>>("tbb"); });
}
const modules::Offer offer{"tbb", kind};

}  // namespace

}  // namespace holdfast::bench::kv
