#include <holdfast/olap/mart/row_order.hpp>

#include <holdfast/base/mutant.hpp>

namespace holdfast::olap::mart {

int compare_rows(const std::vector<StarPlan::Key>& order, std::span<const sql::Value> a,
                 std::span<const sql::Value> b) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& key = order[i];
    if (a[i].null != b[i].null)
      return a[i].null == HF_MUTANT("O49", key.nulls_first, true) ? -1 : 1;
    if (a[i].null) continue;
    const int result = sql::compare(a[i], b[i], key.value->type);
    if (result != 0) return (result < 0) != HF_MUTANT("O29", key.descending, false) ? -1 : 1;
  }
  return 0;
}

}  // namespace holdfast::olap::mart
