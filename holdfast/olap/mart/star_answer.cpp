#include <holdfast/olap/mart/star_answer.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/sql/evaluate.hpp>

namespace holdfast::olap::mart {
namespace {

// Whether row `a` comes before row `b`, by the values of the order's keys.
bool before(const std::vector<StarPlan::Key>& order, const sql::Row& a, const sql::Row& b) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& key = order[i];
    if (a[i].null != b[i].null) return a[i].null == key.nulls_first;
    if (a[i].null) continue;
    const int result = sql::compare(a[i], b[i], key.value->type);
    if (result != 0) return HF_MUTANT("O29", key.descending, false) ? result > 0 : result < 0;
  }
  return false;
}

Result<sql::Row> evaluated(const std::vector<StarPlan::Key>& order, const sql::Row& row) {
  sql::Row values(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    HF_RETURN_IF_ERROR(sql::evaluate(*order[i].value, row, values[i]));
  return values;
}

Result<sql::Row> evaluated(const std::vector<sql::ExpressionPointer>& items, const sql::Row& row) {
  sql::Row values(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    HF_RETURN_IF_ERROR(sql::evaluate(*items[i], row, values[i]));
  return values;
}

struct Ordered {
  sql::Row keys, row;
};

// Groups that HAVING keeps, and their order keys; of a plan without groups the scan has made both.
Result<std::vector<Ordered>> with_keys(const StarPlan& plan, std::vector<sql::Row> rows) {
  std::vector<Ordered> all;
  for (auto& row : rows) {
    Ordered one;
    if (!plan.grouped) {
      const auto items = static_cast<std::ptrdiff_t>(plan.items.size());
      one.keys.assign(std::make_move_iterator(row.begin() + items),
                      std::make_move_iterator(row.end()));
      row.resize(plan.items.size());
    } else {
      if (plan.having != nullptr) {
        sql::Value holds;
        HF_RETURN_IF_ERROR(sql::evaluate(*plan.having, row, holds));
        if (!holds.is_true()) continue;
      }
      HF_ASSIGN_OR_RETURN(one.keys, evaluated(plan.order, row));
    }
    one.row = std::move(row);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Result<StarAnswer> answer(const StarPlan& plan, const MartVersion& version, Team& team,
                          VectorWidth width) {
  HF_ASSIGN_OR_RETURN(auto scanned, scan(version, plan, team, width));
  HF_ASSIGN_OR_RETURN(auto rows, with_keys(plan, std::move(scanned.rows)));
  if (!plan.order.empty())
    std::stable_sort(rows.begin(), rows.end(), [&](const Ordered& a, const Ordered& b) {
      return before(plan.order, a.keys, b.keys);
    });
  StarAnswer answer;
  answer.names = plan.names;
  answer.counts = scanned.counts;
  for (const auto& item : plan.items)
    answer.types.push_back(item->type);
  for (std::uint64_t i = plan.offset; i < rows.size() && answer.rows.size() < plan.limit; ++i) {
    if (!plan.grouped) {
      answer.rows.push_back(std::move(rows[i].row));
      continue;
    }
    HF_ASSIGN_OR_RETURN(auto row, evaluated(plan.items, rows[i].row));
    answer.rows.push_back(std::move(row));
  }
  return answer;
}

Result<StarAnswer> answer(std::string_view text, const MartVersion& version, Team& team,
                          VectorWidth width) {
  HF_ASSIGN_OR_RETURN(const auto plan, plan_star(text, version.schema()));
  return answer(plan, version, team, width);
}

}  // namespace holdfast::olap::mart
