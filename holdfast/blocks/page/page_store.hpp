// page_store.hpp: pages of fixed size on persistent memory, written back as a whole or not at all.
// Public header.
//
// Guarantee  When flush() returns, the page's new content is durable; a crash before that leaves
//            the old content or the new one. free() likewise. Each page is atomic by itself only:
//            flush_many() shares fences, but is not atomic as a whole.
// Methods    copy-on-write: the page goes to a free slot, then the slot's header names it
//            micro log: the changed lines go to a log, then into the page's slot
//            hybrid (default): whichever a cost model, measured at start-up, expects to be faster
// Cost       Two fences each. Copy-on-write: page_bytes / 64 + 1 lines. Micro log of d dirty lines:
//            1 + 2 d + (d > 16: more line numbers) + 1 lines. free(): one fence, one line.
//            flush_many: two fences per group of up to kGroup pages.
// Medium     One slot per page and `spare_slots` more, 64 bytes per slot, 8 per page, the logs.
//            DRAM: 8 bytes per page, 4 per slot.
// Threads    Any, on any pages; calls for one page wait for one another.
// Crashes    open() reads headers, not pages (64 bytes per slot), and repeats at most one micro
//            log per flush that was in flight. What it found is durable before it returns, also
//            after a kill without a power loss.
// Media      Granularity line, byte or none; not page (a plain file on a disk).
// Sharing    One object per extent at a time: a second one is kBusy. In a read-only region any
//            number may read.
// Implements van Renen et al., "Building Blocks for Persistent Memory" (VLDB Journal 2020), section
//            3.2. Deviations, argued in docs/blocks_page.md: versions are unique in the store, so
//            no two slots ever tie; page and version are one line but each a checked word; freed
//            pages leave a durable word; the micro log is checked by a checksum (2 fences instead
//            of 4), knows the version it makes, and is never replayed over a newer one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/spin.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/blocks/page/flush_costs.hpp>
#include <holdfast/blocks/page/line_set.hpp>
#include <holdfast/blocks/page/page_format.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::blocks {

enum class FlushMethod : std::uint8_t { kHybrid = 0, kCopyOnWrite = 1, kMicroLog = 2 };
// "hybrid", "cow", "ulog".
std::string_view name(FlushMethod method);

struct PageStoreOptions {
  // --- of a new store; an existing one keeps its own ---
  std::uint32_t page_bytes = 16 * KiB;  // Power of two, 64 to 64 KiB.
  std::uint64_t pages = 0;              // Up to 2^32 - 1; 0: as many as fit into the extent.
  // Slots beyond one per page; each copy-on-write in flight needs one. 1 to 65,536.
  std::uint32_t spare_slots = 64;
  // Each flush by micro log in flight needs one; used in turn. 1 to 4,096.
  std::uint32_t micro_logs = 32;

  // --- of this opening ---
  // The micro log changes what is there: a page without a slot yet is always copied.
  FlushMethod method = FlushMethod::kHybrid;
  // For the hybrid; if absent, it is measured (some 20 ms).
  std::optional<FlushCosts> costs;

  Status validate() const;  // kInvalidOption, naming the field, the value seen and the rule.
};

// One page to write back. `content` has page_bytes() bytes; of these, those of dirty lines are
// read, and all of them if `in_dram` says that they are there.
struct PageFlush {
  PageId page;
  const std::byte* content = nullptr;
  // Changed since the page's last flush; null: all. An empty set of a page that exists: nothing is
  // done. A page that does not exist yet is written whole.
  const LineSet* dirty = nullptr;
  InDram in_dram = InDram::kWholePage;
};

class PageStore {
 public:
  static constexpr std::size_t kGroup = 16;

  // A new, empty store. It is there when this returns; a crash before leaves none. Errors:
  // kInvalidOption (options, extent), kNoSpace (says how many bytes are needed), kAlreadyExists
  // (the extent begins with a structure of Holdfast's, of any kind), kBusy (another object uses a
  // part of the extent), kUnsupported (page granularity), kReadOnly, kIo.
  static Result<std::unique_ptr<PageStore>> create(Region& region, const Extent& extent,
                                                   const PageStoreOptions& options = {});
  // Errors: kNotHoldfast (no page store), kNewerFormat, kCorrupt (names the word and its slot or
  // page), kBusy (as create), kInvalidOption, kUnsupported. A read-only region is read as recovery
  // would leave it; nothing is written.
  static Result<std::unique_ptr<PageStore>> open(Region& region, const Extent& extent,
                                                 const PageStoreOptions& options = {});
  // Bytes that an extent needs for a store of these options (with `pages` given).
  static std::uint64_t bytes_needed(const PageStoreOptions& options);

