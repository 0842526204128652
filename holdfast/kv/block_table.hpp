// block_table.hpp: which blocks are free, open or sealed, what in them is dead, and which is given
// out next.
//
// The medium holds one word per block (format.hpp); the rest is kept in DRAM and rebuilt at open.
//
// Invariants (1) before a block can be allocated again its word durably says free, or tail of a
//                head whose word durably says free: such a tail belongs to no run, as generations
//                are unique to runs, so what a crash finds in it is judged by its next word alone;
//            (2) generations only rise, over crashes too: a durable limit is raised before one
//                beyond it is handed out, and a writing open starts at the limit;
//            (3) dead bits on the medium only say what is durably superseded, so any subset of them
//                that a crash leaves is true.
// Threads    Any. Allocation, growth and freeing take a mutex (once per run, not per record).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/sparse_array.hpp>
#include <holdfast/kv/format.hpp>
#include <holdfast/kv/medium.hpp>

namespace holdfast::kv {

struct alignas(kCacheLineBytes) BlockMeta {
  // First what every operation that supersedes or patches a record needs: one line.
  std::uint64_t head = 0;                        // First block of its run.
  std::uint64_t run_blocks = 1;                  // At the head.
  std::atomic<std::uint64_t> dead_bytes{0};      // At the head: of superseded records.
  std::atomic<std::uint64_t> own_dead_bytes{0};  // Of its tombstones and frames: dead when written.
  // A bit per line of this block on which a dead record begins. Made when there is one.
  std::atomic<std::atomic<std::uint64_t>*> dead_lines{nullptr};
  std::atomic<std::uint32_t> pins{0};  // Pinned values in this run; kept at the head.
  std::atomic<BlockState> state{BlockState::kFree};
  // Why words of its records are not updated in place; 0: they are.
  std::atomic<std::uint8_t> fixed{0};
  static constexpr std::uint8_t kMoving = 1;  // Its records are being moved.
  static constexpr std::uint8_t kShared = 2;  // A checkpoint has it, or had.
  std::atomic<bool> moved{false};      // Some of its records live on as copies, and are not marked.
  std::atomic<bool> evacuated{false};  // Nothing in the index points to it; it waits to be freed.
  std::atomic<bool> damaged{false};    // Could not be evacuated, and is not tried again.
  std::atomic<bool> dead_dirty{false};  // Dead bits that the medium does not have yet.

  std::atomic<std::uint64_t> used_bytes{0};  // Of records, at the head; grows while open.
  std::uint64_t generation = 0;
  std::atomic<std::uint64_t> min_sequence{0};
  std::uint32_t records = 0;  // Set when sealed.
  std::uint32_t tombstones = 0;
  // Keyspace of its records, or kMixedSpaces; of an open run, which batches may mix until it is
  // sealed, that of its lane.
  std::atomic<std::uint16_t> space{kDefaultSpace};

  BlockMeta() = default;
  ~BlockMeta() { delete[] dead_lines.load(std::memory_order_relaxed); }
  void set_moving(bool moving) {
    moving ? fixed.fetch_or(kMoving, std::memory_order_seq_cst)
           : fixed.fetch_and(static_cast<std::uint8_t>(~kMoving), std::memory_order_seq_cst);
  }
  // For the head of a sealed run: whether passes leave it alone, since it is emptied or damaged.
  bool is_given_up() const {
    return evacuated.load(std::memory_order_relaxed) || damaged.load(std::memory_order_relaxed);
  }
  bool is_moving() const { return (fixed.load(std::memory_order_seq_cst) & kMoving) != 0; }
  // Live bytes. For the head of a sealed run.
  std::int64_t live() const {
    return static_cast<std::int64_t>(used_bytes.load(std::memory_order_relaxed) - dead());
  }
  std::uint64_t dead() const {  // At the head.
    return dead_bytes.load(std::memory_order_relaxed) +
           own_dead_bytes.load(std::memory_order_relaxed);
  }
};

class EventQueue;

// Is told of dead records while they can still be read. The caller may hold any lock.
class DeadWatch {
 public:
  virtual void died(std::uint64_t line) = 0;

