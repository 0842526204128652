// sequences.hpp: the numbers that order all writes of a store.
//
// Each lane takes them by the chunk, so that sessions seldom meet at the shared counter. A snapshot
// makes all chunks lapse: every sequence used afterwards is greater than its own.
//
// Invariant  No sequence is handed out twice, over crashes too: a durable limit is raised before a
//            chunk beyond it is used, and a writing open starts at the limit.
// Threads    Any; a chunk belongs to one lane.   Fences  one per million sequences.
#pragma once

#include <atomic>
#include <cstdint>

#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/kv/medium.hpp>
#include <holdfast/kv/write_gate.hpp>

namespace holdfast::kv {

struct SequenceChunk {
  std::uint64_t next = 0, end = 0, epoch = 0;
  Status failure;  // Why the last draw gave none.
};

class Sequences {
 public:
  static constexpr std::uint64_t kPerChunk = 64;

  Sequences(Medium& medium, WriteGate& gate) : medium_(medium), gate_(gate) {}
  Sequences(const Sequences&) = delete;

  // The next of the chunk, or of a new one; `fresh`: newer than all that was handed out before this
  // call. 0: chunk.failure says why there is none.
  std::uint64_t draw(SequenceChunk& chunk, bool fresh) {
    if (fresh || chunk.next == chunk.end || chunk.epoch != epoch_.load(std::memory_order_acquire))
        [[unlikely]] {
      if (!refill(chunk)) return 0;
    }
    return chunk.next++;
  }
  // Whether the chunk has a next one, as nearly always: draw() takes it then.
  bool lasts(const SequenceChunk& chunk) const {
    return chunk.next != chunk.end && chunk.epoch == epoch_.load(std::memory_order_acquire);
  }
  // Makes the next `count` of the chunk, at most kPerChunk, newer than all that was handed out
  // before this call. False: chunk.failure says why not.
  bool renew(SequenceChunk& chunk, std::uint64_t count) {
    return (is_newest(chunk) && chunk.end - chunk.next >= count &&
            chunk.epoch == epoch_.load(std::memory_order_acquire)) ||
           refill(chunk);
  }
  // Whether something was handed out after this chunk.
  bool is_newest(const SequenceChunk& chunk) const {
    return chunk.end == next_.load(std::memory_order_acquire);
  }

  // Chunks taken before are used no more; returns a sequence that is newer than all of theirs.
  std::uint64_t lapse() {
    // First the sequence: a chunk that is drawn between the two lapses without need, while one that
    // was drawn before it with the new epoch would go on below it.
    const std::uint64_t sequence = next_.fetch_add(1, std::memory_order_seq_cst);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    return sequence;
  }
  std::uint64_t next() const { return next_.load(std::memory_order_acquire); }
  // At open: nothing below `next` is handed out; below `limit` nothing needs a fence.
  void start(std::uint64_t next, std::uint64_t limit) {
    next_.store(next);
    limit_.store(limit);
  }
  // How far the limit is raised at a time; the next chunk raises it.
  void set_step(std::uint64_t step) {
    const Lock lock(mutex_);
    step_ = step;
    limit_.store(0);
  }

 private:
  bool refill(SequenceChunk& chunk);
  Status reserve(std::uint64_t up_to) HF_EXCLUDES(mutex_);

  Medium& medium_;
  WriteGate& gate_;
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next_{1};
  std::atomic<std::uint64_t> limit_{0};
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> epoch_{1};
  Mutex mutex_;  // Of raising the limit.
  std::uint64_t step_ HF_GUARDED_BY(mutex_) = 1'048'576;
};

}  // namespace holdfast::kv
