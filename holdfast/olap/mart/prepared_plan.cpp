#include <holdfast/olap/mart/prepared_plan.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/block.hpp>
#include <holdfast/olap/mart/star_scan.hpp>

namespace holdfast::olap::mart {
namespace {

SlotFilter& filter_of(PreparedPlan& prepared, std::uint32_t slot) {
  for (auto& filter : prepared.slots) {
    if (filter.slot == slot) return filter;
  }
  auto& filter = prepared.slots.emplace_back();
  filter.slot = slot;
  filter.passes.assign(prepared.columns.indexes(slot), 1);
  return filter;
}

Status add_filters(const StarPlan& plan, PreparedPlan& prepared) {
  for (const auto slot : plan.inner)
    filter_of(prepared, slot).passes[0] = HF_MUTANT("O27", 0, 1);
  for (const auto& expression : plan.filters) {
    HF_ASSIGN_OR_RETURN(auto program, Program::compile(*expression, prepared.columns));
    if (program.is_literal()) {
      prepared.nothing |= !expression->literal.is_true();
    } else if (!program.slot()) {
      prepared.filters.push_back(std::move(program));
    } else {
      auto& passes = filter_of(prepared, *program.slot()).passes;
      const auto& values = *program.looked_up();
      for (std::size_t i = 0; i < passes.size(); ++i)
        passes[i] &= HF_MUTANT("O46", !values.is_null(i), true) && values.numbers[i] != 0;
    }
  }
  for (auto& filter : prepared.slots) {
    const auto indexes = filter.passes.size();
    filter.before.resize(indexes + 1);
    for (std::size_t i = 0; i < indexes; ++i)
      filter.before[i + 1] = filter.before[i] + filter.passes[i];
    filter.share = static_cast<double>(filter.before.back()) / static_cast<double>(indexes);
    prepared.nothing |= filter.before.back() == 0;
    filter.passes.resize(indexes + kSlackBytes);
  }
  std::sort(prepared.slots.begin(), prepared.slots.end(), [](const auto& a, const auto& b) {
    return std::pair(a.share, a.slot) < std::pair(b.share, b.slot);
  });
  return {};
}

// Numbers from 0 without gaps, for the values of indexes that pass.
void renumber(const SlotFilter* filter, Form form, Coded& coded) {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> numbers(coded.values->size(), kNone);
  std::vector<std::uint32_t> kept;  // Of the values.
  for (std::size_t index = 0; index < coded.codes.size(); ++index) {
    auto& code = coded.codes[index];
    if (filter != nullptr && filter->passes[index] == 0) {
      code = 0;
      continue;
    }
    auto& number = numbers[code];
    if (number == kNone) {
      number = static_cast<std::uint32_t>(kept.size());
      kept.push_back(code);
    }
    code = number;
  }
  coded.values = rows_of(coded.values, form, kept);
}

// The slot of all columns of a key, if there is one and no value of it fails.
Result<bool> code_key(const sql::Expression& expression, PreparedPlan& prepared, GroupKey& key) {
  std::optional<std::uint32_t> common;
  for (const auto column : sql::columns_of(expression)) {
    const auto slot = prepared.columns.slot(column);
    if (!slot || (common && *common != *slot)) return false;
    common = slot;
  }
  if (!common) return false;
  auto coded = prepared.columns.codes(*common, expression);
  if (!coded && coded.code() == Errc::kInvalidOption) return false;
  if (!coded) return std::move(coded).error();
  key.coded = *std::move(coded);
  const auto found = std::find_if(prepared.slots.begin(), prepared.slots.end(),
                                  [&](const SlotFilter& filter) { return filter.slot == *common; });
  renumber(found == prepared.slots.end() ? nullptr : &*found, form_of(key.type), key.coded);
  key.slot = common;
  return true;
}

void expect_rows(unsigned workers, PreparedPlan& prepared) {
  const auto& columns = prepared.columns;
  auto rows = static_cast<double>(columns.version().catalogue().tables[columns.table()].rows());
  for (const auto& filter : prepared.slots)
    rows *= filter.share;
  prepared.rows = static_cast<std::size_t>(rows / workers) + 1;
}

Status add_keys(const StarPlan& plan, PreparedPlan& prepared) {
  // Groups that may lie in an array: some, or as many as a worker meets rows.
  const auto most = std::clamp<std::uint64_t>(prepared.rows, kMaxDense, std::uint64_t{1} << 31);
  std::uint64_t groups = 1;
  for (const auto& expression : plan.keys) {
    GroupKey key;
    key.type = expression->type;
    HF_ASSIGN_OR_RETURN(const bool coded, code_key(*expression, prepared, key));
    if (coded) {
      key.stride = static_cast<std::uint32_t>(std::min(groups, most));
      groups = std::min<std::uint64_t>(groups * key.coded.values->size(), most + 1);
    } else {
      HF_ASSIGN_OR_RETURN(key.program, Program::compile(*expression, prepared.columns));
      groups = most + 1;
    }
    prepared.keys.push_back(std::move(key));
  }
  if (groups <= most) prepared.dense = static_cast<std::uint32_t>(groups);
  return {};
}

Status add_aggregates(const StarPlan& plan, PreparedPlan& prepared) {
  const auto compile = [&](const sql::ExpressionPointer& expression,
                           std::vector<std::optional<Program>>& to) -> Status {
    auto& program = to.emplace_back();
    if (expression == nullptr) return {};
    HF_ASSIGN_OR_RETURN(program, Program::compile(*expression, prepared.columns));
    return {};
  };
  for (const auto& aggregate : plan.aggregates) {
    HF_RETURN_IF_ERROR(compile(aggregate.argument, prepared.arguments));
    auto& argument = prepared.arguments.back();
    // A text counts as its number: the text itself need not be looked at in each row.
    if (aggregate.kind == sql::AggregateKind::kCount && aggregate.distinct && argument->slot() &&
        argument->form() == Form::kTexts) {
      HF_ASSIGN_OR_RETURN(auto numbers,
                          prepared.columns.numbers(*argument->slot(), *aggregate.argument));
      argument->look_up_numbers(std::move(numbers));
    }
    HF_RETURN_IF_ERROR(compile(aggregate.filter, prepared.conditions));
  }
  return {};
}

}  // namespace

Result<PreparedPlan> prepare(const MartVersion& version, const StarPlan& plan, unsigned workers) {
  PreparedPlan prepared(StarColumns(version, plan.table, plan.sources));
  HF_RETURN_IF_ERROR(add_filters(plan, prepared));
  expect_rows(workers, prepared);
  if (plan.grouped) {
    HF_RETURN_IF_ERROR(add_keys(plan, prepared));
    HF_RETURN_IF_ERROR(add_aggregates(plan, prepared));
    return prepared;
  }
  for (const auto& item : plan.items) {
    HF_ASSIGN_OR_RETURN(auto program, Program::compile(*item, prepared.columns));
    prepared.outputs.push_back(std::move(program));
  }
  for (const auto& key : plan.order) {
    HF_ASSIGN_OR_RETURN(auto program, Program::compile(*key.value, prepared.columns));
    prepared.outputs.push_back(std::move(program));
  }
  return prepared;
}

}  // namespace holdfast::olap::mart
