// medium.hpp: how the store writes, whichever granularity its region has.
//
//                  put(offset, bytes)          order()                    durable for kPower
//   byte           copy                        nothing to do              at once
//   line           copy + write_back           fence                      after the fence
//   page           pwrite (mapping read-only)  fdatasync                  after the group's sync
//   none           copy                        nothing that would help    never
//
// Threads    Any.   Errors  kIo, kNoSpace, kReadOnly from page tiers; none elsewhere.
#pragma once

#include <span>

#include <holdfast/memory/region.hpp>

namespace holdfast::kv {

class Medium {
 public:
  explicit Medium(Region region)
      : region_(std::move(region)),
        persist_(region_.persist()),
        paged_(region_.granularity() == Granularity::kPage) {}

  Region& region() { return region_; }
  const Region& region() const { return region_; }
  const Persist& persist() const { return persist_; }
  bool paged() const { return paged_; }
  std::byte* at(std::uint64_t offset) const { return region_.data() + offset; }
  std::uint64_t size_bytes() const { return region_.size_bytes(); }

  Status put(std::uint64_t offset, const void* bytes, std::uint64_t count, HF_SITE) {
    if (paged_) return region_.write(offset, {static_cast<const std::byte*>(bytes), count}, site);
    persist_.copy(at(offset), bytes, count, site);
    persist_.write_back(at(offset), count, site);
    return {};
  }
  // One aligned word; never torn.
  Status put_word(std::uint64_t offset, std::uint64_t word, HF_SITE) {
    if (paged_) return put(offset, &word, sizeof word, site);
    persist_.store(reinterpret_cast<std::uint64_t*>(at(offset)), word, site);
    persist_.write_back(at(offset), sizeof word, site);
    return {};
  }
  std::uint64_t word(std::uint64_t offset) const {
    return Persist::load(reinterpret_cast<const std::uint64_t*>(at(offset)));
  }
  // Page media: all of each range is in memory when this returns, by one read of a device. Where
  // the device fails the caller learns it here. Errors: kIo.
  Status fetch(std::span<const Extent> ranges) { return paged_ ? region_.fetch(ranges) : Status(); }
  Status fetch(std::uint64_t offset, std::uint64_t bytes) {
    const Extent range{offset, bytes};
    return fetch({&range, 1});
  }
  // Everything put before is durable before anything put after it.
  Status order(HF_SITE) {
    if (paged_) return region_.sync(site);
    persist_.fence(site);
    return {};
  }

 private:
  Region region_;
  Persist persist_;
  bool paged_;
};

}  // namespace holdfast::kv
