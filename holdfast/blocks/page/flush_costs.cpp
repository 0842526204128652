#include <holdfast/blocks/page/flush_costs.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

#include <holdfast/blocks/page/page_kernels.hpp>
#include <holdfast/memory/cpu.hpp>

namespace holdfast::blocks::page_detail {
namespace {

constexpr unsigned kRounds = 7;       // Per point; the median counts.
constexpr std::size_t kFlushes = 16;  // Per round, one after the other: see Probe.

// One thread's measurements. A fence that follows a pause returns as soon as the memory's queue has
// taken the lines; only flush behind flush shows what the queue can pass on. (Timed one by one, the
// micro log seemed to win up to 85 lines of 16 KiB; in a row, and in the benchmark, up to some 60.)
class Probe {
 public:
  Probe(const Persist& persist, std::span<std::byte* const> slots, std::span<std::byte* const> logs,
        std::uint32_t page_bytes)
      : persist_(persist),
        slots_(slots.first(std::min(2 * kFlushes, slots.size()))),
        logs_(logs),
        page_bytes_(page_bytes),
        flushes_(std::max<std::size_t>(1, slots_.size() / 2)),
        content_(flushes_ * page_bytes + kCacheLineBytes) {
    pages_ =
        content_.data() + (0 - reinterpret_cast<std::uintptr_t>(content_.data())) % kCacheLineBytes;
  }

  double copy(std::uint32_t dirty_lines, InDram in_dram) {
    // Slots are taken in turn: the one that is written was some page's old one a few flushes ago,
    // and where old lines are read it is still in a cache. (With slots from memory instead, the
    // micro log was taken for 128 lines, too, where copying is faster.)
    const bool slots_cached = in_dram == InDram::kDirtyLines;
    const auto flush = [&](const LineSet& dirty, std::byte* page, std::byte* slot,
                           std::byte* old_slot, std::byte* log) {
      if (in_dram == InDram::kWholePage)
        write_page(persist_, slot, page, page_bytes_);
      else
        write_page_with_old_lines(persist_, slot, old_slot, page, dirty, page_bytes_);
      persist_.fence();
      write_header(persist_, reinterpret_cast<SlotHeader*>(log), 0, 0);
      persist_.fence();
    };
    return median(dirty_lines, slots_cached, flush);
  }

  double micro_log(std::uint32_t dirty_lines) {
    const auto flush = [&](const LineSet& dirty, std::byte* page, std::byte* slot,
                           std::byte* old_slot, std::byte* log) {
      prefetch_lines(slot, dirty);
      // Slot and page of ones are out of every range: never a valid record.
      write_record(persist_, log, {0, 0, ~0u, ~0u, 0, 0}, 0, page, dirty);
      persist_.fence();
      write_lines(persist_, slot, page, dirty);
      write_header(persist_, reinterpret_cast<SlotHeader*>(old_slot), 0, 0);
      persist_.fence();
    };
    return median(dirty_lines, false, flush);
  }

 private:
  // Of a flush, in ns. Pages that get flushed lie in no cache, on neither side, but for the lines
  // that were just changed; the logs are used again and again.
  template <class Flush>
  double median(std::uint32_t dirty_lines, bool slots_cached, const Flush& flush) {
    const Persist evict(
        cpu().clflushopt ? WriteBackInstruction::kClflushopt : WriteBackInstruction::kClflush,
        false);
    std::array<double, kRounds> times;
    LineSet dirty;
    for (auto& time : times) {
      const auto written_to = slots_.first(flushes_);
      for (auto* const slot : slots_cached ? slots_.subspan(flushes_) : slots_)
        evict.write_back(slot, page_bytes_);
      if (slots_cached) read(written_to);
      evict.write_back(pages_, flushes_ * page_bytes_);
      evict.fence();
      for (std::size_t i = 0; i < flushes_; ++i)
        dirty = touch(pages_ + i * page_bytes_, dirty_lines);
      const auto begin = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < flushes_; ++i) {
        flush(dirty, pages_ + i * page_bytes_, slots_[i], slots_[(i + flushes_) % slots_.size()],
              logs_[i % logs_.size()]);
      }
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      time = took.count() / static_cast<double>(flushes_);
    }
    std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
    return times[kRounds / 2];
  }

  void read(std::span<std::byte* const> slots) const {
    for (const auto* const slot : slots) {
      for (std::uint32_t at = 0; at < page_bytes_; at += kCacheLineBytes)
        (void)Persist::load(reinterpret_cast<const std::uint64_t*>(slot + at));
    }
  }

  // Changes so many lines, spread over the page.
  LineSet touch(std::byte* page, std::uint32_t dirty_lines) const {
    LineSet dirty;
    const auto lines = page_bytes_ / static_cast<std::uint32_t>(kCacheLineBytes);
    for (std::uint32_t i = 0; i < dirty_lines; ++i) {
      const auto line = static_cast<std::uint32_t>(std::uint64_t{i} * lines / dirty_lines);
      dirty.mark_lines(line, 1);
      std::memset(page + line * kCacheLineBytes, static_cast<int>(i), 8);
    }
    return dirty;
  }

  const Persist persist_;
  const std::span<std::byte* const> slots_, logs_;
  const std::uint32_t page_bytes_;
  const std::size_t flushes_;
  std::vector<std::byte> content_;
  std::byte* pages_;
};

std::vector<std::uint32_t> line_counts(std::uint32_t lines) {
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t count : {1u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
    if (count < lines) counts.push_back(count);
  }
  counts.push_back(lines);
  return counts;
}

// The same measurement on one thread, or on two at once; the mean of theirs. Nothing where the
// system has no second thread.
std::vector<FlushCosts::Point> measure(const Persist& persist, const CostScratch& scratch,
                                       std::uint32_t page_bytes, unsigned threads) {
  const auto counts = line_counts(page_bytes / static_cast<std::uint32_t>(kCacheLineBytes));
  std::vector<FlushCosts::Point> sums;
  for (const auto count : counts)
    sums.push_back({threads, count, 0, 0, 0});
  const auto share = [&](const std::vector<std::byte*>& all, unsigned thread) {
    const auto each = all.size() / threads;
    return std::span<std::byte* const>(all).subspan(each * thread, each);
  };
  // Here, where there may be too little memory: the threads allocate nothing.
  std::vector<std::unique_ptr<Probe>> probes;
  for (unsigned thread = 0; thread < threads; ++thread)
    probes.push_back(std::make_unique<Probe>(persist, share(scratch.slots, thread),
                                             share(scratch.logs, thread), page_bytes));
  std::atomic<unsigned> arrived{0};
  std::vector<std::vector<FlushCosts::Point>> of_thread(threads, sums);
  const auto body = [&](unsigned thread) {
    Probe& probe = *probes[thread];
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
  std::thread other;
  try {
    if (threads == 2) other = std::thread(std::cref(body), 1);
  } catch (const std::system_error&) {
    return {};
  }
  body(0);
  if (other.joinable()) other.join();
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
    std::vector<FlushCosts::Point> points;
    if (threads == 1 || two) points = measure(persist, scratch, page_bytes, threads);
    if (points.empty()) {
      costs.micro_log_up_to[1] = costs.micro_log_up_to[0];
      break;
    }
    for (const auto in_dram : {InDram::kWholePage, InDram::kDirtyLines})
      costs.micro_log_up_to[threads - 1][static_cast<std::size_t>(in_dram)] =
          micro_log_limit(points, in_dram, lines);
    costs.measured.insert(costs.measured.end(), points.begin(), points.end());
  }
  return costs;
}

}  // namespace holdfast::blocks::page_detail
