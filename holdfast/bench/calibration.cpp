#include <holdfast/bench/calibration.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <holdfast/base/printed.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/bench/engine/team.hpp>
#include <holdfast/bench/value_kernels.hpp>
#include <holdfast/results/environment.hpp>

namespace holdfast::bench {
namespace {

// What is measured here is the best case; clocks and neighbours change by a third, so 1.5.
constexpr double kSlack = 1.5;
// A fence overlaps with the loop around it, so an operation may take less than the line alone did;
// not a third of it.
constexpr double kFenceSlack = 3;

// The fastest of `pieces` runs of body(piece). Pieces are short, so that on a busy machine at least
// one runs without being interrupted: a limit that is too low would cry wolf.
template <class Body>
double best_seconds(std::size_t pieces, Body&& body) {
  double best = HUGE_VAL;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const auto begin = Clock::now();
    body(piece);
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

// Keeps a result alive without a store that would be measured.
void use(std::uint64_t value) { asm volatile("" : : "r"(value) : "memory"); }

}  // namespace

std::uint64_t calibration_bytes() {
  constexpr std::uint64_t kLeast = 8 * MiB;
  const auto wanted =
      std::clamp<std::uint64_t>(4 * results::last_level_cache_bytes(), 64 * MiB, 512 * MiB);
  const auto available = results::available_memory_bytes();
  return std::max(kLeast, std::min(wanted, available / 8 / kLeast * kLeast));
}

Limits calibrate(const Persist& persist) {
  const auto start = Clock::now();
  const auto& kernels = best_value_kernels();
  Limits limits;

  std::vector<std::uint64_t> small(16 * KiB / 8, 1);
  constexpr int kRounds = 20;
  limits.cache_read_bytes_per_s = 16 * KiB * kRounds / best_seconds(2000, [&](std::size_t) {
                                    for (int i = 0; i < kRounds; ++i)
                                      use(kernels.sum(small.data(), small.size()));
                                  });

  const auto large_bytes = calibration_bytes();
  std::vector<std::uint64_t> large(large_bytes / 8, 1);
  constexpr std::size_t kPiece = 2 * MiB;
  limits.memory_read_bytes_per_s =
      kPiece / best_seconds(large_bytes / kPiece, [&](std::size_t piece) {
        use(kernels.sum(large.data() + piece * kPiece / 8, kPiece / 8));
      });
  limits.memory_write_bytes_per_s =
      kPiece / best_seconds(large_bytes / kPiece, [&](std::size_t piece) {
        kernels.fill(large.data() + piece * kPiece / 8, kPiece / 8, 1);
        use(large[piece * kPiece / 8]);
      });

  // A chain through random lines: a full cycle (Sattolo), so that no shortcut exists.
  const auto lines = large_bytes / kCacheLineBytes;
  std::vector<std::uint32_t> order(lines);
  for (std::uint32_t i = 0; i < lines; ++i)
    order[i] = i;
  std::uint64_t random = 88172645463325252;
  for (auto i = lines - 1; i > 0; --i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    std::swap(order[i], order[random % i]);
  }
  for (std::size_t i = 0; i < lines; ++i)
    large[i * 8] = order[i];
  constexpr int kHops = 2000;
  std::uint64_t at = 0;
  limits.dependent_read_ns = 1e9 / kHops * best_seconds(100, [&](std::size_t) {
                               for (int i = 0; i < kHops; ++i)
                                 at = large[at * 8];
                               use(at);
                             });
  limits.window = core_window(large);

  if (persist.instruction() != WriteBackInstruction::kNone) {
    constexpr std::size_t kLines = 200;
    alignas(kCacheLineBytes) std::uint64_t line[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    // Page-aligned within the buffer, so lines are whole.
    auto* to = reinterpret_cast<std::byte*>(
        round_up(reinterpret_cast<std::uintptr_t>(large.data()), kCacheLineBytes));
    limits.persist_line_ns = 1e9 / kLines * best_seconds(200, [&](std::size_t piece) {
                               for (std::size_t i = piece * kLines; i < (piece + 1) * kLines; ++i) {
                                 persist.stream(to + i * kCacheLineBytes, line, kCacheLineBytes);
                                 persist.fence();
                               }
                             });
  }
  limits.seconds = seconds_since(start);
  return limits;
}

results::Fields Limits::fields() const {
  results::Fields fields;
  fields.set("cache_read_bytes_per_s_per_thread", cache_read_bytes_per_s);
  fields.set("memory_read_bytes_per_s_per_thread", memory_read_bytes_per_s);
  fields.set("memory_write_bytes_per_s_per_thread", memory_write_bytes_per_s);
  fields.set("dependent_read_ns", dependent_read_ns);
  fields.set("persist_line_ns", persist_line_ns);
  window.add_to(fields);
  fields.set("seconds", seconds);
  return fields;
}

void check_against_limits(results::Row& row, const Limits& limits, std::uint64_t footprint_bytes) {
  const auto threads = static_cast<double>(row.threads());
  const auto bytes = row.number("bytes_per_s_median");
  const auto claim = [&](double rate, double limit, const char* what) {
    if (!(rate > threads * limit * kSlack)) return;
    row.invalidate(printed("beyond this machine: %.3g bytes/s, and %s gives %.3g per thread", rate,
                           what, limit));
  };
  claim(bytes, limits.cache_read_bytes_per_s, "the first-level cache");
  if (footprint_bytes >= 4 * results::last_level_cache_bytes())
    claim(bytes, limits.memory_read_bytes_per_s, "memory");
  check_fences(row, limits);
}

void check_fences(results::Row& row, const Limits& limits) {
  const auto fences = row.number("fences_per_op");
  const auto nanoseconds = row.number("ns_per_op_median");
  if (fences > 0 && limits.persist_line_ns > 0 &&
      fences * limits.persist_line_ns > nanoseconds * kFenceSlack)
    row.invalidate(printed("beyond this machine: %.3g fences of at least %.3g ns each in %.3g ns",
                           fences, limits.persist_line_ns, nanoseconds));
}

}  // namespace holdfast::bench
