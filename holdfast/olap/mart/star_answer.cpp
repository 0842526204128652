#include <holdfast/olap/mart/star_answer.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/program.hpp>
#include <holdfast/olap/mart/row_order.hpp>

namespace holdfast::olap::mart {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers all_numbers(std::size_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

// The columns of groups, for programs of what stands over them.
class GroupInput : public Input {
 public:
  GroupInput(const StarPlan& plan, const FoundGroups& found) : plan_(plan), found_(found) {}

  Status values(std::uint32_t column, std::span<const std::uint32_t> rows,
                Vector& to) const override {
    const auto keys = plan_.keys.size();
    const auto form =
        form_of(column < keys ? plan_.keys[column]->type : plan_.aggregates[column - keys].type);
    to.reset(form, rows.size());
    return found_.column(column, rows, to);
  }

 private:
  const StarPlan& plan_;
  const FoundGroups& found_;
};

// The expression of each of these groups. By a program, as of rows: there whole numbers do not
// wrap.
Result<Vector> over_groups(const StarPlan& plan, const FoundGroups& found, const Numbers& groups,
                           const sql::Expression& expression) {
  HF_ASSIGN_OR_RETURN(const auto program, Program::compile(expression, NoSlots()));
  Vector values;
  HF_RETURN_IF_ERROR(program.run(GroupInput(plan, found), groups, values));
  return values;
}

// Groups that HAVING keeps.
Result<Numbers> kept_groups(const StarPlan& plan, const FoundGroups& found) {
  auto groups = all_numbers(found.count());
  if (plan.having == nullptr) return groups;
  HF_ASSIGN_OR_RETURN(const auto truth, over_groups(plan, found, groups, *plan.having));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (HF_MUTANT("O50", truth.is_null(i), false) || truth.numbers[i] == 0) continue;
    groups[kept++] = groups[i];
  }
  groups.resize(kept);
  return groups;
}

// Those that the limit leaves of rows that come in this order.
Numbers within_limit(const StarPlan& plan, Numbers rows) {
  if (rows.size() > plan.first_rows()) rows.resize(plan.first_rows());
  const auto skipped = std::min<std::uint64_t>(plan.offset, rows.size());
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(skipped));
  return rows;
}

Result<std::vector<sql::Row>> rows_of_groups(const StarPlan& plan, const FoundGroups& found) {
  HF_ASSIGN_OR_RETURN(auto groups, kept_groups(plan, found));
  if (!plan.order.empty()) {
    std::vector<Vector> keys;
    for (const auto& key : plan.order) {
      HF_ASSIGN_OR_RETURN(auto values, over_groups(plan, found, groups, *key.value));
      keys.push_back(std::move(values));
    }
    auto order = first_in_order(plan.order, keys, groups.size(), plan.first_rows());
    for (auto& number : order)
      number = groups[number];
    groups = std::move(order);
  }
  groups = within_limit(plan, std::move(groups));
  std::vector<sql::Row> rows(groups.size());
  for (auto& row : rows)
    row.reserve(plan.items.size());
  for (const auto& item : plan.items) {
    HF_ASSIGN_OR_RETURN(const auto values, over_groups(plan, found, groups, *item));
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(values.value(item->type, i));
  }
  return rows;
}

// Of a plan without groups the scan has made items and order keys.
std::vector<sql::Row> rows_in_order(const StarPlan& plan, std::vector<sql::Row> found) {
  auto order = all_numbers(found.size());
  if (!plan.order.empty()) {
    std::vector<Vector> keys(plan.order.size());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto form = form_of(plan.order[k].value->type);
      keys[k].reset(form, found.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        keys[k].set(form, i, found[i][plan.items.size() + k]);
    }
    order = first_in_order(plan.order, keys, found.size(), plan.first_rows());
  }
  std::vector<sql::Row> rows;
  for (const auto number : within_limit(plan, std::move(order))) {
    found[number].resize(plan.items.size());
    rows.push_back(std::move(found[number]));
  }
  return rows;
}

}  // namespace

Result<StarAnswer> answer(const StarPlan& plan, const MartVersion& version, Team& team,
                          VectorWidth width) {
  HF_ASSIGN_OR_RETURN(auto found, scan(version, plan, team, width));
  StarAnswer answer;
  answer.names = plan.names;
  answer.counts = found.counts;
  answer.table_rows = version.catalogue().tables[plan.table].rows();
  for (const auto& item : plan.items)
    answer.types.push_back(item->type);
  if (!plan.grouped) {
    answer.rows = rows_in_order(plan, std::move(found.rows));
    return answer;
  }
  HF_ASSIGN_OR_RETURN(answer.rows, rows_of_groups(plan, found.groups));
  return answer;
}

Result<StarAnswer> answer(std::string_view text, const MartVersion& version, Team& team,
                          VectorWidth width) {
  HF_ASSIGN_OR_RETURN(const auto plan, plan_star(text, version.schema()));
  return answer(plan, version, team, width);
}

}  // namespace holdfast::olap::mart
