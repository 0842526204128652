#include <holdfast/blocks/page/page_store.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include <holdfast/base/mutant.hpp>
#include <holdfast/blocks/page/page_kernels.hpp>

namespace holdfast::blocks {

using namespace page_detail;

std::string_view name(FlushMethod method) {
  switch (method) {
    case FlushMethod::kHybrid: return "hybrid";
    case FlushMethod::kCopyOnWrite: return "cow";
    case FlushMethod::kMicroLog: return "ulog";
  }
  return "?";
}

Status PageStoreOptions::validate() const {
  const auto invalid = [](const char* field, std::uint64_t seen, const char* rule) {
    return Error{Errc::kInvalidOption, std::string("page store: ") + field + "=" +
                                           std::to_string(seen) + ": allowed are " + rule};
  };
  if (!std::has_single_bit(page_bytes) || page_bytes < kCacheLineBytes || page_bytes > 64 * KiB)
    return invalid("page_bytes", page_bytes, "powers of two from 64 to 65,536");
  if (spare_slots < 1 || spare_slots > 65'536)
    return invalid("spare_slots", spare_slots, "1 to 65,536");
  if (pages > page_detail::kMostSlots - spare_slots)
    return invalid("pages", pages, "0 to 4,294,967,295, less the spare_slots");
  if (micro_logs < 1 || micro_logs > 4'096) return invalid("micro_logs", micro_logs, "1 to 4,096");
  return {};
}

std::uint32_t PageStore::Pool::take() {
  const Lock lock(latch_);
  if (count_ == 0) return kNoSlot;
  const auto number = ring_[first_];
  first_ = first_ + 1 == ring_.size() ? 0 : first_ + 1;
  --count_;
  return number;
}

void PageStore::Pool::give(std::uint32_t number) {
  const Lock lock(latch_);
  const auto end = first_ + count_;
  ring_[end < ring_.size() ? end : end - ring_.size()] = number;
  ++count_;
}

namespace {

// Threads are numbered as they come.
std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

void PageStore::LogPool::reset(std::uint32_t logs) {
  const auto count = std::max(logs / kLogsPerStripe, 1u);
  stripes_ = std::vector<Stripe>(count);
  for (std::uint32_t stripe = 0; stripe < count; ++stripe) {
    std::vector<std::uint32_t> mine;
    for (auto log = stripe; log < logs; log += count)
      mine.push_back(log);
    const auto size = mine.size();
    stripes_[stripe].logs.reset(std::move(mine), size);
  }
}

std::uint32_t PageStore::LogPool::take() {
  const auto own = thread_number();
  for (std::size_t i = 0; i < stripes_.size(); ++i) {
    const auto log = stripes_[(own + i) % stripes_.size()].logs.take();
    if (log != kNoSlot) return log;
  }
  return kNoSlot;
}

Status PageStore::check(PageId page) const {
  if (page.value < geometry_.pages) return {};
  return Error{Errc::kInvalidOption, "page store: page " + std::to_string(page.value) +
                                         ": allowed are 0 to " +
                                         std::to_string(geometry_.pages - 1)};
}

Status PageStore::check(const PageFlush& flush) const {
  if (read_only_)
    return Error{Errc::kReadOnly, "page store: it was opened read-only; page " +
                                      std::to_string(flush.page.value) + " was not flushed"};
  HF_RETURN_IF_ERROR(check(flush.page));
  if (flush.content == nullptr)
    return Error{Errc::kInvalidOption,
                 "page store: page " + std::to_string(flush.page.value) + ": content is null"};
  if (flush.dirty != nullptr && flush.dirty->end() > geometry_.lines_per_page())
    return Error{Errc::kInvalidOption,
                 "page store: page " + std::to_string(flush.page.value) + ": dirty line " +
                     std::to_string(flush.dirty->end() - 1) + " lies beyond its " +
                     std::to_string(geometry_.lines_per_page()) + " lines"};
  return {};
}

LineSet PageStore::all_lines() const {
  LineSet all;
  all.mark_lines(0, geometry_.lines_per_page());
  return all;
}

Result<std::uint64_t> PageStore::new_version() {
  const auto version = next_version_.fetch_add(1, std::memory_order_relaxed);
  if (version <= kMaxSealed) [[likely]]
    return version;
  next_version_.store(kMaxSealed + 1, std::memory_order_relaxed);  // Never wraps.
  return Error{Errc::kNoSpace, "page store: 2^48 versions were used up; copy it into a new one"};
}

// Phase 1: chooses the method and writes what the first fence must make durable: the copy, or the
// record. On anything but kStarted the page is not latched.
Result<PageStore::Start> PageStore::start(const PageFlush& flush, Started& started) {
  Page& page = page_[flush.page.value];
  UniqueLock latch(page.latch);
  auto outcome = start_latched(page, flush, started);
  if (outcome && *outcome == Start::kStarted) latch.release();
  return outcome;
}

Result<PageStore::Start> PageStore::start_latched(Page& page, const PageFlush& flush,
                                                  Started& started) {
  const bool exists = page.slot != kNoSlot;
  if (!exists && flush.in_dram == InDram::kDirtyLines)
    return Error{Errc::kNotFound, "page store: page " + std::to_string(flush.page.value) +
                                      " does not exist; its first flush needs the whole page"};
  const bool partial = exists && flush.dirty != nullptr;
  const auto lines = partial ? flush.dirty->count() : geometry_.lines_per_page();
  if (lines == 0) return Start::kNothingToDo;

  started = {&page, &flush, 0, page.slot, kNoSlot, kNoSlot};
  if (exists && method_ != FlushMethod::kCopyOnWrite &&
      (method_ == FlushMethod::kMicroLog ||
       costs_.prefers_micro_log(lines, flushing_.load(std::memory_order_relaxed), flush.in_dram))) {
    started.log = free_logs_.take();
    // The hybrid need not wait for a log; kMicroLog waits for one.
    if (started.log == kNoSlot && method_ == FlushMethod::kMicroLog) return Start::kNoPlace;
  }
  if (started.log == kNoSlot) {
    started.slot = free_slots_.take();
    if (started.slot == kNoSlot) return Start::kNoPlace;
    started.old_slot = page.slot;
  }
  auto version = new_version();
  if (!version) {
    if (started.log != kNoSlot)
      free_logs_.give(started.log);
    else
      free_slots_.give(started.slot);
    return std::move(version).error();
  }
  started.version = *version;

  auto* const slot = slot_data(started.slot);
  if (started.log != kNoSlot) {
    const auto all = partial ? LineSet{} : all_lines();
    const auto& dirty = partial ? *flush.dirty : all;
    prefetch_lines(slot, dirty);
    write_record(persist_, log_data(started.log),
                 {0, started.version, started.slot, flush.page.value, lines, 0},
                 seed_of(started.log), flush.content, dirty);
  } else if (flush.in_dram == InDram::kDirtyLines && lines < geometry_.lines_per_page()) {
    write_page_with_old_lines(persist_, slot, slot_data(page.slot), flush.content, *flush.dirty,
                              geometry_.page_bytes);
  } else {
    write_page(persist_, slot, flush.content, geometry_.page_bytes);
  }
  return Start::kStarted;
}

void PageStore::give_old_slot(const Started& started) {
  if (started.old_slot != kNoSlot) free_slots_.give(started.old_slot);
}
void PageStore::give_log(const Started& started) {
  if (started.log != kNoSlot) free_logs_.give(started.log);
}

// Phase 2, between two fences; then everything is published and given back.
void PageStore::finish(std::span<Started> group) {
  if (group.empty()) return;
  persist_.fence();  // Copies and records are durable: headers may name them, lines may change.
  HF_MUTANT("P15", void(), group.size() > 1 ? persist_.fence() : void());
  for (auto& started : group) {
    HF_MUTANT("P09", void(), give_old_slot(started));
    HF_MUTANT("P10", void(), give_log(started));
    auto* const slot_header = header(started.slot);
    const auto version_word = seal(started.version, WordKind::kVersion, started.slot);
    if (started.log != kNoSlot) {
      const auto all = started.flush->dirty == nullptr ? all_lines() : LineSet{};
      write_lines(persist_, slot_data(started.slot), started.flush->content,
                  started.flush->dirty == nullptr ? all : *started.flush->dirty);
      persist_.store(&slot_header->version, version_word);
      persist_.write_back(&slot_header->version, sizeof slot_header->version);
    } else {
      write_header(
          persist_, slot_header,
          seal(std::uint64_t{started.flush->page.value} + 1, WordKind::kPage, started.slot),
          version_word);
    }
  }
  persist_.fence();  // The new versions are durable: old slots and logs may be used again.
  for (auto& started : group) {
    started.page->slot = started.slot;
    HF_MUTANT("P09", give_old_slot(started), void());
    HF_MUTANT("P10", give_log(started), void());
    started.page->latch.unlock();
  }
}

namespace {

// Counts a thread as flushing while it lives.
class Flushing {
 public:
  explicit Flushing(std::atomic<unsigned>& count) : count_(count) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Flushing() { count_.fetch_sub(1, std::memory_order_relaxed); }
  Flushing(const Flushing&) = delete;
  Flushing& operator=(const Flushing&) = delete;

 private:
  std::atomic<unsigned>& count_;
};

}  // namespace

Status PageStore::flush(const PageFlush& flush) {
  HF_RETURN_IF_ERROR(check(flush));
  const Flushing flushing(flushing_);
  Started started;
  for (SpinWait wait;; wait()) {  // Others give their slots and logs back when they are done.
    HF_ASSIGN_OR_RETURN(const auto outcome, start(flush, started));
    if (outcome == Start::kNothingToDo) return {};
    if (outcome == Start::kStarted) break;
  }
  finish({&started, 1});
  return {};
}

Status PageStore::flush(PageId page, std::span<const std::byte> content) {
  if (content.size() != geometry_.page_bytes)
    return Error{Errc::kInvalidOption, "page store: page " + std::to_string(page.value) +
                                           ": content has " + std::to_string(content.size()) +
                                           " bytes, a page " +
                                           std::to_string(geometry_.page_bytes)};
  return flush({page, content.data(), nullptr, InDram::kWholePage});
}

Status PageStore::flush_many(std::span<const PageFlush> flushes) {
  // In ascending order, so that two threads with the same pages never wait for each other.
  std::vector<const PageFlush*> ascending;
  ascending.reserve(flushes.size());
  for (const auto& flush : flushes) {
    HF_RETURN_IF_ERROR(check(flush));
    ascending.push_back(&flush);
  }
  std::sort(ascending.begin(), ascending.end(),
            [](const auto* a, const auto* b) { return a->page < b->page; });
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    if (ascending[i - 1]->page == ascending[i]->page)
      return Error{Errc::kInvalidOption, "page store: page " +
                                             std::to_string(ascending[i]->page.value) +
                                             " is named twice in one flush_many"};
  }
  const Flushing flushing(flushing_);
  std::array<Started, kGroup> group;
  std::size_t count = 0;
  const auto finish_group = [&] { finish({group.data(), std::exchange(count, 0)}); };
  for (const auto* flush : ascending) {
    if (count == kGroup) finish_group();
    for (SpinWait wait;;) {
      auto outcome = start(*flush, group[count]);
      if (!outcome) {
        finish_group();
        return std::move(outcome).error();
      }
      if (*outcome == Start::kStarted) ++count;
      if (*outcome != Start::kNoPlace) break;
      // Never wait for a slot while holding some: two groups could wait for each other's.
      if (count != 0)
        finish_group();
      else
        wait();
    }
  }
  finish_group();
  return {};
}

Status PageStore::read(PageId page, std::span<std::byte> out) const {
  HF_RETURN_IF_ERROR(check(page));
  if (out.size() != geometry_.page_bytes)
    return Error{Errc::kInvalidOption, "page store: out has " + std::to_string(out.size()) +
                                           " bytes, a page " +
                                           std::to_string(geometry_.page_bytes)};
  const Lock latch(page_[page.value].latch);
  const auto slot = page_[page.value].slot;
  if (slot == kNoSlot) return Error{Errc::kNotFound, {}};
  std::memcpy(out.data(), slot_data(slot), out.size());
  if (!overlays_.empty()) [[unlikely]] {
    for (const auto& [changed, log] : overlays_) {
      if (changed == page)
        for_each_line(log_data(log), [&](std::uint16_t line, const std::byte* bytes) {
          std::memcpy(out.data() + line * kCacheLineBytes, bytes, kCacheLineBytes);
        });
    }
  }
  return {};
}

Status PageStore::free(PageId page) {
  HF_RETURN_IF_ERROR(check(page));
  if (read_only_) return Error{Errc::kReadOnly, "page store: it was opened read-only"};
  const Lock latch(page_[page.value].latch);
  auto& slot = page_[page.value].slot;
  if (slot == kNoSlot) return Error{Errc::kNotFound, {}};
  HF_ASSIGN_OR_RETURN(const auto version, new_version());
  // Every version of the page up to now is dead, wherever a copy of it may still lie.
  HF_MUTANT("P12", void(), free_slots_.give(slot));
  const auto dead_up_to = HF_MUTANT("P11", version, version - (version > 2 ? 2 : 1));
  HF_RETURN_IF_ERROR(writer_.put_word(geometry_.freed_at(page.value),
                                      seal(dead_up_to, WordKind::kFreed, page.value)));
  HF_RETURN_IF_ERROR(writer_.order());
  HF_MUTANT("P12", free_slots_.give(slot), void());
  slot = kNoSlot;
  return {};
}

bool PageStore::contains(PageId page) const {
  if (page.value >= geometry_.pages) return false;
  const Lock latch(page_[page.value].latch);
  return page_[page.value].slot != kNoSlot;
}

std::optional<PageId> PageStore::next_page(PageId from) const {
  for (; from.value < pages(); ++from.value) {
    if (contains(from)) return from;
  }
  return std::nullopt;
}

std::optional<PageId> PageStore::next_free(PageId from) const {
  for (; from.value < pages(); ++from.value) {
    if (!contains(from)) return from;
  }
  return std::nullopt;
}

FlushMethod PageStore::method_for(std::uint32_t dirty_lines, InDram in_dram) const {
  if (method_ != FlushMethod::kHybrid) return method_;
  return costs_.prefers_micro_log(dirty_lines, 1, in_dram) ? FlushMethod::kMicroLog
                                                           : FlushMethod::kCopyOnWrite;
}

}  // namespace holdfast::blocks
