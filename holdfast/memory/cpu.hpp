// cpu.hpp: what this CPU offers for persistence and for copying; asked once, at run time.
//
// Everything comes from CPUID, so an emulator that hides an instruction (valgrind hides clwb and
// AVX-512) is believed, and the next best one is used.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/memory/persist.hpp>

namespace holdfast {

enum class VectorWidth : std::uint8_t { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

struct Cpu {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", …
  std::string model;   // "AMD EPYC 9R45", as the CPU spells it.
  bool clflush = false;
  bool clflushopt = false;
  bool clwb = false;
  bool avx2 = false;
  // Foundation and byte/word instructions, and the system saves the registers.
  bool avx512 = false;
  WriteBackInstruction write_back = WriteBackInstruction::kNone;  // The best of the three.
  VectorWidth vectors = VectorWidth::kPortable;
};
const Cpu& cpu();

// Whether non-temporal stores leave the cache, so that stream + fence is durable where lines are.
// On some CPUs (measured on AMD Zen 5) a non-temporal store to a cached line stays in the cache,
// and the fence does not wait for memory. Hence a table of vendors decides, and a probe of a few
// microseconds, run at the first call, may only turn the property off.
struct NtEvicts {
  bool value = false;
  std::string source;  // For people: which vendor, what the probe saw.
  // One non-temporal line store + fence where the line was just read,
  double cached_ns = 0;
  double uncached_ns = 0;  // and where it was in no cache.
};
const NtEvicts& nt_evicts();

namespace memory_detail {
// The decision alone. A store to a cached line that is this much cheaper than one to an uncached
// line did not go to memory: measured 2 to 22 ns against 102 to 118 ns where it stays in the cache.
inline constexpr double kProbeRatioMin = 0.5;
NtEvicts judge_nt_evicts(const std::string& vendor, double cached_ns, double uncached_ns);
}  // namespace memory_detail

// "AVX-512", "AVX2", "portable".
std::string_view name(VectorWidth width);

}  // namespace holdfast
