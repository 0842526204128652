// update_many, update_word_many and erase_many: what becomes of each key, and what they cost.
#include <cstring>
#include <numeric>

#include <holdfast/kv/typed_store.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

class Many : public OnEveryPlace {
 protected:
  // key0 to key149, of 16 bytes each; more than two groups.
  void fill() {
    for (int i = 0; i < 150; ++i) {
      names_.push_back("key" + std::to_string(i));
      model_[names_.back()] = std::string(16, static_cast<char>(i));
      store_.put(names_.back(), model_[names_.back()]).value();
    }
    keys_.assign(names_.begin(), names_.end());
  }
  Store<> store_ = open(with_words({0}));
  std::vector<std::string> names_;
  std::vector<std::string_view> keys_;
  Contents model_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Many, kEveryPlace, place_name);

TEST_P(Many, UpdateManyGivesEachKeyItsNumber) {
  fill();
  keys_.push_back("absent");
  keys_.push_back("key7");  // Twice: the second sees the first.
  std::vector<Errc> outcomes(keys_.size());
  const auto change = [](std::size_t i, std::string& value) { value += std::to_string(i); };
  ASSERT_TRUE(store_.update_many(keys_, change, outcomes));
  for (std::size_t i = 0; i < 150; ++i)
    model_[names_[i]] += std::to_string(i);
  model_["key7"] += "151";
  EXPECT_EQ(outcomes[150], Errc::kNotFound);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Errc::kOk), 151);
  expect_contents(store_, model_);
}

TEST_P(Many, UpdateWordManyChangesWordsInPlaceAndByNewRecords) {
  fill();
  for (const bool sealed : {false, true}) {
    if (sealed) seal_blocks(store_);
    for (const std::uint32_t at : {0u, 8u}) {
      std::vector<Errc> outcomes(keys_.size());
      std::vector<std::uint64_t> before(keys_.size());
      ASSERT_TRUE(store_.update_word_many(
          keys_, at,
          [&](std::size_t i, std::uint64_t word) {
            before[i] = word;
            return word + i;
          },
          outcomes));
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        std::uint64_t word;
        std::memcpy(&word, model_[names_[i]].data() + at, 8);
        EXPECT_EQ(before[i], word);
        word += i;
        std::memcpy(model_[names_[i]].data() + at, &word, 8);
      }
      EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Errc::kOk), 150);
    }
  }
  store_.erase("seal").value();
  expect_contents(store_, model_);
}

TEST_P(Many, EraseManyTellsWhichWereThere) {
  fill();
  std::vector<std::string_view> keys(keys_.begin(), keys_.begin() + 100);
  keys.push_back("absent");
  keys.push_back("key3");  // Erased before.
  std::vector<Errc> outcomes(keys.size());
  ASSERT_TRUE(store_.erase_many(keys, outcomes));
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Errc::kOk), 100);
  EXPECT_EQ(outcomes[100], Errc::kNotFound);
  EXPECT_EQ(outcomes[101], Errc::kNotFound);
  for (int i = 0; i < 100; ++i)
    model_.erase(names_[static_cast<std::size_t>(i)]);
  expect_contents(store_, model_);
}

TEST_P(Many, AFailureIsItsOwnKeysAndTheOthersGoOn) {
  store_.put("short", "").value();
  store_.put("long", std::string(8, '\0')).value();
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  const std::string_view keys[] = {"short", "long", too_long};
  std::vector<Errc> outcomes(3);
  const auto add = [](std::size_t, std::uint64_t word) { return word + 1; };
  const Status status = store_.update_word_many(keys, 0, add, outcomes);
  EXPECT_EQ(status.code(), Errc::kInvalidOption);
  EXPECT_EQ(outcomes, (std::vector<Errc>{Errc::kInvalidOption, Errc::kOk, Errc::kTooLarge}));
  outcomes.resize(2);
  EXPECT_EQ(store_.erase_many(keys, outcomes).code(), Errc::kInvalidOption);
  EXPECT_EQ(get(store_, "short"), "") << "nothing of a call with spans of unequal length is done";
  EXPECT_TRUE(store_.erase_many({}, {}));
  ASSERT_TRUE(store_.close());
  EXPECT_EQ(store_.erase_many({}, {}).code(), Errc::kClosed);
}

TEST_P(Many, OfATypedStore) {
  auto store = Store<std::uint64_t, std::uint64_t>::open(spec("typed"), with_words({0})).value();
  std::vector<std::uint64_t> keys(100);
  std::iota(keys.begin(), keys.end(), 0);
  store.put_many(keys, keys).value();
  std::vector<Errc> outcomes(keys.size());
  ASSERT_TRUE(
      store.update_many(keys, [](std::size_t i, std::uint64_t& value) { value += i; }, outcomes));
  ASSERT_TRUE(store.update_word_many(
      keys, 0, [](std::size_t, std::uint64_t word) { return word + 1; }, outcomes));
  std::uint64_t value = 0;
  ASSERT_TRUE(store.get(42, value));
  EXPECT_EQ(value, 85u);
  ASSERT_TRUE(store.erase_many(keys, outcomes));
  EXPECT_EQ(store.count(), 0u);
}

}  // namespace
}  // namespace holdfast::kv