  std::uint32_t page_bytes() const { return geometry_.page_bytes; }
  std::uint64_t pages() const { return geometry_.pages; }
  std::uint64_t store_id() const { return store_id_; }

  // Durable and published when it returns. Errors, with nothing written: kInvalidOption (page
  // number, no content, a dirty line beyond the page), kNotFound (only dirty lines of a page that
  // does not exist), kReadOnly, kNoSpace (2^48 flushes).
  Status flush(const PageFlush& flush);
  Status flush(PageId page, std::span<const std::byte> content);  // All of it.
  // Any number of different pages; two fences per kGroup of them. Durable are those before the
  // first error, in ascending order of pages. Errors: as flush; kInvalidOption for a page named
  // twice.
  Status flush_many(std::span<const PageFlush> flushes);
  // `out` has page_bytes() bytes. Errors: kNotFound (never flushed, or freed), kInvalidOption.
  Status read(PageId page, std::span<std::byte> out) const;
  // Durable when it returns. Errors: kNotFound, kInvalidOption, kReadOnly, kNoSpace (as flush).
  Status free(PageId page);
  bool contains(PageId page) const;
  // The first page from `from` on that exists, and the first number that no page has; beside
  // flushes and frees, as it was at some moment of the call. O(numbers passed over).
  std::optional<PageId> next_page(PageId from = {}) const;
  std::optional<PageId> next_free(PageId from = {}) const;
  // How much of its extent it uses, from the beginning.
  std::uint64_t size_bytes() const { return geometry_.bytes(); }

  const FlushCosts& costs() const { return costs_; }
  // What a flush of so many lines of an existing page would do while nobody else flushes.
  FlushMethod method_for(std::uint32_t dirty_lines, InDram in_dram = InDram::kWholePage) const;

  PageStore(const PageStore&) = delete;
  PageStore& operator=(const PageStore&) = delete;

