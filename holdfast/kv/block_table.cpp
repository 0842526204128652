#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/event_queue.hpp>

#include <algorithm>
#include <string>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

BlockTable::BlockTable(Medium& medium, const Geometry& geometry, std::uint64_t max_bytes,
                       EventQueue* events)
    : medium_(medium),
      geometry_(geometry),
      max_bytes_(std::min(max_bytes, medium.region().max_size_bytes())),
      events_(events),
      block_shift_(static_cast<unsigned>(std::countr_zero(geometry.block_bytes))),
      lines_per_block_(geometry.block_bytes / kCacheLineBytes),
      chunks_(std::max(max_bytes_, medium.size_bytes()) / geometry.block_bytes / kChunk + 1) {}

BlockTable::~BlockTable() {
  // They are made front to back.
  for (std::uint64_t chunk = 0; chunk < chunks_.size() && chunks_[chunk] != nullptr; ++chunk)
    delete[] chunks_[chunk];
}

void BlockTable::add_entries(std::uint64_t up_to) {
  for (std::uint64_t chunk = 0; chunk * kChunk < up_to; ++chunk) {
    if (chunks_[chunk] == nullptr) chunks_[chunk] = new BlockMeta[kChunk];
  }
  free_.resize(up_to, false);
}

Status BlockTable::put_block_word(std::uint64_t block, BlockWord word) {
  return medium_.put_word(geometry_.table_word_at(block),
                          encode_block_word(word, geometry_.store_id, block));
}

Status BlockTable::format_segments_locked(std::uint64_t first, std::uint64_t count) {
  const std::uint64_t per_segment = geometry_.blocks_per_segment();
  const std::uint64_t end = (first + count) * per_segment;
  add_entries(end);
  for (std::uint64_t block = first * per_segment; block < end; ++block) {
    if (geometry_.is_table_block(block)) continue;
    HF_RETURN_IF_ERROR(put_block_word(block, {0, BlockState::kFree}));
  }
  HF_RETURN_IF_ERROR(medium_.order());
  // Only now does the store count on them: a crash before this leaves segments to be formatted
  // again.
  HF_RETURN_IF_ERROR(medium_.put_word(kSegmentsWordAt, first + count));
  HF_RETURN_IF_ERROR(medium_.order());  // Before a block of them is opened.
  for (std::uint64_t block = first * per_segment; block < end; ++block) {
    if (!geometry_.is_table_block(block)) mark_free_locked(block, 0);
  }
  blocks_.store(end, std::memory_order_release);
  return {};
}

Status BlockTable::adopt(std::uint64_t blocks) {
  if (blocks > chunks_.size() * kChunk) {
    return Error{Errc::kInvalidOption, "max_bytes=" + std::to_string(max_bytes_) +
                                           " is below the store's present size of " +
                                           std::to_string(blocks * geometry_.block_bytes) +
                                           " bytes; raise it"};
  }
  const Lock lock(mutex_);
  add_entries(blocks);
  blocks_.store(blocks, std::memory_order_release);
  return {};
}

void BlockTable::mark_run(std::uint64_t head, std::uint64_t run_blocks, BlockWord word) {
  meta(head).run_blocks = run_blocks;
  for (std::uint64_t block = head; block < head + run_blocks; ++block) {
    BlockMeta& own = meta(block);
    own.head = head;
    own.generation = word.generation;
    // A release store: threads that look through all blocks see the words stored before it.
    own.state.store(block == head ? word.state : BlockState::kTail, std::memory_order_release);
  }
}

void BlockTable::mark_free_locked(std::uint64_t block, std::uint64_t generation) {
  BlockMeta& own = meta(block);
  own.state.store(BlockState::kFree, std::memory_order_relaxed);
  own.generation = generation;
  own.head = block;
  own.run_blocks = 1;
  if (!free_[block]) {
    free_[block] = true;
    free_count_.fetch_add(1, std::memory_order_relaxed);
    first_free_ = std::min(first_free_, block);
  }
}

void BlockTable::start_generations(std::uint64_t next, std::uint64_t limit) {
  const Lock lock(mutex_);
  generations_.next = next;
  generations_.limit = limit;
}

