// worker.hpp: one thread of a benchmark, and the work that threads share.
//
// Operations are numbered from 0 in each partition (with grouping: grouped, for each thread). Which
// accesses an operation number stands for is decided in one place, for_each_piece(): threads use it
// to work, verification.cpp to know what must have come out.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <holdfast/base/histogram.hpp>
#include <holdfast/bench/memory/access_list.hpp>
#include <holdfast/bench/memory/config.hpp>
#include <holdfast/bench/memory/kernels.hpp>
#include <holdfast/bench/memory/tick_clock.hpp>

namespace holdfast::bench::memory {

// What a call of a kernel accesses at most, some 100 us; after each a thread looks whether it shall
// stop. (With 64 KiB, which are 42 chains of three nodes, calls took 4 % of the time.)
inline constexpr std::uint64_t kCallBytes = 1 * MiB;

// More operations than any run does: what only its time ends.
inline constexpr std::uint64_t kEndless = std::uint64_t{1} << 62;

struct RangeView {
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  std::vector<const AccessList*> lists;  // Random modes: one for each partition.
};

// Accesses of one kind in one range, without a jump: what a kernel takes at a time.
struct Piece {
  std::uint64_t operation = 0;  // Number of the first.
  std::uint64_t count = 0;
  bool write = false;
  bool dram = false;
  const std::uint32_t* slots = nullptr;  // Null: from first_byte on, step_bytes apart.
  std::uint32_t shift = 0;               // Not 0: of all slots, in the range that follows.
  std::uint32_t first_slot = 0, range_slots = 0;
  std::uint64_t first_byte = 0;
  std::int64_t step_bytes = 0;
  std::uint64_t slot_of(std::uint64_t i) const {
    return shift == 0 ? slots[i] : shifted(slots[i], first_slot, range_slots, shift);
  }
  std::uint64_t byte_of(std::uint64_t i) const {
    return slots != nullptr ? slot_of(i) * static_cast<std::uint64_t>(step_bytes)
                            : first_byte + i * static_cast<std::uint64_t>(step_bytes);
  }
};

// Where accesses of two kinds are mixed (write_ratio, dram_operation_ratio), they come in groups of
// so many: first those of the one kind, then those of the other.
inline constexpr std::uint64_t kMixGroup = 64;
// Of group `group`, the operations of the second kind, whose share is `ratio`.
constexpr std::uint64_t second_kind_of(std::uint64_t group, double ratio) {
  const auto upto = [&](std::uint64_t groups) {
    return static_cast<std::uint64_t>(static_cast<double>(groups * kMixGroup) * ratio + 1e-9);
  };
  return upto(group + 1) - upto(group);
}

struct SharedWork {
  const Config* config = nullptr;
  RangeView target, dram;
  std::vector<ChainStep> chain;
  std::uint64_t tag = 0;
  bool by_time = false;
  Flush flush = Flush::kNone;
  const std::atomic<bool>* stop = nullptr;
  const std::vector<std::uint64_t>* chase_starts = nullptr;

  // Derived by plan_packages().
  unsigned partitions = 1;
  std::uint64_t partition_bytes = 0;
  std::uint64_t unit_bytes = 0;  // From one sequential access to the next.
  std::uint64_t pass = 0;        // Sequential operations until a partition has been gone through.
  std::uint64_t operations = 0;  // Of a partition, or with grouped and chase of a thread.
  std::uint64_t package = 0;     // Operations that are pulled at once,
  std::uint64_t block = 0;       // and between two looks at `stop`.
  double second_kind = 0;        // Share of writes (second_is_write) or of DRAM accesses.
  bool second_is_write = false;
  bool grouped = false;
  struct alignas(64) Queue {
    std::atomic<std::uint64_t> next{0};
  };
  std::vector<Queue> queues;

  void plan_packages();

