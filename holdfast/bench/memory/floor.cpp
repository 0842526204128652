#include <holdfast/bench/memory/floor.hpp>

#include <algorithm>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/floor_set.hpp>
#include <holdfast/bench/memory/worker.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::bench::memory {
namespace {

constexpr std::uint64_t kPointersReady = 1024;  // What stays in the first-level cache.

std::string compare_lanes(const Lanes& seen, const LinesRead& lines) {
  for (unsigned lane = 0; lane + 1 < kLanes; ++lane) {
    if (seen.sum[lane] != lines.lane(lane)) return "the floor's checksum is wrong";
  }
  return {};
}

std::uint64_t operations_of_thread(const Load& load, std::uint64_t in_a_pass) {
  const auto& config = load.config;
  if (config.run_time_s > 0) return kEndless;
  if (config.sequential() && !config.is_set(KeyId::kNumberOperations)) return in_a_pass;
  return std::max<std::uint64_t>(1, config.number_operations / config.number_threads);
}

// Each thread goes through its own part of the range, over and over.
class SequentialFloor final : public Floor {
 public:
  LoadResult run(const Load& load, std::uint64_t repetition) override {
    const auto& config = load.config;
    const bool write = config.has_writes();
    const auto access = config.access_bytes;
    // Whole accesses and whole steps of the loop.
    const auto unit = std::max<std::uint64_t>(256, access);
    const auto part = load.target_bytes / config.number_threads / unit * unit;
    const auto piece = std::max<std::uint64_t>(unit, kCallBytes / unit * unit);
    const auto tag = mix64(load.seed + repetition) | 1;
    auto result = execute_foreign(
        load,
        [&](Seat& seat, const std::atomic<bool>& stop) {
          Lanes lanes;
          FloorJob job;
          job.base = load.target->data();
          job.access_bytes = access;
          job.tag = tag;
          job.lanes = &lanes;
          auto* const first = job.base + seat.index() * part;
          const auto quota = operations_of_thread(load, part / access);
          const auto loop = write ? best_floor().write_sequential : best_floor().read_sequential;
          std::uint64_t done_bytes = 0, passes = 0, at = 0;
          seat.begin();
          while (done_bytes / access < quota && !stop.load(std::memory_order_relaxed)) {
            job.begin = first + at;
            job.bytes = std::min(piece, part - at);
            loop(job);
            done_bytes += job.bytes;
            at += job.bytes;
            if (at == part) at = 0, ++passes;
          }
          seat.end();
          LinesRead lines;
          const auto first_line = seat.index() * part / kCacheLineBytes;
          for (std::uint64_t pass = 0; pass < passes; ++pass)
            lines.add(first_line, part / kCacheLineBytes);
          lines.add(first_line, at / kCacheLineBytes);
          return ForeignResult{done_bytes / access,
                               write ? std::string() : compare_lanes(lanes, lines)};
        },
        access);
    if (write) load.target->written_by_lines();
    return result;
  }
};

// Each thread follows pointers of its own.
class PointerFloor final : public Floor {
 public:
  PointerFloor(FloorLoop loop, std::uint64_t access) : loop_(loop), access_(access) {}

  LoadResult run(const Load& load, std::uint64_t) override {
    draw(load);
    auto result = execute_foreign(
        load, [&](Seat& seat, const std::atomic<bool>& stop) { return work(load, seat, stop); },
        bytes_per_operation(load.config));
    if (load.config.has_writes()) load.target->written_by_lines();
    return result;
  }

 private:
  // As ours are: a short list for each thread, shifted in each replay (access_list.hpp).
  void draw(const Load& load) {
    if (!lists_.empty() && base_ == load.target->data()) return;
    base_ = load.target->data();
    lists_.clear();
    for (unsigned t = 0; t < load.config.number_threads; ++t)
      lists_.emplace_back(kShiftedListMax, SlotRange{0, load.target_bytes / access_},
                          Distribution::kUniform, 0, load.seed + t, 1);
  }

  std::uint64_t slot_of(const AccessList& list, std::uint64_t operation) const {
    const auto count = list.range().count;
    return shifted(list.at(operation), 0, static_cast<std::uint32_t>(count),
                   shift_of_replay(operation / list.size(), count));
  }

