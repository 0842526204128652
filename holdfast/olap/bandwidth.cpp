#include <holdfast/olap/bandwidth.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

namespace holdfast::olap {
double measure_bandwidth(const StarStore& store, Team& team, const Kernels& kernels,
                         unsigned rounds) {
  const auto& catalogue = store.catalogue();
  std::vector<Extent> pieces;
  for (const auto& block : catalogue.blocks)
    pieces.push_back({block.offset, block.bytes});
  for (const auto& run : catalogue.row_tables.facts)
    pieces.push_back({run.offset, run.bytes()});
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (count < pieces.size() && bytes < GiB)
    bytes += pieces[count++].size_bytes;
  double best = 0;
  std::atomic<std::uint64_t> sink{0};
  for (unsigned round = 0; round < rounds && bytes > 0; ++round) {
    std::atomic<std::size_t> next{0};
    const auto begin = std::chrono::steady_clock::now();
    team.run([&](unsigned) {
      std::uint64_t sum = 0;
      for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        sum ^= kernels.read(store.region().data() + pieces[i].offset_bytes,
                            pieces[i].size_bytes / kCacheLineBytes * kCacheLineBytes);
      sink.fetch_xor(sum, std::memory_order_relaxed);
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(bytes) / took.count());
  }
  return best;
}

}  // namespace holdfast::olap
