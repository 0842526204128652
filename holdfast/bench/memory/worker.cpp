#include <holdfast/bench/memory/worker.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/execution.hpp>

namespace holdfast::bench::memory {
namespace {

constexpr std::uint64_t kBlockOperations = 1024;

// In the place of a kernel: what is left is the way to it.
void touch_nothing(const Accesses&) {}
void touch_nothing_same(const ChainStep*, std::size_t, std::size_t, const std::uint32_t*,
                        std::uint64_t, ChainState&) {}

// Of a number that the compiler cannot know to be 0.
std::uint64_t hidden_zero() {
  static volatile std::uint64_t zero = 0;
  return zero;
}

}  // namespace

std::uint64_t bytes_per_operation(const Config& config) {
  if (config.custom()) return bytes_of(config.chain);
  if (config.chase()) return kCacheLineBytes;  // A line is what moves.
  return is_atomic(config) ? 8 : config.access_bytes;
}

bool is_atomic(const Config& config) {
  return !config.custom() && !config.chase() && config.write_ratio < 0 &&
         (config.operation == AccessKind::kCompareAndSwap ||
          config.operation == AccessKind::kFetchAndAdd);
}

std::vector<ChainStep> chain_steps(const Chain& chain, std::uint64_t target_bytes,
                                   std::uint64_t dram_bytes) {
  std::vector<ChainStep> steps;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto& operation = chain[i];
    ChainStep step;
    step.lines = operation.bytes / kCacheLineBytes;
    step.offset = operation.offset;
    step.salt = mix64(i + 1);
    if (!operation.write) {
      const auto range = operation.dram ? dram_bytes : target_bytes;
      const auto reach = reach_of(chain, i);
      step.slot_bytes = operation.bytes;
      const auto before = static_cast<std::uint64_t>(-reach.low);
      const auto first = (before + operation.bytes - 1) / operation.bytes;
      const auto high = static_cast<std::uint64_t>(reach.high);
      const auto last_plus_one = range < high ? 0 : (range - high) / operation.bytes + 1;
      step.slots = last_plus_one > first ? last_plus_one - first : 0;
      step.margin_bytes = first * operation.bytes;
    }
    steps.push_back(step);
  }
  return steps;
}

void SharedWork::plan_packages() {
  const auto& c = *config;
  grouped = c.grouping == Grouping::kGrouped;
  partitions = c.custom() || c.chase() || grouped ? 1 : c.partitions();
  const auto access =
      c.custom() ? std::max<std::uint64_t>(bytes_of(c.chain), kCacheLineBytes) : c.access_bytes;
  unit_bytes = c.exec_mode == ExecMode::kStrided ? c.stride_bytes : c.access_bytes;
  partition_bytes = target.bytes / partitions / unit_bytes * unit_bytes;
  pass = c.sequential() ? partition_bytes / unit_bytes : kEndless;
  const auto threads_each = std::max(1u, c.number_threads / partitions);

  operations = c.sequential() && !c.is_set(KeyId::kNumberOperations)
                   ? pass
                   : std::max<std::uint64_t>(1, c.number_operations / partitions);
  if (grouped || c.chase()) operations = std::max<std::uint64_t>(1, operations / c.number_threads);
  if (by_time) operations = kEndless;

  block = std::clamp<std::uint64_t>(kCallBytes / access, 1, kBlockOperations);
  if (c.delay_ns > 0) {
    const auto in_100_us = 100'000 / c.delay_ns * static_cast<double>(c.delay_every_operations);
    block =
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(in_100_us, 1e9)), 1, block);
  }
  // Threads that share a range must not go over the same part of it at the same time: what one has
  // read, the other would find in the cache.
  package = std::max<std::uint64_t>(1, c.min_io_chunk_bytes / access);
  package = std::min(package, std::max<std::uint64_t>(1, pass / threads_each));
  // Towards the end nobody should wait long for the last package.
  package = std::min(package, std::max(block, operations / (std::uint64_t{8} * threads_each)));
  if (c.write_ratio > 0 && c.write_ratio < 1) {
    second_kind = c.write_ratio;
    second_is_write = true;
  } else if (c.dram_operation_ratio > 0 && c.dram_operation_ratio < 1) {
    second_kind = c.dram_operation_ratio;
  }
  queues = std::vector<Queue>(partitions);
}

