#include <holdfast/olap/mart/star_answer.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/program.hpp>
#include <holdfast/olap/mart/row_order.hpp>

namespace holdfast::olap::mart {
namespace {

// The rows of groups, for programs of what stands over them.
class GroupInput : public Input {
 public:
  GroupInput(const StarPlan& plan, const std::vector<sql::Row>& groups)
      : plan_(plan), groups_(groups) {}

  Status values(std::uint32_t column, std::span<const std::uint32_t> rows,
                Vector& to) const override {
    const auto keys = plan_.keys.size();
    const auto form =
        form_of(column < keys ? plan_.keys[column]->type : plan_.aggregates[column - keys].type);
    to.reset(form, rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      to.set(form, i, groups_[rows[i]][column]);
    return {};
  }

 private:
  const StarPlan& plan_;
  const std::vector<sql::Row>& groups_;
};

// The expression of each group. By a program, as of rows: there whole numbers do not wrap.
Result<Vector> over_groups(const StarPlan& plan, const sql::Expression& expression,
                           const std::vector<sql::Row>& groups) {
  std::vector<std::uint32_t> all(groups.size());
  std::iota(all.begin(), all.end(), 0u);
  HF_ASSIGN_OR_RETURN(const auto program, Program::compile(expression, NoSlots()));
  Vector values;
  HF_RETURN_IF_ERROR(program.run(GroupInput(plan, groups), all, values));
  return values;
}

Status drop_by_having(const StarPlan& plan, std::vector<sql::Row>& groups) {
  if (plan.having == nullptr) return {};
  HF_ASSIGN_OR_RETURN(const auto truth, over_groups(plan, *plan.having, groups));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (HF_MUTANT("O50", truth.is_null(i), false) || truth.numbers[i] == 0) continue;
    if (kept != i) groups[kept] = std::move(groups[i]);
    ++kept;
  }
  groups.resize(kept);
  return {};
}

struct Ordered {
  sql::Row keys, row;
  std::size_t number = 0;  // As the scan gave it.
};

// Groups that HAVING keeps, and their order keys.
Result<std::vector<Ordered>> groups_with_keys(const StarPlan& plan, std::vector<sql::Row> groups) {
  HF_RETURN_IF_ERROR(drop_by_having(plan, groups));
  std::vector<Ordered> all(groups.size());
  for (auto& one : all)
    one.keys.reserve(plan.order.size());
  for (const auto& key : plan.order) {
    HF_ASSIGN_OR_RETURN(const auto values, over_groups(plan, *key.value, groups));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].keys.push_back(values.value(key.value->type, i));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].row = std::move(groups[i]);
  return all;
}

// Of a plan without groups the scan has made items and order keys.
std::vector<Ordered> rows_with_keys(const StarPlan& plan, std::vector<sql::Row> rows) {
  std::vector<Ordered> all;
  for (auto& row : rows) {
    auto& one = all.emplace_back();
    const auto items = static_cast<std::ptrdiff_t>(plan.items.size());
    one.keys.assign(std::make_move_iterator(row.begin() + items),
                    std::make_move_iterator(row.end()));
    row.resize(plan.items.size());
    one.row = std::move(row);
  }
  return all;
}

Result<std::vector<Ordered>> with_keys(const StarPlan& plan, std::vector<sql::Row> rows) {
  if (plan.grouped) return groups_with_keys(plan, std::move(rows));
  return rows_with_keys(plan, std::move(rows));
}

Result<std::vector<sql::Row>> items_of(const StarPlan& plan, const std::vector<sql::Row>& groups) {
  std::vector<sql::Row> rows(groups.size());
  for (const auto& item : plan.items) {
    HF_ASSIGN_OR_RETURN(const auto values, over_groups(plan, *item, groups));
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(values.value(item->type, i));
  }
  return rows;
}

// Leaves the rows up to the last one that is wanted, in their order; those that are equal in it, as
// they came. The others are not sorted.
void put_in_order(const StarPlan& plan, std::vector<Ordered>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].number = i;
  const auto before = [&](const Ordered& a, const Ordered& b) {
    const int order = compare_rows(plan.order, a.keys, b.keys);
    return order != 0 ? order < 0 : HF_MUTANT("O56", a.number < b.number, false);
  };
  const auto wanted = std::min<std::uint64_t>(plan.first_rows(), rows.size());
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::nth_element(rows.begin(), end, rows.end(), before);
  rows.erase(end, rows.end());
  std::sort(rows.begin(), rows.end(), before);
}

}  // namespace

Result<StarAnswer> answer(const StarPlan& plan, const MartVersion& version, Team& team,
                          VectorWidth width) {
  HF_ASSIGN_OR_RETURN(auto scanned, scan(version, plan, team, width));
  HF_ASSIGN_OR_RETURN(auto rows, with_keys(plan, std::move(scanned.rows)));
  if (!plan.order.empty()) put_in_order(plan, rows);
  StarAnswer answer;
  answer.names = plan.names;
  answer.counts = scanned.counts;
  answer.table_rows = version.catalogue().tables[plan.table].rows();
  for (const auto& item : plan.items)
    answer.types.push_back(item->type);
  for (std::uint64_t i = plan.offset; i < rows.size() && answer.rows.size() < plan.limit; ++i)
    answer.rows.push_back(std::move(rows[i].row));
  if (!plan.grouped) return answer;
  HF_ASSIGN_OR_RETURN(answer.rows, items_of(plan, answer.rows));
  return answer;
}

Result<StarAnswer> answer(std::string_view text, const MartVersion& version, Team& team,
                          VectorWidth width) {
  HF_ASSIGN_OR_RETURN(const auto plan, plan_star(text, version.schema()));
  return answer(plan, version, team, width);
}

}  // namespace holdfast::olap::mart
