// A full medium beside other threads, which make room and take it.
#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class FullBesideOthers : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, FullBesideOthers, kEveryPlace, place_name);

// Between a writer's attempt and its look for room a pass of another thread ended, and left nothing
// to gain: the store said that it was full.
TEST_P(FullBesideOthers, RoomThatAnotherMadeIsFound) {
  StoreOptions options = tiny();
  options.max_bytes = 256 * KiB;
  options.reclaim.background = false;
  auto store = open(options);
  const auto overwrite = [&] {
    for (int i = 0; i < 40; ++i)
      ASSERT_TRUE(store.put(std::to_string(i % 5), text_of(i, 2'000)));
    while (ForTests::pass(store).value() != 0) {
    }  // Of the other thread.
  };
  Maintenance& maintenance = ForTests::maintenance(store);
  Maintenance::RoomSoFar more;
  overwrite();
  while (maintenance.make_room(more).value()) {
  }
  Maintenance::RoomSoFar so_far;
  EXPECT_TRUE(maintenance.make_room(so_far).value()) << "before the first attempt";
  EXPECT_FALSE(maintenance.make_room(so_far).value());
  overwrite();
  while (maintenance.make_room(more).value()) {
  }
  EXPECT_TRUE(maintenance.make_room(so_far).value()) << "behind an attempt";
}

// While others wrote, each round found blocks that had come free, but never two side by side: a
// value of several blocks waited without end.
TEST_P(FullBesideOthers, AValueOfSeveralBlocksIsNotKeptWaitingBySmallOnes) {
  StoreOptions options = tiny();
  options.max_bytes = 512 * KiB;
  options.reclaim.background = false;
  auto store = open(options);
  const auto put = [&](int i) { return store.put(std::to_string(i), std::string(7'000, 'x')); };
  int records = 0;  // Each fills a block.
  while (put(records))
    ++records;
  for (int i = 0; i < records; i += 3)
    ASSERT_TRUE(store.erase(std::to_string(i)).value());
  while (ForTests::pass(store).value() != 0) {
  }
  const BlockTable& table = ForTests::table(store);
  ASSERT_LT(table.longest_free(), 5u);
  Maintenance::RoomSoFar so_far;
  for (int round = 0; round < 100 && table.longest_free() < 5; ++round) {
    ASSERT_TRUE(put(1));  // Another thread's, and its pass.
    ForTests::pass(store).value();
    ASSERT_TRUE(ForTests::maintenance(store).make_room(so_far).value());
  }
  EXPECT_GE(table.longest_free(), 5u);
}

}  // namespace
}  // namespace holdfast::kv
