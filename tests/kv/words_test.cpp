// update_word: in place where declared and possible, by a new record elsewhere; never seen by pins
// or snapshots.
#include <cstring>

#include "support.hpp"

namespace holdfast::kv {
namespace {

std::uint64_t word_at(const std::string& value, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, value.data() + offset, sizeof word);
  return word;
}
std::uint64_t add_one(std::uint64_t word) { return word + 1; }

class Words : public OnEveryPlace {
 protected:
  void SetUp() override {
    store_.put("k", std::string(40, '\0')).value();
    store_.put("filler", std::string(7000, 'f')).value();
    store_.put("filler", std::string(7000, 'f')).value();  // Now the block of "k" is sealed.
  }
  Version version() {
    std::string value;
    return store_.get("k", value).value();
  }
  std::uint64_t word(std::size_t offset) { return word_at(get(store_, "k"), offset); }
  bool in_place() const { return !paged(); }

  StoreOptions options_ = with_words({0, 16});
  Store<> store_ = open(options_);
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Words, kEveryPlace, place_name);

TEST_P(Words, DeclaredOnesChangeInPlaceInOneFenceAndKeepTheVersion) {
  const Version before = version();
  const auto fences = store_.stats().fences;
  EXPECT_EQ(store_.update_word("k", 16, add_one).value(), 0u);
  EXPECT_EQ(store_.update_word("k", 16, add_one).value(), 1u);
  EXPECT_EQ(word(16), 2u);
  EXPECT_EQ(word(0), 0u);
  if (in_place()) {
    EXPECT_EQ(version(), before);
    EXPECT_EQ(store_.stats().fences - fences, loses_all_with_the_power() ? 0u : 2u);
  } else {
    EXPECT_GT(version(), before);
  }
  EXPECT_TRUE(store_.verify().ok());
}

TEST_P(Words, OthersGoByANewRecord) {
  const Version before = version();
  EXPECT_EQ(store_.update_word("k", 8, add_one).value(), 0u);
  EXPECT_EQ(word(8), 1u);
  EXPECT_GT(version(), before);
  EXPECT_TRUE(store_.verify().ok());
}

TEST_P(Words, OfARecordInAnOpenBlockGoByANewRecord) {
  ASSERT_TRUE(store_.put("k", std::string(40, '\0')));
  const Version before = version();
  ASSERT_TRUE(store_.update_word("k", 0, add_one));
  EXPECT_GT(version(), before);
  EXPECT_EQ(word(0), 1u);
}

TEST_P(Words, UnderASnapshotGoByANewRecord) {
  const Version before = version();
  {
    const auto snapshot = store_.snapshot();
    ASSERT_TRUE(store_.update_word("k", 0, add_one));
    EXPECT_GT(version(), before);
    std::string value;
    ASSERT_TRUE(snapshot.get("k", value));
    EXPECT_EQ(word_at(value, 0), 0u);
  }
  EXPECT_EQ(word(0), 1u);
}

TEST_P(Words, UnderAPinGoByANewRecord) {
  const Version before = version();
  {
    const auto pinned = store_.get_pinned("k").value();
    ASSERT_TRUE(store_.update_word("k", 0, add_one));
    EXPECT_EQ(word_at(std::string(pinned.value()), 0), 0u);
    EXPECT_EQ(pinned.version(), before);
    EXPECT_GT(version(), before);
  }
  EXPECT_EQ(word(0), 1u);
}

TEST_P(Words, SurviveDeathCloseAndReclamation) {
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(store_.update_word("k", i % 2 == 0 ? 0 : 16, add_one));
  copy_files("copy");
  auto copy = open(tiny(), "copy");
  EXPECT_EQ(word_at(get(copy, "k"), 0), 50u);
  EXPECT_EQ(word_at(get(copy, "k"), 16), 50u);
  EXPECT_TRUE(copy.verify().ok());
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(store_.put("filler", std::string(7000, 'g')));
  ASSERT_TRUE(store_.reclaim());
  ASSERT_TRUE(store_.update_word("k", 0, add_one));
  EXPECT_EQ(word(0), 51u);
  EXPECT_EQ(word(16), 50u);
  ASSERT_TRUE(store_.close());
  store_ = open();
  EXPECT_EQ(word(0), 51u);
  EXPECT_EQ(word(16), 50u);
  EXPECT_TRUE(store_.verify().ok());
}

TEST_P(Words, OfValuesShorterThanADeclaredWordAreKept) {
  for (const std::size_t bytes : {0, 7, 8, 12, 16, 20, 23, 24}) {
    const std::string key = "short" + std::to_string(bytes);
    ASSERT_TRUE(store_.put(key, text_of(bytes, bytes)));
  }
  ASSERT_TRUE(store_.put("large", text_of(9, 50000)));
  copy_files("copy");
  auto copy = open(tiny(), "copy");
  for (const std::size_t bytes : {0, 7, 8, 12, 16, 20, 23, 24})
    EXPECT_EQ(get(copy, "short" + std::to_string(bytes)), text_of(bytes, bytes));
  const auto changed = [](std::uint64_t word) { return ~word; };
  ASSERT_TRUE(copy.update_word("short24", 16, changed));
  ASSERT_TRUE(copy.update_word("large", 16, changed));
  EXPECT_EQ(word_at(get(copy, "short24"), 16), ~word_at(text_of(24, 24), 16));
  EXPECT_EQ(word_at(get(copy, "large"), 16), ~word_at(text_of(9, 50000), 16));
  EXPECT_TRUE(copy.verify().ok());
}

TEST_P(Words, UpdatesByARecordTakeTheWordAsItIsNow) {
  ASSERT_TRUE(store_.update_word("k", 0, add_one));
  ASSERT_TRUE(store_.update("k", [](std::string& value) {
    EXPECT_EQ(word_at(value, 0), 1u);
    value += "!";
  }));
  EXPECT_EQ(word(0), 1u);
}

}  // namespace
}  // namespace holdfast::kv
