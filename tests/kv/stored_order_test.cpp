// The keys in order, as a clean close stores them beside the index.
#include <holdfast/kv/cursor.hpp>

#include <string>

#include <holdfast/base/random.hpp>

#include "damage.hpp"
#include "for_tests.hpp"
#include "ordered.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

// Whether the open had the keys in order from the medium, and did not read them from the records.
bool was_stored(Store<>& store) {
  const KeyOrder& order = *ForTests::rooms(store).index.order();
  order.wait();
  return order.was_stored();
}

class StoredOrderOnEveryPlace : public OnEveryPlace {
 protected:
  // Keys of all lengths, with much in common and with nothing.
  void put_some(Store<>& store) {
    Random random(7);
    for (int i = 0; i < 200; ++i) {
      std::string key = (i % 3 == 0 ? std::string(random.below(300), 'p') : "key") +
                        std::to_string(random.below(1000));
      if (i % 5 == 0) key += std::string(1, '\0');
      store.put(key, expected_[key] = std::to_string(i)).value();
    }
    store.put("", expected_[""] = "empty").value();
    store.put(std::string(3, '\xff'), expected_[std::string(3, '\xff')] = "last").value();
    for (auto record = expected_.begin(); record != expected_.end();) {
      const auto next = std::next(record);
      if (record->first.size() % 4 == 1) {
        EXPECT_TRUE(store.erase(record->first).value());
        expected_.erase(record);
      }
      record = next;
    }
  }
  Contents expected_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, StoredOrderOnEveryPlace, kEveryPlace, place_name);

TEST_P(StoredOrderOnEveryPlace, IsReadByTheNextOpen) {
  {
    auto store = open(ordered());
    put_some(store);
    ASSERT_TRUE(store.close());
  }
  for (int round = 0; round < 3; ++round) {
    auto store = open(ordered());
    EXPECT_TRUE(store.recovery().clean);
    EXPECT_TRUE(was_stored(store));
    expect_in_order(store, expected_);
    const std::string key = "new" + std::to_string(round);
    ASSERT_TRUE(store.put(key, expected_[key] = "x"));
    ASSERT_TRUE(store.erase(expected_.begin()->first).value());
    expected_.erase(expected_.begin());
    expect_in_order(store, expected_);
    ASSERT_TRUE(store.close());
  }
}

TEST_P(StoredOrderOnEveryPlace, IsNotBelievedAfterADeathOrAHashedClose) {
  {
    auto store = open(ordered());
    put_some(store);
    ASSERT_TRUE(store.close());
  }
  {
    auto hashed = open(tiny());
    ASSERT_TRUE(hashed.put("between", expected_["between"] = "x"));
    ASSERT_TRUE(hashed.close());
  }
  {
    auto store = open(ordered());
    EXPECT_TRUE(store.recovery().clean);
    EXPECT_FALSE(was_stored(store)) << "a hashed store has none to store";
    expect_in_order(store, expected_);
    ASSERT_TRUE(store.close());
  }
  {
    auto store = open(ordered());
    EXPECT_TRUE(was_stored(store));
    ASSERT_TRUE(store.put("unclosed", expected_["unclosed"] = "x"));
    ForTests::abandon(store);
  }
  auto store = open(ordered());
  EXPECT_FALSE(was_stored(store)) << "it died since";
  expect_in_order(store, expected_);
}

TEST_P(StoredOrderOnEveryPlace, OfAnEmptyStoreIsEmpty) {
  {
    ASSERT_TRUE(open(ordered()).close());
  }
  auto store = open(ordered());
  EXPECT_TRUE(was_stored(store));
  expect_in_order(store, {});
  ASSERT_TRUE(store.put("first", "1"));
  expect_in_order(store, {{"first", "1"}});
}

