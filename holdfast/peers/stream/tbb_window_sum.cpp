// The window sum on oneTBB's concurrent_hash_map, which the paper's in-memory state is.
#include <tbb/concurrent_hash_map.h>

#include <memory>

#include <holdfast/bench/stream/window_loop.hpp>
#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::stream {
namespace {

class TbbTable {
 public:
  explicit TbbTable(std::uint64_t keys) : sums_(keys) {}
  void add(std::int64_t sensor, std::int64_t value) {
    Map::accessor found;
    sums_.insert(found, sensor);
    found->second += value;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [sensor, sum] : sums_)
      visit(sensor, sum);
  }
  void clear() { sums_.clear(); }

 private:
  using Map = tbb::concurrent_hash_map<std::int64_t, std::int64_t>;
  Map sums_;
};

std::unique_ptr<Subject> tbb_window_sum(const WindowSum& query) {
  return std::make_unique<HandWritten<TbbTable>>(query);
}
const modules::Offer offer{"tbb", tbb_window_sum};

}  // namespace
}  // namespace holdfast::bench::stream
