#include <holdfast/crash/medium.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include <holdfast/crash/image_hash.hpp>
#include <holdfast/crash/mutation.hpp>
#include <holdfast/crash/schedule.hpp>
#include <holdfast/crash/simulated_backing.hpp>

namespace holdfast::crash {

namespace {

constexpr unsigned kMaxThreads = 64;  // Bits of PendingStore::marked_by.
constexpr unsigned kMaxStreamedBits =
    63;  // Of CellState::mask; later streamed words share the last bit.
// Crash points inside one long store, at least: of the workload, and of recoveries, of which there
// are thousands.
constexpr std::size_t kByteModePoints = 32;
constexpr std::size_t kNestedByteModePoints = 16;

// Which medium this thread reported to last. Only compared, never followed.
thread_local const Medium* last_medium = nullptr;
thread_local std::source_location region_call_site;

std::uint64_t this_thread_id() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t id = next.fetch_add(1, std::memory_order_relaxed);
  return id;
}

std::byte* reserve(std::uint64_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  HF_CHECK(at != MAP_FAILED);
  return static_cast<std::byte*>(at);
}

}  // namespace

Medium::Medium(const MediumOptions& options, Medium* parent)
    : options_(options), parent_(parent), size_bytes_(options.size_bytes) {
  HF_CHECK(options.model.granularity != Granularity::kNone);
  HF_CHECK(options.unit_bytes >= kPageBytes && options.unit_bytes % kPageBytes == 0);
  HF_CHECK(options.size_bytes % options.unit_bytes == 0);
  HF_CHECK(options.size_bytes <= options.max_size_bytes);
  HF_CHECK(options.max_size_bytes % kPageBytes == 0);
  const auto max = options.max_size_bytes;
  arena_ = reserve(max);
  recorded_ = reserve(max);
  durable_ = reserve(max);
  HF_CHECK(::mprotect(arena_ + size_bytes_, max - size_bytes_, PROT_NONE) == 0 ||
           max == size_bytes_);
  make_room(size_bytes_);
  if (parent_ == nullptr) return;
  parent_->child_ = this;
  if (parent_->bytes_hash_ == 0) return;  // All zero.
  for (std::uint32_t line = 0; line < size_bytes_ / kCacheLineBytes; ++line) {
    touch_line(line);
  }
}

// Tables for `size_bytes`, here and in the media below, which follow with their next load().
void Medium::make_room(std::uint64_t size_bytes) {
  if (is_touched_.size() < size_bytes / kCacheLineBytes) {
    is_touched_.resize(size_bytes / kCacheLineBytes);
    dirty_position_.resize(size_bytes / cell_bytes());
    page_mode() ? sectors_.resize(size_bytes / kSectorBytes)
                : lines_.resize(size_bytes / kCacheLineBytes);
  }
  if (child_ != nullptr) child_->make_room(size_bytes);
}

Medium::~Medium() {
  if (parent_ != nullptr) parent_->child_ = nullptr;
  ::munmap(arena_, options_.max_size_bytes);
  ::munmap(recorded_, options_.max_size_bytes);
  ::munmap(durable_, options_.max_size_bytes);
}

Region Medium::open() { return Region(std::make_unique<SimulatedBacking>(*this)); }

// ---- Images ----

std::uint64_t Medium::hash_with(std::uint64_t delta) const {
  return mix(bytes_hash_ + delta + mix(size_bytes_));
}

void Medium::touch_line(std::uint32_t line) {
  if (is_touched_[line]) return;
  is_touched_[line] = true;
  touched_.push_back(line);
}

void Medium::restore_line(std::uint32_t line) {
  const std::uint64_t offset = std::uint64_t{line} * kCacheLineBytes;
  if (offset >= size_bytes_) return;  // Zero in both.
  std::memcpy(arena_ + offset, parent_->durable_ + offset, kCacheLineBytes);
  std::memcpy(recorded_ + offset, parent_->durable_ + offset, kCacheLineBytes);
  std::memcpy(durable_ + offset, parent_->durable_ + offset, kCacheLineBytes);
  if (child_ != nullptr) child_->touch_line(line);
}

