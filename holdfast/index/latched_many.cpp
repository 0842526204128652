#include <algorithm>

#include <holdfast/base/check.hpp>
#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {

// Hashes in ascending order are homes in ascending order: the partition is the top of the hash, and
// within it homes rise with the tag. Once one home of a partition is latched its table stays, so a
// home that equals the last latched one is always found to be so.
void OffsetMap::LatchedMany::acquire(OffsetMap& map, std::span<const std::uint64_t> hashes) {
  HF_DCHECK(homes_.empty());
  map.grow_in_turn();
  homes_.resize(hashes.size());
  order_.clear();
  for (std::size_t i = 0; i < hashes.size(); ++i)
    order_.push_back({hashes[i], i});
  std::sort(order_.begin(), order_.end(),
            [](const Ordered& a, const Ordered& b) { return a.hash < b.hash; });
  const Home* last = nullptr;
  for (const Ordered& next : order_) {
    Home& home = homes_[next.index];
    Place place = map.place(next.hash);
    if (last != nullptr && place.home == last->bucket_) {
      home = *last;
      home.tag_ = place.tag;
    } else {
      Latched latched = map.latch_now(place, nullptr);
      home = std::exchange(static_cast<Home&>(latched), Home());
    }
    last = &home;
  }
}

void OffsetMap::LatchedMany::release() {
  // In the order of latching, where equal homes are neighbours.
  const Bucket* last = nullptr;
  for (const Ordered& next : order_) {
    Home& home = homes_[next.index];
    if (home.bucket_ != last) home.unlatch();
    last = home.bucket_;
  }
  homes_.clear();
  order_.clear();
}

}  // namespace holdfast::index
