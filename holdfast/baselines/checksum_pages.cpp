// On the medium: superblock (one page) | headers, 16 bytes each | pages.
#include <holdfast/baselines/checksum_pages.hpp>

#include <cstring>
#include <string>

#include <holdfast/base/checksum.hpp>
#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/memory/superblock.hpp>

namespace holdfast::baselines {

using namespace holdfast::blocks;  // NOLINT: of these the baselines are made.
namespace {

constexpr std::uint64_t kMagic = magic_of("HLDPEGS1");
constexpr std::uint32_t kFormatVersion = 2;  // 1 had another checksum64.

struct Superblock {        // One line; `magic` is stored last.
  std::uint64_t checksum;  // Over everything behind it but the magic.
  std::uint32_t format_version;
  std::uint32_t page_bytes;
  std::uint64_t store_id;
  std::uint64_t pages;
  std::uint64_t reserved[3];
  std::uint64_t magic;
};
static_assert(sizeof(Superblock) == kCacheLineBytes && offsetof(Superblock, magic) == 56);

std::uint64_t superblock_checksum(const Superblock& superblock) {
  return hash64({reinterpret_cast<const std::byte*>(&superblock) + 8, 48});
}

std::string text(PageId page) { return "checksum pages: page " + std::to_string(page.value); }

std::uint64_t data_at(std::uint64_t pages) { return kPageBytes + round_up(pages * 16, kPageBytes); }

Status check_medium(const Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(check_extent("checksum pages", region, extent));
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 "checksum pages: the region is durable by system calls only (granularity page); "
                 "put it on persistent memory, or give up durability with ?granularity=none"};
  return {};
}

}  // namespace

// A page and its header change together, in any order: whatever a crash leaves of both either
// agrees or does not. Zeros: never flushed.
struct ChecksumPages::Header {
  std::uint64_t checksum;  // Of the content, seeded with store, page and the number of flushes.
  std::uint64_t flushes;   // So that a lost header of equal content is no surprise. Never 0.
};

Status ChecksumPagesOptions::validate() const {
  PageStoreOptions same;
  same.page_bytes = page_bytes;
  same.pages = pages;
  HF_RETURN_IF_ERROR(same.validate());
  if (pages == 0)
    return Error{Errc::kInvalidOption, "checksum pages: pages=0: allowed are 1 to 4,294,967,295"};
  return {};
}

std::uint64_t ChecksumPages::bytes_needed(const ChecksumPagesOptions& options) {
  return round_up(data_at(options.pages) + options.pages * options.page_bytes, kPageBytes);
}

ChecksumPages::Header* ChecksumPages::header(PageId page) const {
  return reinterpret_cast<Header*>(base_ + kPageBytes + page.value * sizeof(Header));
}
std::byte* ChecksumPages::data(PageId page) const {
  return base_ + data_at(pages_) + std::uint64_t{page.value} * page_bytes_;
}