 private:
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};

  struct Page {
    mutable SpinLatch latch;  // Held by flush, free and read of this page, over their fences.
    std::uint32_t slot HF_GUARDED_BY(latch) = kNoSlot;
  };

  // Numbers that are handed out and come back; first in, first out: neither a slot nor a log is
  // written again right after it was flushed.
  class Pool {
   public:
    // `numbers` has room for all that ever come back; the first `count` are to be had now.
    void reset(std::vector<std::uint32_t> numbers, std::size_t count) {
      const Lock lock(latch_);
      ring_ = std::move(numbers), first_ = 0, count_ = count;
    }
    std::uint32_t take();  // kNoSlot: none is left.
    void give(std::uint32_t number);

   private:
    SpinLatch latch_;
    std::vector<std::uint32_t> ring_ HF_GUARDED_BY(latch_);
    std::size_t first_ HF_GUARDED_BY(latch_) = 0, count_ HF_GUARDED_BY(latch_) = 0;
  };

  // The micro logs, in stripes: a thread takes its own stripe's in turn, so that their lines stay
  // where it runs. Another stripe's only if its own has none left.
  class LogPool {
   public:
    void reset(std::uint32_t logs);
    std::uint32_t take();  // kNoSlot: none is left.
    void give(std::uint32_t log) { stripes_[log % stripes_.size()].logs.give(log); }

   private:
    // Enough that a log is not written again right after it was flushed.
    static constexpr std::uint32_t kLogsPerStripe = 4;
    struct alignas(kCacheLineBytes) Stripe {
      Pool logs;
    };
    std::vector<Stripe> stripes_;
  };

  // A flush between its two fences. Its page is latched.
  struct Started {
    Page* page;
    const PageFlush* flush;
    std::uint64_t version;
    std::uint32_t slot;                // The new one, or the one that is changed in place.
    std::uint32_t old_slot = kNoSlot;  // To be given back.
    std::uint32_t log = kNoSlot;       // kNoSlot: copy-on-write.
  };
  enum class Start : std::uint8_t { kStarted, kNothingToDo, kNoPlace };

  // What a superblock of any version says.
  struct Identity {
    page_detail::PageStoreShape shape;
    std::uint64_t store_id;
    std::uint64_t epoch_at;
  };
  // What the headers say: the versions that are in the pages' slots (0: no slot), and the newest
  // that was ever handed out, as far as anything names it.
  struct Versions {
    std::vector<std::uint64_t> of_page;
    std::uint64_t newest = 0;
  };

  PageStore(Region& region, const Extent& extent, const PageStoreOptions& options, Claim claim,
            const Identity& identity);
  // Recovers, and measures what the options leave open.
  static Result<std::unique_ptr<PageStore>> start(std::unique_ptr<PageStore> store,
                                                  const PageStoreOptions& options);
  static Result<Identity> read_superblock(const Region& region, const Extent& extent);
  static Result<Identity> read_version_2(const Region& region, const Extent& extent);
  static Status check_identity(const Identity& identity, const Extent& extent);

  // page_recovery.cpp, in this order. Nobody else knows the store yet: no page is latched.
  Status recover();
  Status read_epoch();
  Status read_freed_words(std::vector<std::uint64_t>& freed, std::uint64_t& newest) const;
  Status read_headers(Versions& versions) HF_NO_THREAD_SAFETY_ANALYSIS;
  std::vector<std::uint32_t> unfinished_logs(Versions& versions) const HF_NO_THREAD_SAFETY_ANALYSIS;
  void repeat(std::span<const std::uint32_t> logs);
  void fill_pools() HF_NO_THREAD_SAFETY_ANALYSIS;
  void measure_costs();

  Status check(const PageFlush& flush) const;
  Status check(PageId page) const;
  // start() latches the page, and on kStarted leaves it latched; finish() gives back the latches.
  // Which they are, is known when the program runs: clang cannot follow.
  Result<Start> start(const PageFlush& flush, Started& started) HF_NO_THREAD_SAFETY_ANALYSIS;
  Result<Start> start_latched(Page& page, const PageFlush& flush, Started& started)
      HF_REQUIRES(page.latch);
  void finish(std::span<Started> group) HF_NO_THREAD_SAFETY_ANALYSIS;
  void give_old_slot(const Started& started);
  void give_log(const Started& started);
  Result<std::uint64_t> new_version();
  LineSet all_lines() const;
  std::uint64_t seed_of(std::uint32_t log) const {
    return page_detail::record_seed(store_id_, epoch_, log);
  }

  std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  std::byte* slot_data(std::uint32_t slot) const { return at(geometry_.slot_at(slot)); }
  std::byte* log_data(std::uint32_t log) const { return at(geometry_.log_at(log)); }
  page_detail::SlotHeader* header(std::uint32_t slot) const {
    return reinterpret_cast<page_detail::SlotHeader*>(at(geometry_.header_at(slot)));
  }
  std::uint64_t seal(std::uint64_t value, page_detail::WordKind kind, std::uint64_t place) const {
    return page_detail::seal_word(value, store_id_, kind, place);
  }

  const Claim claim_;
  const DurableWriter writer_;
  const Persist persist_;
  std::byte* const base_;
  const bool read_only_;
  const FlushMethod method_;
  const page_detail::Geometry geometry_;
  const std::uint64_t store_id_;
  const std::uint64_t epoch_at_;
  std::uint64_t epoch_ = 0;
  FlushCosts costs_;

  std::unique_ptr<Page[]> page_;
  // Read-only: logs that recovery would have replayed, laid over what read() finds.
  std::vector<std::pair<PageId, std::uint32_t>> overlays_;
  LogPool free_logs_;
  // What every flush changes, on lines of its own: what every flush only reads is not disturbed.
  alignas(kCacheLineBytes) Pool free_slots_;
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next_version_{1};
  alignas(kCacheLineBytes) std::atomic<unsigned> flushing_{0};  // Threads in flush and flush_many.
};

}  // namespace holdfast::blocks
