#include <holdfast/kv/group_commit.hpp>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/synced_mark.hpp>

namespace holdfast::kv {

GroupCommit::GroupCommit(Medium& medium, BlockTable& table, WriteGate& gate)
    : medium_(medium), table_(table), gate_(gate), needed_(medium.paged()), group_([this] {
        return sync_files();
      }) {}

Status GroupCommit::wait() {
  if (!needed_) return {};
  auto waited = [this]() -> Status {
    try {
      return group_.wait();
    } catch (const std::bad_alloc&) {
      note_unsynced();
      return Error{Errc::kNoSpace, "no memory for a sync"};
    }
  }();
  // Also for lack of space: what was handed over before is not covered, and after an error of the
  // medium no sync will be tried any more (sync_group.hpp).
  if (!waited) HF_MUTANT("K167", gate_.fail_in_doubt(waited.error()), gate_.fail(waited.error()));
  return waited;
}

// One that cannot be put costs nothing that was promised.
void GroupCommit::mark_synced() {
  const Lock lock(lane_.latch);
  if (lane_.run.open()) (void)put_synced_mark(medium_, table_.geometry().store_id, lane_.run);
}

void GroupCommit::seal(std::uint64_t head, std::vector<std::byte> tail) {
  const Lock lock(mutex_);
  // A sync, which puts them there, then needs no memory.
  tails_put_.reserve(full_runs_ - sealed_runs_ + 1);
  tails_due_.push_back({head, std::move(tail)});
  ++full_runs_;
  note_unsynced();
}

Status GroupCommit::finish_sealing() {
  std::uint64_t full = 0;
  {
    const Lock lock(mutex_);
    full = full_runs_;
  }
  const auto sealed = [&] {
    const Lock lock(mutex_);
    return HF_MUTANT("K142", sealed_runs_, full_runs_ - tails_due_.size());
  };
  while (sealed() < full)
    HF_RETURN_IF_ERROR(wait());
  return {};
}

Status GroupCommit::sync_files() {
  HF_MUTANT("K36", unsynced_.store(false, std::memory_order_release), void());
  std::uint64_t up_to = 0, run = kNoBlock, bytes = 0;
  {
    // A thread that has drawn a sequence of this lane has also handed its record over: both under
    // the latch.
    const Lock lock(lane_.latch);
    up_to = lane_.chunk.next == 0 ? 0 : lane_.chunk.next - 1;
    run = lane_.run.head;
    bytes = lane_.run.committed;
  }
  // What this sync covers: of the tails that were put, and of those whose records were. Each leaves
  // its list when it is done with, so that a sync that fails loses none.
  std::size_t covered = 0, due = 0;
  {
    const Lock lock(mutex_);
    covered = tails_put_.size();
    due = tails_due_.size();
  }
  HF_MUTANT("K34", void(), durable_sequence_.store(std::max(up_to, durable_sequence())));
  HF_RETURN_IF_ERROR(medium_.order());
  for (; due > 0; --due) {
    std::uint64_t head = kNoBlock;
    std::span<const std::byte> tail;
    {
      const Lock lock(mutex_);
      head = tails_due_.front().head;
      tail = tails_due_.front().bytes;  // Stays where it is when others come to the list.
    }
    const std::uint64_t end = table_.run_at(head) + table_.run_bytes(head);
    HF_RETURN_IF_ERROR(medium_.put(end - tail.size(), tail.data(), tail.size()));
    const Lock lock(mutex_);
    tails_put_.push_back(head);
    tails_due_.erase(tails_due_.begin());
    HF_MUTANT("K35", void(), void(++covered));
    note_unsynced();
  }
  for (; covered > 0; --covered) {
    const std::uint64_t head = [&] {
      const Lock lock(mutex_);
      return tails_put_.front();
    }();
    HF_RETURN_IF_ERROR(table_.mark_sealed(head));
    const Lock lock(mutex_);
    tails_put_.erase(tails_put_.begin());
    ++sealed_runs_;
  }
  if (up_to > durable_sequence_.load(std::memory_order_relaxed))
    durable_sequence_.store(up_to, std::memory_order_release);
  const Lock lock(lane_.latch);
  if (lane_.run.head == run) lane_.run.durable = bytes;
  return {};
}

}  // namespace holdfast::kv
