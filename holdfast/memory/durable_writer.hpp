// durable_writer.hpp: writes in order to a region, whichever granularity it has.
//
//          put(offset, bytes)            order()                        durable for power loss
//   byte   copy                          fence                          after the fence
//   line   copy + write_back             fence                          after the fence
//   page   pwrite (mapping read-only)    fdatasync                      after the fdatasync
//   none   copy                          nothing that would help        never
//
// For everything that is not the hot path of a structure: creation, headers, words that change,
// recovery. Hot paths that need streaming stores use persist() themselves.
//
// Ordering   What was put before order() is durable before anything that is put after it. Puts
//            without an order() between them become durable in any order.
// Threads    Any; order() covers the puts of the calling thread (page: of all threads).
// Errors     Page: as Region::write and Region::sync. A read-only region: kReadOnly. Else none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <holdfast/memory/extent.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast {

class DurableWriter {
 public:
  // Offsets count from the start of the region, or of the extent. `region` must outlive the writer
  // and stay where it is.
  explicit DurableWriter(Region& region) : DurableWriter(region, Extent{0, region.size_bytes()}) {}
  DurableWriter(Region& region, const Extent& extent)
      : region_(&region),
        persist_(region.persist()),
        begin_(extent.offset_bytes),
        base_(region.data() + extent.offset_bytes),
        paged_(region.granularity() == Granularity::kPage),
        direct_(!paged_ && !region.read_only()) {}

  Region& region() const { return *region_; }
  const Persist& persist() const { return persist_; }
  bool paged() const { return paged_; }
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }

  Status put(std::uint64_t offset, const void* bytes, std::uint64_t count, HF_SITE) const {
    HF_DCHECK(inside(offset, count));
    if (!direct_) [[unlikely]]
      return region_->write(begin_ + offset, {static_cast<const std::byte*>(bytes), count}, site);
    persist_.copy(at(offset), bytes, count, site);
    persist_.write_back(at(offset), count, site);
    return {};
  }
  Status put(std::uint64_t offset, std::span<const std::byte> bytes, HF_SITE) const {
    return put(offset, bytes.data(), bytes.size(), site);
  }
  // One aligned word; never torn.
  Status put_word(std::uint64_t offset, std::uint64_t word, HF_SITE) const {
    HF_DCHECK(offset % sizeof word == 0 && inside(offset, sizeof word));
    if (!direct_) [[unlikely]]
      return put(offset, &word, sizeof word, site);
    persist_.store(reinterpret_cast<std::uint64_t*>(at(offset)), word, site);
    persist_.write_back(at(offset), sizeof word, site);
    return {};
  }
  std::uint64_t word(std::uint64_t offset) const {
    return Persist::load(reinterpret_cast<const std::uint64_t*>(at(offset)));
  }
  Status order(HF_SITE) const {
    if (paged_) return region_->sync(site);
    persist_.fence(site);
    return {};
  }

 private:
  // A region that grew is larger than it was when the writer was made.
  [[maybe_unused]] bool inside(std::uint64_t offset, std::uint64_t count) const {
    const auto size = region_->size_bytes() - begin_;
    return offset <= size && count <= size - offset;
  }

  Region* region_;
  Persist persist_;
  std::uint64_t begin_;
  std::byte* base_;
  bool paged_;
  bool direct_;  // The mapping may be written to.
};

}  // namespace holdfast