 protected:
  ~DeadWatch() = default;
};

class BlockTable {
 public:
  // The last blocks are kept for what frees space.
  enum class Purpose {
    kPut,      // May be sent back to wait for reclamation, and comes again.
    kUpdate,   // As kPut, but waits when it is done: what a caller's function did is done once.
    kErase,    // And what else makes room: the clock, the drop of a keyspace.
    kAgain,    // By an operation that cannot be refused any more without leaving something behind.
    kReclaim,  // Copies of what lives in runs that then go.
  };

  // `events`: is told of growth; may be null.
  BlockTable(Medium& medium, const Geometry& geometry, std::uint64_t max_bytes,
             EventQueue* events = nullptr);
  BlockTable(const BlockTable&) = delete;
  ~BlockTable();

  const Geometry& geometry() const { return geometry_; }
  std::uint64_t blocks() const { return blocks_.load(std::memory_order_acquire); }
  BlockMeta& meta(std::uint64_t block) const { return chunks_[block / kChunk][block % kChunk]; }
  std::uint64_t block_of(std::uint64_t offset_bytes) const { return offset_bytes >> block_shift_; }
  BlockMeta& run_of(std::uint64_t offset_bytes) const {
    BlockMeta& own = meta(block_of(offset_bytes));
    return own.head == block_of(offset_bytes) ? own : meta(own.head);
  }
  std::uint64_t run_at(std::uint64_t head) const { return head << block_shift_; }
  std::uint64_t run_bytes(std::uint64_t head) const {
    return meta(head).run_blocks << block_shift_;
  }

