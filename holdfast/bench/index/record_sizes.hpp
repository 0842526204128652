// record_sizes.hpp: lengths of keys and values, as `holdfast index bench --sizes 16+100,32+1000`
// names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::index {

// In bytes. A key holds its number, and a value what tells whether it is the key's: 8 at least.
struct RecordSizes {
  static constexpr unsigned kLeast = 8, kMostOfKey = 1'024, kMostOfValue = 16'384;
  unsigned key = kLeast, value = kLeast;

  // "16+100,32+1000": each once. Errors: kInvalidOption.
  static Result<std::vector<RecordSizes>> parse(std::string_view text);
  bool operator==(const RecordSizes&) const = default;
};

}  // namespace holdfast::bench::index