  ForeignResult work(const Load& load, Seat& seat, const std::atomic<bool>& stop) const {
    const auto& list = lists_[seat.index()];
    const auto slots = static_cast<std::uint32_t>(list.range().count);
    std::byte* pointers[kPointersReady];
    Lanes lanes;
    FloorJob job;
    job.base = base_;
    job.slots = load.target_bytes / access_;
    job.lanes = &lanes;
    job.tag = 1;
    static volatile std::uint64_t zero = 0;
    job.zero = zero;
    const auto quota = operations_of_thread(load, kEndless);
    std::uint64_t done = 0;
    job.pointers = pointers;
    seat.begin();
    while (done < quota && !stop.load(std::memory_order_relaxed)) {
      const auto at = done % list.size();
      job.first = done;
      job.count = std::min<std::uint64_t>({kPointersReady, list.size() - at, quota - done});
      const auto shift = shift_of_replay(done / list.size(), slots);
      for (std::uint64_t i = 0; i < job.count; ++i)
        pointers[i] =
            base_ + std::uint64_t{shifted(list.data()[at + i], 0, slots, shift)} * access_;
      loop_(job);
      done += job.count;
    }
    seat.end();
    const bool dependent = loop_ == best_floor().lookup_in_tree;
    LinesRead lines;
    for (std::uint64_t i = 0; i < done; ++i) {
      auto byte = slot_of(list, i) * access_;
      for (unsigned level = 0; level < (dependent ? 3u : 1u); ++level) {
        lines.add(byte / kCacheLineBytes, access_ / kCacheLineBytes);
        byte = access_ *
               chain_slot(content_of_lane(byte / kCacheLineBytes, access_ / kCacheLineBytes, 0), i,
                          level, job.slots);
      }
    }
    return {done, compare_lanes(lanes, lines)};
  }

  const FloorLoop loop_;
  const std::uint64_t access_;
  std::byte* base_ = nullptr;
  std::vector<AccessList> lists_;  // Of each thread.
};

}  // namespace

std::unique_ptr<Floor> Floor::make(const Load& load) {
  const auto& config = load.config;
  const auto& loops = best_floor();
  if (load.dram != nullptr || config.latency_sample_frequency > 0 || config.delay_ns > 0 ||
      !config.prefault) {
    return nullptr;
  }
  const bool raw = config.operation == AccessKind::kRead || config.operation == AccessKind::kWrite;
  if (config.exec_mode == ExecMode::kSequential && raw && config.write_ratio < 0 &&
      config.access_bytes % kCacheLineBytes == 0) {
    const auto unit = std::max<std::uint64_t>(256, config.access_bytes);
    if (unit % 256 != 0 || load.target_bytes / config.number_threads < unit) return nullptr;
    if (config.operation == AccessKind::kWrite &&
        (config.persist != PersistKind::kNoCache || config.operations_per_fence() != 1)) {
      return nullptr;
    }
    return std::make_unique<SequentialFloor>();
  }
  if (config.exec_mode == ExecMode::kRandom && config.operation == AccessKind::kRead &&
      config.distribution == Distribution::kUniform && config.write_ratio < 0 &&
      config.partitions() == 1 && load.target_bytes / config.access_bytes <= kShiftedSlotsMax) {
    if (config.access_bytes == 64) return std::make_unique<PointerFloor>(loops.read_64, 64);
    if (config.access_bytes == 256) return std::make_unique<PointerFloor>(loops.read_256, 256);
  }
  if (!config.custom() || load.target_bytes / kCacheLineBytes > kShiftedSlotsMax) return nullptr;
  const auto chain = to_string(config.chain);
  if (chain == "r_64") return std::make_unique<PointerFloor>(loops.read_64, 64);
  if (chain == "r_512") return std::make_unique<PointerFloor>(loops.read_512, 512);
  if (chain == "r_512,r_512,r_512")
    return std::make_unique<PointerFloor>(loops.lookup_in_tree, 512);
  if (chain == "r_256,w_64_cache_128,w_64_cache_-128" && cpu().clwb)
    return std::make_unique<PointerFloor>(loops.update_in_hash, 256);
  return nullptr;
}

}  // namespace holdfast::bench::memory
