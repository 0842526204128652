// oneTBB concurrent_hash_map from 8 to 8 bytes: DRAM only, nothing survives. A lock per element,
// held while it is copied.
#include <tbb/concurrent_hash_map.h>

#include <holdfast/bench/index/index_subject.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::index {
namespace {

class TbbAdapter {
  // The key is a hash already.
  struct Compare {
    static std::size_t hash(std::uint64_t key) { return key; }
    static bool equal(std::uint64_t a, std::uint64_t b) { return a == b; }
  };
  using Map = tbb::concurrent_hash_map<std::uint64_t, std::uint64_t, Compare>;

 public:
  static constexpr bool kScans = false, kMany = false, kUpdates = true, kPersistent = false;
  explicit TbbAdapter(const blocks::Context&) {}
  Status create(std::uint64_t records) {
    map_.rehash(records);
    return {};
  }
  class Session {
   public:
    explicit Session(TbbAdapter& adapter) : map_(adapter.map_) {}
    bool insert(std::uint64_t key, std::uint64_t value) { return map_.insert({key, value}); }
    bool update(std::uint64_t key, std::uint64_t value) {
      Map::accessor found;
      if (!map_.find(found, key)) return false;
      found->second = value;
      return true;
    }
    bool erase(std::uint64_t key) { return map_.erase(key); }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      Map::const_accessor found;
      if (!map_.find(found, key)) return std::nullopt;
      return found->second;
    }

   private:
    Map& map_;
  };
  std::uint64_t medium_bytes() const { return 0; }
  std::uint64_t dram_bytes() const { return 0; }

 private:
  Map map_;
};

SubjectEntry entry(const blocks::Context& context, Distribution distribution) {
  return blocks::subject_entry<IndexSubject<TbbAdapter>>("tbb-dram", context, distribution);
}
const modules::Offer offer{"tbb", entry};

}  // namespace
}  // namespace holdfast::bench::index