  // ---- At open ----
  // Formats the words of segments that a crash left unformatted, or of a new store.
  Status format_segments(std::uint64_t first, std::uint64_t count) HF_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return format_segments_locked(first, count);
  }
  // Makes DRAM entries for blocks of an existing store.
  Status adopt(std::uint64_t blocks) HF_EXCLUDES(mutex_);
  void mark_run(std::uint64_t head, std::uint64_t run_blocks,
                BlockWord word);  // As found on the medium.
  void mark_free(std::uint64_t block, std::uint64_t generation) HF_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    mark_free_locked(block, generation);
  }
  void start_generations(std::uint64_t next, std::uint64_t limit) HF_EXCLUDES(mutex_);
  std::uint64_t next_generation() const HF_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return generations_.next;
  }
  // A store of version 1 became one of version 2.
  void set_first_generation(std::uint64_t generation) { geometry_.first_generation = generation; }

  // ---- Runs ----
  // A run of `run_blocks` consecutive free blocks, opened with a new generation: its words are put
  // but not ordered; the caller's next fence covers them. Grows the region where need be. kNoSpace.
  Result<std::uint64_t> open_run(std::uint64_t run_blocks, Purpose purpose,
                                 BlockState state = BlockState::kOpen)
      HF_EXCLUDES(growth_mutex_, mutex_);
  // Free blocks for runs of so many in all, which the caller then opens one by one: so many are
  // there now. Grows the region where need be. kNoSpace.
  Status expect_room(std::uint64_t run_blocks, Purpose purpose) HF_EXCLUDES(growth_mutex_, mutex_);
  // The footer is durable: says so on the medium (covered by the next fence) and in DRAM.
  Status mark_sealed(std::uint64_t head);
  // Durable when it returns; then the blocks can be allocated again.
  Status free_runs(std::span<const std::uint64_t> heads) HF_EXCLUDES(mutex_);
  // Grows by one segment, unless another thread did so since blocks() was `blocks_seen`.
  Status grow_by_segment(std::uint64_t blocks_seen) HF_EXCLUDES(growth_mutex_, mutex_);
  // Whether it may still grow, by its limit and by what its file system said last.
  bool may_grow() const {
    return !growth_refused_.load(std::memory_order_relaxed) &&
           blocks() * geometry_.block_bytes + geometry_.segment_bytes <= max_bytes_;
  }
  // For the run of a put, if one block is enough for it.
  bool may_have_room() const {
    return free_within_limit() > reserve_blocks(Purpose::kPut) || may_grow();
  }
  // Gives at most so many free segments at the end back to the system, keeping so many free blocks
  // and so many segments. Returns the bytes. O(bytes given back), in the system.
  Result<std::uint64_t> trim(std::uint64_t keep_free_blocks, std::uint64_t keep_segments = 1,
                             std::uint64_t most_segments = ~std::uint64_t{0})
      HF_EXCLUDES(growth_mutex_, mutex_);

  // ---- Dead records ----
  // Marks the record that begins on `line`. live_bytes() learns of it by count_dead(). `tell`:
  // whether the watcher, if there is one, is told.
  void mark_dead(std::uint64_t line, std::uint64_t padded_bytes, bool tell = true) {
    if (DeadWatch* const watch = dead_watch_.load(std::memory_order_acquire); watch != nullptr)
        [[unlikely]] {
      if (tell) watch->died(line);
    }
    BlockMeta& run = set_dead_line(line);
    run.dead_bytes.fetch_add(padded_bytes, std::memory_order_relaxed);
    // After the bit: the thread that clears the flag reads the bits afterwards.
    if (!run.dead_dirty.load(std::memory_order_relaxed))
      run.dead_dirty.store(true, std::memory_order_release);
  }
  // What mark_dead() will touch: first what is known of the block, then, where that is there, the
  // bits that it leads to. Inside a guard, or while the record cannot be freed.
  void prefetch_block(std::uint64_t line) const {
    prefetch_for_write(&meta(block_of(line * kCacheLineBytes)));
  }
  void prefetch_dead_line(std::uint64_t line) const {
    auto* const bits =
        meta(block_of(line * kCacheLineBytes)).dead_lines.load(std::memory_order_acquire);
    if (bits != nullptr) prefetch_for_write(&bits[(line & (lines_per_block_ - 1)) / 64]);
  }
  void watch_dead(DeadWatch* watch) { dead_watch_.store(watch, std::memory_order_release); }
  // As the medium has it already; the caller counts the bytes.
  void mark_dead_as_found(std::uint64_t line) { set_dead_line(line); }
  bool is_dead(std::uint64_t line) const {
    const std::uint64_t offset = line * kCacheLineBytes;
    const auto* const bits = meta(block_of(offset)).dead_lines.load(std::memory_order_acquire);
    const std::uint64_t at = line & (lines_per_block_ - 1);
    return bits != nullptr && (bits[at / 64].load(std::memory_order_relaxed) >> at % 64 & 1) != 0;
  }
  // The bits of all lines of the run, in order; empty: none is set.
  std::vector<std::uint64_t> dead_lines_of(std::uint64_t head) const;
  // From here on the run counts as one whose dead bits the medium has; the caller reads them now.
  void take_dead_dirty(std::uint64_t head) { meta(head).dead_dirty.exchange(false); }
  // The medium has not taken them.
  void leave_dead_dirty(std::uint64_t head) {
    meta(head).dead_dirty.store(true, std::memory_order_release);
  }
  // The run's word says sealed, durably after the next fence: only then are its dead bits believed,
  // since a run that is being sealed holds other bytes at their place. Before its bits are put.
  Status confirm_sealed(std::uint64_t head) {
    return put_block_word(head, {meta(head).generation, BlockState::kSealed});
  }
  // How many bytes of the run lie from this offset on. Not more than its block's where the word of
  // its block is damaged.
  std::uint64_t room_at(std::uint64_t offset_bytes) const {
    const std::uint64_t in_block = room_in_block(offset_bytes);
    const std::uint64_t block = block_of(offset_bytes);
    const std::uint64_t head = meta(block).head;
    const std::uint64_t up_to_own = block - head + 1;
    const std::uint64_t in_run = meta(head).run_blocks;
    return up_to_own > in_run ? in_block : in_block + ((in_run - up_to_own) << block_shift_);
  }
  std::uint64_t room_in_block(std::uint64_t offset_bytes) const {
    return geometry_.block_bytes - (offset_bytes & (geometry_.block_bytes - 1));
  }

  // Live bytes of sealed runs, in O(1), for the opening of a run. They lag by the notes that are
  // not applied yet; totals() is exact.
  std::uint64_t live_bytes() const {
    const std::int64_t live = live_bytes_.load(std::memory_order_relaxed);
    return live > 0 ? static_cast<std::uint64_t>(live) : 0;
  }
  std::uint64_t open_runs() const { return open_runs_.load(std::memory_order_relaxed); }
  void count_dead(std::uint64_t bytes) {
    live_bytes_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  void count_anew();  // After recovery, before the first operation.

  struct Totals {
    std::uint64_t blocks = 0, free_blocks = 0, open_blocks = 0, used_bytes = 0, live_bytes = 0,
                  dead_bytes = 0;
  };
  Totals totals() const;
  std::uint64_t pins_held() const;  // Of all runs. O(blocks).
  std::uint64_t free_blocks() const { return free_count_.load(std::memory_order_relaxed); }
  std::uint64_t segments() const { return blocks() / geometry_.blocks_per_segment(); }
  // Free ones before this one, and of all the most that lie side by side. O(blocks).
  std::uint64_t free_before(std::uint64_t block) const HF_EXCLUDES(mutex_);
  std::uint64_t longest_free() const HF_EXCLUDES(mutex_);
  std::uint64_t dram_bytes() const;
  std::uint64_t reserve_blocks(Purpose purpose) const;
  // How many keyspaces there are: each may want a run for tombstones.
  void set_spaces(std::uint64_t spaces) { spaces_.store(spaces, std::memory_order_relaxed); }

  // Limits that are durably raised once in many runs: how far, and that the next run raises it.
  void set_generation_step(std::uint64_t step) HF_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    generations_.step = step;
    generations_.limit = 0;
  }

 private:
  static constexpr std::uint64_t kChunk = 128;

  std::uint64_t whole_units(std::uint64_t bytes) const;
  std::uint64_t free_within_limit() const;
  BlockMeta& set_dead_line(std::uint64_t line) {  // Returns the run.
    const std::uint64_t block = block_of(line * kCacheLineBytes);
    BlockMeta& own = meta(block);
    auto* bits = own.dead_lines.load(std::memory_order_acquire);
    if (bits == nullptr) [[unlikely]]
      bits = make_dead_lines(own);
    const std::uint64_t at = line & (lines_per_block_ - 1);
    bits[at / 64].fetch_or(std::uint64_t{1} << at % 64, std::memory_order_relaxed);
    return own.head == block ? own : meta(own.head);
  }
  std::atomic<std::uint64_t>* make_dead_lines(BlockMeta& block);
  void drop_dead_lines(BlockMeta& block);
  void enter_free(std::span<const std::uint64_t> heads) HF_EXCLUDES(mutex_);
  Status format_segments_locked(std::uint64_t first, std::uint64_t count) HF_REQUIRES(mutex_);
  void mark_free_locked(std::uint64_t block, std::uint64_t generation) HF_REQUIRES(mutex_);
  Result<std::uint64_t> take_free_locked(std::uint64_t run_blocks) HF_REQUIRES(mutex_);
  Status put_block_word(std::uint64_t block, BlockWord word);
  Status put_run_words(std::uint64_t head, std::uint64_t run_blocks, BlockWord word);
  Result<std::uint64_t> next_generation_locked() HF_REQUIRES(mutex_);
  void add_entries(std::uint64_t up_to) HF_REQUIRES(mutex_);

  Medium& medium_;
  Geometry geometry_;
  std::uint64_t max_bytes_;
  EventQueue* events_;
  unsigned block_shift_;
  std::uint64_t lines_per_block_;
  SparseArray<BlockMeta*> chunks_;  // A place for each that there may ever be.
  std::atomic<std::uint64_t> blocks_{0};

  // One change of the region's size at a time.
  Mutex growth_mutex_ HF_ACQUIRED_BEFORE(mutex_);
  mutable Mutex mutex_;
  std::vector<bool> free_ HF_GUARDED_BY(mutex_);        // By block.
  std::uint64_t first_free_ HF_GUARDED_BY(mutex_) = 1;  // No free block lies before it.
  std::atomic<std::uint64_t> free_count_{0};
  std::atomic<std::uint64_t> spaces_{0};
  std::atomic<bool> growth_refused_{false};   // By the file system, last time.
  std::atomic<std::uint64_t> bits_bytes_{0};  // All dead bits, in DRAM.
  struct Generations {
    std::uint64_t next = 1;
    std::uint64_t limit = 0;
    std::uint64_t step = 65'536;  // One fence per so many runs opened.
  };
  Generations generations_ HF_GUARDED_BY(mutex_);
  std::atomic<DeadWatch*> dead_watch_{nullptr};
  std::atomic<std::int64_t> live_bytes_{0};  // Below zero while dead records of open runs count.
  std::atomic<std::uint64_t> open_runs_{0};
};

}  // namespace holdfast::kv
