#include <holdfast/kv/key_order.hpp>

#include <algorithm>
#include <string_view>

#include <holdfast/kv/workers.hpp>

namespace holdfast::kv {
namespace {

using Texts = std::vector<std::string_view>;

// Sorted runs, merged two by two: neighbours side by side.
void merge_all(std::vector<Texts>& runs) {
  while (runs.size() > 1) {
    std::vector<Texts> merged((runs.size() + 1) / 2);
    std::atomic<std::size_t> next{0};
    side_by_side(static_cast<unsigned>(merged.size()), [&] {
      for (std::size_t i; (i = next.fetch_add(1)) < merged.size();) {
        if (2 * i + 1 == runs.size()) {
          merged[i] = std::move(runs[2 * i]);
          continue;
        }
        const Texts &left = runs[2 * i], &right = runs[2 * i + 1];
        merged[i].resize(left.size() + right.size());
        std::merge(left.begin(), left.end(), right.begin(), right.end(), merged[i].begin());
      }
    });
    runs = std::move(merged);
  }
}

}  // namespace

Result<std::unique_ptr<KeyOrder>> KeyOrder::create(EpochDomain& domain) {
  HF_ASSIGN_OR_RETURN(auto keys, index::ordered::OrderedIndex::create(domain));
  return std::make_unique<KeyOrder>(std::move(keys));
}

Status KeyOrder::load(const index::OffsetMap& map, const Records& records, EpochDomain& domain,
                      unsigned threads) {
  std::vector<Texts> runs(threads);
  std::atomic<unsigned> next_run{0};
  std::atomic<std::uint32_t> next_partition{0};
  side_by_side(threads, [&] {
    Texts& own = runs[next_run.fetch_add(1)];
    auto participant = domain.join();
    const auto guard = domain.enter(participant);
    for (std::uint32_t partition; (partition = next_partition.fetch_add(1)) < map.partitions();) {
      map.for_each(partition, [&](Line line) {
        const RecordView record = records.at(line);
        if (records.fits(record, line)) own.push_back(record.key());
        return true;
      });
    }
    std::sort(own.begin(), own.end());
  });
  merge_all(runs);
  auto participant = domain.join();
  const auto guard = domain.enter(participant);
  std::size_t at = 0;
  return keys_->load([&](std::string_view& key) {
    if (at == runs[0].size()) return false;
    key = runs[0][at++];
    return true;
  });
}

}  // namespace holdfast::kv
