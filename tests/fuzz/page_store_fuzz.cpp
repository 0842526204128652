// A good page store with any bytes changed is opened, read whole, written to and opened again. What
// must hold: nothing crashes, a refused open changes no byte, and what an open takes over is a page
// store like any other.
//
// Input: byte 0 says what is made right again; then changes of 2 bytes of place and 8 of content,
// each xored to what is there. Where checks are made right, deeper code meets fields that lie.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <holdfast/base/checksum.hpp>
#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/blocks/page/page_store.hpp>

namespace {

using namespace holdfast;
using namespace holdfast::blocks;
using namespace holdfast::blocks::page_detail;

constexpr std::uint64_t kBytes = 64 * KiB;
constexpr std::uint32_t kPage = 256;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "page_store_fuzz: %s\n", what);
  std::abort();
}

Region memory() {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = kBytes;
  return Region::open("dram", options).value();
}

PageStoreOptions shape() {
  PageStoreOptions options;
  options.page_bytes = kPage;
  options.pages = 20;
  options.spare_slots = 3;
  options.micro_logs = 3;
  options.costs = FlushCosts{{{{2, 2}, {2, 2}}}, {}};
  return options;
}

// Copies, logs, a freed page, old versions in free slots.
const std::vector<std::byte>& good() {
  static const std::vector<std::byte> bytes = [] {
    auto region = memory();
    auto store = PageStore::create(region, whole(region), shape()).value();
    std::vector<std::byte> content(kPage);
    for (std::uint32_t i = 0; i < 60; ++i) {
      std::memset(content.data(), static_cast<int>(i), kPage);
      LineSet dirty;
      dirty.mark_lines(i % 4, 1);
      store->flush({{i % 15}, content.data(), i % 3 == 0 ? nullptr : &dirty}).value();
      if (i % 20 == 7) store->free({i % 15}).value();
    }
    return std::vector<std::byte>(region.data(), region.data() + kBytes);
  }();
  return bytes;
}

std::uint64_t& word(Region& region, std::uint64_t at) {
  return *reinterpret_cast<std::uint64_t*>(region.data() + at);
}

void mend(Region& region, unsigned what) {
  SuperblockHeader superblock;
  std::memcpy(&superblock, region.data(), sizeof superblock);
  if ((what & 1) != 0) {
    superblock.id |= 1;
    superblock = sealed_header(superblock, kPageStoreFormat,
                               {region.data() + sizeof superblock, sizeof(PageStoreShape)});
    std::memcpy(region.data(), &superblock, sizeof superblock);
  }
  const auto original = shape();
  const Geometry geometry{kPage, original.micro_logs, original.pages,
                          original.pages + original.spare_slots};
  if ((what & 2) != 0) {
    for (std::uint64_t slot = 0; slot < geometry.slots; ++slot) {
      auto& page = word(region, geometry.header_at(slot));
      auto& version = word(region, geometry.header_at(slot) + 8);
      page = seal_word(page % (geometry.pages + 2), superblock.id, WordKind::kPage, slot);
      version = seal_word(version & kMaxSealed, superblock.id, WordKind::kVersion, slot);
    }
  }
  if ((what & 4) != 0) {
    for (std::uint64_t page = 0; page < geometry.pages; ++page) {
      auto& freed = word(region, geometry.freed_at(page));
      freed = seal_word(freed & kMaxSealed, superblock.id, WordKind::kFreed, page);
    }
  }
  if ((what & 8) != 0) {
    const auto epoch = word(region, kEpochAt) & kMaxSealed;
    for (std::uint32_t log = 0; log < geometry.micro_logs; ++log) {
      auto* const record = region.data() + geometry.log_at(log);
      auto header = record_header(record);
      header.lines = header.lines % 5;
      std::memcpy(record, &header, sizeof header);
      word(region, geometry.log_at(log)) = checksum64({record + 8, record_bytes(header.lines) - 8},
                                                      record_seed(superblock.id, epoch, log));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  static Region region = memory();
  std::memcpy(region.data(), good().data(), kBytes);
  for (std::size_t at = 1; at + 10 <= size; at += 10) {
    std::uint16_t place;
    std::uint64_t change;
    std::memcpy(&place, data + at, 2);
    std::memcpy(&change, data + at + 2, 8);
    word(region, place % (kBytes - 8) / 8 * 8) ^= change;
  }
  mend(region, data[0]);

  const std::vector<std::byte> before(region.data(), region.data() + kBytes);
  auto store = PageStore::open(region, whole(region), shape());
  if (!store) {
    require(std::memcmp(before.data(), region.data(), kBytes) == 0,
            "a refused open changed a byte");
    require(!store.error().detail.empty(), "an error without a word");
    return 0;
  }
  // Sizes may lie as long as they fit; then pages are as large as they say.
  const auto bytes = (*store)->page_bytes();
  std::vector<std::byte> content(bytes), found(bytes);
  const auto pages = std::min<std::uint64_t>((*store)->pages(), 64);
  std::vector<bool> written(pages);
  for (std::uint32_t page = 0; page < pages; ++page) {
    const bool there = (*store)->read({page}, found).has_value();
    require(there == (*store)->contains({page}), "read and contains disagree");
    std::memset(content.data(), static_cast<int>(page), bytes);
    LineSet dirty;
    dirty.mark_lines(0, 1);
    if (there && page % 3 == 1) {
      const auto status = (*store)->free({page});
      require(status.has_value() || status.code() == Errc::kNoSpace, "free");
    } else {
      const auto status =
          (*store)->flush({{page}, content.data(), page % 2 == 0 ? nullptr : &dirty});
      require(status.has_value() || status.code() == Errc::kNoSpace, "flush");
      written[page] = status.has_value() && page % 2 == 0;
    }
  }
  store = Error{Errc::kClosed, {}};
  store = PageStore::open(region, whole(region), shape());
  require(store.has_value() || store.code() == Errc::kCorrupt, "a store that was opened and used");
  for (std::uint32_t page = 0; store && page < pages; ++page) {
    if (!written[page]) continue;
    std::memset(content.data(), static_cast<int>(page), bytes);
    require((*store)->read({page}, found).has_value() && found == content,
            "a flushed page is lost");
  }
  return 0;
}
