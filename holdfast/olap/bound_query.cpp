#include <holdfast/olap/bound_query.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/sum_bound.hpp>

namespace holdfast::olap {
namespace {

bool fulfils(const AttributeFilter& condition, const std::string& value) {
  if (!condition.any_of.empty())
    return std::find(condition.any_of.begin(), condition.any_of.end(), value) !=
           condition.any_of.end();
  if (!is_numeric(condition.attribute)) return condition.from <= value && value <= condition.to;
  const auto number = number_of(value);
  return number_of(condition.from) <= number && number <= number_of(condition.to);
}

// The leaves that fulfil the conditions, and what can be said of them.
struct Passing {
  std::vector<const Leaf*> leaves;
  std::array<bool, 256> outer{}, inner{};
  std::array<bool, 256> some_fail{};  // Of the leaves below an outer value.
  std::array<bool, 256> outer_exists{};
  std::uint64_t rows = 0, all_rows = 0;
};

Passing passing_leaves(const StarQuery& query, const DimensionTable& table) {
  const auto& shape = olap::shape(table.dimension());
  std::vector<const AttributeFilter*> upper, lower;
  for (const auto& condition : query.conditions) {
    if (condition.attribute.dimension == table.dimension())
      (condition.attribute.number < shape.outer ? upper : lower).push_back(&condition);
  }
  const auto all = [](const std::vector<const AttributeFilter*>& conditions, const Leaf& leaf) {
    return std::all_of(conditions.begin(), conditions.end(), [&](const AttributeFilter* condition) {
      return fulfils(*condition, leaf.values[condition->attribute.number]);
    });
  };
  Passing passing;
  const Leaf* before = nullptr;
  bool upper_passes = false;
  for (const Leaf& leaf : table.leaves()) {
    // The upper conditions are the same for all leaves below an outer value.
    if (before == nullptr || before->outer != leaf.outer) upper_passes = all(upper, leaf);
    before = &leaf;
    passing.all_rows += leaf.rows;
    passing.outer_exists[leaf.outer] = true;
    if (!upper_passes || !all(lower, leaf)) {
      passing.some_fail[leaf.outer] = true;
      continue;
    }
    passing.leaves.push_back(&leaf);
    passing.outer[leaf.outer] = passing.inner[leaf.inner] = true;
    passing.rows += leaf.rows;
  }
  return passing;
}

std::vector<ByteRange> ranges_of(const std::array<bool, 256>& wanted) {
  std::vector<ByteRange> ranges;
  for (unsigned value = 0; value < 256; ++value) {
    if (!wanted[value]) continue;
    const auto byte = static_cast<std::uint8_t>(value);
    if (!ranges.empty() && ranges.back().to + 1u == value)
      ranges.back().to = byte;
    else
      ranges.push_back({byte, byte});
  }
  return ranges;
}

void add_dimension(const DimensionTable& table, const Passing& passing, BoundQuery& bound) {
  const auto dimension = table.dimension();
  const auto outer = column(dimension, Digit::kOuter), inner = column(dimension, Digit::kInner);
  const double share = passing.all_rows == 0 ? 0
                                             : static_cast<double>(passing.rows) /
                                                   static_cast<double>(passing.all_rows);
  if (passing.outer != passing.outer_exists)
    bound.bytes.push_back({outer, ranges_of(passing.outer), share});
  const auto partly = [&](std::size_t value) {
    return passing.outer[value] && passing.some_fail[value];
  };
  bool any_partly = false;
  for (std::size_t value = 0; value < 256; ++value)
    any_partly |= partly(value);
  if (!any_partly) return;
  // Below a range of outer values the inner one decides, too.
  bound.bytes.push_back({inner, ranges_of(passing.inner), share * 1.5});
  std::size_t in_hull = 0;
  for (const Leaf& leaf : table.leaves())
    in_hull += passing.outer[leaf.outer] && passing.inner[leaf.inner];
  if (HF_MUTANT("O04", in_hull == passing.leaves.size(), true)) return;
  PairPredicate pairs{outer, inner, {}};
  for (const Leaf* leaf : passing.leaves)
    pairs.allowed.set(leaf->outer * 256u + leaf->inner);
  bound.pairs.push_back(std::move(pairs));
}

// The labels of a group attribute, and the digits that lead to them.
Status add_group(Attribute attribute, const Passing& passing, BoundQuery& bound) {
  const bool upper = attribute.number < shape(attribute.dimension).outer;
  GroupDigit outer{column(attribute.dimension, Digit::kOuter), {}};
  GroupDigit inner{column(attribute.dimension, Digit::kInner), {}};
  GroupLabels group{bound.group_count, {}};
  std::uint32_t width = 1;  // Inner values that can come.
  for (const Leaf* leaf : passing.leaves)
    width = upper ? 1 : std::max<std::uint32_t>(width, leaf->inner + 1u);
  const Leaf* before = nullptr;
  std::uint32_t first = 0;  // Of the labels of this outer value.
  for (const Leaf* leaf : passing.leaves) {
    if (upper && before != nullptr && before->outer == leaf->outer) continue;
    const auto& label = leaf->values[attribute.number];
    if (before == nullptr || before->outer != leaf->outer) {
      const bool as_before =
          HF_MUTANT("O51", upper, false) && before != nullptr && group.labels.back() == label;
      if (!as_before) {
        first = static_cast<std::uint32_t>(group.labels.size());
        group.labels.resize(group.labels.size() + width);
      }
      outer.add[leaf->outer] = first * group.stride;
    }
    const std::uint32_t place = upper ? 0u : leaf->inner;
    group.labels[first + place] = label;
    inner.add[leaf->inner] = place * group.stride;
    before = leaf;
  }
  const auto count = std::uint64_t{bound.group_count} * group.labels.size();
  if (count > kMaxGroups)
    return Error{Errc::kUnsupported, "a query with up to " + std::to_string(count) +
                                         " groups; allowed are " + std::to_string(kMaxGroups)};
  bound.group_count = static_cast<std::uint32_t>(count);
  bound.groups.push_back(std::move(group));
  bound.digits.push_back(outer);
  if (!upper) bound.digits.push_back(inner);
  return {};
}

void add_range(const MeasureRange& range, const Catalogue& catalogue, BoundQuery& bound) {
  std::uint32_t least = 255, most = 0;
  for (const auto& block : catalogue.blocks) {
    least = std::min(least, block.columns[range.column].min);
    most = std::max(most, block.columns[range.column].max);
  }
  const auto from = std::max(range.from, least), to = std::min(range.to, most);
  if (from > to) {
    bound.nothing = true;
    return;
  }
  if (from == least && to == most) return;
  bound.bytes.push_back({range.column,
                         {{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)}},
                         (to - from + 1.0) / (most - least + 1.0)});
}

// Whether every sum of rows fits 63 bits, by the bounds of the columns.
Status check_overflow(Sum sum, const Catalogue& catalogue) {
  SumBound bound(sum);
  for (const auto& block : catalogue.blocks) {
    const auto max = [&](Column column) { return block.columns[column].max; };
    HF_RETURN_IF_ERROR(bound.add(
        {max(kDiscount), max(kExtendedPrice), max(kRevenue), max(kSupplyCost)}, block.rows));
  }
  return {};
}

}  // namespace