void SharedWork::choose_kind(Piece& piece) const {
  const auto group = piece.operation / kMixGroup;
  const auto inside = piece.operation % kMixGroup;
  const auto firsts = kMixGroup - second_kind_of(group, second_kind);
  const bool second = inside >= firsts;
  piece.count = std::min(piece.count, (second ? kMixGroup : firsts) - inside);
  if (second_is_write)
    piece.write = second;
  else
    piece.dram = second;
}

void SharedWork::place(unsigned lane, Piece& piece) const {
  const auto& c = *config;
  const auto& range = piece.dram ? dram : target;
  if (!range.lists.empty()) {
    const auto& list = *range.lists[lane];
    const auto at = piece.operation % list.size();
    piece.count = std::min(piece.count, list.size() - at);
    piece.slots = list.data() + at;
    if (c.distribution == Distribution::kUniform && list.range().count <= kShiftedSlotsMax) {
      piece.shift = shift_of_replay(piece.operation / list.size(), list.range().count);
      piece.first_slot = static_cast<std::uint32_t>(list.range().first);
      piece.range_slots = static_cast<std::uint32_t>(list.range().count);
    }
    piece.step_bytes = static_cast<std::int64_t>(c.access_bytes);
    return;
  }
  if (c.chase()) return;
  auto position = piece.operation;
  std::uint64_t apart = 1;
  if (grouped) {
    apart = c.number_threads;
    position = position * apart + lane;
  }
  position %= pass;
  piece.count = std::min(piece.count, (pass - position + apart - 1) / apart);
  const auto partition_begin = grouped ? 0 : lane * partition_bytes;
  piece.step_bytes = static_cast<std::int64_t>(apart * unit_bytes);
  piece.first_byte = partition_begin + position * unit_bytes;
  if (c.exec_mode == ExecMode::kSequentialDescending) {
    piece.first_byte = partition_begin + (pass - 1 - position) * unit_bytes;
    piece.step_bytes = -piece.step_bytes;
  }
}

Worker::Worker(SharedWork& work, unsigned index)
    : work_(work),
      index_(index),
      lane_(work.grouped ? index : index % work.partitions),
      clock_(TickClock::get()),
      kernels_(&best_kernels()) {
  const auto& c = *work.config;
  executed_.reserve(4096);
  const bool persists = c.has_writes() && !is_atomic(c) && c.has_fences();
  const auto per_fence = c.operations_per_fence();
  fence_each_ = persists && per_fence == 1;
  fence_every_ = persists && per_fence > 1 ? per_fence : 0;
  fence_packages_ = persists && per_fence == 0;
  if (c.custom()) fence_each_ = fence_packages_ = false, fence_every_ = 0;
  until_fence_ = fence_every_;
  until_sample_ = c.sample_every();
  waits_for_stores_ = c.has_writes();
  until_delay_ = c.delay_ns > 0 ? c.delay_every_operations : 0;
  has_events_ = until_fence_ > 0 || until_sample_ > 0 || until_delay_ > 0;

  const bool words = c.access_bytes % kCacheLineBytes != 0;
  access_units_ = c.access_bytes / (words || is_atomic(c) ? 8 : kCacheLineBytes);
  const auto size = size_class(access_units_);
  const auto flush = static_cast<std::size_t>(work.flush);
  for (unsigned slots = 0; slots < 2; ++slots) {
    if (is_atomic(c)) {
      write_[slots] =
          c.operation == AccessKind::kFetchAndAdd ? kFetchAndAdd[slots] : kCompareAndSwap[slots];
    } else if (words) {
      read_[slots] = kReadWords[slots];
      write_[slots] = kWriteWords[slots][flush][fence_each_];
    } else {
      read_[slots] = c.operation == AccessKind::kStreamRead ? kernels_->stream_read[slots][size]
                                                            : kernels_->read[slots][size];
      write_[slots] = kernels_->write[slots][size][flush][fence_each_];
    }
  }
  if (!c.custom()) return;
  chain_ = work.chain;
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    auto& step = chain_[i];
    const auto& operation = c.chain[i];
    const auto step_size = size_class(step.lines);
    step.base = operation.dram ? work.dram.base : work.target.base;
    step.lanes = operation.dram ? &dram_lanes_ : &target_lanes_;
    step.tag = work.tag;
    if (operation.write)
      step.run =
          kernels_->chain_write[step_size][static_cast<std::size_t>(flush_of(operation.persist))];
    else
      step.run = i == 0 ? kernels_->chain_first_read[step_size] : kernels_->chain_read[step_size];
  }
  if (chain_.size() == 1) read_alone_ = kernels_->read[1][size_class(chain_.front().lines)];
  fences_per_chain_ = fences_of(c.chain);
  choose_run_same();
}

