// block_table.hpp: which blocks are free, open, sealed; what in them is dead; and who gets the
// next.
//
// The medium holds one word per block (format.hpp); the rest is kept in DRAM and rebuilt at open.
//
// Invariants (1) before a block can be allocated again its word durably says free, or tail of a
// head
//                whose word durably says free: such a tail belongs to no run, as generations are
//                unique to runs, so what a crash finds in it is judged by its next word alone;
//            (2) generations only rise, over crashes too: a durable limit is raised before one
//            beyond
//                it is handed out, and a writing open starts at the limit;
//            (3) dead bits on the medium only say what is durably superseded, so any subset of them
//                that a crash leaves is true.
// Threads    Any. Allocation, growth and freeing take a mutex (once per run, not per record).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/format.hpp>
#include <holdfast/kv/medium.hpp>

namespace holdfast::kv {

struct ForTests;  // tests/kv/for_tests.hpp.

struct alignas(kCacheLineBytes) BlockMeta {
  // First what every operation that supersedes or patches a record needs: one line.
  std::uint64_t head = 0;                    // First block of its run.
  std::uint64_t run_blocks = 1;              // At the head.
  std::atomic<std::uint64_t> dead_bytes{0};  // Of superseded records and of tombstones.
  // Dead bits by ordinal: most runs need only `bits`; the rest appears when an ordinal lies beyond.
  std::unique_ptr<std::atomic<std::uint64_t>[]> bits;
  std::uint32_t bits_capacity = 0;
  std::atomic<std::uint32_t> pins{0};  // Pinned values in this run; kept at the head.
  std::atomic<BlockState> state{BlockState::kFree};
  std::atomic<bool> relocating{false};  // Its records are being moved: no in-place updates.
  std::atomic<bool> moved{
      false};  // Some of its records live on as copies; its dead bits do not say so.
  std::atomic<bool> evacuated{false};   // Nothing in the index points to it; it waits to be freed.
  std::atomic<bool> dead_dirty{false};  // Dead bits that the medium does not have yet.
  std::atomic<std::uint64_t> used_bytes{0};  // Of records, at the head; grows while open.

  std::uint64_t generation = 0;
  std::atomic<std::uint64_t> min_sequence{0};
  std::uint32_t records = 0;  // Set when sealed.
  std::uint32_t tombstones = 0;
  std::atomic<std::atomic<std::uint64_t>*> more_bits{nullptr};
  std::uint32_t more_capacity = 0;

  BlockMeta() = default;
  ~BlockMeta() { delete[] more_bits.load(std::memory_order_relaxed); }
};

class BlockTable {
 public:
  enum class Purpose { kPut, kErase, kReclaim };  // The last blocks are kept for what frees space.

  BlockTable(Medium& medium, const Geometry& geometry, std::uint64_t store_id,
             std::uint64_t max_bytes);

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
  Status format_segments(std::uint64_t first, std::uint64_t count);
  Status adopt(std::uint64_t blocks);  // Makes DRAM entries for blocks of an existing store.
  void mark_run(std::uint64_t head, std::uint64_t run_blocks,
                BlockWord word);  // As found on the medium.
  void mark_free(std::uint64_t block, std::uint64_t generation);
  void start_generations(std::uint64_t next, std::uint64_t limit);
  std::uint64_t next_generation() const { return next_generation_; }

  // ---- Runs ----
  // A run of `run_blocks` consecutive free blocks, opened with a new generation: its words are put
  // but not ordered; the caller's next fence covers them. Grows the region where need be. kNoSpace.
  Result<std::uint64_t> open_run(std::uint64_t run_blocks, Purpose purpose,
                                 BlockState state = BlockState::kOpen,
                                 std::uint32_t expected_records = 64);
  // The footer is durable: says so on the medium (covered by the next fence) and in DRAM.
  Status mark_sealed(std::uint64_t head);
  // Durable when it returns; then the blocks can be allocated again.
  Status free_runs(std::span<const std::uint64_t> heads);
  // By one, unless another thread did so since blocks() was `blocks_seen`.
  Status grow_by_segment(std::uint64_t blocks_seen);
  // Gives free segments at the end back to the system, keeping so many free blocks and so many
  // segments. Returns the bytes.
  Result<std::uint64_t> trim(std::uint64_t keep_free_blocks, std::uint64_t keep_segments = 1);

