// How a page store comes into being, and how it is found again.
//
//  slot header             word of the page   the slot is
//  never written           -                  free
//  page p, version 0       -                  free: the first store of its first commit
//  page p, version v       freed at f >= v    free
//  page p, version v       freed at f < v     p's, if v is the highest version of p; else free
//  check of a word fails   -                  kCorrupt
//  two slots, same p and v -                  kCorrupt: versions are handed out once
//
//  micro log, checksum holds   names slot s, page p, version r; made under the present epoch
//  s is p's and r >= its v     replayed, if it is p's newest log: its lines may be there in part
//  s is p's and r <  its v     ignored: a later flush of p had begun to change s, so this one was
//  done s is not p's                ignored: p was copied elsewhere or freed since
//
// Then the epoch is raised: no record of before is ever looked at again.
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include <holdfast/base/checksum.hpp>
#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace holdfast::blocks {

using namespace page_detail;

namespace {

std::uint64_t checksum_of(const PageSuperblock& superblock) {
  constexpr std::size_t kFrom = sizeof superblock.checksum;
  return hash64({reinterpret_cast<const std::byte*>(&superblock) + kFrom,
                 offsetof(PageSuperblock, magic) - kFrom});
}

Status check_medium(const Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(check_extent("page store", region, extent));
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 "page store: the region is durable by system calls only (granularity page); put "
                 "it on persistent memory, or give up durability with ?granularity=none"};
  return {};
}

Geometry geometry_of(const PageStoreOptions& options, std::uint64_t pages) {
  Geometry geometry;
  geometry.page_bytes = options.page_bytes;
  geometry.micro_logs = options.micro_logs;
  geometry.pages = pages;
  geometry.slots = pages + options.spare_slots;
  return geometry;
}

// As asked for, or as many pages as fit.
Result<Geometry> place(const PageStoreOptions& options, const Extent& extent) {
  if (options.pages != 0) {
    const auto geometry = geometry_of(options, options.pages);
    if (geometry.bytes() <= extent.size_bytes) return geometry;
    return Error{Errc::kNoSpace,
                 "page store: " + std::to_string(options.pages) + " pages of " +
                     std::to_string(options.page_bytes) + " bytes need " +
                     std::to_string(geometry.bytes()) +
                     " bytes in all; extent.size_bytes=" + std::to_string(extent.size_bytes)};
  }
  std::uint64_t low = 0, high = std::min<std::uint64_t>(extent.size_bytes / options.page_bytes,
                                                        ~std::uint32_t{0});
  while (low < high) {  // The most that fit.
    const auto middle = low + (high - low + 1) / 2;
    if (geometry_of(options, middle).bytes() <= extent.size_bytes)
      low = middle;
    else
      high = middle - 1;
  }
  if (low == 0)
    return Error{Errc::kNoSpace,
                 "page store: one page of " + std::to_string(options.page_bytes) + " bytes with " +
                     std::to_string(options.spare_slots) + " spare_slots and " +
                     std::to_string(options.micro_logs) + " micro_logs needs " +
                     std::to_string(geometry_of(options, 1).bytes()) +
                     " bytes; extent.size_bytes=" + std::to_string(extent.size_bytes)};
  return geometry_of(options, low);
}

Error damaged(const std::string& what) {
  return {Errc::kCorrupt,
          "page store: " + what + ": its check does not hold; restore the store from a copy"};
}

}  // namespace

std::uint64_t PageStore::bytes_needed(const PageStoreOptions& options) {
  return geometry_of(options, options.pages).bytes();
}

PageStore::PageStore(const Region& region, const Extent& extent, const PageStoreOptions& options)
    : persist_(region.persist()),
      base_(region.data() + extent.offset_bytes),
      read_only_(region.read_only()),
      method_(options.method) {
  if (options.costs) costs_ = *options.costs;
}

void PageStore::adopt(const PageSuperblock& superblock) {
  geometry_.page_bytes = superblock.page_bytes;
  geometry_.micro_logs = superblock.micro_logs;
  geometry_.pages = superblock.pages;
  geometry_.slots = superblock.slots;
  store_id_ = superblock.store_id;
}