Result<std::uint64_t> BlockTable::next_generation_locked() {
  if (generations_.next >= generations_.limit + HF_MUTANT("K30", 0, 1)) {
    if (generations_.next + generations_.step > kMaxGeneration) {
      return Error{Errc::kNoSpace,
                   "the store has used all its 2^40 block generations; export it into a new store"};
    }
    HF_RETURN_IF_ERROR(
        medium_.put_word(kGenerationLimitWordAt, generations_.next + generations_.step));
    HF_RETURN_IF_ERROR(medium_.order());
    generations_.limit = generations_.next + generations_.step;
  }
  return generations_.next++;
}

std::uint64_t BlockTable::reserve_blocks(Purpose purpose) const {
  // Relocation needs a target while its victims are not free yet. A tombstone needs a place so that
  // an erase can make room in a full store, in each keyspace a place of its own. Many keyspaces of
  // a small store have a sixteenth of it: enough for those that erase at a time.
  const auto of_spaces = std::min(spaces_.load(std::memory_order_relaxed), blocks() / 16);
  switch (purpose) {
    case Purpose::kPut:
    case Purpose::kUpdate: return 4 + HF_MUTANT("K159", of_spaces, 0);
    case Purpose::kErase:
    case Purpose::kAgain: return 2;
    case Purpose::kReclaim: return 0;
  }
  return 0;
}

// The medium may be larger than max_bytes, of a store that was opened with more before.
std::uint64_t BlockTable::free_within_limit() const {
  const std::uint64_t free = free_blocks(), used = blocks() - free;
  const std::uint64_t most = max_bytes_ / geometry_.block_bytes;
  return HF_MUTANT("K154", std::min(free, most - std::min(most, used)), free);
}

Result<std::uint64_t> BlockTable::take_free_locked(std::uint64_t run_blocks) {
  const std::uint64_t end = blocks();
  while (first_free_ < end && !free_[first_free_])
    ++first_free_;
  std::uint64_t length = 0;
  for (std::uint64_t block = first_free_; block < end; ++block) {
    length = free_[block] ? length + 1 : 0;  // Table blocks are never free, so no run crosses one.
    if (length == run_blocks) {
      const std::uint64_t head = block + 1 - run_blocks;
      for (std::uint64_t taken = head; taken <= block; ++taken)
        free_[taken] = false;
      free_count_.fetch_sub(run_blocks, std::memory_order_relaxed);
      return head;
    }
  }
  return Error{Errc::kNoSpace, ""};
}

std::uint64_t BlockTable::free_before(std::uint64_t block) const {
  const Lock lock(mutex_);
  return static_cast<std::uint64_t>(
      std::count(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(block), true));
}

