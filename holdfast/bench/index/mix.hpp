// mix.hpp: a mixture of operations, as `holdfast index bench --mix find:70,update:20,insert:10`
// names it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>

namespace holdfast::bench::index {

enum class MixedOperation : std::uint8_t { kFind, kUpdate, kInsert };

// In percent; together 100.
struct Mix {
  unsigned find = 0, update = 0, insert = 0;

  // "find:70,update:30": each operation once. Errors: kInvalidOption.
  static Result<Mix> parse(std::string_view text);
  // As an operation of rows: "find_70_update_30", without those that have no share.
  std::string name() const;
  // Operation number i. Any hundred in a row have the shares; they do not come in blocks.
  MixedOperation at(std::uint64_t i) const {
    const auto place = static_cast<unsigned>(i * 37 % 100);
    if (place < find) return MixedOperation::kFind;
    return place < find + update ? MixedOperation::kUpdate : MixedOperation::kInsert;
  }
};

}  // namespace holdfast::bench::index
