// Variances, percentiles and aggregates of the order of rows, compiled beside the interpreter's: the
// same results and the same bytes, of rows that were added, merged, taken back and read again.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/sql/aggregate.hpp>
#include <holdfast/stream/compile/runtime/further_aggregates.hpp>

#include "no_host.hpp"

namespace holdfast::stream {
namespace {

using query::Maybe;
using query::Text;
using sql::AggregateKind;
using sql::Value;

constexpr std::uint32_t kRefused = 7;

// What failed.
class FailingHost final : public query::NoHost {
 public:
  void fail(std::uint32_t failure) override { failures.push_back(failure); }
  std::vector<std::uint32_t> failures;
};

// A value as both know it; the texts are in the first.
Value interpreted_value(Random& random, const sql::Type& type) {
  if (random.below(6) == 0) return {};
  if (type.kind == sql::Kind::kString) {
    const std::string texts[] = {"", "a", "\n;\xc3\xa9", std::string(300, 'x')};
    return Value::of_text(texts[random.below(4)]);
  }
  if (!type.is_real()) return Value::of(static_cast<std::int64_t>(random.below(40)) - 20);
  const double reals[] = {0.1, -0.0, 0.0, 1e300, -3.25, std::nan("")};
  return Value::of_real(random.below(9) == 0 ? reals[random.below(6)]
                                             : static_cast<double>(random.below(50)) * 0.3 - 7);
}
void compiled_value(const Value& value, Maybe<std::int64_t>& same) {
  same = {static_cast<std::int64_t>(value.number), !value.null};
}
void compiled_value(const Value& value, Maybe<double>& same) { same = {value.real, !value.null}; }
void compiled_value(const Value& value, Maybe<Text>& same) {
  same = {Text{value.text.data(), value.text.size()}, !value.null};
}
Value shown_value(const Maybe<std::int64_t>& result) {
  return result.known ? Value::of(result.value) : Value();
}
Value shown_value(const Maybe<double>& result) {
  return result.known ? Value::of_real(result.value) : Value();
}
Value shown_value(const Maybe<Text>& result) {
  return result.known ? Value::of_text({result.value.data, result.value.size}) : Value();
}

sql::Aggregate further_aggregate(AggregateKind kind, const sql::Type& type, Value parameter = {}) {
  sql::Aggregate aggregate;
  aggregate.kind = kind;
  aggregate.argument = sql::literal_of(Value(), type, {});
  aggregate.type = sql::aggregate_type(kind, type);
  aggregate.parameter = std::move(parameter);
  return aggregate;
}

// One of each, and what they are to agree on.
template <class T, class Compiled>
class Pair {
 public:
  explicit Pair(const sql::Aggregate& aggregate) : aggregate_(aggregate) {}

  void add(const Value& value) {
    interpreted_.add(aggregate_, value);
    Maybe<T> same;
    compiled_value(value, same);
    compiled_.add(same);
  }
  void take_back(const Value& value) {
    if constexpr (requires { compiled_.take_back(Maybe<T>()); }) {
      interpreted_.take_back(aggregate_, value);
      Maybe<T> same;
      compiled_value(value, same);
      compiled_.take_back(same);
    }
  }
  void merge(const Pair& other) {
    if constexpr (requires { compiled_.merge(other.compiled_); }) {
      interpreted_.merge(aggregate_, other.interpreted_);
      compiled_.merge(other.compiled_);
    }
  }
  // Each goes on from the bytes of the other.
  void swap_bytes() {
    std::string ours, theirs;
    interpreted_.append_bytes(aggregate_, ours);
    compiled_.append(theirs);
    ASSERT_EQ(ours, theirs);
    std::string_view rest = theirs;
    ASSERT_TRUE(interpreted_.take_bytes(aggregate_, rest) && rest.empty());
    compiled_ = {};
    Text bytes{ours.data(), ours.size()};
    ASSERT_TRUE(compiled_.take(bytes) && bytes.size == 0);
    // No part of it is one.
    for (std::size_t size = 0; size < ours.size(); size += 1 + size / 8) {
      Compiled part;
      Text some_bytes{ours.data(), size};
      EXPECT_FALSE(part.take(some_bytes)) << size;
    }
  }
  void compare() {
    FailingHost host;
    query::Output output;
    query::Run run{host, output};
    const auto found = interpreted_.result(aggregate_);
    const auto compiled = shown_value(compiled_.result(run));
    EXPECT_EQ(run.failed, !found);
    EXPECT_EQ(host.failures, run.failed ? std::vector{kRefused} : std::vector<std::uint32_t>{});
    if (!found) return;
    ASSERT_EQ(found->null, compiled.null);
    std::string ours, theirs;  // To the last bit.
    sql::append_exact_bytes(*found, aggregate_.type, ours);
    sql::append_exact_bytes(compiled, aggregate_.type, theirs);
    if (!found->null && std::isnan(found->real) && std::isnan(compiled.real)) return;
    ASSERT_EQ(ours, theirs);
  }

