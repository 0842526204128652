// Notes of dead records: applied once each, in groups, by any thread that drains them.
#include <atomic>
#include <thread>

#include <holdfast/kv/dead_notes.hpp>

#include "rooms_support.hpp"

namespace holdfast::kv {
namespace {

class Notes : public testing::Test {
 protected:
  Line line(std::uint64_t i) const { return line_at(small_.table.run_at(head_) + i * 64); }
  bool dead(std::uint64_t i) const { return small_.table.is_dead(line(i).number); }
  std::uint64_t dead_bytes() const { return small_.table.meta(head_).dead(); }

  SmallTable small_{40, 40 * kTestSegmentBytes};
  std::uint64_t head_ = small_.table.open_run(200, BlockTable::Purpose::kPut).value();
  DeadNotes notes_;
};

TEST_F(Notes, ChangeNothingUntilTheyAreDrained) {
  notes_.add(small_.table, line(0), 64);
  notes_.add(small_.table, line(3), 128);
  EXPECT_FALSE(dead(0));
  EXPECT_EQ(dead_bytes(), 0u);
  notes_.drain(small_.table);
  EXPECT_TRUE(dead(0));
  EXPECT_FALSE(dead(1));
  EXPECT_TRUE(dead(3));
  EXPECT_EQ(dead_bytes(), 192u);
  EXPECT_TRUE(small_.table.meta(head_).dead_dirty.load());
}

TEST_F(Notes, AreAppliedOnce) {
  notes_.drain(small_.table);  // None.
  notes_.add(small_.table, line(0), 64);
  for (int i = 0; i < 3; ++i)
    notes_.drain(small_.table);
  EXPECT_EQ(dead_bytes(), 64u);
}

TEST_F(Notes, OneThatFindsNoRoomAppliesThoseBeforeIt) {
  std::uint64_t i = 0;
  while (dead_bytes() == 0)
    notes_.add(small_.table, line(i++), 64);
  EXPECT_EQ(dead_bytes(), 64 * (i - 1)) << "all but the one that is new";
  EXPECT_TRUE(dead(i - 2));
  EXPECT_FALSE(dead(i - 1));
  notes_.drain(small_.table);
  EXPECT_TRUE(dead(i - 1));
}

TEST_F(Notes, AreAllThereWhoeverDrainsBesideTheWriter) {
  constexpr std::uint64_t kNotes = 20'000;
  std::atomic<bool> done{false};
  std::thread drainer([&] {
    while (!done)
      notes_.drain(small_.table);
  });
  for (std::uint64_t i = 0; i < kNotes; ++i)
    notes_.add(small_.table, line(i), i % 5 * 64);
  done = true;
  drainer.join();
  notes_.drain(small_.table);
  EXPECT_EQ(dead_bytes(), kNotes / 5 * (0 + 1 + 2 + 3 + 4) * 64);
  for (std::uint64_t i = 0; i < kNotes; ++i)
    ASSERT_TRUE(dead(i)) << i;
  EXPECT_FALSE(dead(kNotes));
}

}  // namespace
}  // namespace holdfast::kv
