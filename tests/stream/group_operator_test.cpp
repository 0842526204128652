// Windows by slices, down to the rows that lie exactly on the watermark; with state in memory, and
// with a store that keeps what it was given.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include <holdfast/sql/user_functions.hpp>
#include <holdfast/stream/group_operator.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

namespace holdfast::stream {
namespace {

constexpr std::int64_t kSecond = 1'000;

// COUNT(*) and COUNT(*) FILTER (WHERE column 1); column 0 is the time.
sql::Group counts(std::int64_t size_ms, std::int64_t slide_ms) {
  sql::Group group;
  group.windowed = true;
  group.window = {.size_ms = size_ms, .slide_ms = slide_ms, .offset_ms = 0, .time_column = 0};
  group.aggregates.emplace_back();
  group.aggregates.emplace_back();
  group.aggregates[1].filter = sql::column_of(1, sql::kBooleanType, {});
  return group;
}

sql::Row row_at(std::int64_t ms, sql::Value chosen = sql::Value::of(1)) {
  return {sql::Value::of(ms), std::move(chosen)};
}

// "60:3/2 ": the window that ends at 60 s has three rows, two of them by the filter.
std::string shown(GroupOperator& groups, std::int64_t watermark) {
  std::string text;
  const auto show = [&](sql::Row& row) {
    const auto number = [&](std::size_t i) {
      return std::to_string(static_cast<std::int64_t>(row[i].number));
    };
    text += std::to_string(static_cast<std::int64_t>(row[3].number) / kSecond) + ":" + number(0) +
            "/" + number(1) + " ";
    return Status();
  };
  groups.advance(watermark, show).value();
  return text;
}

TEST(GroupOperator, AWindowEndsWhenTheWatermarkReachesItsLastMillisecond) {
  const auto group = counts(60 * kSecond, 60 * kSecond);
  GroupOperator groups(group, nullptr);
  for (const std::int64_t ms : {0L, 30'000L, 59'999L, 60'000L})
    groups.add(row_at(ms)).value();
  EXPECT_EQ(shown(groups, 59'998), "");
  groups.add(row_at(59'998)).value();
  EXPECT_EQ(shown(groups, 59'999), "60:4/4 ");
  groups.add(row_at(59'999)).value();
  EXPECT_EQ(groups.late_rows(), 1u) << "its window has ended";
  groups.add(row_at(60'000)).value();
  EXPECT_EQ(groups.late_rows(), 1u);
  EXPECT_EQ(shown(groups, kEndOfTime), "120:2/2 ");
}

// An aggregate of a user that refuses the value 1.
struct RefusesOne {
  std::int64_t count = 0;
  functions::Outcome<void> add(std::int64_t value) {
    if (value == 1) return functions::Error{"one is refused"};
    ++count;
    return {};
  }
  void merge(const RefusesOne& other) { count += other.count; }
  std::int64_t result() const { return count; }
};

TEST(GroupOperator, AnErrorOfAFunctionEndsTheRowThatHasItNotItsWindow) {
  static const auto kDefinition = functions::aggregate<RefusesOne>();
  auto group = counts(60 * kSecond, 60 * kSecond);
  std::vector<sql::ExpressionPointer> arguments;
  arguments.push_back(sql::column_of(1, sql::kBigIntType, {}));
  group.aggregates[1] =
      sql::bind_user_aggregate({"REFUSES_ONE", kDefinition}, {}, std::move(arguments)).value();
  GroupOperator groups(group, nullptr);
  groups.add(row_at(0, sql::Value::of(2))).value();
  const auto refused = groups.add(row_at(1, sql::Value::of(1)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "line 1, column 1: REFUSES_ONE(1): one is refused");
}

TEST(GroupOperator, ARowIsLateOnceAllItsWindowsHaveEnded) {
  const auto group = counts(30 * kSecond, 10 * kSecond);
  GroupOperator groups(group, nullptr);
  groups.add(row_at(5'000)).value();
  EXPECT_EQ(shown(groups, 9'999), "10:1/1 ");
  groups.add(row_at(5'001)).value();
  EXPECT_EQ(shown(groups, 29'998), "20:2/2 ");
  groups.add(row_at(5'002)).value();
  EXPECT_EQ(shown(groups, 29'999), "30:3/3 ");
  groups.add(row_at(5'003)).value();
  EXPECT_EQ(groups.late_rows(), 1u);
  groups.add(row_at(10'000)).value();
  EXPECT_EQ(shown(groups, kEndOfTime), "40:1/1 ");
  EXPECT_EQ(shown(groups, kEndOfTime), "") << "all have ended";
}

TEST(GroupOperator, AFilterCountsWhatIsTrue) {
  const auto group = counts(60 * kSecond, 60 * kSecond);
  GroupOperator groups(group, nullptr);
  groups.add(row_at(1, sql::Value::of(1))).value();
  groups.add(row_at(2, sql::Value::of(0))).value();
  groups.add(row_at(3, sql::Value())).value();
  groups.add({sql::Value(), sql::Value::of(1)}).value();
  EXPECT_EQ(groups.rows_without_time(), 1u);
  EXPECT_EQ(shown(groups, kEndOfTime), "60:3/1 ");
}

class KeptState : public testing::Test {
 protected:
  KeptState() {
    char path[] = "/dev/shm/holdfast_groups_XXXXXX";
    directory_ = ::mkdtemp(path);
  }
  ~KeptState() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<KvStateStore> open() {
    auto store =
        std::make_unique<KvStateStore>(KvStateStore::open_region(directory_ + "/kv").value(), 1);
    store->open().value();
    return store;
  }
  static void checkpoint(GroupOperator& groups, StateStore& store, std::uint64_t epoch) {
    groups.put_state().value();
    store.complete({epoch, ""}).value();
  }

  std::string directory_;
};

TEST_F(KeptState, DeltasOfSeveralCheckpointsCountOnce) {
  const auto group = counts(30 * kSecond, 10 * kSecond);
  auto store = open();
  {
    GroupOperator groups(group, store.get());
    groups.add(row_at(5'000)).value();
    checkpoint(groups, *store, 1);
    groups.add(row_at(6'000)).value();
    groups.add(row_at(15'000)).value();
    checkpoint(groups, *store, 2);
    groups.add(row_at(7'000)).value();
    EXPECT_EQ(shown(groups, 9'999), "10:3/3 ");
    groups.add(row_at(16'000)).value();
    checkpoint(groups, *store, 3);
    // Killed: this was in no checkpoint.
    groups.add(row_at(17'000)).value();
    groups.put_state().value();
  }
  store.reset();
  store = open();
  GroupOperator groups(group, store.get());
  groups.restore(9'999).value();
  EXPECT_EQ(shown(groups, 29'999), "20:5/5 30:5/5 ");
  checkpoint(groups, *store, 4);
  EXPECT_EQ(store->slices().value().size(), 1u) << "the first slice is in no later window";
  EXPECT_EQ(shown(groups, kEndOfTime), "40:2/2 ");
}

// Slices of windows that were shown, given back: they end, whatever the watermark is.
TEST_F(KeptState, SlicesThatArePastAreNotShownAgain) {
  const auto group = counts(60 * kSecond, 60 * kSecond);
  auto store = open();
  {
    GroupOperator groups(group, store.get());
    groups.add(row_at(1'000)).value();
    groups.add(row_at(61'000)).value();
    checkpoint(groups, *store, 1);
  }
  GroupOperator groups(group, store.get());
  groups.restore(60'000).value();
  EXPECT_EQ(shown(groups, kEndOfTime), "120:1/1 ");
  checkpoint(groups, *store, 2);
  EXPECT_TRUE(store->slices().value().empty());
}

}  // namespace
}  // namespace holdfast::stream