// A store that was closed before all its keys were in order, for want of memory or of time, has no
// order to store.
TEST(StoredOrder, IsWrittenOnlyIfItIsComplete) {
  Scratch scratch = Scratch::tmpfs();
  const std::string directory = scratch.path("store");
  {
    auto store = Store<>::open(directory, ordered()).value();
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(store.put("key" + std::to_string(i), "x"));
    ASSERT_TRUE(store.close());
  }
  const Image image = Image::of(directory);
  EXPECT_NE(image.read<CleanMark>(kCleanMarkAt).order_block, 0u);
  {
    auto store = Store<>::open(directory, ordered()).value();
    ForTests::lose_order(store);
    ASSERT_TRUE(store.close());
  }
  EXPECT_EQ(Image::of(directory).read<CleanMark>(kCleanMarkAt).order_block, 0u);
  auto store = Store<>::open(directory, ordered()).value();
  EXPECT_TRUE(store.recovery().clean);
  EXPECT_FALSE(was_stored(store));
  EXPECT_EQ(store.count_prefix("key").value(), 100u);
}

class DamagedOrder : public testing::Test {
 protected:
  void SetUp() override {
    auto store = Store<>::open(scratch_.path("good"), ordered()).value();
    for (int i = 0; i < 40; ++i) {
      const std::string key = "key" + std::to_string(i);
      store.put(key, expected_[key] = text_of(i, 30)).value();
    }
    store.close().value();
    good_ = Image::of(scratch_.path("good"));
    mark_ = good_->read<CleanMark>(kCleanMarkAt);
    ASSERT_NE(mark_.order_block, 0u);
    begin_ = mark_.order_block * good_->geometry().block_bytes;
    ASSERT_EQ(good_->read<std::uint64_t>(begin_ + 16), 40u) << "keys";
    bytes_ = 24 + good_->read<std::uint64_t>(begin_ + 8);
  }
  // An image of so many keys that are packed so, with a checksum that holds.
  Image with(std::uint64_t keys, const std::string& packed) const {
    Image image = *good_;
    const std::uint64_t words[] = {packed.size(), keys};
    Hash64Stream sum;
    sum.add(words, sizeof words);
    sum.add(packed.data(), packed.size());
    const std::uint64_t checksum =
        sum.digest() ^
        mix64(good_->geometry().store_id ^ mix64(good_->word(mark_.order_block).generation));
    std::string bytes(reinterpret_cast<const char*>(&checksum), sizeof checksum);
    bytes.append(reinterpret_cast<const char*>(words), sizeof words).append(packed);
    EXPECT_LE(bytes.size(), good_->geometry().block_bytes);
    image.bytes().replace(begin_, bytes.size(), bytes);
    return image;
  }
  // A writing open refuses and says why. A read-only one says it, too, and puts the keys in order.
  void expect_refused(const Image& image, std::uint64_t at) {
    image.write_to(scratch_.path("spoilt"));
    StoreOptions options = ordered();
    options.access = RegionAccess::kOpen;
    const auto refused = Store<>::open(scratch_.path("spoilt"), options);
    ASSERT_EQ(refused.code(), Errc::kCorrupt) << at;
    EXPECT_TRUE(mentions(refused.error(), "order image")) << refused.error().message();
    EXPECT_TRUE(Image::of(scratch_.path("spoilt")).bytes() == image.bytes()) << "it wrote";
    options.access = RegionAccess::kOpenReadOnly;
    auto look = Store<>::open(scratch_.path("spoilt"), options).value();
    EXPECT_TRUE(look.recovery().clean);
    EXPECT_FALSE(was_stored(look));
    EXPECT_EQ(look.recovery().defects.size(), 1u);
    expect_in_order(look, expected_);
  }

  Scratch scratch_ = Scratch::tmpfs();
  Contents expected_;
  std::optional<Image> good_;
  CleanMark mark_{};
  std::uint64_t begin_ = 0, bytes_ = 0;
};

