#include <holdfast/kv/sorted_keys.hpp>

#include <algorithm>

#include <holdfast/kv/workers.hpp>

namespace holdfast::kv {

std::string_view SortedKeys::Arena::copy(std::string_view text) {
  if (text.size() > left_) {
    left_ = std::max(kChunkBytes, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    next_ = chunks_.back().get();
  }
  char* const to = next_;
  text.copy(to, text.size());
  next_ += text.size();
  left_ -= text.size();
  return {to, text.size()};
}

// Sorted runs, merged two by two: neighbours side by side.
void SortedKeys::merge_all(std::vector<Run>& runs) {
  while (runs.size() > 1) {
    std::vector<Run> merged((runs.size() + 1) / 2);
    std::atomic<std::size_t> next{0};
    side_by_side(static_cast<unsigned>(merged.size()), [&] {
      for (std::size_t i; (i = next.fetch_add(1)) < merged.size();) {
        if (2 * i + 1 == runs.size()) {
          merged[i] = std::move(runs[2 * i]);
          continue;
        }
        const Run &left = runs[2 * i], &right = runs[2 * i + 1];
        merged[i].resize(left.size() + right.size());
        std::merge(left.begin(), left.end(), right.begin(), right.end(), merged[i].begin());
      }
    });
    runs = std::move(merged);
  }
}

SortedKeys::SortedKeys(const index::OffsetMap& map, const Records& records, EpochDomain& domain,
                       unsigned threads, const std::atomic<bool>& stop)
    : arenas_(threads) {
  std::vector<Run> runs(threads);
  std::atomic<unsigned> next_run{0};
  std::atomic<std::uint32_t> next_partition{0};
  side_by_side(threads, [&] {
    const unsigned number = next_run.fetch_add(1);
    Run& own = runs[number];
    Arena& arena = arenas_[number];
    auto participant = domain.join();
    for (std::uint32_t partition; (partition = next_partition.fetch_add(1)) < map.partitions();) {
      if (stop.load(std::memory_order_relaxed)) return;
      const auto guard = domain.enter(participant);
      map.for_each(partition, [&](index::Line line) {
        const RecordView record = records.at(line);
        if (records.fits(record, line)) own.push_back(Key::of(arena.copy(record.key())));
        return true;
      });
    }
    std::sort(own.begin(), own.end());
  });
  if (stop.load(std::memory_order_relaxed)) return;
  merge_all(runs);
  // A key whose entry was moved meanwhile, to a larger table, may have been seen twice.
  keys_ = std::move(runs[0]);
  keys_.erase(std::unique(keys_.begin(), keys_.end(),
                          [](const Key& a, const Key& b) { return a.text == b.text; }),
              keys_.end());
}

}  // namespace holdfast::kv
