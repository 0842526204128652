#include <holdfast/blocks/page/flush_costs.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::blocks::page_detail {
namespace {

constexpr unsigned kRounds = 15;  // Per point; the median counts.

// One thread's measurements.
class Probe {
 public:
  Probe(const Persist& persist, std::span<std::byte* const> slots, std::span<std::byte* const> logs,
        std::uint32_t page_bytes)
      : persist_(persist),
        slots_(slots),
        logs_(logs),
        page_bytes_(page_bytes),
        content_(page_bytes + kCacheLineBytes) {
    page_ =
        content_.data() + (0 - reinterpret_cast<std::uintptr_t>(content_.data())) % kCacheLineBytes;
  }

  double copy(std::uint32_t dirty_lines, InDram in_dram) {
    return median([&](std::byte* slot, std::byte* old_slot, std::byte* log) {
      const auto dirty = touch(dirty_lines);
      return timed([&] {
        if (in_dram == InDram::kWholePage)
          write_page(persist_, slot, page_, page_bytes_);
        else
          write_page_with_old_lines(persist_, slot, old_slot, page_, dirty, page_bytes_);
        persist_.fence();
        write_header(persist_, reinterpret_cast<SlotHeader*>(log), 0, 0);
        persist_.fence();
      });
    });
  }

  double micro_log(std::uint32_t dirty_lines) {
    return median([&](std::byte* slot, std::byte* old_slot, std::byte* log) {
      const auto dirty = touch(dirty_lines);
      return timed([&] {
        prefetch_lines(slot, dirty);
        // Slot and page of ones are out of every range: never a valid record.
        write_record(persist_, log, {0, 0, ~0u, ~0u, 0, 0}, 0, page_, dirty);
        persist_.fence();
        write_lines(persist_, slot, page_, dirty);
        write_header(persist_, reinterpret_cast<SlotHeader*>(old_slot), 0, 0);
        persist_.fence();
      });
    });
  }

 private:
  template <class F>
  static double timed(F&& f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
        .count();
  }

  // Pages that get flushed lie in no cache, on neither side, but for the lines that were just
  // changed; the log is used again and again.
  template <class F>
  double median(F&& sample) {
    const Persist evict(
        cpu().clflushopt ? WriteBackInstruction::kClflushopt : WriteBackInstruction::kClflush,
        false);
    std::vector<double> times;
    for (unsigned round = 0; round < kRounds; ++round) {
      auto* const slot = slots_[round % slots_.size()];
      auto* const old_slot = slots_[(round + 1) % slots_.size()];
      evict.write_back(slot, page_bytes_);
      evict.write_back(old_slot, page_bytes_);
      evict.write_back(page_, page_bytes_);
      evict.fence();
      times.push_back(sample(slot, old_slot, logs_[round % logs_.size()]));
    }
    std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
    return times[kRounds / 2];
  }

  // Changes so many lines, spread over the page.
  LineSet touch(std::uint32_t dirty_lines) {
    LineSet dirty;
    const auto lines = page_bytes_ / static_cast<std::uint32_t>(kCacheLineBytes);
    for (std::uint32_t i = 0; i < dirty_lines; ++i) {
      const auto line = static_cast<std::uint32_t>(std::uint64_t{i} * lines / dirty_lines);
      dirty.mark_lines(line, 1);
      std::memset(page_ + line * kCacheLineBytes, static_cast<int>(i), 8);
    }
    return dirty;
  }