Result<BoundQuery> bind(const StarQuery& query, const Catalogue& catalogue) {
  BoundQuery bound;
  bound.sum = query.sum;
  HF_RETURN_IF_ERROR(check_overflow(query.sum, catalogue));
  std::array<bool, kDimensions> used{};
  const auto number = [](Dimension dimension) { return static_cast<std::size_t>(dimension); };
  for (const auto& condition : query.conditions)
    used[number(condition.attribute.dimension)] = true;
  for (const auto attribute : query.groups)
    used[number(attribute.dimension)] = true;
  std::array<Passing, kDimensions> passing;
  for (const auto& table : catalogue.dimensions) {
    const auto at = number(table.dimension());
    if (!used[at]) continue;
    passing[at] = passing_leaves(query, table);
    bound.nothing |= passing[at].leaves.empty();
    if (!bound.nothing) add_dimension(table, passing[at], bound);
  }
  for (const auto& range : query.ranges)
    add_range(range, catalogue, bound);
  if (bound.nothing || catalogue.blocks.empty()) {
    bound.nothing = true;
    return bound;
  }
  for (const auto attribute : query.groups)
    HF_RETURN_IF_ERROR(add_group(attribute, passing[number(attribute.dimension)], bound));
  std::sort(bound.bytes.begin(), bound.bytes.end(), [](const auto& a, const auto& b) {
    return std::pair(a.passing, a.column) < std::pair(b.passing, b.column);
  });
  return bound;
}

}  // namespace holdfast::olap
