#include <holdfast/kv/group_commit.hpp>

#include <algorithm>
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
  auto waited = group_.wait();
  // Also for lack of space: what was handed over before is not covered, and no sync will be tried
  // any more (sync_group.hpp).
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
    return HF_MUTANT("K142", sealed_runs_, full_runs_ - tails_due_.size() - tails_put_.size());
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
  std::vector<std::uint64_t> sealed;
  std::vector<Tail> due;
  {
    const Lock lock(mutex_);
    sealed.swap(tails_put_);
    due.swap(tails_due_);
  }
  HF_MUTANT("K34", void(), durable_sequence_.store(std::max(up_to, durable_sequence())));
  HF_RETURN_IF_ERROR(medium_.order());
  for (const Tail& tail : due) {
    const std::uint64_t end = table_.run_at(tail.head) + table_.run_bytes(tail.head);
    HF_RETURN_IF_ERROR(medium_.put(end - tail.bytes.size(), tail.bytes.data(), tail.bytes.size()));
    const Lock lock(mutex_);
    HF_MUTANT("K35", tails_put_, sealed).push_back(tail.head);
    note_unsynced();
  }
  for (const std::uint64_t head : sealed)
    HF_RETURN_IF_ERROR(table_.mark_sealed(head));
  {
    const Lock lock(mutex_);
    sealed_runs_ += sealed.size();
  }
  if (up_to > durable_sequence_.load(std::memory_order_relaxed))
    durable_sequence_.store(up_to, std::memory_order_release);
  const Lock lock(lane_.latch);
  if (lane_.run.head == run) lane_.run.durable = bytes;
  return {};
}

}  // namespace holdfast::kv
