// A dead bit that the medium flipped: what verify() can name, and what nobody can know. Dead bits are
// in no checksum, since they change later.
#include <holdfast/kv/space.hpp>

#include "damage.hpp"
#include "for_tests.hpp"

namespace holdfast::kv {
namespace {

class DeadBits : public OnEveryPlace {
 protected:
  static constexpr int kKeys = 60;  // Of several blocks.
  static std::string key(int i) { return "key" + std::to_string(i); }

  void put_all(Store<>& store) {
    for (int i = 0; i < kKeys; ++i)
      ASSERT_TRUE(store.put(key(i), text_of(static_cast<std::uint64_t>(i), 500)));
    ASSERT_TRUE(store.erase(key(0)).value());
    ASSERT_NO_FATAL_FAILURE(seal_blocks(store));
    // On page media: what is appended, then what says that its runs are sealed, then these words.
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(store.sync());
  }
  // Where the dead bit of the first record of the first sealed run lies.
  static std::uint64_t first_dead_bit(const Image& image) {
    const auto runs = image.runs(BlockState::kSealed);
    EXPECT_FALSE(runs.empty());
    return runs[0].at + runs[0].bytes - run_tail_bytes(runs[0].footer.records);
  }
  // Of the files of a store, be it open.
  void flip(std::uint64_t at, int bit) const {
    const std::uint64_t file_bytes = tiny().file_bytes;
    std::fstream file(Image::path(scratch_.path("store"), at / file_bytes),
                      std::ios::binary | std::ios::in | std::ios::out);
    char byte = 0;
    const auto where = static_cast<std::streamoff>(at % file_bytes);
    file.seekg(where).get(byte);
    file.seekp(where).put(static_cast<char>(byte ^ (1 << bit)));
  }
  static bool names(const VerifyReport& report, std::string_view what) {
    return report.defects_total == 1 && report.defects[0].what.find(what) != std::string::npos;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, DeadBits, kEveryPlace, place_name);

// The store knows which of its records are dead.
TEST_P(DeadBits, OneThatIsFlippedInAnOpenStoreIsNamed) {
  auto store = open();
  ASSERT_NO_FATAL_FAILURE(put_all(store));
  const Image image = Image::of(scratch_.path("store"));
  ASSERT_TRUE(store.verify().ok());
  for (int bit = 1; bit < 7; ++bit) {  // The first is dead.
    flip(first_dead_bit(image), bit);
    const auto report = store.verify();
    ASSERT_TRUE(names(report, "its dead bit is set on the medium, but it is live")) << bit;
    EXPECT_EQ(report.defects[0].offset, first_dead_bit(image));
    flip(first_dead_bit(image), bit);
  }
  EXPECT_TRUE(store.verify().ok());
}

// The index that a clean close wrote knows, too: of the store's own keys.
TEST_P(DeadBits, OneThatIsFlippedInAClosedStoreIsNamed) {
  {
    auto store = open();
    ASSERT_NO_FATAL_FAILURE(put_all(store));
    ASSERT_TRUE(store.close());
  }
  flip(first_dead_bit(Image::of(scratch_.path("store"))), 3);
  auto store = open();
  EXPECT_TRUE(store.recovery().clean);
  EXPECT_EQ(store.count(), kKeys);
  EXPECT_EQ(get(store, key(3)), text_of(3, 500));
  EXPECT_TRUE(names(store.verify(), "its dead bit is set, but the index leads to it"));
  ASSERT_TRUE(store.put(key(3), "new"));  // What it is wrong of is dead from here on.
  EXPECT_TRUE(store.verify().ok());
}

// After a death the bits alone say what is dead: a record without a newer one was erased, and its
// tombstone has gone since. This is no wish, but what there is.
TEST_P(DeadBits, OneThatIsFlippedBehindADeathIsNotKnown) {
  auto store = open();
  ASSERT_NO_FATAL_FAILURE(put_all(store));
  ForTests::abandon(store);
  flip(first_dead_bit(Image::of(scratch_.path("store"))), 3);
  store = open();
  EXPECT_EQ(get(store, key(3)), "<kNotFound>");
  EXPECT_EQ(get(store, key(4)), text_of(4, 500));
  EXPECT_TRUE(store.verify().ok());
}

}  // namespace
}  // namespace holdfast::kv
