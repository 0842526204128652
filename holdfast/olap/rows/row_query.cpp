#include <holdfast/olap/rows/row_query.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/sum_bound.hpp>

namespace holdfast::olap {
namespace {

constexpr std::size_t kSampledTuples = 256;

double share_passing(const Join& join) {
  if (join.filters.empty() || join.tuples.empty()) return 1;
  const auto step = std::max<std::size_t>(1, join.tuples.size() / kSampledTuples);
  std::size_t seen = 0, passed = 0;
  for (std::size_t at = 0; at < join.tuples.size(); at += step, ++seen)
    passed += join.allows(join.tuples[at]);
  return static_cast<double>(passed) / static_cast<double>(seen);
}

}  // namespace

TupleFilter::TupleFilter(const AttributeFilter& condition)
    : attribute_(condition.attribute.number),
      numeric_(is_numeric(condition.attribute)),
      any_of_(!condition.any_of.empty()),
      from_(number_of(condition.from)),
      to_(number_of(condition.to)),
      from_text_(condition.from),
      to_text_(condition.to) {
  for (const auto& text : condition.any_of) {
    // A value that no row can have stays out: numbers in another form, texts that are too long.
    const auto number = number_of(text);
    if (numeric_ && number >= 0 && number <= UINT32_MAX && std::to_string(number) == text)
      numbers_.push_back(static_cast<std::uint32_t>(number));
    if (!numeric_ && DimensionTuple::Place::fits(text)) texts_.emplace_back().set(text);
  }
}

bool TupleFilter::allows(const DimensionTuple& tuple) const {
  if (numeric_) {
    const auto number = tuple.number(attribute_);
    if (any_of_) return std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end();
    return from_ <= number && number <= to_;
  }
  const auto& place = tuple.places[attribute_];
  if (any_of_) return std::find(texts_.begin(), texts_.end(), place) != texts_.end();
  const auto text = place.view();
  return from_text_ <= text && text <= HF_MUTANT("O08", to_text_, from_text_);
}

Result<RowQuery> bind(const StarQuery& query, const StoredRows& rows) {
  RowQuery bound;
  bound.ranges = query.ranges;
  bound.sum = query.sum;
  SumBound sum(query.sum);
  for (const auto& run : rows.tables().facts)
    HF_RETURN_IF_ERROR(sum.add(run.most, run.rows));
  std::array<bool, kDimensions> used{};
  for (const auto& condition : query.conditions)
    used[static_cast<std::size_t>(condition.attribute.dimension)] = true;
  for (const auto attribute : query.groups)
    used[static_cast<std::size_t>(attribute.dimension)] = true;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    if (!used[i]) continue;
    Join join{static_cast<Dimension>(i), {}, {}, 1};
    HF_ASSIGN_OR_RETURN(join.tuples, rows.tuples(join.dimension));
    for (const auto& condition : query.conditions) {
      if (condition.attribute.dimension == join.dimension) join.filters.emplace_back(condition);
    }
    join.passing = share_passing(join);
    bound.joins.push_back(std::move(join));
  }
  std::stable_sort(bound.joins.begin(), bound.joins.end(),
                   [](const Join& a, const Join& b) { return a.passing < b.passing; });
  for (const auto attribute : query.groups) {
    const auto at = std::find_if(bound.joins.begin(), bound.joins.end(), [&](const Join& join) {
      return join.dimension == attribute.dimension;
    });
    bound.groups.push_back({static_cast<std::uint8_t>(at - bound.joins.begin()), attribute.number});
  }
  return bound;
}

}  // namespace holdfast::olap