// Takes the parent's durable image.
void Medium::restore() {
  HF_CHECK(parent_ != nullptr);
  while (!dirty_.empty()) {
    set_clean(dirty_.back());
  }
  if (size_bytes_ != parent_->size_bytes_) set_size(parent_->size_bytes_);
  for (const std::uint32_t line : touched_) {
    restore_line(line);
    is_touched_[line] = false;
  }
  touched_.clear();
  bytes_hash_ = parent_->bytes_hash_;
  hints_.clear();
  threads_.clear();
}

void Medium::load(std::span<const std::uint32_t> cells, std::span<const CellState> states) {
  HF_CHECK(states.empty() || states.size() == cells.size());
  restore();
  std::array<std::byte, kSectorBytes> content;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] == CellState{}) continue;
    parent_->render(cells[i], states[i], content.data());
    const std::uint64_t offset = std::uint64_t{cells[i]} * cell_bytes();
    std::memcpy(arena_ + offset, content.data(), cell_bytes());
    std::memcpy(recorded_ + offset, content.data(), cell_bytes());
    make_durable(offset, content.data(), cell_bytes());
  }
}

std::vector<std::uint32_t> Medium::dirty_cells() const {
  std::vector<std::uint32_t> cells = dirty_;
  std::sort(cells.begin(), cells.end());
  return cells;
}

void Medium::render(std::uint32_t cell, const CellState& state, std::byte* out) const {
  std::memcpy(out, durable_ + std::uint64_t{cell} * cell_bytes(), cell_bytes());
  if (page_mode()) {
    const auto& versions = sectors_[cell];
    if (state.kept > 0) std::memcpy(out, versions[state.kept - 1].content.data(), kSectorBytes);
    if (state.mask == 0) return;
    for (std::size_t word = 0; word < kSectorBytes / kWordBytes; ++word) {
      if ((state.mask >> word & 1) == 0) continue;
      std::memcpy(out + word * kWordBytes,
                  versions[state.over - 1].content.data() + word * kWordBytes, kWordBytes);
    }
    return;
  }
  std::uint32_t ordinary = 0;
  unsigned streamed = 0;
  for (const PendingStore& store : lines_[cell]) {
    bool kept = false;
    if (store.streamed) {
      kept = (state.mask >> streamed & 1) != 0;
      if (streamed + 1 < kMaxStreamedBits) ++streamed;
    } else {
      kept = ordinary++ < state.kept;
    }
    if (kept) std::memcpy(out + store.offset, &store.value, store.bytes);
  }
}

CellState Medium::newest(std::uint32_t cell) const {
  if (page_mode()) return {static_cast<std::uint32_t>(sectors_[cell].size()), 0, 0};
  CellState state;
  unsigned streamed = 0;
  for (const PendingStore& store : lines_[cell]) {
    store.streamed ? void(++streamed) : void(++state.kept);
  }
  streamed = std::min(streamed, kMaxStreamedBits);
  state.mask = (std::uint64_t{1} << streamed) - 1;
  return state;
}

std::uint64_t Medium::hash_delta(std::uint32_t cell, const CellState& state) const {
  std::array<std::byte, kSectorBytes> content;
  render(cell, state, content.data());
  const std::uint64_t offset = std::uint64_t{cell} * cell_bytes();
  std::uint64_t delta = 0;
  for (std::size_t at = 0; at < cell_bytes(); at += kWordBytes) {
    const std::uint64_t index = (offset + at) / kWordBytes;
    delta += word_hash(index, load_word(content.data() + at)) -
             word_hash(index, load_word(durable_ + offset + at));
  }
  return delta;
}

void Medium::make_durable(std::uint64_t offset, const std::byte* bytes, std::size_t count) {
  while (count > 0) {
    const std::uint64_t word_begin = round_down(offset, kWordBytes);
    const std::size_t here = std::min<std::size_t>(count, word_begin + kWordBytes - offset);
    const std::uint64_t index = word_begin / kWordBytes;
    bytes_hash_ -= word_hash(index, load_word(durable_ + word_begin));
    std::memcpy(durable_ + offset, bytes, here);
    bytes_hash_ += word_hash(index, load_word(durable_ + word_begin));
    const auto line = static_cast<std::uint32_t>(offset / kCacheLineBytes);
    if (parent_ != nullptr) touch_line(line);
    if (child_ != nullptr) child_->touch_line(line);
    offset += here;
    bytes += here;
    count -= here;
  }
}