void Worker::choose_run_same() {
  const auto& chain = work_.config->chain;
  const auto writes =
      std::find_if(chain.begin(), chain.end(), [](const auto& o) { return o.write; });
  const auto& first = chain.front();
  const bool same =
      std::all_of(chain.begin(), writes,
                  [&](const auto& o) { return o.bytes == first.bytes && o.dram == first.dram; }) &&
      std::all_of(writes, chain.end(), [&](const auto& o) {
        return o.write && o.bytes == kCacheLineBytes && o.dram == first.dram &&
               o.persist == writes->persist;
      });
  if (!same) return;
  chain_reads_ = static_cast<std::size_t>(writes - chain.begin());
  const auto flush = writes == chain.end() ? Flush::kNone : flush_of(writes->persist);
  run_same_ = kernels_->run_same[size_class(chain_.front().lines)][static_cast<std::size_t>(flush)];
}

void Worker::warm_up() {
  if (work_.chase_starts != nullptr) {
    const auto& starts = *work_.chase_starts;
    chase_start_ = chase_at_ = starts[starts.size() / work_.config->number_threads * index_];
  }
  (void)clock_.begin();
  if (until_sample_ > 0) issue_ns_ = cost_of_issuing();
}

// A sample of one access also times how its number becomes a place and a call: some 20 ns, a tenth
// of a miss and ten times a hit. Found by doing it with kernels that touch nothing. Of the
// undisturbed half the mean, since counters may step by 10 ns.
double Worker::cost_of_issuing() {
  if (work_.config->chase()) return 0;                      // One call.
  if (chain_.size() > 1 && run_same_ == nullptr) return 0;  // Calls are part of such a chain.
  const auto exchange = [this](auto& with) {
    for (unsigned slots = 0; slots < 2; ++slots) {
      std::swap(read_[slots], with.read[slots]);
      std::swap(write_[slots], with.write[slots]);
    }
    std::swap(read_alone_, with.read_alone);
    if (run_same_ != nullptr) std::swap(run_same_, with.run_same);
    std::swap(fences_, with.fences);
  };
  struct {
    Kernel read[2] = {&touch_nothing, &touch_nothing};
    Kernel write[2] = {&touch_nothing, &touch_nothing};
    Kernel read_alone = &touch_nothing;
    KernelSet::RunSame run_same = &touch_nothing_same;
    std::uint64_t fences = 0;
  } nothing;
  exchange(nothing);
  constexpr std::uint64_t kTries = 1000;
  constexpr std::uint64_t kFirst = kListMax;  // Of a replay whose slots are shifted.
  std::vector<double> costs;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const auto begin = clock_.begin();
    issue(kFirst + i, 1);
    costs.push_back(clock_.elapsed_ns(begin, clock_.end()));
  }
  std::sort(costs.begin(), costs.end());
  costs.resize(costs.size() / 2);
  exchange(nothing);
  return std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
}

void Worker::run() {
  if (work_.grouped || work_.config->chase())
    run_alone();
  else
    run_packages();
}

void Worker::run_alone() {
  span(0, work_.operations);
  if (fence_packages_) fence(), ++fences_;
}

void Worker::run_packages() {
  auto& next = work_.queues[lane_].next;
  // At least a block: on a busy machine the time may be up before this thread gets its CPU.
  do {
    const auto first = next.fetch_add(work_.package, std::memory_order_relaxed);
    if (first >= work_.operations) return;
    span(first, std::min(work_.package, work_.operations - first));
    if (fence_packages_) fence(), ++fences_;
  } while (!stopped());
}

void Worker::span(std::uint64_t first, std::uint64_t count) {
  const auto begin = first;
  while (count > 0) {
    const auto now = std::min(count, work_.block);
    if (has_events_)
      span_with_events(first, now);
    else
      issue(first, now);
    first += now;
    count -= now;
    if (stopped()) break;
  }
  operations_ += first - begin;
  note_executed(begin, first - begin);
}

