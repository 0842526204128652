// mark.hpp: a savepoint in the store's own medium. docs/marks.md argues why it loses nothing.
//
//   kMarkWordAt   first block of the image; 0: there is no mark. With kReturningBit: an opening
//                 began to set the store back to the mark, and the next one ends that
//   image         a run of state kImage: the version, the store's sealed runs of that moment, and
//                 which of their lines were dead then
//
// The runs of a mark are pinned: reclamation moves what lives in them, and does not free them.
// Their bytes never change but for the dead bits, of which the image has those of the moment, and
// for words in place, which rest in them (kSharedLimitWordAt).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/block_table.hpp>
#include <holdfast/kv/sealed_run.hpp>

namespace holdfast::kv {

struct MarkedRun {
  std::uint64_t head = 0, generation = 0;
  std::vector<std::uint64_t> dead_lines;  // BlockTable::dead_lines_of().

  bool is_dead(const SealedRun& run, std::uint32_t i, std::uint64_t version) const {
    const std::uint64_t line = run.record_at(i) / kCacheLineBytes;
    return run.sequence(i) > version ||
           (line / 64 < dead_lines.size() && (dead_lines[line / 64] >> line % 64 & 1) != 0);
  }
};

struct MarkImage {
  std::uint64_t version = 0;
  std::vector<MarkedRun> runs;  // By rising heads.

  std::uint64_t words() const;
  // `generation`: of the run that the image will lie in.
  std::vector<std::uint64_t> encode(std::uint64_t store_id, std::uint64_t generation) const;
  // Errors: kCorrupt.
  static Result<MarkImage> decode(std::span<const std::uint64_t> words, std::uint64_t store_id,
                                  std::uint64_t generation);
  // The one that begins with this block, of a store of so many. Errors: kCorrupt, kIo.
  static Result<MarkImage> read(Medium& medium, const Geometry& geometry, std::uint64_t blocks,
                                std::uint64_t head);
  const MarkedRun* find(std::uint64_t head) const;
};

// What the mark word says.
struct MarkWord {
  std::uint64_t head;  // 0: there is no mark.
  bool returning;
};
MarkWord mark_word(const Medium& medium, const Superblock& superblock);
Error no_mark();  // Of an opening at the mark.

// Sets a store that is not open back to its mark: what came behind it is gone. A crash leaves a
// store that the next opening for writing sets back, and that a read-only one shows at the mark.
// Four fences, and one more where the store was closed in order.
// Errors: kNotFound (no mark), kCorrupt (nothing has changed), kIo.
Status return_to_mark(Medium& medium, const Superblock& superblock);

// The mark that an open store has. put() and drop() by one thread at a time, the rest by any.
class Mark {
 public:
  Mark(Medium& medium, BlockTable& table) : medium_(medium), table_(table) {}

  // As an opening found it; takes a pin of each run.
  void adopt(std::uint64_t image_head, const MarkImage& image) HF_EXCLUDES(mutex_);
  // Durable when it returns; the mark before is gone then. It takes over a pin that the caller has
  // of each run, but where it fails. Two fences. Errors: kNoSpace, kTooLarge (nothing has changed),
  // kIo.
  Status put(const MarkImage& image) HF_EXCLUDES(mutex_);
  // Durable when it returns. A fence. Errors: kIo.
  Status drop() HF_EXCLUDES(mutex_);
  // Of marks that are gone, also those that it could not free before. A fence. Errors: kIo,
  // kNoSpace.
  Status free_old_images() HF_EXCLUDES(mutex_);

  // 0: there is none.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::uint64_t image_head() const HF_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return image_head_;
  }
  // Each has a pin of the mark's.
  std::uint64_t runs() const HF_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    return heads_.size();
  }
  // Bytes of runs that are kept for the mark alone. O(runs of the mark).
  std::uint64_t held_bytes() const HF_EXCLUDES(mutex_);

 private:
  Status exchange(std::uint64_t image_head, std::uint64_t version, std::vector<std::uint64_t> heads)
      HF_EXCLUDES(mutex_);

  Medium& medium_;
  BlockTable& table_;
  mutable Mutex mutex_;
  std::uint64_t image_head_ HF_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint64_t> heads_ HF_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> old_images_ HF_GUARDED_BY(mutex_);  // To be freed.
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace holdfast::kv