 private:
  const sql::Aggregate& aggregate_;
  sql::Accumulator interpreted_;
  Compiled compiled_;
};

template <class T, class Compiled>
void compare_further(const sql::Aggregate& aggregate) {
  SCOPED_TRACE(sql::text_of(aggregate, {}));
  Random random(static_cast<std::uint64_t>(aggregate.kind));
  for (int round = 0; round < 60; ++round) {
    Pair<T, Compiled> pairs[] = {Pair<T, Compiled>(aggregate), Pair<T, Compiled>(aggregate)};
    std::vector<Value> there[2];
    pairs[0].compare();
    for (auto steps = random.below(60); steps > 0; --steps) {
      const auto side = random.below(2);
      if (random.below(4) != 0 || there[side].empty()) {
        there[side].push_back(interpreted_value(random, aggregate.argument->type));
        pairs[side].add(there[side].back());
      } else if (random.below(3) == 0) {
        pairs[side].swap_bytes();
      } else {
        pairs[side].take_back(there[side].back());
        there[side].pop_back();
      }
      pairs[side].compare();
      if (testing::Test::HasFatalFailure()) return;
    }
    pairs[0].merge(pairs[1]);
    pairs[0].compare();
    pairs[0].swap_bytes();
    pairs[0].compare();
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <double kFraction>
using PercentileOf = query::Percentile<std::bit_cast<std::uint64_t>(kFraction)>;

TEST(FurtherAggregates, OfSpread) {
  const auto of = [](AggregateKind kind) { return further_aggregate(kind, sql::kDoubleType); };
  compare_further<double, query::Variance<false, false>>(of(AggregateKind::kVarPop));
  compare_further<double, query::Variance<true, false>>(of(AggregateKind::kVarSamp));
  compare_further<double, query::Variance<false, true>>(of(AggregateKind::kStddevPop));
  compare_further<double, query::Variance<true, true>>(of(AggregateKind::kStddevSamp));
  const auto at = [](double fraction) {
    return further_aggregate(AggregateKind::kPercentile, sql::kDoubleType,
                             Value::of_real(fraction));
  };
  compare_further<double, PercentileOf<0.0>>(at(0));
  compare_further<double, PercentileOf<0.5>>(at(0.5));
  compare_further<double, PercentileOf<0.3>>(at(0.3));
  compare_further<double, PercentileOf<1.0>>(at(1));
}

// A group that ended and began anew never saw it. It had one value less than none then: a result was
// looked for without end, and what a checkpoint had of it was refused.
TEST(FurtherAggregates, APercentileStaysWhereAValueGoesThatItNeverHad) {
  const auto aggregate =
      further_aggregate(AggregateKind::kPercentile, sql::kDoubleType, Value::of_real(0));
  Pair<double, PercentileOf<0.0>> pair(aggregate);
  pair.take_back(Value::of_real(5));
  pair.swap_bytes();
  pair.compare();
  for (const double number : {3.0, 4.0})
    pair.add(Value::of_real(number));
  pair.take_back(Value::of_real(5));
  pair.swap_bytes();
  pair.compare();
  for (const double number : {3.0, 4.0})
    pair.take_back(Value::of_real(number));
  pair.compare();
}

TEST(FurtherAggregates, OfTheOrderOfRows) {
  using Long = std::int64_t;
  const auto numbers = [](AggregateKind kind, Value parameter = {}) {
    return further_aggregate(kind, sql::kBigIntType, std::move(parameter));
  };
  const auto texts = [](AggregateKind kind, Value parameter = {}) {
    return further_aggregate(kind, sql::kStringType, std::move(parameter));
  };
  compare_further<Long, query::EndValue<Long, false>>(numbers(AggregateKind::kFirst));
  compare_further<Long, query::EndValue<Long, true>>(numbers(AggregateKind::kLast));
  compare_further<Text, query::EndValue<Text, false>>(texts(AggregateKind::kFirst));
  compare_further<Text, query::EndValue<Text, true>>(texts(AggregateKind::kLast));
  compare_further<Long, query::SingleValue<Long, kRefused>>(numbers(AggregateKind::kSingle));
  compare_further<Text, query::SingleValue<Text, kRefused>>(texts(AggregateKind::kSingle));
  compare_further<Long, query::LaggedValue<Long, 0>>(numbers(AggregateKind::kLag, Value::of(0)));
  compare_further<Long, query::LaggedValue<Long, 3>>(numbers(AggregateKind::kLag, Value::of(3)));
  compare_further<Text, query::LaggedValue<Text, 1>>(texts(AggregateKind::kLag, Value::of(1)));
  compare_further<Text, query::ListOfTexts<kRefused>>(
      texts(AggregateKind::kListAgg, Value::of_text("")));
  compare_further<Text, query::ListOfTexts<kRefused, ',', ' ', -61, -87>>(
      texts(AggregateKind::kListAgg, Value::of_text(", \xc3\xa9")));
}

TEST(FurtherAggregates, AListThatIsTooLongIsRefusedByBoth) {
  const auto aggregate =
      further_aggregate(AggregateKind::kListAgg, sql::kStringType, Value::of_text(","));
  Pair<Text, query::ListOfTexts<kRefused, ','>> pair(aggregate), other(aggregate);
  const auto text = Value::of_text(std::string(5u << 20, 'y'));
  for (int i = 0; i < 3; ++i)
    pair.add(text);
  pair.compare();
  other.merge(pair);
  other.compare();
  pair.add(text);  // 20 MiB.
  pair.compare();
  other.merge(pair);
  other.compare();
}

}  // namespace
}  // namespace holdfast::stream
