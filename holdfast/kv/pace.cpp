#include <holdfast/kv/pace.hpp>

#include <algorithm>
#include <thread>

namespace holdfast::kv {
namespace {

constexpr std::uint64_t kSlackBlocks = 10, kZoneBlocks = 8;
constexpr double kZoneShare = 1.0 / 32;  // Of what the goal lets be dead.
constexpr std::uint64_t kMostBytesAhead = 64 * MiB;
constexpr double kAboveLeast = 0.25;  // Of the zone.
constexpr double kAboveInVain = 0.5;  // Of the zone.
constexpr double kSlowest = 4;        // Times what reclamation needs.
constexpr std::uint64_t kMaxPauseNs = 8'000'000;
constexpr std::uint64_t kMaxWaitNs = 100'000'000;  // Beyond the limit.
constexpr std::uint64_t kLongestStepNs = 1'000'000;
constexpr std::uint64_t kShortestSleepNs = 20'000;  // The kernel's timer is not finer.

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

Pace::Pace(const BlockTable& table, const StoreOptions& options)
    : table_(table),
      goal_(options.reclaim.space_amplification),
      on_(options.background && options.reclaim.background) {}

Pace::Levels Pace::levels() const {
  const auto block = static_cast<double>(table_.geometry().block_bytes);
  const auto live = static_cast<double>(table_.live_bytes());
  const std::uint64_t free = table_.free_blocks() + held_.load(std::memory_order_relaxed);
  const std::uint64_t blocks = table_.blocks();
  const double used = static_cast<double>(blocks - std::min(free, blocks)) * block;
  const double limit =
      goal_ * live + static_cast<double>(kSlackBlocks + table_.open_runs()) * block;
  const double zone = kZoneBlocks * block + (goal_ - 1) * live * kZoneShare;
  return {used, limit - zone, limit};
}

bool Pace::wants_reclaim() const { return position_at(levels()) > 0; }

double Pace::position() const {
  Levels at = levels();
  const double zone = at.limit - at.start;
  const auto least = static_cast<double>(least_.load(std::memory_order_relaxed));
  const auto in_vain = static_cast<double>(in_vain_.load(std::memory_order_relaxed));
  at.limit = std::max(at.limit, least + zone * kAboveLeast);
  if (in_vain != 0) at.limit = std::max(at.limit, in_vain + zone * kAboveInVain);
  at.start = at.limit - zone;
  return position_at(at);
}

std::uint64_t Pace::runs_per_pass() const {
  const Levels at = levels();
  const double zone = (at.limit - at.start) / static_cast<double>(table_.geometry().block_bytes);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(zone / 2), 4, 64);
}

std::uint64_t Pace::blocks_ahead() const {
  const Geometry& geometry = table_.geometry();
  const std::uint64_t segment = geometry.blocks_per_segment();
  const std::uint64_t most =
      std::clamp(kMostBytesAhead / geometry.block_bytes, segment, kSegmentsAhead * segment);
  const std::uint64_t live = table_.live_bytes() / geometry.block_bytes;
  return std::max(std::min(kSlackBlocks + table_.open_runs(), segment), std::min(live / 2, most));
}

// A pass that takes longer than the last ones counts as it stands.
std::uint64_t Pace::ns_per_block(std::uint64_t now) const {
  const std::uint64_t lately = ns_per_block_.load(std::memory_order_relaxed);
  const std::uint64_t began = began_ns_.load(std::memory_order_relaxed);
  if (began == 0 || now <= began) return lately;
  return std::max(lately, (now - began) / runs_per_pass());
}

bool Pace::wants_pause() const {
  const bool in_vain = ns_per_block_.load(std::memory_order_relaxed) == 0;
  return on_ && position() > (in_vain ? 1 : 0);
}

void Pace::pause(std::uint64_t blocks) {
  const double p = position();
  if (!wants_pause() || p <= 0) return;
  const std::uint64_t now = now_ns();
  if (ns_per_block_.load(std::memory_order_relaxed) == 0) return wait_for_a_pass(now + kMaxPauseNs);
  const double slower = p < 1 ? std::min(p / (1 - p), kSlowest) : kSlowest;
  const double per_block = slower * static_cast<double>(ns_per_block(now));
  const auto interval = static_cast<std::uint64_t>(
      std::min(per_block * static_cast<double>(blocks), static_cast<double>(kMaxPauseNs)));
  std::uint64_t next = next_ns_.load(std::memory_order_relaxed), at = 0;
  do {
    at = std::clamp(next, now, now + kMaxPauseNs);
  } while (!next_ns_.compare_exchange_weak(next, at + interval, std::memory_order_relaxed));
  if (at - now >= kShortestSleepNs) std::this_thread::sleep_for(std::chrono::nanoseconds(at - now));
  wait_for_a_pass(now + kMaxWaitNs);
}

void Pace::wait_for_a_pass(std::uint64_t until_ns) const {
  const std::uint64_t passes = passes_.load(std::memory_order_relaxed);
  for (std::uint64_t step = kShortestSleepNs;
       position() >= 1 && passes_.load(std::memory_order_relaxed) == passes && now_ns() < until_ns;
       step = std::min(2 * step, kLongestStepNs)) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(step));
  }
}

void Pace::go_on(std::uint64_t blocks) {
  if (least_.load(std::memory_order_relaxed) != 0)
    least_.fetch_add(blocks * table_.geometry().block_bytes, std::memory_order_relaxed);
}

void Pace::begin_pass() {
  began_ns_.store(now_ns(), std::memory_order_relaxed);
  const Levels at = levels();
  const auto used = static_cast<std::uint64_t>(at.used);
  const std::uint64_t least = least_.load(std::memory_order_relaxed);
  // A run that go_on() counts meanwhile may be forgotten: the next pass begins soon.
  if (at.used <= at.limit) {
    if (least != 0) least_.store(0, std::memory_order_relaxed);
  } else if (least == 0 || used < least) {
    least_.store(used, std::memory_order_relaxed);
  }
}

void Pace::rested(std::chrono::nanoseconds time) {
  began_ns_.fetch_add(static_cast<std::uint64_t>(time.count()), std::memory_order_relaxed);
}

void Pace::end_pass(double blocks) {
  const std::uint64_t took = now_ns() - began_ns_.exchange(0, std::memory_order_relaxed);
  passes_.fetch_add(1, std::memory_order_relaxed);
  if (blocks <= 0) {
    in_vain_.store(static_cast<std::uint64_t>(levels().used), std::memory_order_relaxed);
    return ns_per_block_.store(0, std::memory_order_relaxed);
  }
  in_vain_.store(0, std::memory_order_relaxed);
  const double now = static_cast<double>(took) / blocks;
  const auto before = static_cast<double>(ns_per_block_.load(std::memory_order_relaxed));
  const double mean = before == 0 ? now : before + (now - before) / 4;
  ns_per_block_.store(static_cast<std::uint64_t>(std::max(mean, 1.0)), std::memory_order_relaxed);
}

}  // namespace holdfast::kv
