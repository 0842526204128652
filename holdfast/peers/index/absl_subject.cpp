// Abseil's btree_map from 8 to 8 bytes under one mutex: what a program has that wants a B-tree and
// threads. DRAM only, nothing survives.
#include <absl/container/btree_map.h>

#include <mutex>

#include <holdfast/bench/index/index_subject.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::index {
namespace {

class AbslAdapter {
 public:
  static constexpr bool kScans = true, kMany = false, kUpdates = true, kPersistent = false;
  explicit AbslAdapter(const blocks::Context&) {}
  Status create(std::uint64_t) { return {}; }
  class Session {
   public:
    explicit Session(AbslAdapter& adapter) : adapter_(adapter) {}
    bool insert(std::uint64_t key, std::uint64_t value) {
      const std::lock_guard lock(adapter_.mutex_);
      return adapter_.map_.emplace(key, value).second;
    }
    bool update(std::uint64_t key, std::uint64_t value) {
      const std::lock_guard lock(adapter_.mutex_);
      const auto at = adapter_.map_.find(key);
      if (at == adapter_.map_.end()) return false;
      at->second = value;
      return true;
    }
    bool erase(std::uint64_t key) {
      const std::lock_guard lock(adapter_.mutex_);
      return adapter_.map_.erase(key) != 0;
    }
    std::optional<std::uint64_t> find(std::uint64_t key) {
      const std::lock_guard lock(adapter_.mutex_);
      const auto at = adapter_.map_.find(key);
      if (at == adapter_.map_.end()) return std::nullopt;
      return at->second;
    }
    template <class Visit>
    bool scan(std::uint64_t from, Visit&& visit) {
      const std::lock_guard lock(adapter_.mutex_);
      for (auto at = adapter_.map_.lower_bound(from); at != adapter_.map_.end(); ++at) {
        if (!visit(at->first, at->second)) return true;
      }
      return true;
    }

   private:
    AbslAdapter& adapter_;
  };
  std::uint64_t medium_bytes() const { return 0; }
  std::uint64_t dram_bytes() const { return 0; }

 private:
  std::mutex mutex_;
  absl::btree_map<std::uint64_t, std::uint64_t> map_;
};

SubjectEntry entry(const blocks::Context& context, Distribution distribution) {
  return blocks::subject_entry<IndexSubject<AbslAdapter>>("absl-btree-dram", context, distribution);
}
const modules::Offer offer{"absl", entry};

}  // namespace
}  // namespace holdfast::bench::index