  // Calls visit(piece) for operations [first, first + count) of partition `lane` (grouped: of
  // thread `lane`).
  template <class Visit>
  void for_each_piece(unsigned lane, std::uint64_t first, std::uint64_t count,
                      const Visit& visit) const {
    while (count > 0) {
      Piece piece;
      piece.operation = first;
      piece.count = count;
      piece.write = config->has_writes() && !second_is_write;
      piece.dram = second_kind == 0 && config->dram_operation_ratio >= 1;
      if (second_kind > 0) choose_kind(piece);
      place(lane, piece);
      visit(piece);
      first += piece.count;
      count -= piece.count;
    }
  }

 private:
  void choose_kind(Piece& piece) const;
  void place(unsigned lane, Piece& piece) const;
};

// Operations [first, first + count) that a thread did, of its partition or itself.
struct Executed {
  unsigned lane = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

class Worker {
 public:
  Worker(SharedWork& work, unsigned index);

  // Before the start line: touches what is needed to begin.
  void warm_up();
  void run();

  std::uint64_t operations() const { return operations_; }
  std::uint64_t fences() const { return fences_; }
  const Histogram& latency() const { return latency_; }
  const std::vector<Executed>& executed() const { return executed_; }
  const Lanes& target_lanes() const { return target_lanes_; }
  const Lanes& dram_lanes() const { return dram_lanes_; }
  std::uint64_t chase_start() const { return chase_start_; }
  std::uint64_t chase_at() const { return chase_at_; }

 private:
  void run_packages();
  void run_alone();
  // Works through operations [first, first + count), block by block, until told to stop.
  void span(std::uint64_t first, std::uint64_t count);
  void span_with_events(std::uint64_t first, std::uint64_t count);
  void issue(std::uint64_t first, std::uint64_t count);
  void issue_ready(const Piece& piece);
  void issue_shifted(Piece piece);
  void issue_piece(const Piece& piece);
  void issue_chain(const Piece& piece);
  void choose_run_same();
  double cost_of_issuing();
  void note_executed(std::uint64_t first, std::uint64_t count);
  bool stopped() const { return work_.stop->load(std::memory_order_relaxed); }

  SharedWork& work_;
  const unsigned index_;
  const unsigned lane_;
  const TickClock& clock_;
  Kernel read_[2] = {};   // [with slots]
  Kernel write_[2] = {};  // With a fence each, where one belongs after each.
  bool fence_each_ = false;
  std::uint64_t fence_every_ = 0;  // 0: not by operations.
  bool fence_packages_ = false;
  bool has_events_ = false;
  bool waits_for_stores_ = false;  // A sample begins when earlier stores are done.
  std::uint64_t until_sample_ = 0, until_delay_ = 0, until_fence_ = 0;
  std::uint64_t access_units_ = 1;  // Lines, or words below a line.
  std::vector<ChainStep> chain_;
  KernelSet::RunSame run_same_ = nullptr;  // Null: not a chain of that kind.
  Kernel read_alone_ = nullptr;            // Of a chain of one read.
  std::size_t chain_reads_ = 0;
  const KernelSet* kernels_ = nullptr;

  std::uint64_t operations_ = 0;
  std::uint64_t fences_ = 0;
  std::uint64_t fences_per_chain_ = 0;
  std::uint64_t chase_start_ = 0, chase_at_ = 0;
  double issue_ns_ = 0;  // Of what a sample times, our own part beside the clock's.
  std::vector<Executed> executed_;
  Histogram latency_;
  // Slots ready to be accessed: what stays in the first-level cache.
  static constexpr std::uint64_t kReadySlots = 1024;
  alignas(64) std::uint32_t ready_[kReadySlots + 16];
  Lanes target_lanes_, dram_lanes_;
};

std::uint64_t bytes_per_operation(const Config& config);
bool is_atomic(const Config& config);
// The chain with its places, without kernels. A read whose writes do not fit into its range has no
// slots.
std::vector<ChainStep> chain_steps(const Chain& chain, std::uint64_t target_bytes,
                                   std::uint64_t dram_bytes);

}  // namespace holdfast::bench::memory