std::uint64_t BlockTable::longest_free() const {
  const Lock lock(mutex_);
  std::uint64_t longest = 0, length = 0;
  for (const bool free : free_) {
    length = free ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  return longest;
}

// A region that the caller opened may have larger units than segments. Neither is a power of two
// everywhere.
std::uint64_t BlockTable::whole_units(std::uint64_t bytes) const {
  const std::uint64_t unit = medium_.region().unit_bytes();
  return (bytes + unit - 1) / unit * unit;
}

// The file system takes its time to find and zero memory, so a thread that wants a run that is
// there does not wait: mutex_ is held only while the new blocks are entered.
Status BlockTable::grow_by_segment(std::uint64_t blocks_seen) {
  const Lock growing(growth_mutex_);
  if (blocks() != blocks_seen) return {};  // Somebody else was faster.
  const std::uint64_t segments = blocks_seen / geometry_.blocks_per_segment();
  const std::uint64_t new_size = (segments + 1) * geometry_.segment_bytes;
  if (new_size > max_bytes_) {
    return Error{Errc::kNoSpace, "the store is full: max_bytes=" + std::to_string(max_bytes_) +
                                     " are in use; erase records, reclaim, or raise max_bytes"};
  }
  const std::uint64_t old_size = medium_.size_bytes();
  if (old_size < new_size) {
    auto grown = medium_.region().grow(whole_units(new_size));
    growth_refused_.store(!grown, std::memory_order_relaxed);
    // For a put, kNotFound would mean something else than a directory that is gone.
    if (grown.code() == Errc::kNotFound) return Error{Errc::kIo, grown.error().detail};
    HF_RETURN_IF_ERROR(std::move(grown));
  }
  const Lock lock(mutex_);
  HF_RETURN_IF_ERROR(format_segments_locked(segments, 1));
  if (events_ != nullptr) events_->post(GrowthEvent{old_size, medium_.size_bytes()});
  return {};
}

// The tails first: a head without all of its tails would be damage.
Status BlockTable::put_run_words(std::uint64_t head, std::uint64_t run_blocks, BlockWord word) {
  HF_RETURN_IF_ERROR(HF_MUTANT("K27", ok_status(), put_block_word(head, word)));
  for (std::uint64_t block = head + 1; block < head + run_blocks; ++block)
    HF_RETURN_IF_ERROR(put_block_word(block, {word.generation, BlockState::kTail}));
  return HF_MUTANT("K27", put_block_word(head, word), ok_status());
}

Result<std::uint64_t> BlockTable::open_run(std::uint64_t run_blocks, Purpose purpose,
                                           BlockState state) {
  if (run_blocks >= geometry_.blocks_per_group()) {
    const std::string what = state == BlockState::kImage ? "an image" : "a record or batch";
    return Error{Errc::kTooLarge,
                 what + " that takes " + std::to_string(run_blocks * geometry_.block_bytes) +
                     " bytes of the medium; with block_bytes=" +
                     std::to_string(geometry_.block_bytes) + " at most " +
                     std::to_string((geometry_.blocks_per_group() - 1) * geometry_.block_bytes) +
                     " are allowed; write the value by several append(), or the records into a "
                     "store that was created with larger blocks"};
  }
  UniqueLock lock(mutex_);
  // First of all: without one nothing must be taken.
  HF_ASSIGN_OR_RETURN(const std::uint64_t generation, next_generation_locked());
  std::uint64_t head = 0;
  for (;;) {
    if (free_within_limit() >= run_blocks + reserve_blocks(purpose)) {
      if (auto taken = take_free_locked(run_blocks)) {
        head = *taken;
        break;
      }
    }
    const std::uint64_t blocks_seen = blocks();
    lock.unlock();
    auto grown = grow_by_segment(blocks_seen);
    lock.lock();
    if (!grown) {
      const bool puts =
          purpose == Purpose::kPut || HF_MUTANT("K156", purpose == Purpose::kUpdate, false);
      if (grown.code() == Errc::kNoSpace && !puts) {
        // Nothing to grow into: what frees space may use the reserve.
        if (free_blocks() >= run_blocks + (purpose == Purpose::kReclaim ? 0 : 1)) {
          if (auto taken = take_free_locked(run_blocks)) {
            head = *taken;
            break;
          }
        }
      }
      return std::move(grown).error();
    }
  }
  if (auto put = put_run_words(head, run_blocks, {generation, state}); !put) {
    // Nothing of the run is on the medium but perhaps words: recovery frees those.
    for (std::uint64_t block = head; block < head + run_blocks; ++block)
      HF_MUTANT("K169", mark_free_locked(block, generation), void());
    return std::move(put).error();
  }
  BlockMeta& run = meta(head);
  run.used_bytes.store(0, std::memory_order_relaxed);
  run.dead_bytes.store(0, std::memory_order_relaxed);
  run.own_dead_bytes.store(0, std::memory_order_relaxed);
  run.dead_dirty.store(false, std::memory_order_relaxed);
  run.fixed.store(0, std::memory_order_relaxed);
  run.moved.store(false, std::memory_order_relaxed);
  run.evacuated.store(false, std::memory_order_relaxed);
  run.damaged.store(false, std::memory_order_relaxed);
  run.min_sequence.store(~std::uint64_t{0}, std::memory_order_relaxed);
  run.records = run.tombstones = 0;
  mark_run(head, run_blocks, {generation, state});
  if (state == BlockState::kOpen) open_runs_.fetch_add(1, std::memory_order_relaxed);
  return head;
}

Status BlockTable::expect_room(std::uint64_t run_blocks, Purpose purpose) {
  while (free_within_limit() < run_blocks + reserve_blocks(purpose))
    HF_RETURN_IF_ERROR(grow_by_segment(blocks()));
  return {};
}

std::atomic<std::uint64_t>* BlockTable::make_dead_lines(BlockMeta& block) {
  auto* const fresh = new std::atomic<std::uint64_t>[lines_per_block_ / 64 + 1]();
  std::atomic<std::uint64_t>* present = nullptr;
  if (!block.dead_lines.compare_exchange_strong(present, fresh, std::memory_order_acq_rel)) {
    delete[] fresh;  // Another thread was faster.
    return present;
  }
  bits_bytes_.fetch_add(lines_per_block_ / 8, std::memory_order_relaxed);
  return fresh;
}

std::vector<std::uint64_t> BlockTable::dead_lines_of(std::uint64_t head) const {
  const std::uint64_t words = lines_per_block_ / 64;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t i = 0; i < meta(head).run_blocks; ++i) {
    const auto* const bits = meta(head + i).dead_lines.load(std::memory_order_acquire);
    if (bits == nullptr) continue;
    lines.resize(meta(head).run_blocks * words);
    for (std::uint64_t word = 0; word < words; ++word)
      lines[i * words + word] = bits[word].load(std::memory_order_relaxed);
  }
  return lines;
}