void Medium::set_clean(std::uint32_t cell) {
  page_mode() ? sectors_[cell].clear() : lines_[cell].clear();
  const std::uint32_t position = dirty_position_[cell];
  if (position == 0) return;
  const std::uint32_t last = dirty_.back();
  dirty_[position - 1] = last;
  dirty_position_[last] = position;
  dirty_.pop_back();
  dirty_position_[cell] = 0;
}

void Medium::set_dirty(std::uint32_t cell) {
  if (dirty_position_[cell] != 0) return;
  dirty_.push_back(cell);
  dirty_position_[cell] = static_cast<std::uint32_t>(dirty_.size());
}

// Beyond the size all three images are zero, at every size they ever have.
void Medium::set_size(std::uint64_t size_bytes) {
  if (size_bytes < size_bytes_) {
    for (const std::uint32_t cell : dirty_cells()) {
      if (std::uint64_t{cell} * cell_bytes() >= size_bytes) set_clean(cell);
    }
    const std::uint64_t length = size_bytes_ - size_bytes;
    const std::vector<std::byte> zeros(kCacheLineBytes);
    for (std::uint64_t at = size_bytes; at < size_bytes_; at += kCacheLineBytes) {
      make_durable(at, zeros.data(), kCacheLineBytes);
    }
    std::memset(arena_ + size_bytes, 0, length);
    std::memset(recorded_ + size_bytes, 0, length);
    HF_CHECK(::mprotect(arena_ + size_bytes, length, PROT_NONE) == 0);
  } else if (size_bytes > size_bytes_) {
    make_room(size_bytes);
    HF_CHECK(::mprotect(arena_ + size_bytes_, size_bytes - size_bytes_, PROT_READ | PROT_WRITE) ==
             0);
  }
  size_bytes_ = size_bytes;
}

// ---- Threads and counters ----

std::uint32_t Medium::thread_slot() {
  const std::uint64_t id = this_thread_id();
  for (std::uint32_t slot = 0; slot < threads_.size(); ++slot) {
    if (threads_[slot].id == id) return slot;
  }
  HF_CHECK(threads_.size() < kMaxThreads);
  threads_.push_back({id, {}, {}, {}});
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

StepCounts Medium::counts(std::uint32_t thread) const {
  return thread < threads_.size() ? threads_[thread].counts : StepCounts{};
}

bool Medium::contains(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(arena_);
  return at >= begin && at - begin < size_bytes_;
}

Medium* Medium::owner_of(const void* address) {
  for (Medium* medium = this; medium != nullptr; medium = medium->parent_) {
    if (medium->contains(address)) {
      last_medium = medium;
      return medium;
    }
  }
  return nullptr;
}

Medium* Medium::bound_medium() {
  for (Medium* medium = this; medium != nullptr; medium = medium->parent_) {
    if (medium == last_medium) return medium;
  }
  return this;
}

void Medium::point(PointKind kind, const std::source_location& site) {
  if (on_point) on_point(kind, site);
}

// Only of the run itself: recoveries of many images would drown it.
void Medium::count_redundant(const char* step, const std::source_location& site) {
  if (parent_ == nullptr) ++redundant_sites_[std::string(step) + " " + to_string(site)];
}

void Medium::error(std::string text) {
  if (on_error) on_error(std::move(text));
}

// ---- Reports: line and byte ----

void Medium::on_store(const void* to, std::size_t bytes, const std::source_location& site) {
  if (bytes == 0) return;
  if (Medium* const medium = owner_of(to)) medium->record(to, bytes, false, site);
  scheduler_step();
}

void Medium::on_stream(const void* to, std::size_t bytes, const std::source_location& site) {
  if (bytes == 0) return;
  if (Medium* const medium = owner_of(to)) medium->record(to, bytes, true, site);
  scheduler_step();
}

void Medium::record(const void* to, std::size_t bytes, bool streamed,
                    const std::source_location& site) {
  const auto guard = lock();
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(to) - arena_);
  if (offset + bytes > size_bytes_) {
    error("a store of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
          " passes the end of the region (" + std::to_string(size_bytes_) + " bytes), at " +
          to_string(site));
    return;
  }
  const std::uint32_t thread = thread_slot();
  if (page_mode()) {
    error("a store to the mapping of a page-granular region, which is read-only there, at offset " +
          std::to_string(offset) + " by " + to_string(site) + "; use Region::write");
    std::memcpy(recorded_ + offset, arena_ + offset, bytes);
    return;
  }
  if (streamed) threads_[thread].counts.lines_streamed += bytes / kCacheLineBytes;
  if (options_.model.granularity == Granularity::kLine) {
    std::memcpy(recorded_ + offset, arena_ + offset, bytes);
    add_pending(offset, bytes, streamed, thread, site);
    return;
  }
  threads_[thread].unfenced.push_back({offset, offset + bytes, sequence_ + 1, site});
  const std::size_t points = parent_ == nullptr ? kByteModePoints : kNestedByteModePoints;
  const std::size_t step = std::max<std::size_t>(1, bytes / kWordBytes / points);
  std::size_t stores = 0;
  for (std::uint64_t at = offset; at < offset + bytes; ++stores) {
    const bool whole = at % kWordBytes == 0 && offset + bytes - at >= kWordBytes;
    const std::size_t count = whole ? kWordBytes : 1;
    std::memcpy(recorded_ + at, arena_ + at, count);
    make_durable(at, arena_ + at, count);
    ++sequence_;
    at += count;
    if (stores % step == 0 || at == offset + bytes) point(PointKind::kStore, site);
  }
}