  // ---- Dead records ----
  // Room for the dead bit of `ordinal`; called by the one writer of an open run before it
  // publishes.
  void prepare_ordinal(BlockMeta& run, std::uint32_t ordinal) {
    if (ordinal >= run.bits_capacity && run.more_bits.load(std::memory_order_relaxed) == nullptr)
      add_bits(run);
  }
  void mark_dead(std::uint64_t offset_bytes, std::uint32_t ordinal, std::uint64_t padded_bytes) {
    BlockMeta& run = run_of(offset_bytes);
    set_dead(run, ordinal);
    run.dead_bytes.fetch_add(padded_bytes, std::memory_order_relaxed);
  }
  void set_dead(BlockMeta& run, std::uint32_t ordinal) {
    std::atomic<std::uint64_t>* word = dead_word(run, ordinal);
    if (word == nullptr) return;  // An ordinal that only a damaged record can carry.
    word->fetch_or(std::uint64_t{1} << ordinal % 64, std::memory_order_relaxed);
    // After the bit: who clears the flag reads the bits afterwards.
    if (!run.dead_dirty.load(std::memory_order_relaxed))
      run.dead_dirty.store(true, std::memory_order_release);
  }
  // As the medium has it already.
  void set_dead_as_found(BlockMeta& run, std::uint32_t ordinal) {
    if (auto* const word = dead_word(run, ordinal))
      word->fetch_or(std::uint64_t{1} << ordinal % 64, std::memory_order_relaxed);
  }
  bool is_dead(const BlockMeta& run, std::uint32_t ordinal) const {
    const std::atomic<std::uint64_t>* word = dead_word(run, ordinal);
    return word != nullptr && (word->load(std::memory_order_relaxed) >> ordinal % 64 & 1) != 0;
  }
  void reserve_bits(BlockMeta& run, std::uint32_t records);
  // The dead bits of a sealed run, to be put when all that superseded them is durable. From here on
  // the run counts as clean. StoreCore::take_dead_bits() looks whether they are true.
  std::vector<std::uint64_t> take_dead_bits(std::uint64_t head);
  // `ordinal` was marked in error: whoever was superseded had a damaged header.
  void unset_dead(BlockMeta& run, std::uint32_t ordinal) {
    if (auto* const word = dead_word(run, ordinal))
      word->fetch_and(~(std::uint64_t{1} << ordinal % 64), std::memory_order_relaxed);
    run.moved.store(true, std::memory_order_relaxed);  // The bits do not say all that is dead.
  }
  // The run's word says sealed, durably after the next fence: only then are its dead bits believed,
  // since a run that is being sealed holds other bytes at their place. Before put_dead_bits().
  Status confirm_sealed(std::uint64_t head) {
    return put_block_word(head, {meta(head).generation, BlockState::kSealed});
  }
  // To the medium; the caller orders.
  Status put_dead_bits(std::uint64_t head, const std::vector<std::uint64_t>& bits);

  struct Totals {
    std::uint64_t blocks = 0, free_blocks = 0, open_blocks = 0, used_bytes = 0, live_bytes = 0,
                  dead_bytes = 0;
  };
  Totals totals() const;
  std::uint64_t free_blocks() const { return free_count_.load(std::memory_order_relaxed); }
  std::uint64_t dram_bytes() const;
  std::uint64_t reserve_blocks(Purpose purpose) const;

 private:
  friend struct ForTests;
  static constexpr std::uint64_t kChunk = 1024;

  std::atomic<std::uint64_t>* dead_word(const BlockMeta& run, std::uint32_t ordinal) const {
    if (ordinal < run.bits_capacity) return &run.bits[ordinal / 64];
    const std::uint32_t beyond = ordinal - run.bits_capacity;
    auto* more = run.more_bits.load(std::memory_order_acquire);
    return more != nullptr && beyond < run.more_capacity ? &more[beyond / 64] : nullptr;
  }
  void add_bits(BlockMeta& run);
  void drop_bits(BlockMeta& run);
  Result<std::uint64_t> take_free_locked(std::uint64_t run_blocks);
  Status put_block_word(std::uint64_t block, BlockWord word);
  Result<std::uint64_t> next_generation_locked();
  void add_entries(std::uint64_t up_to);

  Medium& medium_;
  Geometry geometry_;
  std::uint64_t store_id_;
  std::uint64_t max_bytes_;
  unsigned block_shift_;
  std::uint64_t max_chunks_;
  std::unique_ptr<std::unique_ptr<BlockMeta[]>[]> chunks_;
  std::atomic<std::uint64_t> blocks_{0};

  Mutex growth_mutex_;  // One change of the region's size at a time; taken before mutex_.
  Mutex mutex_;
  std::vector<bool> free_;        // By block.
  std::uint64_t first_free_ = 1;  // No free block lies before it.
  std::atomic<std::uint64_t> free_count_{0};
  std::atomic<std::uint64_t> bits_bytes_{0};  // All runs' dead bits, in DRAM.
  std::uint64_t next_generation_ = 1;
  std::uint64_t generation_limit_ = 0;
  std::uint64_t generation_step_ = 65'536;  // One fence per so many runs opened.
};

}  // namespace holdfast::kv