void BlockTable::drop_dead_lines(BlockMeta& block) {
  const auto* const bits = block.dead_lines.exchange(nullptr, std::memory_order_relaxed);
  if (bits == nullptr) return;
  delete[] bits;
  bits_bytes_.fetch_sub(lines_per_block_ / 8, std::memory_order_relaxed);
}

Status BlockTable::mark_sealed(std::uint64_t head) {
  BlockMeta& run = meta(head);
  HF_RETURN_IF_ERROR(put_block_word(head, {run.generation, BlockState::kSealed}));
  run.state.store(BlockState::kSealed, std::memory_order_release);
  open_runs_.fetch_sub(1, std::memory_order_relaxed);
  const std::uint64_t dead_when_written = run.own_dead_bytes.load(std::memory_order_relaxed);
  live_bytes_.fetch_add(
      static_cast<std::int64_t>(run.used_bytes.load(std::memory_order_relaxed) - dead_when_written),
      std::memory_order_relaxed);
  return {};
}

Status BlockTable::free_runs(std::span<const std::uint64_t> heads) {
  if (heads.empty()) return {};
  // Heads first: a sealed head without all of its tails would be damage. Tails without a head are
  // what recovery frees, so their words are ordered by nothing. Until they are durable they say
  // kTail with the generation of a run that is gone, which no head has or will have. A thread that
  // opens such a block again stores to the same word, after us (mutex_), and fences that store.
  bool tails = false;
  for (const std::uint64_t head : heads) {
    HF_RETURN_IF_ERROR(put_block_word(head, {meta(head).generation, BlockState::kFree}));
    tails = tails || meta(head).run_blocks > 1;
  }
  HF_MUTANT("K28", void(), enter_free(heads));
  HF_RETURN_IF_ERROR(medium_.order());
  if (tails) {
    for (const std::uint64_t head : heads) {
      const BlockMeta& run = meta(head);
      for (std::uint64_t block = head + 1; block < head + run.run_blocks; ++block) {
        HF_RETURN_IF_ERROR(put_block_word(block, {run.generation, BlockState::kFree}));
      }
    }
  }
  HF_MUTANT("K28", enter_free(heads), void());
  return {};
}

void BlockTable::enter_free(std::span<const std::uint64_t> heads) {
  const Lock lock(mutex_);
  for (const std::uint64_t head : heads) {
    BlockMeta& run = meta(head);
    const std::uint64_t generation = run.generation;
    const std::uint64_t end = head + run.run_blocks;
    const BlockState state = run.state.load(std::memory_order_relaxed);
    if (state == BlockState::kOpen) open_runs_.fetch_sub(1, std::memory_order_relaxed);
    if (state == BlockState::kSealed) live_bytes_.fetch_sub(run.live(), std::memory_order_relaxed);
    for (std::uint64_t block = head; block < end; ++block) {
      drop_dead_lines(meta(block));
      mark_free_locked(block, generation);
    }
  }
}

