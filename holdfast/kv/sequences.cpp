#include <holdfast/kv/sequences.hpp>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/format.hpp>

namespace holdfast::kv {

bool Sequences::refill(SequenceChunk& chunk) {
  chunk.epoch = epoch_.load(std::memory_order_acquire);
  chunk.next = next_.fetch_add(kPerChunk, std::memory_order_acq_rel);
  chunk.end = chunk.next + kPerChunk;
  if (chunk.end <= limit_.load(std::memory_order_acquire) + HF_MUTANT("K31", 0, 2 * kPerChunk))
      [[likely]]
    return true;
  auto reserved = reserve(chunk.end);
  if (reserved) return true;
  // After a crash they could be handed out again: none of them may be used.
  chunk.next = chunk.end;
  gate_.fail(reserved.error());
  chunk.failure = std::move(reserved);
  return false;
}

Status Sequences::reserve(std::uint64_t up_to) {
  const Lock lock(mutex_);
  if (up_to <= limit_.load(std::memory_order_relaxed)) return {};
  const std::uint64_t raised = up_to + step_;
  HF_RETURN_IF_ERROR(medium_.put_word(kSequenceLimitWordAt, raised));
  HF_RETURN_IF_ERROR(medium_.order());  // Before one is used.
  limit_.store(raised, std::memory_order_release);
  return {};
}

}  // namespace holdfast::kv