Result<std::unique_ptr<PageStore>> PageStore::create(Region& region, const Extent& extent,
                                                     const PageStoreOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(check_medium(region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "page store: cannot be created in a read-only region"};
  HF_ASSIGN_OR_RETURN(const auto geometry, place(options, extent));
  auto* const base = region.data() + extent.offset_bytes;
  auto* const superblock_line = reinterpret_cast<std::uint64_t*>(base);
  // All magic numbers of the project begin with these letters. Ours ends the line.
  constexpr std::uint64_t kLetters = kPageStoreMagic & 0xffffff;
  for (const auto word : {superblock_line[0], superblock_line[7]}) {
    if ((word & 0xffffff) == kLetters)
      return Error{Errc::kAlreadyExists,
                   "page store: the extent begins with something of Holdfast's; open it, or zero "
                   "its first 4096 bytes if it is not needed"};
  }
  PageSuperblock superblock{};
  superblock.format_version = kPageStoreFormatVersion;
  superblock.page_bytes = geometry.page_bytes;
  superblock.pages = geometry.pages;
  superblock.slots = geometry.slots;
  superblock.micro_logs = geometry.micro_logs;
  if (getrandom(&superblock.store_id, sizeof superblock.store_id, 0) != sizeof superblock.store_id)
    return Error{Errc::kIo, "getrandom: " + std::string(std::strerror(errno))};
  superblock.checksum = checksum_of(superblock);

  // Headers and words of freed pages must read as never written before there is a store. The logs
  // need no zeros: what lies there has no checksum under the new store's number.
  const auto& persist = region.persist();
  const bool zeroed = zero_lines(persist, base, kEpochAt + kCacheLineBytes);
  if (zero_lines(persist, base + kSuperblockBytes,
                 round_up(geometry.freed_at(geometry.pages), kCacheLineBytes) - kSuperblockBytes) ||
      zeroed)
    persist.fence();
  persist.copy(base, &superblock, offsetof(PageSuperblock, magic));
  persist.store(superblock_line + 7, kPageStoreMagic);
  persist.persist(base, sizeof superblock);

  std::unique_ptr<PageStore> store(new PageStore(region, extent, options));
  store->adopt({superblock});
  HF_RETURN_IF_ERROR(store->recover(false));
  if (options.method == FlushMethod::kHybrid && !options.costs) store->measure_costs();
  return store;
}

Result<PageSuperblock> PageStore::read_superblock(const Region& region, const Extent& extent) {
  PageSuperblock superblock;
  std::memcpy(&superblock, region.data() + extent.offset_bytes, sizeof superblock);
  if (superblock.magic != kPageStoreMagic)
    return Error{Errc::kNotHoldfast, superblock.magic == 0
                                         ? "there is no page store in this extent"
                                         : "page store: the extent holds something else (its magic "
                                           "number differs)"};
  if (superblock.format_version > kPageStoreFormatVersion)
    return Error{Errc::kNewerFormat,
                 "page store: format version " + std::to_string(superblock.format_version) +
                     "; this build reads up to " + std::to_string(kPageStoreFormatVersion) +
                     ": use a newer build"};
  if (superblock.format_version < kPageStoreFormatVersion)
    return Error{Errc::kUnsupported,
                 "page store: format version " + std::to_string(superblock.format_version) +
                     "; this build reads " + std::to_string(kPageStoreFormatVersion) +
                     ": copy the pages with the build that wrote them"};
  if (superblock.checksum != checksum_of(superblock)) return damaged("superblock");
  Geometry geometry;
  geometry.page_bytes = superblock.page_bytes;
  geometry.micro_logs = superblock.micro_logs;
  geometry.pages = superblock.pages;
  geometry.slots = superblock.slots;
  const bool sane = std::has_single_bit(superblock.page_bytes) &&
                    superblock.page_bytes >= kCacheLineBytes && superblock.page_bytes <= 64 * KiB &&
                    superblock.micro_logs >= 1 && superblock.micro_logs <= 4'096 &&
                    superblock.pages >= 1 && superblock.pages <= ~std::uint32_t{0} &&
                    superblock.slots > superblock.pages &&
                    superblock.slots - superblock.pages <= 65'536;
  if (!sane) return damaged("superblock");
  if (geometry.bytes() > extent.size_bytes)
    return Error{Errc::kCorrupt,
                 "page store: it was created with " + std::to_string(geometry.bytes()) +
                     " bytes; extent.size_bytes=" + std::to_string(extent.size_bytes) +
                     " (was the region cut short?)"};
  return superblock;
}

Result<std::unique_ptr<PageStore>> PageStore::open(Region& region, const Extent& extent,
                                                   const PageStoreOptions& options) {
  HF_RETURN_IF_ERROR(check_medium(region, extent));
  HF_ASSIGN_OR_RETURN(const auto superblock, read_superblock(region, extent));
  std::unique_ptr<PageStore> store(new PageStore(region, extent, options));
  store->adopt(superblock);
  HF_RETURN_IF_ERROR(store->recover(region.read_only()));
  if (options.method == FlushMethod::kHybrid && !options.costs && !region.read_only())
    store->measure_costs();
  return store;
}

Status PageStore::recover(bool read_only) {
  page_ = std::make_unique<Page[]>(geometry_.pages);
  std::vector<std::uint64_t> version_of(geometry_.pages, 0);  // 0: no slot.
  std::uint64_t newest = 0;
  const auto epoch = open_word(Persist::load(epoch_word()), store_id_, WordKind::kEpoch, 0);
  if (!epoch || *epoch == kMaxSealed) return damaged("epoch");
  epoch_ = *epoch;
  std::vector<std::uint64_t> freed(geometry_.pages);
  for (std::uint64_t page = 0; page < geometry_.pages; ++page) {
    const auto at = open_word(Persist::load(freed_word(page)), store_id_, WordKind::kFreed, page);
    if (!at) return damaged("freed word of page " + std::to_string(page));
    freed[page] = *at;
    newest = std::max(newest, *at);
  }
  for (std::uint32_t slot = 0; slot < geometry_.slots; ++slot) {
    const auto page_word = Persist::load(&header(slot)->page);
    const auto version_word = Persist::load(&header(slot)->version);
    const auto page = open_word(page_word, store_id_, WordKind::kPage, slot);
    const auto version = open_word(version_word, store_id_, WordKind::kVersion, slot);
    if (!page || !version || *page > geometry_.pages)
      return damaged("header of slot " + std::to_string(slot));
    newest = std::max(newest, *version);
    if (*page == 0 || *version <= freed[*page - 1] || *version < version_of[*page - 1]) continue;
    if (*version == version_of[*page - 1] && *version != 0)
      return Error{Errc::kCorrupt, "page store: slots " + std::to_string(page_[*page - 1].slot) +
                                       " and " + std::to_string(slot) + " both hold page " +
                                       std::to_string(*page - 1) + ", version " +
                                       std::to_string(*version) + "; a version is handed out once"};
    version_of[*page - 1] = *version;
    page_[*page - 1].slot = slot;
  }

  // Of a page's logs only the newest may be unfinished: the one before it was done, and its lines
  // may be older.
  std::unordered_map<std::uint32_t, std::uint32_t> newest_log;
  for (std::uint32_t log = 0; log < geometry_.micro_logs; ++log) {
    if (!record_is_valid(log_data(log), seed_of(log), geometry_)) continue;
    const auto record = record_header(log_data(log));
    newest = std::max(newest, record.version);
    if (page_[record.page].slot != record.slot || record.version < version_of[record.page])
      continue;
    const auto [found, first] = newest_log.emplace(record.page, log);
    if (!first && record_header(log_data(found->second)).version < record.version)
      found->second = log;
  }
  std::vector<std::uint32_t> replayed;
  for (const auto& [page, log] : newest_log)
    replayed.push_back(log);
  if (read_only) {
    for (const auto log : replayed)
      overlays_.emplace_back(PageId{record_header(log_data(log)).page}, log);
  } else {
    // A process may have died without a power loss: then what was just read may be in caches only,
    // and must be durable before anything is built on it.
    persist_.write_back(at(kSuperblockBytes),
                        geometry_.freed_at(geometry_.pages) - kSuperblockBytes);
    for (const auto log : replayed)
      persist_.write_back(log_data(log), record_bytes(record_header(log_data(log)).lines));
    persist_.fence();
    for (const auto log : replayed) {
      const auto record = record_header(log_data(log));
      for_each_line(log_data(log), [&](std::uint16_t line, const std::byte* bytes) {
        auto* const to = slot_data(record.slot) + line * kCacheLineBytes;
        persist_.copy(to, bytes, kCacheLineBytes);
        persist_.write_back(to, kCacheLineBytes);
      });
    }
    if (!replayed.empty()) persist_.fence();
    // Only now, with the replayed lines in their place, may the records lose their validity.
    persist_.store(epoch_word(), seal(++epoch_, WordKind::kEpoch, 0));
    persist_.persist(epoch_word(), sizeof *epoch_word());
  }

  std::vector<bool> taken(geometry_.slots, false);
  for (std::uint64_t page = 0; page < geometry_.pages; ++page) {
    if (page_[page].slot != kNoSlot) taken[page_[page].slot] = true;
  }
  std::vector<std::uint32_t> free_slots, logs;
  for (std::uint32_t slot = 0; slot < geometry_.slots; ++slot) {
    if (!taken[slot]) free_slots.push_back(slot);
  }
  for (std::uint32_t log = 0; log < geometry_.micro_logs; ++log)
    logs.push_back(log);
  // Room for what is in use now and comes back.
  const auto free_count = free_slots.size();
  free_slots.resize(geometry_.slots);
  free_slots_.reset(std::move(free_slots), free_count);
  free_logs_.reset(std::move(logs), geometry_.micro_logs);
  next_version_.store(newest + 1);
  return {};
}

// On free slots and idle logs, whose content means nothing; after recovery made the logs useless.
void PageStore::measure_costs() {
  constexpr std::size_t kLogs = 8;
  CostScratch scratch;
  std::vector<std::uint32_t> slots, logs;
  while (slots.size() < CostScratch::kSlots) {
    const auto slot = free_slots_.take();
    if (slot == kNoSlot) break;
    slots.push_back(slot);
    scratch.slots.push_back(slot_data(slot));
  }
  for (auto log = kNoSlot; logs.size() < kLogs && (log = free_logs_.take()) != kNoSlot;) {
    logs.push_back(log);
    scratch.logs.push_back(log_data(log));
  }
  costs_ = measure_flush_costs(persist_, scratch, geometry_.page_bytes);
  for (const auto slot : slots)
    free_slots_.give(slot);
  for (const auto log : logs)
    free_logs_.give(log);
}

}  // namespace holdfast::blocks