// Samples, delays and fences fall between operations, each at its own interval.
void Worker::span_with_events(std::uint64_t first, std::uint64_t count) {
  const auto& c = *work_.config;
  while (count > 0) {
    auto now = count;
    const bool sample = until_sample_ == 1;
    if (until_sample_ > 0) now = std::min(now, sample ? 1 : until_sample_ - 1);
    if (until_delay_ > 0) now = std::min(now, until_delay_);
    if (until_fence_ > 0) now = std::min(now, until_fence_);
    if (sample) {
      const auto begin = waits_for_stores_ ? clock_.begin_after_stores() : clock_.begin();
      issue(first, 1);
      const auto end = clock_.end();
      const auto ns = std::max(0.0, clock_.elapsed_ns(begin, end) - issue_ns_);
      latency_.record(static_cast<std::uint64_t>(std::llround(ns)));
      until_sample_ = c.sample_every();
    } else {
      issue(first, now);
      if (until_sample_ > 0) until_sample_ -= now;
    }
    if (until_fence_ > 0 && (until_fence_ -= now) == 0) {
      fence();
      ++fences_;
      until_fence_ = fence_every_;
    }
    if (until_delay_ > 0 && (until_delay_ -= now) == 0) {
      clock_.delay(c.delay_ns);
      until_delay_ = c.delay_every_operations;
    }
    first += now;
    count -= now;
  }
}

void Worker::issue(std::uint64_t first, std::uint64_t count) {
  if (work_.config->chase()) {
    chase_at_ = chase(work_.target.base, chase_at_, count);
    return;
  }
  work_.for_each_piece(lane_, first, count, [&](const Piece& piece) {
    if (piece.shift == 0)
      issue_ready(piece);
    else
      issue_shifted(piece);
  });
}

void Worker::issue_ready(const Piece& piece) {
  if (chain_.empty())
    issue_piece(piece);
  else
    issue_chain(piece);
}

void Worker::issue_shifted(Piece piece) {
  const auto shift = std::exchange(piece.shift, 0);
  const auto* from = std::exchange(piece.slots, ready_);
  for (auto left = piece.count; left > 0; left -= piece.count) {
    piece.count = std::min(left, kReadySlots);
    kernels_->shift_slots(ready_, from, piece.count, piece.first_slot, piece.range_slots, shift);
    issue_ready(piece);
    from += piece.count;
    piece.operation += piece.count;
  }
}

void Worker::issue_piece(const Piece& piece) {
  Accesses accesses;
  accesses.base = piece.dram ? work_.dram.base : work_.target.base;
  accesses.slots = piece.slots;
  accesses.first_byte = piece.first_byte;
  accesses.step_bytes = piece.step_bytes;
  accesses.count = piece.count;
  accesses.lines = access_units_;
  accesses.tag = work_.tag;
  accesses.lanes = piece.dram ? &dram_lanes_ : &target_lanes_;
  const bool slots = piece.slots != nullptr;
  if (piece.write) {
    write_[slots](accesses);
    if (fence_each_) fences_ += piece.count;
  } else {
    read_[slots](accesses);
  }
}

void Worker::issue_chain(const Piece& piece) {
  if (chain_.size() == 1) {
    // A read alone is a random read: nothing is handed from one operation to the next.
    const auto& step = chain_.front();
    Accesses accesses;
    accesses.base = step.base;
    accesses.slots = piece.slots;
    accesses.step_bytes = static_cast<std::int64_t>(step.slot_bytes);
    accesses.count = piece.count;
    accesses.lines = step.lines;
    accesses.lanes = step.lanes;
    return read_alone_(accesses);
  }
  ChainState state;
  state.number = piece.operation;
  state.zero = hidden_zero();
  if (run_same_ != nullptr)
    run_same_(chain_.data(), chain_reads_, chain_.size(), piece.slots, piece.count, state);
  else
    kernels_->run_chain(chain_.data(), chain_.size(), piece.slots, piece.count, state);
  fences_ += fences_per_chain_ * piece.count;
}

void Worker::note_executed(std::uint64_t first, std::uint64_t count) {
  if (!executed_.empty() && executed_.back().first + executed_.back().count == first) {
    executed_.back().count += count;
  } else {
    executed_.push_back({lane_, first, count});
  }
}

}  // namespace holdfast::bench::memory