void Medium::add_pending(std::uint64_t offset, std::size_t bytes, bool streamed,
                         std::uint32_t thread, const std::source_location& site) {
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset; at < end;) {
    const auto line = static_cast<std::uint32_t>(at / kCacheLineBytes);
    PendingStore store;
    store.sequence = ++sequence_;
    store.site = site;
    store.thread = thread;
    store.offset = static_cast<std::uint8_t>(at % kCacheLineBytes);
    store.bytes = at % kWordBytes == 0 && end - at >= kWordBytes ? kWordBytes : 1;
    store.streamed = streamed;
    std::memcpy(&store.value, arena_ + at, store.bytes);
    if (streamed && options_.model.nt_evicts) {
      store.marked_by = std::uint64_t{1} << thread;
      auto& marked = threads_[thread].marked_lines;
      if (marked.empty() || marked.back() != line) marked.push_back(line);
    }
    lines_[line].push_back(store);
    set_dirty(line);
    if (parent_ != nullptr) touch_line(line);
    at += store.bytes;
  }
}

void Medium::on_write_back(const void* begin, std::size_t bytes, const std::source_location& site) {
  // The range was widened to lines, so its end may lie beyond the size; its begin does not.
  if (Medium* const medium = owner_of(begin)) {
    const auto guard = medium->lock();
    const std::uint32_t slot = medium->thread_slot();
    Thread& thread = medium->threads_[slot];
    const std::uint64_t bit = std::uint64_t{1} << slot;
    const auto offset =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(begin) - medium->arena_);
    const std::uint64_t end = std::min(offset + bytes, medium->size_bytes_);
    for (std::uint64_t at = offset; at < end && !medium->lines_.empty(); at += kCacheLineBytes) {
      const auto line = static_cast<std::uint32_t>(at / kCacheLineBytes);
      bool marked_any = false;
      for (PendingStore& store : medium->lines_[line]) {
        marked_any |= (store.marked_by & bit) == 0;
        store.marked_by |= bit;
      }
      ++thread.counts.lines_written_back;
      if (marked_any) {
        thread.marked_lines.push_back(line);
      } else {
        ++thread.counts.redundant_write_backs;
        medium->count_redundant("write_back", site);
      }
    }
  }
  scheduler_step();
}

void Medium::on_fence(const std::source_location& site) {
  bound_medium()->fence(site);
  scheduler_step();
}

void Medium::fence(const std::source_location& site) {
  const auto guard = lock();
  check_bypass_in_passing(site);
  point(PointKind::kFence, site);
  const std::uint32_t slot = thread_slot();
  Thread& thread = threads_[slot];
  ++thread.counts.fences;
  if (thread.marked_lines.empty() && thread.unfenced.empty()) {
    ++thread.counts.redundant_fences;
    count_redundant("fence", site);
  }
  for (const std::uint32_t line : thread.marked_lines) {
    settle_line(line, std::uint64_t{1} << slot);
  }
  thread.marked_lines.clear();
  thread.unfenced.clear();
}

