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
//                              done
//  s is not p's                ignored: p was copied elsewhere or freed since
//
// Then the epoch is raised: no record of before is ever looked at again.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace holdfast::blocks {

using namespace page_detail;

namespace {

Status check_medium(const Region& region, const Extent& extent) {
  HF_RETURN_IF_ERROR(check_extent("page store", region, extent));
  if (region.granularity() == Granularity::kPage)
    return Error{Errc::kUnsupported,
                 "page store: the region is durable by system calls only (granularity page); put "
                 "it on persistent memory, or give up durability with ?granularity=none"};
  return {};
}

Geometry geometry_of(const PageStoreShape& shape) {
  return {shape.page_bytes, shape.micro_logs, shape.pages, shape.slots};
}
Geometry geometry_of(const PageStoreOptions& options, std::uint64_t pages) {
  return {options.page_bytes, options.micro_logs, pages, pages + options.spare_slots};
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
  std::uint64_t low = 0,
                high = std::min<std::uint64_t>(extent.size_bytes / options.page_bytes,
                                               page_detail::kMostSlots - options.spare_slots);
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

PageStore::PageStore(Region& region, const Extent& extent, const PageStoreOptions& options,
                     Claim claim, const Identity& identity)
    : claim_(std::move(claim)),
      writer_(region, extent),
      persist_(region.persist()),
      base_(region.data() + extent.offset_bytes),
      read_only_(region.read_only()),
      method_(options.method),
      geometry_(geometry_of(identity.shape)),
      store_id_(identity.store_id),
      epoch_at_(identity.epoch_at) {
  if (options.costs) costs_ = *options.costs;
}

Result<std::unique_ptr<PageStore>> PageStore::start(std::unique_ptr<PageStore> store,
                                                    const PageStoreOptions& options) {
  HF_RETURN_IF_ERROR(store->recover());
  if (options.method == FlushMethod::kHybrid && !options.costs && !store->read_only_)
    store->measure_costs();
  return store;
}

// ---- Creation and the superblock ----

Result<std::unique_ptr<PageStore>> PageStore::create(Region& region, const Extent& extent,
                                                     const PageStoreOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_RETURN_IF_ERROR(check_medium(region, extent));
  if (region.read_only())
    return Error{Errc::kReadOnly, "page store: cannot be created in a read-only region"};
  HF_ASSIGN_OR_RETURN(const auto geometry, place(options, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "page store"));
  HF_RETURN_IF_ERROR(refuse_to_overwrite("page store", region, extent));
  Identity identity{
      {geometry.page_bytes, geometry.micro_logs, geometry.pages, geometry.slots}, 0, kEpochAt};
  const auto body = std::as_bytes(std::span(&identity.shape, 1));
  HF_ASSIGN_OR_RETURN(const auto header, new_header(kPageStoreFormat, body));
  identity.store_id = header.id;

  // Epoch, headers and words of freed pages must read as never written before there is a store.
  // The logs need no zeros: what lies there has no checksum under the new store's number.
  auto* const base = region.data() + extent.offset_bytes;
  zero_lines(region.persist(), base, kEpochAt + kCacheLineBytes);
  zero_lines(region.persist(), base + kSuperblockBytes,
             round_up(geometry.freed_at(geometry.pages), kCacheLineBytes) - kSuperblockBytes);
  HF_RETURN_IF_ERROR(write_superblock(DurableWriter(region, extent), 0, header, body));
  return start(std::unique_ptr<PageStore>(
                   new PageStore(region, extent, options, std::move(claim), identity)),
               options);
}

Result<std::unique_ptr<PageStore>> PageStore::open(Region& region, const Extent& extent,
                                                   const PageStoreOptions& options) {
  HF_RETURN_IF_ERROR(check_medium(region, extent));
  HF_ASSIGN_OR_RETURN(auto claim, region.claim(extent, "page store"));
  HF_ASSIGN_OR_RETURN(const auto identity, read_superblock(region, extent));
  return start(std::unique_ptr<PageStore>(
                   new PageStore(region, extent, options, std::move(claim), identity)),
               options);
}

Result<PageStore::Identity> PageStore::read_superblock(const Region& region, const Extent& extent) {
  const auto* const base = region.data() + extent.offset_bytes;
  std::uint64_t last_word;
  std::memcpy(&last_word, base + offsetof(Version2Superblock, magic), sizeof last_word);
  if (last_word == kVersion2Magic) return read_version_2(region, extent);
  Identity identity{{}, 0, kEpochAt};
  HF_ASSIGN_OR_RETURN(
      const auto header,
      holdfast::read_superblock(kPageStoreFormat, {base, kEpochAt},
                                std::as_writable_bytes(std::span(&identity.shape, 1))));
  identity.store_id = header.id;
  HF_RETURN_IF_ERROR(check_identity(identity, extent));
  return identity;
}

Result<PageStore::Identity> PageStore::read_version_2(const Region& region, const Extent& extent) {
  Version2Superblock superblock;
  std::memcpy(&superblock, region.data() + extent.offset_bytes, sizeof superblock);
  if (superblock.format_version < kVersion2)
    return Error{Errc::kUnsupported,
                 "page store: format version " + std::to_string(superblock.format_version) +
                     "; this build reads versions 2 and 3: copy the pages with the build that "
                     "wrote them"};
  constexpr auto kFrom = sizeof superblock.checksum;
  const auto sum = hash64({reinterpret_cast<const std::byte*>(&superblock) + kFrom,
                           offsetof(Version2Superblock, magic) - kFrom});
  if (superblock.checksum != sum || superblock.format_version != kVersion2)
    return damaged("superblock");
  const Identity identity{
      {superblock.page_bytes, superblock.micro_logs, superblock.pages, superblock.slots},
      superblock.store_id,
      kVersion2EpochAt};
  HF_RETURN_IF_ERROR(check_identity(identity, extent));
  return identity;
}

// A checksum can be forged: memory must not be harmed by what it covers.
Status PageStore::check_identity(const Identity& identity, const Extent& extent) {
  const auto& shape = identity.shape;
  const bool sane = std::has_single_bit(shape.page_bytes) && shape.page_bytes >= kCacheLineBytes &&
                    shape.page_bytes <= 64 * KiB && shape.micro_logs >= 1 &&
                    shape.micro_logs <= 4'096 && shape.pages >= 1 && shape.slots <= kMostSlots &&
                    shape.slots > shape.pages && shape.slots - shape.pages <= 65'536;
  if (!sane) return damaged("superblock");
  const auto geometry = geometry_of(shape);
  if (geometry.bytes() > extent.size_bytes)
    return Error{Errc::kCorrupt,
                 "page store: it was created with " + std::to_string(geometry.bytes()) +
                     " bytes; extent.size_bytes=" + std::to_string(extent.size_bytes) +
                     " (was the region cut short?)"};
  return {};
}

// ---- Recovery ----

Status PageStore::recover() {
  page_ = std::make_unique<Page[]>(geometry_.pages);
  HF_RETURN_IF_ERROR(read_epoch());
  Versions versions;
  HF_RETURN_IF_ERROR(read_headers(versions));
  const auto unfinished = unfinished_logs(versions);
  if (read_only_) {
    for (const auto log : unfinished)
      overlays_.emplace_back(PageId{record_header(log_data(log)).page}, log);
  } else {
    repeat(unfinished);
  }
  fill_pools();
  next_version_.store(HF_MUTANT("P04", versions.newest + 1, versions.newest));
  return {};
}

Status PageStore::read_epoch() {
  const auto epoch = open_word(writer_.word(epoch_at_), store_id_, WordKind::kEpoch, 0);
  if (!epoch || *epoch == kMaxSealed) return damaged("epoch");
  epoch_ = *epoch;
  return {};
}

Status PageStore::read_freed_words(std::vector<std::uint64_t>& freed, std::uint64_t& newest) const {
  freed.resize(geometry_.pages);
  for (std::uint64_t page = 0; page < geometry_.pages; ++page) {
    const auto at =
        open_word(writer_.word(geometry_.freed_at(page)), store_id_, WordKind::kFreed, page);
    if (!at) return damaged("freed word of page " + std::to_string(page));
    freed[page] = *at;
    newest = std::max(newest, HF_MUTANT("P05", *at, newest));
  }
  return {};
}

Status PageStore::read_headers(Versions& versions) {
  std::vector<std::uint64_t> freed;
  HF_RETURN_IF_ERROR(read_freed_words(freed, versions.newest));
  versions.of_page.assign(geometry_.pages, 0);
  for (std::uint32_t slot = 0; slot < geometry_.slots; ++slot) {
    const auto page =
        open_word(Persist::load(&header(slot)->page), store_id_, WordKind::kPage, slot);
    const auto version =
        open_word(Persist::load(&header(slot)->version), store_id_, WordKind::kVersion, slot);
    if (!page || !version || *page > geometry_.pages)
      return damaged("header of slot " + std::to_string(slot));
    versions.newest = std::max(versions.newest, *version);
    if (*page == 0) continue;
    const auto number = *page - 1;
    auto& found = versions.of_page[number];
    if (HF_MUTANT("P07", *version <= freed[number], *version == 0) || *version < found) continue;
    if (*version == found && *version != 0)
      return Error{Errc::kCorrupt, "page store: slots " + std::to_string(page_[number].slot) +
                                       " and " + std::to_string(slot) + " both hold page " +
                                       std::to_string(number) + ", version " +
                                       std::to_string(*version) + "; a version is handed out once"};
    found = *version;
    page_[number].slot = slot;
  }
  return {};
}

// Of a page's logs only the newest may be unfinished: the one before it was done, and its lines may
// be older.
std::vector<std::uint32_t> PageStore::unfinished_logs(Versions& versions) const {
  std::unordered_map<std::uint32_t, std::uint32_t> newest_log;
  for (std::uint32_t log = 0; log < geometry_.micro_logs; ++log) {
    if (!record_is_valid(log_data(log), seed_of(log), geometry_)) continue;
    const auto record = record_header(log_data(log));
    const auto present = versions.of_page[record.page];
    versions.newest = std::max(versions.newest, record.version);
    if (HF_MUTANT("P08", page_[record.page].slot != record.slot, false)) continue;
    if (HF_MUTANT("P01", record.version < present, record.version <= present)) continue;
    const auto [found, first] = newest_log.emplace(record.page, log);
    if (first) continue;
    const auto other = record_header(log_data(found->second)).version;
    if (HF_MUTANT("P02", other<record.version, other> record.version)) found->second = log;
  }
  std::vector<std::uint32_t> logs;
  for (const auto& [page, log] : newest_log)
    logs.push_back(log);
  return logs;
}

// Finishes what the records of `logs` began, and makes all that was found durable.
void PageStore::repeat(std::span<const std::uint32_t> logs) {
  const auto raise_epoch = [&] {
    persist_.store(reinterpret_cast<std::uint64_t*>(at(epoch_at_)),
                   seal(epoch_ + 1, WordKind::kEpoch, 0));
    persist_.persist(at(epoch_at_), sizeof(std::uint64_t));
  };
  // A process may have died without a power loss: then what was just read may be in caches only,
  // and must be durable before anything is built on it. The superblock, too.
  const auto headers_end = geometry_.freed_at(geometry_.pages);
  persist_.write_back(base_, HF_MUTANT("P06", headers_end, headers_end - kCacheLineBytes));
  for (const auto log : logs)
    persist_.write_back(log_data(log), record_bytes(record_header(log_data(log)).lines));
  persist_.fence();
  HF_MUTANT("P03", void(), raise_epoch());
  for (const auto log : logs) {
    const auto record = record_header(log_data(log));
    for_each_line(log_data(log), [&](std::uint16_t line, const std::byte* bytes) {
      auto* const to = slot_data(record.slot) + line * kCacheLineBytes;
      persist_.copy(to, bytes, kCacheLineBytes);
      persist_.write_back(to, kCacheLineBytes);
    });
  }
  if (!logs.empty()) persist_.fence();
  // Only now, with the replayed lines in their place, may the records lose their validity.
  HF_MUTANT("P03", raise_epoch(), void());
  ++epoch_;
}

void PageStore::fill_pools() {
  std::vector<bool> taken(geometry_.slots, false);
  for (std::uint64_t page = 0; page < geometry_.pages; ++page) {
    if (page_[page].slot != kNoSlot) taken[page_[page].slot] = true;
  }
  std::vector<std::uint32_t> free_slots;
  for (std::uint32_t slot = 0; slot < geometry_.slots; ++slot) {
    if (!taken[slot]) free_slots.push_back(slot);
  }
  // Room for what is in use now and comes back.
  const auto free_count = free_slots.size();
  free_slots.resize(geometry_.slots);
  free_slots_.reset(std::move(free_slots), free_count);
  free_logs_.reset(geometry_.micro_logs);
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
