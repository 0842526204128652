#include <holdfast/olap/dimension_table.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::olap {
namespace {

constexpr unsigned kMaxDigit = 255;

bool same_outer(const DimensionShape& shape, const auto& a, const auto& b) {
  return std::equal(a.begin(), a.begin() + shape.outer, b.begin());
}

Error too_many(const DimensionShape& shape, bool outer) {
  std::string what;
  for (unsigned i = outer ? 0 : shape.outer; i < (outer ? shape.outer : shape.attributes); ++i)
    what += (what.empty() ? "" : ", ") + std::string(shape.names[i]);
  return {Errc::kUnsupported, std::string(shape.table) + ": more than 256 different values of (" +
                                  what + ")" + (outer ? "" : " below one upper value") +
                                  "; at most 256 can be stored"};
}

}  // namespace

DimensionTable::DimensionTable(Dimension dimension, std::vector<Leaf> leaves,
                               std::vector<std::uint32_t> keys)
    : dimension_(dimension),
      leaves_(std::make_shared<const std::vector<Leaf>>(std::move(leaves))),
      keys_(std::make_shared<const std::vector<std::uint32_t>>(std::move(keys))) {}

Result<DimensionTable> DimensionTable::build(Dimension dimension, std::vector<DimensionRow> rows) {
  const auto& shape = olap::shape(dimension);
  // Where the key has an inner digit of its own, its order is that of keys, not of the values.
  std::sort(rows.begin(), rows.end(), [&](const DimensionRow& a, const DimensionRow& b) {
    if (!shape.inner_is_key) return std::tie(a.values, a.key) < std::tie(b.values, b.key);
    const auto outer = [&](const DimensionRow& row) {
      return std::span(row.values.data(), shape.outer);
    };
    const auto order = std::lexicographical_compare_three_way(outer(a).begin(), outer(a).end(),
                                                              outer(b).begin(), outer(b).end());
    return order != 0 ? order < 0 : a.key < b.key;
  });
  std::vector<Leaf> leaves;
  std::vector<std::uint32_t> keys;
  for (auto& row : rows) {
    const bool new_outer = leaves.empty() || !same_outer(shape, leaves.back().values, row.values);
    if (new_outer || shape.inner_is_key || leaves.back().values != row.values) {
      unsigned outer = 0, inner = 0;
      if (!leaves.empty()) {
        outer = leaves.back().outer + (new_outer ? 1u : 0u);
        inner = new_outer ? 0u : leaves.back().inner + 1u;
      }
      if (outer > kMaxDigit || inner > kMaxDigit) return too_many(shape, outer > kMaxDigit);
      leaves.push_back({static_cast<std::uint8_t>(outer), static_cast<std::uint8_t>(inner),
                        static_cast<std::uint32_t>(keys.size()), 0, std::move(row.values)});
    }
    ++leaves.back().rows;
    keys.push_back(row.key);
  }
  return DimensionTable(dimension, std::move(leaves), std::move(keys));
}

Result<DimensionTable> DimensionTable::restore(Dimension dimension, std::vector<Leaf> leaves,
                                               std::vector<std::uint32_t> keys) {
  std::uint64_t next = 0;
  bool ordered = true;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& leaf = leaves[i];
    ordered &= leaf.first == next && leaf.rows > 0;
    if (i > 0)
      ordered &=
          std::pair(leaves[i - 1].outer, leaves[i - 1].inner) < std::pair(leaf.outer, leaf.inner);
    next += leaf.rows;
  }
  if (!ordered || next != keys.size())
    return Error{Errc::kCorrupt, "star: the leaves of table " +
                                     std::string(olap::shape(dimension).table) +
                                     " contradict each other; load the tables into a new region"};
  return DimensionTable(dimension, std::move(leaves), std::move(keys));
}

const Leaf* DimensionTable::leaf(std::uint8_t outer, std::uint8_t inner) const {
  const auto found = std::lower_bound(leaves_->begin(), leaves_->end(), std::pair(outer, inner),
                                      [](const Leaf& leaf, const auto& digits) {
                                        return std::pair(leaf.outer, leaf.inner) < digits;
                                      });
  if (found == leaves_->end() || found->outer != outer || found->inner != inner) return nullptr;
  return &*found;
}

std::optional<std::uint32_t> DimensionTable::key(const Digits& digits) const {
  const Leaf* of = leaf(digits.outer, digits.inner);
  if (of == nullptr || digits.ordinal >= of->rows) return std::nullopt;
  return (*keys_)[of->first + digits.ordinal];
}

KeyLookup::KeyLookup(const DimensionTable& table) {
  const auto keys = table.keys();
  const auto most = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
  if (most <= 16 * keys.size() + 4096) dense_.resize(std::size_t{most} + 1);
  for (const Leaf& leaf : table.leaves()) {
    for (std::uint32_t i = 0; i < leaf.rows; ++i) {
      const auto ordinal = HF_MUTANT("O01", i, 0u);
      const auto word =
          kPresent | std::uint64_t{ordinal} << 16 | std::uint64_t{leaf.inner} << 8 | leaf.outer;
      const auto key = keys[leaf.first + i];
      if (dense_.empty())
        sparse_.emplace(key, word);
      else
        dense_[key] = word;
    }
  }
}

}  // namespace holdfast::olap