// Makes durable what a fence of one thread covers: of ordinary stores the prefix up to the last one
// that the thread has written back, of streamed ones those it has written back (or, with nt_evicts,
// made).
void Medium::settle_line(std::uint32_t line, std::uint64_t thread_bit) {
  auto& stores = lines_[line];
  std::size_t ordinary_end = 0;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (!stores[i].streamed && (stores[i].marked_by & thread_bit) != 0) ordinary_end = i + 1;
  }
  std::vector<PendingStore> left;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const PendingStore& store = stores[i];
    const bool durable = store.streamed ? (store.marked_by & thread_bit) != 0 : i < ordinary_end;
    if (!durable) {
      left.push_back(store);
      continue;
    }
    std::byte bytes[kWordBytes];
    std::memcpy(bytes, &store.value, store.bytes);
    make_durable(std::uint64_t{line} * kCacheLineBytes + store.offset, bytes, store.bytes);
    // An earlier store to the same bytes that is still pending has been overtaken for good.
    std::erase_if(left, [&](PendingStore& earlier) {
      const bool inside = earlier.offset >= store.offset &&
                          earlier.offset + earlier.bytes <= store.offset + store.bytes;
      if (!inside && store.offset >= earlier.offset &&
          store.offset < earlier.offset + earlier.bytes) {
        std::memcpy(reinterpret_cast<std::byte*>(&earlier.value) + (store.offset - earlier.offset),
                    bytes, store.bytes);
      }
      return inside;
    });
  }
  stores = std::move(left);
  if (stores.empty()) set_clean(line);
}

bool Medium::drops(Step step, const std::source_location& site) { return should_drop(step, site); }

void Medium::on_wait() { scheduler_wait(); }

// ---- Reports: page ----

void Medium::on_region_call(const std::source_location& site) { region_call_site = site; }

Status Medium::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  {
    const auto guard = lock();
    last_medium = this;
    const std::uint32_t thread = thread_slot();
    check_bypass_in_passing(region_call_site);
    std::memcpy(arena_ + offset, bytes.data(), bytes.size());
    std::memcpy(recorded_ + offset, bytes.data(), bytes.size());
    const std::uint64_t end = offset + bytes.size();
    for (std::uint64_t at = round_down(offset, kSectorBytes); at < end; at += kSectorBytes) {
      const auto sector = static_cast<std::uint32_t>(at / kSectorBytes);
      SectorVersion version;
      version.sequence = ++sequence_;
      version.site = region_call_site;
      version.thread = thread;
      std::memcpy(version.content.data(), arena_ + at, kSectorBytes);
      sectors_[sector].push_back(version);
      set_dirty(sector);
      for (std::uint64_t line = at / kCacheLineBytes;
           parent_ != nullptr && line < (at + kSectorBytes) / kCacheLineBytes; ++line) {
        touch_line(static_cast<std::uint32_t>(line));
      }
    }
  }
  scheduler_step();
  return ok_status();
}

Status Medium::sync() {
  {
    const auto guard = lock();
    last_medium = this;
    if (!page_mode()) return ok_status();  // Nothing to do on line and byte tiers.
    check_bypass_in_passing(region_call_site);
    point(PointKind::kSync, region_call_site);
    StepCounts& counts = threads_[thread_slot()].counts;
    ++counts.syncs;
    if (dirty_.empty()) {
      ++counts.redundant_syncs;
      count_redundant("sync", region_call_site);
    }
    while (!dirty_.empty()) {
      const std::uint32_t sector = dirty_.back();
      const auto content = sectors_[sector].back().content;
      make_durable(std::uint64_t{sector} * kSectorBytes, content.data(), kSectorBytes);
      set_clean(sector);
    }
  }
  scheduler_step();
  return ok_status();
}

Status Medium::resize(std::uint64_t new_size_bytes) {
  {
    const auto guard = lock();
    last_medium = this;
    check_bypass_in_passing(region_call_site);
    point(PointKind::kBeforeResize, region_call_site);
    const std::uint64_t unit = options_.unit_bytes;
    while (size_bytes_ != new_size_bytes) {
      set_size(size_bytes_ < new_size_bytes
                   ? std::min(new_size_bytes, size_bytes_ + unit)
                   : std::max(new_size_bytes, size_bytes_ - std::min(unit, size_bytes_)));
      point(PointKind::kAfterResize, region_call_site);
    }
  }
  scheduler_step();
  return ok_status();
}

}  // namespace holdfast::crash
