// A crash between a checkpoint and the removal of what it no longer needs: the slice is given back,
// its window was shown, and nothing is shown twice.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include <holdfast/stream/group_operator.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream {
namespace {

// As if the process ended before the removal.
class RemovesNothing final : public StateStore {
 public:
  explicit RemovesNothing(std::unique_ptr<StateStore> store) : store_(std::move(store)) {}

  Result<std::optional<Checkpoint>> open() override { return store_->open(); }
  Result<std::vector<std::int64_t>> slices() override { return store_->slices(); }
  Status for_each(std::int64_t slice, Visit visit) override {
    return store_->for_each(slice, visit);
  }
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override {
    return store_->put(slice, key, state);
  }
  Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                  std::uint64_t number) override {
    return store_->put_copy(slice, key, state, number);
  }
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t& version) override {
    return store_->replace(slice, key, state, version);
  }
  Status for_each_version(std::int64_t slice, VisitVersion visit) override {
    return store_->for_each_version(slice, visit);
  }
  void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) override {
    store_->remove_version(slice, key, version);
  }
  void drop(std::int64_t) override {}
  Status complete(const Checkpoint& checkpoint) override { return store_->complete(checkpoint); }
  bool keeps_entries() const override { return store_->keeps_entries(); }

 private:
  std::unique_ptr<StateStore> store_;
};

class GroupRestore : public KeptStores {};
INSTANTIATE_TEST_SUITE_P(Kept, GroupRestore, kKeptStores, kept_name);

// COUNT(*) by minutes; column 0 is the time.
sql::Group counts() {
  sql::Group group;
  group.windowed = true;
  group.window = {.size_ms = 60'000, .slide_ms = 60'000, .offset_ms = 0, .time_column = 0};
  group.aggregates.emplace_back();
  return group;
}

std::uint64_t shown_until(GroupOperator& groups, std::int64_t watermark) {
  std::uint64_t rows = 0;
  const auto count = [&](sql::Row&) { return ++rows, Status(); };
  groups.advance(watermark, count).value();
  return rows;
}

TEST_P(GroupRestore, AWindowThatWasShownIsNotShownAgainWhereItsSliceIsGivenBack) {
  Place place;
  const sql::Group group = counts();
  const std::int64_t watermark = 60'500;
  {
    RemovesNothing store(open_one(place / "state"));
    store.open().value();
    GroupOperator groups(group, &store);
    for (const std::int64_t time : {1'000, 2'000, 61'000})
      groups.add({sql::Value::of(time)}).value();
    groups.put_state().value();
    store.complete({1, ""}).value();
    EXPECT_EQ(shown_until(groups, watermark), 1u);
    groups.put_state().value();
    store.complete({2, ""}).value();
  }
  const auto store = open_one(place / "state");
  EXPECT_EQ(store->open().value()->epoch, 2u);
  EXPECT_EQ(store->slices().value().size(), 2u) << "the crash left the first slice";
  GroupOperator groups(group, store.get());
  groups.restore(watermark).value();
  groups.put_state().value();
  store->complete({3, ""}).value();
  EXPECT_EQ(store->slices().value().size(), 1u) << "it was dropped again";
  EXPECT_EQ(shown_until(groups, kEndOfTime), 1u) << "the second minute only";
}

// The same behind the end of the rows, whose watermark is the end of time.
TEST_P(GroupRestore, NoWindowIsOpenBehindTheEndOfTime) {
  Place place;
  const sql::Group group = counts();
  {
    RemovesNothing store(open_one(place / "state"));
    store.open().value();
    GroupOperator groups(group, &store);
    for (const std::int64_t time : {1'000, 61'000})
      groups.add({sql::Value::of(time)}).value();
    groups.put_state().value();
    store.complete({1, ""}).value();
    EXPECT_EQ(shown_until(groups, kEndOfTime), 2u);
    groups.put_state().value();
    store.complete({2, ""}).value();
  }
  const auto store = open_one(place / "state");
  store->open().value();
  EXPECT_EQ(store->slices().value().size(), 2u) << "the crash left both slices";
  GroupOperator groups(group, store.get());
  groups.restore(kEndOfTime).value();
  EXPECT_EQ(shown_until(groups, kEndOfTime), 0u);
}

// Sums of such times would overflow.
TEST_P(GroupRestore, TimesThatNoRunCouldHaveWrittenAreRefused) {
  Place place;
  const sql::Group group = counts();
  for (const std::int64_t time : {INT64_MIN + 1, INT64_MAX - 1}) {
    const auto store = open_one(place / ("watermark" + std::to_string(time)));
    store->open().value();
    GroupOperator groups(group, store.get());
    EXPECT_EQ(groups.restore(time).code(), Errc::kCorrupt);
  }
  for (const std::int64_t slice : {INT64_MIN + 1, INT64_MAX - 1}) {
    const auto path = place / ("slice" + std::to_string(slice));
    {
      const auto store = open_one(path);
      store->open().value();
      GroupOperator groups(group, store.get());
      groups.add({sql::Value::of(1'000)}).value();
      groups.put_state().value();
      std::string key, state;
      const auto keep = [&](std::string_view of_key, std::string_view of_state) -> Status {
        key = of_key, state = of_state;
        return {};
      };
      store->complete({1, ""}).value();
      store->for_each(60'000, keep).value();
      store->put(slice, key, state).value();
      store->complete({2, ""}).value();
    }
    const auto store = open_one(path);
    store->open().value();
    GroupOperator groups(group, store.get());
    EXPECT_EQ(groups.restore(0).code(), Errc::kCorrupt) << slice;
  }
}

}  // namespace
}  // namespace holdfast::stream
