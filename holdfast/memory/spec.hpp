// spec.hpp: the text that names a region, taken apart. Grammar and meaning: memory/region.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast {

enum class HugePages : std::uint8_t {
  kAuto,  // Not said: transparent huge pages where the system gives them without a pool.
  kOff,
  k2M,
  k1G,
};

inline constexpr std::uint64_t kNodeStripeBytes = 32 * MiB;  // Of "node:N,M".

// A spec cut at its last '?', so that a path may hold one as long as options follow it:
// "/x" and "?huge=2M" of "/x?huge=2M".
struct SpecParts {
  std::string place, options;
};
SpecParts parts_of(std::string_view spec);

struct RegionSpec {
  enum class Kind : std::uint8_t { kDram, kNode, kPath };

  std::string text;  // As given.
  Kind kind = Kind::kPath;
  std::vector<int> nodes;       // With kNode: stripes go to them in turn.
  std::string path;             // With kPath; without a trailing '/'.
  bool trailing_slash = false;  // The path ended in '/': it can only be a directory.
  HugePages huge = HugePages::kAuto;
  std::optional<Granularity> granularity;
  std::optional<bool> nt_evicts;

  // Errors: kInvalidOption, naming the part, the value seen and the values allowed.
  static Result<RegionSpec> parse(std::string_view text);
};

// "byte", "line", "page", "none".
std::string_view name(Granularity granularity);
// "clwb", "clflushopt", "clflush", "none".
std::string_view name(WriteBackInstruction instruction);

}  // namespace holdfast
