// A crash between a checkpoint and the removal of what it no longer needs: the slice is given back,
// its window was shown, and nothing is shown twice.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include <holdfast/stream/group_operator.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

namespace holdfast::stream {
namespace {

// As if the process ended before the removal.
class RemovesNothing : public KvStateStore {
 public:
  using KvStateStore::KvStateStore;
  void drop(std::int64_t) override {}
};

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

TEST(GroupOperator, AWindowThatWasShownIsNotShownAgainWhereItsSliceIsGivenBack) {
  char path[] = "/dev/shm/holdfast_group_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  const sql::Group group = counts();
  const std::int64_t watermark = 60'500;
  {
    RemovesNothing store(KvStateStore::open_region(directory + "/kv").value(), 1);
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
  KvStateStore store(KvStateStore::open_region(directory + "/kv").value(), 1);
  EXPECT_EQ(store.open().value()->epoch, 2u);
  EXPECT_EQ(store.slices().value().size(), 2u) << "the crash left the first slice";
  GroupOperator groups(group, &store);
  groups.restore(watermark).value();
  groups.put_state().value();
  store.complete({3, ""}).value();
  EXPECT_EQ(store.slices().value().size(), 1u) << "it was dropped again";
  EXPECT_EQ(shown_until(groups, kEndOfTime), 1u) << "the second minute only";
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace holdfast::stream
