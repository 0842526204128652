// A region without memory for what it is asked to do.
#include <cerrno>
#include <new>

#include <gtest/gtest.h>
#include <holdfast/memory/region.hpp>
#include <holdfast/memory/system.hpp>

#include "../base/allocations.hpp"
#include "region_support.hpp"
#include "scratch.hpp"

namespace holdfast {
namespace {

int data_syncs = 0;
int count_syncs(memory_detail::Call call, int) {
  data_syncs += call == memory_detail::Call::kDataSync;
  return 0;
}

// The files counted as synced, and the next sync acknowledged what it had not synced.
TEST(RegionWithoutMemory, ASyncThatThrowsLeavesItsWorkToTheNextOne) {
  const Scratch scratch = Scratch::disk();
  auto region = Region::open(scratch.path("region") + "?granularity=page", small()).value();
  ASSERT_TRUE(region.sync());
  ASSERT_TRUE(region.write(0, bytes("a")));
  ASSERT_TRUE(region.write(2 * MiB, bytes("b")));
  memory_detail::set_fault_hook(&count_syncs);
  let_allocation_fail(1);
  EXPECT_THROW(static_cast<void>(region.sync()), std::bad_alloc);
  EXPECT_EQ(data_syncs, 0);
  EXPECT_TRUE(region.sync());
  EXPECT_EQ(data_syncs, 2);
  memory_detail::set_fault_hook(nullptr);
}

// A failed sync without memory for its error was forgotten, and the next one acknowledged.
TEST(RegionWithoutMemory, ASyncThatFailsAndCannotSaySoIsNotTriedAgain) {
  for (std::size_t nth = 2; nth <= 4; ++nth) {
    const Scratch scratch = Scratch::disk();
    auto region = Region::open(scratch.path("region") + "?granularity=page", small()).value();
    ASSERT_TRUE(region.sync());
    ASSERT_TRUE(region.write(0, bytes("a")));
    memory_detail::set_fault_hook([](memory_detail::Call call, int) {
      return call == memory_detail::Call::kDataSync ? EIO : 0;
    });
    fails_at(nth, [&] { static_cast<void>(region.sync()); });
    memory_detail::set_fault_hook(nullptr);
    EXPECT_EQ(region.sync().code(), Errc::kReadOnly) << nth;
  }
}

}  // namespace
}  // namespace holdfast
