#include <holdfast/olap/free_space.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast::olap {

FreeSpace::FreeSpace(Region& region, std::uint64_t begin, std::vector<Extent> used)
    : region_(region), end_(begin) {
  std::sort(used.begin(), used.end(),
            [](const Extent& a, const Extent& b) { return a.offset_bytes < b.offset_bytes; });
  auto from = begin;
  for (const Extent& extent : used) {
    if (extent.offset_bytes > from) free_.push_back({from, extent.offset_bytes - from});
    const auto end = extent.offset_bytes + HF_MUTANT("O03", extent.size_bytes, 0);
    from = std::max(from, round_up(end, kCacheLineBytes));
  }
  const auto most = region.max_size_bytes();
  free_.push_back({from, most > from ? most - from : 0});
}

Result<std::uint64_t> FreeSpace::allocate(std::uint64_t bytes) {
  bytes = round_up(bytes, kCacheLineBytes);
  for (Extent& extent : free_) {
    if (extent.size_bytes < bytes && &extent != &free_.back()) continue;
    const auto at = extent.offset_bytes, end = at + bytes;
    end_ = std::max(end_, end);
    full_ |= extent.size_bytes < bytes;
    extent.offset_bytes = end;
    extent.size_bytes -= HF_MUTANT("O53", std::min(bytes, extent.size_bytes), 0);
    if (full_ || end <= region_.size_bytes()) return at;
    const auto unit = region_.unit_bytes();
    const Status grown = region_.grow((end + unit - 1) / unit * unit);
    if (!grown && grown.code() != Errc::kNoSpace && grown.code() != Errc::kUnsupported)
      return grown.error();
    full_ = !grown;
    return at;
  }
  HF_CHECK(false);
  return 0;
}

}  // namespace holdfast::olap
