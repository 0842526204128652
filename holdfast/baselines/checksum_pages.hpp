// checksum_pages.hpp: pages written in place with one fence, and a checksum that finds torn ones.
//
// Guarantee  When flush() returns, the page's new content is durable. A crash during a flush may
//            leave the page torn: read() and verify() then say so, and it is the caller's log and
//            snapshot that bring it back. Pages that were not being flushed are whole. (Opening
//            writes nothing: a flush that the death of the process cut short counts as under way
//            until the page is flushed again.)
// Cost       One fence; d dirty lines + 1, and a pass over the whole page for its checksum.
// Chance     A torn page passes with probability 2^-64.
// For        comparison with the page store (blocks/page/page_store.hpp), which costs one fence
//            more and has no torn pages. From "Building blocks for persistent memory" (VLDB Journal
//            2020), section 3.2.1.
// Threads    Any, on different pages; one page by one thread at a time.
// Media      Granularity line, byte or none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/page/page_store.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::baselines {

using holdfast::blocks::Extent;
using holdfast::blocks::PageFlush;
using holdfast::blocks::PageId;

struct ChecksumPagesOptions {
  std::uint32_t page_bytes = 16 * KiB;  // Power of two, 64 to 64 KiB.
  std::uint64_t pages = 1;              // 1 to 2^32 - 1.
  Status validate() const;              // kInvalidOption, naming the field, value and rule.
};

class ChecksumPages {
 public:
  // Errors: as PageStore::create and open.
  static Result<std::unique_ptr<ChecksumPages>> create(Region& region, const Extent& extent,
                                                       const ChecksumPagesOptions& options);
  static Result<std::unique_ptr<ChecksumPages>> open(Region& region, const Extent& extent);
  static std::uint64_t bytes_needed(const ChecksumPagesOptions& options);

  std::uint32_t page_bytes() const { return page_bytes_; }
  std::uint64_t pages() const { return pages_; }

  // `flush.content` must hold the whole page: its checksum is over all of it. A torn page is
  // mended by flushing all its lines. Errors: kInvalidOption, kReadOnly.
  Status flush(const PageFlush& flush);
  Status flush(PageId page, std::span<const std::byte> content);  // All of it.
  // Errors: kNotFound (never flushed), kCorrupt (torn, or damaged), kInvalidOption.
  Status read(PageId page, std::span<std::byte> out) const;
  // Reads all pages; those that are torn, ascending.
  std::vector<PageId> verify() const;

 private:
  struct Header;
  ChecksumPages(const Region& region, const Extent& extent, Claim claim)
      : claim_(std::move(claim)),
        persist_(region.persist()),
        base_(region.data() + extent.offset_bytes),
        read_only_(region.read_only()) {}
  Header* header(PageId page) const;
  std::byte* data(PageId page) const;
  Status check(PageId page) const;
  std::uint64_t checksum_of(PageId page, std::span<const std::byte> content) const;

  const Claim claim_;
  const Persist persist_;
  std::byte* const base_;
  const bool read_only_;
  std::uint32_t page_bytes_ = 0;
  std::uint64_t pages_ = 0;
  std::uint64_t store_id_ = 0;
};

}  // namespace holdfast::baselines
