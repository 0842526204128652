#include <holdfast/memory/cpu.hpp>

#include <cpuid.h>
#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include <holdfast/memory/copy.hpp>
#include <holdfast/memory/system.hpp>
#include <holdfast/memory/x86_64.hpp>

namespace holdfast {
namespace {

std::string vendor_name() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx)) return "unknown";
  char text[13] = {};
  std::memcpy(text, &ebx, 4);
  std::memcpy(text + 4, &edx, 4);
  std::memcpy(text + 8, &ecx, 4);
  return text;
}

std::string model_name() {
  std::array<unsigned, 12> words{};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    auto* into = &words[leaf * 4];
    if (!__get_cpuid(0x80000002u + leaf, into, into + 1, into + 2, into + 3)) return "unknown";
  }
  char text[49] = {};
  std::memcpy(text, words.data(), 48);
  std::string model(text);
  model.erase(0, model.find_first_not_of(' '));
  model.erase(model.find_last_not_of(' ') + 1);
  return model;
}

Cpu ask_cpu() {
  Cpu cpu;
  cpu.vendor = vendor_name();
  cpu.model = model_name();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) cpu.clflush = edx & (1u << 19);
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    cpu.clflushopt = ebx & (1u << 23);
    cpu.clwb = ebx & (1u << 24);
  }
  __builtin_cpu_init();  // These also ask whether the system saves the registers (XGETBV).
  cpu.avx2 = __builtin_cpu_supports("avx2");
  cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  cpu.write_back = cpu.clwb         ? WriteBackInstruction::kClwb
                   : cpu.clflushopt ? WriteBackInstruction::kClflushopt
                   : cpu.clflush    ? WriteBackInstruction::kClflush
                                    : WriteBackInstruction::kNone;
  cpu.vectors = cpu.avx512 ? VectorWidth::kAvx512
                : cpu.avx2 ? VectorWidth::kAvx2
                           : VectorWidth::kPortable;
  return cpu;
}

using Clock = std::chrono::steady_clock;

constexpr std::size_t kProbeLines = 64;

struct alignas(kCacheLineBytes) Line {
  std::uint64_t words[8];
};

// ns per line of a non-temporal store to each of the lines, each followed by a fence. With the
// stores that stream_lines() uses: narrower ones can behave differently.
double time_nt_stores(Line* lines) {
  const auto stream = memory_detail::kernels(cpu().vectors).stream;
  const Line source{};
  const auto begin = Clock::now();
  for (std::size_t line = 0; line < kProbeLines; ++line) {
    stream(reinterpret_cast<std::byte*>(&lines[line]), reinterpret_cast<const std::byte*>(&source),
           sizeof(Line));
    x86_64::store_fence();
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kProbeLines;
}

// The vendor, unless the system names another one than CPUID: an emulator (valgrind calls every CPU
// an Intel) says nothing about the caches below it.
std::string agreed_vendor() {
  const auto info = memory_detail::read_text("/proc/cpuinfo");
  const auto line = info.find("vendor_id");
  if (line == std::string::npos) return cpu().vendor;
  const auto text = info.substr(line, info.find('\n', line) - line);
  return text.ends_with(cpu().vendor) ? cpu().vendor : "an emulated CPU";
}

// Medians of a few rounds: an interruption spoils one of them.
NtEvicts probe_nt_evicts() {
  constexpr int kRounds = 9;
  const auto lines = std::make_unique<Line[]>(kProbeLines);
  std::array<double, kRounds> cached{};
  std::array<double, kRounds> uncached{};
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t sum = 0;
    for (std::size_t line = 0; line < kProbeLines; ++line) {
      sum += *static_cast<volatile std::uint64_t*>(&lines[line].words[0]);
    }
    static_cast<void>(sum);
    _mm_mfence();
    cached[round] = time_nt_stores(lines.get());
    for (std::size_t line = 0; line < kProbeLines; ++line) {
      x86_64::clflush(reinterpret_cast<std::uintptr_t>(&lines[line]));
    }
    _mm_mfence();
    uncached[round] = time_nt_stores(lines.get());
  }
  std::sort(cached.begin(), cached.end());
  std::sort(uncached.begin(), uncached.end());
  return memory_detail::judge_nt_evicts(agreed_vendor(), cached[kRounds / 2],
                                        uncached[kRounds / 2]);
}

}  // namespace

namespace memory_detail {

NtEvicts judge_nt_evicts(const std::string& vendor, double cached_ns, double uncached_ns) {
  NtEvicts result;
  result.cached_ns = cached_ns;
  result.uncached_ns = uncached_ns;
  const bool known = vendor == "GenuineIntel";
  const bool plausible = cached_ns >= kProbeRatioMin * uncached_ns;
  result.value = known && plausible;
  char probe[128];
  std::snprintf(probe, sizeof probe, "probe: %.0f ns where the line is cached, %.0f ns where not",
                cached_ns, uncached_ns);
  result.source = vendor;
  result.source.append(!known ? " is not in the table of CPUs that evict ("
                       : plausible
                           ? " is in the table of CPUs that evict ("
                           : " is in the table of CPUs that evict, but the probe denies it (");
  result.source.append(probe).append(")");
  return result;
}

}  // namespace memory_detail

const Cpu& cpu() {
  static const Cpu once = ask_cpu();
  return once;
}

const NtEvicts& nt_evicts() {
  static const NtEvicts once = probe_nt_evicts();
  return once;
}

std::string_view name(VectorWidth width) {
  switch (width) {
    case VectorWidth::kPortable: return "portable";
    case VectorWidth::kAvx2: return "AVX2";
    case VectorWidth::kAvx512: return "AVX-512";
  }
  return "unknown";
}

}  // namespace holdfast