Result<std::uint64_t> BlockTable::trim(std::uint64_t keep_free_blocks, std::uint64_t keep_segments,
                                       std::uint64_t most_segments) {
  const Lock growing(growth_mutex_);
  UniqueLock lock(mutex_);
  const std::uint64_t per_segment = geometry_.blocks_per_segment();
  std::uint64_t segments = blocks() / per_segment;
  const std::uint64_t before = segments;
  std::uint64_t left_free = free_blocks();
  while (segments > keep_segments && before - segments < most_segments) {
    std::uint64_t free_in_last = 0;
    bool all_free = true;
    for (std::uint64_t block = (segments - 1) * per_segment; block < segments * per_segment;
         ++block) {
      if (geometry_.is_table_block(block)) continue;
      all_free = all_free && free_[block];
      free_in_last += free_[block];
    }
    if (!all_free || left_free < free_in_last + keep_free_blocks) break;
    left_free -= free_in_last;
    --segments;
  }
  if (segments == before) return 0;
  const auto shrink = [&] {
    return medium_.region().shrink(whole_units(segments * geometry_.segment_bytes));
  };
  // First the store stops counting on them, then they go.
  HF_RETURN_IF_ERROR(HF_MUTANT("K29", ok_status(), shrink()));
  HF_RETURN_IF_ERROR(medium_.put_word(kSegmentsWordAt, segments));
  HF_RETURN_IF_ERROR(medium_.order());
  blocks_.store(segments * per_segment, std::memory_order_release);
  free_.resize(segments * per_segment);
  free_count_.store(left_free, std::memory_order_relaxed);
  first_free_ = std::min(first_free_, segments * per_segment);
  lock.unlock();
  HF_RETURN_IF_ERROR(HF_MUTANT("K29", shrink(), ok_status()));
  return (before - segments) * geometry_.segment_bytes;
}

void BlockTable::count_anew() {
  std::int64_t live = 0;
  std::uint64_t open = 0;
  for (std::uint64_t block = 0; block < blocks(); ++block) {
    const BlockMeta& own = meta(block);
    const BlockState state = own.state.load(std::memory_order_relaxed);
    if (geometry_.is_table_block(block)) continue;
    open += state == BlockState::kOpen;
    live += state == BlockState::kSealed ? own.live() : 0;
  }
  live_bytes_.store(live, std::memory_order_relaxed);
  open_runs_.store(open, std::memory_order_relaxed);
}

BlockTable::Totals BlockTable::totals() const {
  Totals totals;
  totals.blocks = blocks();
  totals.free_blocks = free_blocks();
  for (std::uint64_t block = 0; block < totals.blocks; ++block) {
    const BlockMeta& own = meta(block);
    const BlockState state = own.state.load(std::memory_order_acquire);
    if (geometry_.is_table_block(block) ||
        (state != BlockState::kOpen && state != BlockState::kSealed))
      continue;
    totals.open_blocks += state == BlockState::kOpen;
    const std::uint64_t used = own.used_bytes.load(std::memory_order_relaxed);
    const std::uint64_t dead = std::min(own.dead(), used);
    totals.live_bytes += used - dead;
    totals.dead_bytes += dead;
  }
  totals.used_bytes = (totals.blocks - totals.free_blocks) * geometry_.block_bytes;
  return totals;
}

std::uint64_t BlockTable::dram_bytes() const {
  const std::uint64_t entries = (blocks() + kChunk - 1) / kChunk * kChunk;
  return blocks() / 8 + entries * sizeof(BlockMeta) + bits_bytes_.load(std::memory_order_relaxed);
}

std::uint64_t BlockTable::pins_held() const {
  std::uint64_t pins = 0;
  for (std::uint64_t block = 0; block < blocks(); ++block)
    pins += meta(block).pins.load(std::memory_order_acquire);
  return pins;
}

}  // namespace holdfast::kv
