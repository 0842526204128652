#include <holdfast/bench/core_window.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <holdfast/bench/engine/team.hpp>

namespace holdfast::bench {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)

constexpr std::array kDistances = {16u,  32u,  64u,  80u,  96u,  104u, 112u, 120u,
                                   128u, 144u, 160u, 176u, 192u, 208u, 224u, 240u,
                                   256u, 288u, 320u, 384u, 448u, 512u};
constexpr unsigned kRounds = 25, kPairs = 1'000;
// Between the time of one miss and that of two.
constexpr double kApart = 1.4;

struct Chains {
  const std::uint64_t* lines;
  std::uint64_t one, other;
};

// Instructions that do nothing, in pairs of chains that know nothing of one another.
template <unsigned kDistance>
[[gnu::noinline]] void follow(Chains& chains) {
  std::uint64_t one = chains.one, other = chains.other;
  for (unsigned i = 0; i < kPairs; ++i) {
    one = chains.lines[one * 8];
    asm volatile(".rept %c1\n nop\n .endr" : "+r"(one) : "i"(kDistance));
    other = chains.lines[other * 8];
    asm volatile(".rept %c1\n nop\n .endr" : "+r"(other) : "i"(kDistance));
  }
  chains.one = one;
  chains.other = other;
}

template <std::size_t... kAt>
constexpr auto loops(std::index_sequence<kAt...>) {
  return std::array{&follow<kDistances[kAt]>...};
}

// The greatest distance up to which a pair took the time of one miss.
unsigned reach(const std::array<std::vector<double>, kDistances.size()>& times, double quantile) {
  const auto at = static_cast<std::size_t>(quantile * (kRounds - 1));
  unsigned found = 0;
  for (std::size_t i = 0; i < kDistances.size(); ++i) {
    if (times[i][at] > kApart * times[0][at]) return found;
    found = kDistances[i];
  }
  return 0;  // Two misses were never seen apart: the reads do not miss.
}

#endif

}  // namespace

CoreWindow core_window([[maybe_unused]] std::span<const std::uint64_t> chain) {
  CoreWindow window;
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr auto kLoops = loops(std::make_index_sequence<kDistances.size()>());
  std::array<std::vector<double>, kDistances.size()> times;
  Chains chains{chain.data(), 0, chain.size() / 16};
  // In turn, since a neighbour comes and goes.
  for (unsigned round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kLoops.size(); ++i) {
      const auto begin = Clock::now();
      kLoops[i](chains);
      times[i].push_back(seconds_since(begin));
    }
  }
  for (auto& all : times)
    std::sort(all.begin(), all.end());
  window = {reach(times, 0.5), reach(times, 0.1)};
  // The best tenth may be of another moment for each distance.
  window.best = std::max(window.best, window.usual);
#endif
  return window;
}

void CoreWindow::add_to(results::Fields& fields) const {
  if (usual == 0) return;
  fields.set("window_instructions", std::uint64_t{usual});
  fields.set("window_instructions_best", std::uint64_t{best});
}

}  // namespace holdfast::bench
