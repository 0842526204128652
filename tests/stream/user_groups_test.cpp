// Groups that change, of aggregates that users wrote: what a function refuses ends the row.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <holdfast/sql/user_functions.hpp>
#include <holdfast/stream/graph/group_operators.hpp>

namespace holdfast::stream::graph {
namespace {

// It refuses to take 2 back.
struct Stubborn {
  std::int64_t sum = 0;
  void add(std::int64_t value) { sum += value; }
  functions::Outcome<void> take_back(std::int64_t value) {
    if (value == 2) return functions::Error{"two stays"};
    sum -= value;
    return {};
  }
  void merge(const Stubborn& other) { sum += other.sum; }
  std::int64_t result() const { return sum; }
};

sql::Node node_of_stubborn() {
  static const auto kDefinition = functions::aggregate<Stubborn>();
  sql::Group group;
  group.keys.push_back(sql::column_of(0, sql::kBigIntType, {}));
  std::vector<sql::ExpressionPointer> arguments;
  arguments.push_back(sql::column_of(1, sql::kBigIntType, {}));
  group.aggregates.push_back(
      sql::bind_user_aggregate({"STUBBORN", kDefinition}, {}, std::move(arguments)).value());
  sql::Node node;
  node.what = std::move(group);
  node.columns.assign(2, {"c", sql::kBigIntType});
  return node;
}

class ShownRows : public Operator {
 public:
  using Operator::Operator;
  Status take(std::size_t, RowKind kind, const sql::Row& row) override {
    shown += std::string(text_of(kind)) + std::to_string(static_cast<int>(row[1].number)) + " ";
    return {};
  }
  std::string shown;
};

TEST(UserGroups, ATakeBackThatFailsEndsTheRowAlsoWhereItsGroupGoes) {
  const auto node = node_of_stubborn();
  RunningGroups groups({node, {}, nullptr, 0}, true);
  ShownRows rows({node, {}, nullptr, 0});
  groups.add_reader(rows, 0);
  const auto change = [&](RowKind kind, std::int64_t value) {
    return groups.take(0, kind, {sql::Value::of(7), sql::Value::of(value)});
  };
  change(RowKind::kInsert, 1).value();
  change(RowKind::kInsert, 2).value();
  change(RowKind::kDelete, 1).value();
  EXPECT_EQ(rows.shown, "+I1 -U1 +U3 -U3 +U2 ");
  const auto refused = change(RowKind::kDelete, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "line 1, column 1: STUBBORN(2): two stays");
  EXPECT_EQ(rows.shown, "+I1 -U1 +U3 -U3 +U2 ");
}

}  // namespace
}  // namespace holdfast::stream::graph
