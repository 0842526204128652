// bound_query.hpp: a query in terms of the digits that lie in the fact's columns: joins are gone.
//
// The leaves of a dimension that fulfil its conditions become ranges of the outer digit, and ranges
// of the inner digit where not all leaves below an outer value do. Where the two ranges together
// let more pass than the conditions, a table of (outer, inner) pairs decides.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/catalogue.hpp>
#include <holdfast/olap/query.hpp>

namespace holdfast::olap {

struct ByteRange {
  std::uint8_t from, to;
};

struct BytePredicate {
  Column column;
  std::vector<ByteRange> ranges;  // Ascending, not touching each other; at least one.
  double passing;                 // Estimated share of rows.
};

struct PairPredicate {
  Column outer, inner;
  std::bitset<65536> allowed;  // At outer * 256 + inner.
};

// A byte column's share in the number of a group.
struct GroupDigit {
  Column column;
  std::array<std::uint32_t, 256> add{};
};

struct GroupLabels {
  std::uint32_t stride;             // number / stride % labels.size() is the label's place.
  std::vector<std::string> labels;  // Two places may have the same.
};

struct BoundQuery {
  bool nothing = false;              // No row can pass.
  std::vector<BytePredicate> bytes;  // Those that let least pass come first.
  std::vector<PairPredicate> pairs;
  std::vector<GroupDigit> digits;
  std::vector<GroupLabels> groups;
  std::uint32_t group_count = 1;
  Sum sum = Sum::kRevenues;
};

inline constexpr std::uint32_t kMaxGroups = 1u << 22;

// Errors: kInvalidOption (a condition of numbers that is none), kUnsupported (more than kMaxGroups
// groups could come out, or a sum that 64 bits might not hold).
Result<BoundQuery> bind(const StarQuery& query, const Catalogue& catalogue);

}  // namespace holdfast::olap