  const Persist persist_;
  const std::span<std::byte* const> slots_, logs_;
  const std::uint32_t page_bytes_;
  std::vector<std::byte> content_;
  std::byte* page_;
};

std::vector<std::uint32_t> line_counts(std::uint32_t lines) {
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t count : {1u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
    if (count < lines) counts.push_back(count);
  }
  counts.push_back(lines);
  return counts;
}

// The same measurement on each of `threads` threads at once; the mean of theirs.
std::vector<FlushCosts::Point> measure(const Persist& persist, const CostScratch& scratch,
                                       std::uint32_t page_bytes, unsigned threads) {
  const auto counts = line_counts(page_bytes / static_cast<std::uint32_t>(kCacheLineBytes));
  std::vector<FlushCosts::Point> sums;
  for (const auto count : counts)
    sums.push_back({threads, count, 0, 0, 0});
  std::atomic<unsigned> arrived{0};
  std::vector<std::vector<FlushCosts::Point>> of_thread(threads, sums);
  const auto body = [&](unsigned thread) {
    const auto share = [&](const std::vector<std::byte*>& all) {
      const auto each = all.size() / threads;
      return std::span<std::byte* const>(all).subspan(each * thread, each);
    };
    Probe probe(persist, share(scratch.slots), share(scratch.logs), page_bytes);
    probe.copy(1, InDram::kWholePage);  // First touches.
    unsigned phase = 0;
    const auto together = [&] {
      arrived.fetch_add(1);
      for (++phase; arrived.load() < phase * threads;)
        std::this_thread::yield();
    };
    for (auto& point : of_thread[thread]) {
      together();
      point.micro_log_ns = probe.micro_log(point.dirty_lines);
      together();
      point.copy_ns = probe.copy(point.dirty_lines, InDram::kWholePage);
      together();
      point.copy_dirty_lines_ns = probe.copy(point.dirty_lines, InDram::kDirtyLines);
    }
  };
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < threads; ++thread)
    others.emplace_back(body, thread);
  body(0);
  for (auto& other : others)
    other.join();
  for (const auto& points : of_thread) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].micro_log_ns += points[i].micro_log_ns / threads;
      sums[i].copy_ns += points[i].copy_ns / threads;
      sums[i].copy_dirty_lines_ns += points[i].copy_dirty_lines_ns / threads;
    }
  }
  return sums;
}

}  // namespace

std::uint32_t micro_log_limit(std::span<const FlushCosts::Point> points, InDram in_dram,
                              std::uint32_t lines_per_page) {
  const auto lead = [&](const FlushCosts::Point& point) {  // Of the micro log, in ns.
    return (in_dram == InDram::kWholePage ? point.copy_ns : point.copy_dirty_lines_ns) -
           point.micro_log_ns;
  };
  if (points.empty() || lead(points[0]) <= 0) return 0;
  // The lead falls with the number of lines; where it is lost, the line between the neighbouring
  // points says at how many.
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (lead(points[i]) > 0) continue;
    const double share = lead(points[i - 1]) / (lead(points[i - 1]) - lead(points[i]));
    return points[i - 1].dirty_lines +
           static_cast<std::uint32_t>(share * (points[i].dirty_lines - points[i - 1].dirty_lines));
  }
  return lines_per_page;
}

FlushCosts measure_flush_costs(const Persist& persist, const CostScratch& scratch,
                               std::uint32_t page_bytes) {
  FlushCosts costs;
  const auto lines = page_bytes / static_cast<std::uint32_t>(kCacheLineBytes);
  const bool two = std::thread::hardware_concurrency() >= 2 && scratch.slots.size() >= 2 &&
                   scratch.logs.size() >= 2;
  for (const unsigned threads : {1u, 2u}) {
    if (threads == 2 && !two) {
      costs.micro_log_up_to[1] = costs.micro_log_up_to[0];
      break;
    }
    const auto points = measure(persist, scratch, page_bytes, threads);
    for (const auto in_dram : {InDram::kWholePage, InDram::kDirtyLines})
      costs.micro_log_up_to[threads - 1][static_cast<std::size_t>(in_dram)] =
          micro_log_limit(points, in_dram, lines);
    costs.measured.insert(costs.measured.end(), points.begin(), points.end());
  }
  return costs;
}

}  // namespace holdfast::blocks::page_detail