Result<std::unique_ptr<ChecksumPages>> ChecksumPages::create(Region& region, const Extent& extent,
                                                             const ChecksumPagesOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(check_medium(region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "checksum pages: cannot be created in a read-only region"};
  if (bytes_needed(options) > extent.size_bytes)
    return Error{Errc::kNoSpace,
                 "checksum pages: " + std::to_string(options.pages) + " pages of " +
                     std::to_string(options.page_bytes) + " bytes need " +
                     std::to_string(bytes_needed(options)) +
                     " bytes in all; extent.size_bytes=" + std::to_string(extent.size_bytes)};
  HF_RETURN_IF_ERROR(region.claim(extent, "checksum pages"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("checksum pages", region, extent));
  auto* const base = region.data() + extent.offset_bytes;
  Superblock superblock{};
  superblock.format_version = kFormatVersion;
  superblock.page_bytes = options.page_bytes;
  superblock.pages = options.pages;
  HF_ASSIGN_OR_RETURN(superblock.store_id, random_id());
  superblock.checksum = superblock_checksum(superblock);
  const auto& persist = region.persist();
  holdfast::blocks::page_detail::zero_lines(persist, base, data_at(options.pages));
  persist.fence();
  persist.copy(base, &superblock, offsetof(Superblock, magic));
  persist.store(reinterpret_cast<std::uint64_t*>(base + offsetof(Superblock, magic)), kMagic);
  persist.persist(base, sizeof superblock);
  return open(region, extent);
}

Result<std::unique_ptr<ChecksumPages>> ChecksumPages::open(Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(check_medium(region, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "checksum pages"));
  Superblock superblock;
  std::memcpy(&superblock, region.data() + extent.offset_bytes, sizeof superblock);
  if (superblock.magic != kMagic)
    return Error{
        Errc::kNotHoldfast,
        superblock.magic == 0
            ? "there are no checksum pages in this extent"
            : "checksum pages: the extent holds something else (its magic number differs)"};
  if (superblock.format_version > kFormatVersion)
    return Error{Errc::kNewerFormat, "checksum pages: format version " +
                                         std::to_string(superblock.format_version) +
                                         "; this build reads up to " +
                                         std::to_string(kFormatVersion) + ": use a newer build"};
  if (superblock.format_version < kFormatVersion)
    return Error{Errc::kUnsupported, "checksum pages: format version " +
                                         std::to_string(superblock.format_version) +
                                         "; this build reads " + std::to_string(kFormatVersion) +
                                         ": copy the pages with the build that wrote them"};
  ChecksumPagesOptions shape;
  shape.page_bytes = superblock.page_bytes;
  shape.pages = superblock.pages;
  if (superblock.checksum != superblock_checksum(superblock) || !shape.validate())
    return Error{Errc::kCorrupt,
                 "checksum pages: superblock: its checksum does not hold; restore it from a copy"};
  if (bytes_needed(shape) > extent.size_bytes)
    return Error{Errc::kCorrupt,
                 "checksum pages: they were created with " + std::to_string(bytes_needed(shape)) +
                     " bytes; extent.size_bytes=" + std::to_string(extent.size_bytes) +
                     " (was the region cut short?)"};
  std::unique_ptr<ChecksumPages> pages(new ChecksumPages(region, extent, std::move(claim)));
  pages->page_bytes_ = superblock.page_bytes;
  pages->pages_ = superblock.pages;
  pages->store_id_ = superblock.store_id;
  return pages;
}

Status ChecksumPages::check(PageId page) const {
  if (page.value < pages_) return {};
  return Error{Errc::kInvalidOption,
               text(page) + ": allowed are 0 to " + std::to_string(pages_ - 1)};
}

std::uint64_t ChecksumPages::checksum_of(PageId page, std::span<const std::byte> content) const {
  return checksum64(content, mix64(store_id_ + page.value) ^ header(page)->flushes);
}

Status ChecksumPages::flush(const PageFlush& flush) {
  HF_RETURN_IF_ERROR(check(flush.page));
  if (read_only_) return Error{Errc::kReadOnly, text(flush.page) + ": the region is read-only"};
  if (flush.content == nullptr || flush.in_dram != InDram::kWholePage)
    return Error{Errc::kInvalidOption,
                 text(flush.page) + ": content must be the whole page: its checksum is over all"};
  auto* const words = header(flush.page);
  LineSet all;
  const auto* dirty = flush.dirty;
  if (dirty == nullptr || words->flushes == 0) {
    all.mark_lines(0, page_bytes_ / static_cast<std::uint32_t>(kCacheLineBytes));
    dirty = &all;
  }
  if (dirty->end() > page_bytes_ / kCacheLineBytes)
    return Error{Errc::kInvalidOption, text(flush.page) + ": dirty line " +
                                           std::to_string(dirty->end() - 1) +
                                           " lies beyond its end"};
  if (dirty->empty()) return {};
  holdfast::blocks::page_detail::write_lines(persist_, data(flush.page), flush.content, *dirty);
  persist_.store(&words->flushes, words->flushes + 1);
  persist_.store(&words->checksum, checksum_of(flush.page, {flush.content, page_bytes_}));
  persist_.persist(words, sizeof *words);
  return {};
}

Status ChecksumPages::flush(PageId page, std::span<const std::byte> content) {
  if (content.size() != page_bytes_)
    return Error{Errc::kInvalidOption, text(page) + ": content has " +
                                           std::to_string(content.size()) + " bytes, a page " +
                                           std::to_string(page_bytes_)};
  return flush({page, content.data(), nullptr, InDram::kWholePage});
}

Status ChecksumPages::read(PageId page, std::span<std::byte> out) const {
  HF_RETURN_IF_ERROR(check(page));
  if (out.size() != page_bytes_)
    return Error{Errc::kInvalidOption, text(page) + ": out has " + std::to_string(out.size()) +
                                           " bytes, a page " + std::to_string(page_bytes_)};
  std::memcpy(out.data(), data(page), out.size());
  if (header(page)->flushes == 0 && header(page)->checksum == 0) return Error{Errc::kNotFound, {}};
  if (header(page)->checksum != checksum_of(page, out))
    return Error{Errc::kCorrupt,
                 text(page) + ": torn by a crash, or damaged: restore it from log and snapshot"};
  return {};
}

std::vector<PageId> ChecksumPages::verify() const {
  std::vector<PageId> torn;
  std::vector<std::byte> content(page_bytes_);
  for (std::uint64_t page = 0; page < pages_; ++page) {
    const PageId id{static_cast<std::uint32_t>(page)};
    if (read(id, content).code() == Errc::kCorrupt) torn.push_back(id);
  }
  return torn;
}

}  // namespace holdfast::baselines
