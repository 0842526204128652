// aggregate.hpp: COUNT, SUM, MIN, MAX, AVG and so on: their types, and what they have gathered.
//
// An Accumulator can be merged with one of other rows in any order, and be written as bytes: that
// is what state is made of. Those that depend on the order of rows (depends_on_order()) are merged
// with one of later rows. NULL is skipped, but by LAG and ARRAY_AGG; over nothing COUNT is 0, the
// others NULL.
//
// Variances are computed of the sum and the sum of the squares in 113 bits, so that the order of
// rows, and where a checkpoint cut them, does not show in the 53 bits of the result.
//
// Errors  add(), merge() never fail, but for functions of users: failure(). result(): a sum of
//         decimals beyond 38 digits; sums of integers wrap in the type of the argument, as in
//         Flink. A text of LISTAGG or an array of ARRAY_AGG beyond kMaxListBytes; a second row of a
//         query that is a value; what a function of a user says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/expression.hpp>
#include <holdfast/sql/user_aggregate.hpp>

namespace holdfast::sql {

enum class AggregateKind : std::uint8_t {
  kCountRows,
  kCount,
  kSum,
  kMin,
  kMax,
  kAverage,
  // Of a DOUBLE.
  kVarPop,
  kVarSamp,
  kStddevPop,
  kStddevSamp,
  kPercentile,  // `parameter`: 0 to 1; between two values it interpolates.
  // Of the order of rows.
  kFirst,
  kLast,
  kListAgg,   // `parameter`: what stands between the texts.
  kArrayAgg,  // An array of the values, NULL among them. Taken back: the first that is equal.
  kLag,       // `parameter`: rows back. With OVER only.
  kSingle,    // The value of the only row; more are an error.
  kUser,      // What `user` computes.
};
inline constexpr std::size_t kMaxListBytes = 16u << 20;
inline constexpr const char* kListTooLong = "a text of LISTAGG is longer than 16 MiB";
inline constexpr const char* kMoreThanOneRow = "a query that is a value has more than one row";

struct Aggregate {
  AggregateKind kind = AggregateKind::kCountRows;
  bool distinct = false;
  ExpressionPointer argument;  // Null: COUNT(*).
  ExpressionPointer filter;    // Null: every row.
  Value parameter;
  std::shared_ptr<const UserAggregate> user;
  Type type;  // Of the result.
  Position at;
};

// None: no aggregate has the name. LAG is one with OVER only.
std::optional<AggregateKind> aggregate_named(std::string_view name);
// Whether the result depends on the order in which rows come.
bool depends_on_order(AggregateKind kind);
// The same, or nobody can tell: it cannot be put together of parts.
bool depends_on_order(const Aggregate& aggregate);
// COUNT, SUM, MIN, MAX, AVG: those that every engine has.
inline bool is_basic(AggregateKind kind) { return kind <= AggregateKind::kAverage; }
// Its argument is converted to DOUBLE.
bool is_of_reals(AggregateKind kind);

// kNull: there is no such aggregate of this argument.
Type aggregate_type(AggregateKind kind, const Type& argument);
std::string text_of(const Aggregate& aggregate, const std::vector<std::string>& names);
bool equal(const Aggregate& left, const Aggregate& right);

// Whether a DISTINCT one is made as its values come, so that its result costs nothing. The last
// digit of the others depends on the order of the values: they are made of all, in the order of
// their bytes, when the result is asked for.
bool gathers(const Aggregate& aggregate);
// Whether an Accumulator of it can take values back: it sums and counts, whatever the values were.
bool can_take_back(const Aggregate& aggregate);

class Accumulator {
 public:
  struct Less {  // NaN is above all numbers.
    bool operator()(double a, double b) const;
  };
  // `value` of the argument; anything of COUNT(*). The filter holds.
  void add(const Aggregate& aggregate, const Value& value);
  void merge(const Aggregate& aggregate, const Accumulator& other);
  // As add(), of a value that DISTINCT lets through; no NULL.
  void add_once(const Aggregate& aggregate, const Value& value);
  // The reverse of add(), of a value that was added. can_take_back() holds, or would without
  // DISTINCT.
  void take_back(const Aggregate& aggregate, const Value& value);
  Result<Value> result(const Aggregate& aggregate) const;
  // What an add() or take_back() of a function of a user has failed with.
  Status failure(const Aggregate& aggregate) const {
    if (!user_.failed()) [[likely]]
      return {};
    return error_at(aggregate.at, user_.error().detail);
  }

  void append_bytes(const Aggregate& aggregate, std::string& bytes) const;
  bool take_bytes(const Aggregate& aggregate, std::string_view& bytes);

 private:
  void add_real(double value);
  void add_square(double value, int sign);
  void add_ordered(const Aggregate& aggregate, const Value& value);
  void add_element(const Aggregate& aggregate, const Value& value);
  bool are_elements(const Aggregate& aggregate) const;
  void take_back_element(const Aggregate& aggregate, const Value& value);
  Result<Value> further_result(const Aggregate& aggregate) const;
  Value variance(AggregateKind kind) const;
  Value percentile(double fraction) const;
  void append_further(const Aggregate& aggregate, std::string& bytes) const;
  bool take_further(const Aggregate& aggregate, std::string_view& bytes);

  __extension__ typedef __float128 Real128;
  std::int64_t count_ = 0;  // Values, without NULL.
  Int128 sum_ = 0;
  double real_ = 0, lost_ = 0;  // A sum of reals, and what its roundings lost.
  bool overflow_ = false;
  Value extreme_;                    // Of ARRAY_AGG: the bytes of its elements, `count_` of them.
  Real128 total_ = 0, squares_ = 0;  // Of variances.
  std::map<double, std::int64_t, Less> numbers_;  // Of percentiles: how often each is there.
  std::vector<Value> recent_;                     // Of LAG: the last rows, the newest behind.
  UserState user_;
  std::set<std::string> distinct_;  // Of DISTINCT: bytes of the values that were added.
};

}  // namespace holdfast::sql