TEST_F(DamagedOrder, EachByteIsNoticed) {
  for (std::uint64_t at = 0; at < bytes_; ++at) {
    Image image = *good_;
    image.flip(begin_ + at, static_cast<int>(at % 8));
    expect_refused(image, at);
    if (HasFatalFailure()) return;
  }
}

// A store that is opened without an order does not look at it.
TEST_F(DamagedOrder, CostsAHashedOpenNothing) {
  Image image = *good_;
  image.flip(begin_ + bytes_ / 2, 1);
  image.write_to(scratch_.path("spoilt"));
  auto store = Store<>::open(scratch_.path("spoilt"), with_access(RegionAccess::kOpen)).value();
  EXPECT_TRUE(store.recovery().clean);
  expect_contents(store, expected_);
}

// The checksum holds, and what it vouches for cannot be: as of a build that is wrong.
TEST_F(DamagedOrder, IsNoticedWhereItsChecksumHolds) {
  const std::string packed = good_->bytes().substr(begin_ + 24, bytes_ - 24);
  std::string more = packed;  // Of the second key: that it has more in common than there is.
  const std::size_t second = 2 + static_cast<unsigned char>(packed[1]);
  more[second] = 100;
  std::string fewer;
  for (int i = 0; i < 39; ++i)
    fewer += std::string("\0\1", 2) + static_cast<char>('0' + i);
  const Image cases[] = {
      with(39, fewer),          // Sound in itself, and fewer keys than records.
      with(40, packed + '\0'),  // A byte behind the last key.
      with(39, packed),         // Fewer keys than records.
      with(41, packed),         // More than there are.
      with(40, packed.substr(0, packed.size() - 1)),  // The last one ends too early.
      with(40, more),                                 //
      with(40, std::string(packed.size(), '\xff')),   // Numbers without an end.
  };
  for (const Image& image : cases)
    expect_refused(image, static_cast<std::uint64_t>(&image - cases));
}

// Keys that do not ascend are found when the order is loaded, behind the open: the keys are read.
TEST_F(DamagedOrder, OfKeysThatDoNotAscendIsPutInOrderAgain) {
  std::string packed;
  for (int i = 0; i < 40; ++i)
    packed += std::string("\0\1", 2) + static_cast<char>(i == 20 ? 'a' : 'b' + i);
  with(40, packed).write_to(scratch_.path("spoilt"));
  StoreOptions options = ordered();
  options.access = RegionAccess::kOpen;
  auto store = Store<>::open(scratch_.path("spoilt"), options).value();
  EXPECT_FALSE(was_stored(store));
  expect_in_order(store, expected_);
}

// Whatever it says, with a checksum that holds: an open refuses, or the hashed store is as it was
// and a cursor comes to an end.
TEST_F(DamagedOrder, OfAnyBytesNeverCrashes) {
  const std::string packed = good_->bytes().substr(begin_ + 24, bytes_ - 24);
  Random random(11);
  int opened = 0;
  for (int round = 0; round < 200; ++round) {
    std::string spoilt = packed;
    for (std::uint64_t bytes = 1 + random.below(3); bytes > 0; --bytes)
      spoilt[random.below(spoilt.size())] = static_cast<char>(random.below(256));
    with(40, spoilt).write_to(scratch_.path("spoilt"));
    StoreOptions options = ordered();
    options.access = RegionAccess::kOpen;
    auto store = Store<>::open(scratch_.path("spoilt"), options);
    if (!store) {
      ASSERT_EQ(store.code(), Errc::kCorrupt) << round;
      continue;
    }
    ++opened;
    auto cursor = store->cursor().value();
    for (cursor.first(); cursor; cursor.next())
      ASSERT_EQ(cursor.value(), expected_.at(std::string(cursor.key()))) << round;
    EXPECT_TRUE(cursor.status()) << round;
    expect_contents(*store, expected_);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(opened, 20);
  EXPECT_LT(opened, 180);
}

}  // namespace
}  // namespace holdfast::kv
