// prepared_plan.hpp: a plan as a scan needs it: tables of answers, programs, numbers of groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/program.hpp>
#include <holdfast/olap/mart/star_columns.hpp>
#include <holdfast/olap/mart/star_plan.hpp>

namespace holdfast::olap::mart {

// All conditions on one slot: an answer for each index.
struct SlotFilter {
  std::uint32_t slot = 0;
  std::vector<std::uint8_t> passes;   // 1 or 0; slack behind them.
  std::vector<std::uint32_t> before;  // How many pass of those below the index.
  double share = 1;

  std::uint32_t passing(std::uint32_t first, std::uint32_t last) const {
    return before[last + 1] - before[first];
  }
};

// One key of a group: of one slot, a number for each index; else a program.
struct GroupKey {
  sql::Type type;
  std::optional<std::uint32_t> slot;
  Coded coded;  // Only values of indexes that can pass have numbers of their own.
  std::uint32_t stride = 0;
  std::optional<Program> program;

  // Words that it has in a hash table.
  std::size_t words() const {
    if (slot) return 1;
    const auto form = form_of(type);
    return form == Form::kTexts ? 1 : form == Form::kWide ? 3 : 2;
  }
};

struct PreparedPlan {
  explicit PreparedPlan(StarColumns of) : columns(std::move(of)) {}

  StarColumns columns;
  bool nothing = false;  // No row passes.
  std::size_t rows = 0;  // That each worker is expected to meet.
  std::vector<SlotFilter> slots;
  std::vector<Program> filters;
  std::vector<GroupKey> keys;
  std::optional<std::uint32_t> dense;  // So many groups, whose numbers are computed.
  std::vector<std::optional<Program>> arguments, conditions;  // By aggregate.
  std::vector<Program> outputs;  // Items, then order keys; of a plan without groups.
};

// The plan must outlive it. Errors: as Program::compile().
Result<PreparedPlan> prepare(const MartVersion& version, const StarPlan& plan, unsigned workers);

}  // namespace holdfast::olap::mart
