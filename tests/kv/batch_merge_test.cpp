// append() and merge() in atomic batches.
#include <cstring>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/pieces.hpp>
#include <holdfast/kv/space.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class BatchMerge : public OnEveryPlace {
 protected:
  Store<> store_ = open();
};
INSTANTIATE_TEST_SUITE_P(Everywhere, BatchMerge, kEveryPlace, place_name);

std::string number(std::uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::uint64_t pieces_in(Store<>& store) {
  const Pieces& pieces = ForTests::rooms(store).pieces;
  return pieces.any() ? pieces.space().index.map().size() : 0;
}

TEST_P(BatchMerge, OperationsOnAKeyComeInTheirOrder) {
  ASSERT_TRUE(store_.put("log", "one"));
  ASSERT_TRUE(store_.put("sum", number(7)));
  ASSERT_TRUE(store_.put("gone", "old"));
  ASSERT_TRUE(store_.put("last", "old"));
  WriteBatch batch;
  batch.append("log", " two");
  batch.merge("sum", MergeFunction::kAdd, number(5));
  batch.append("log", " three");
  batch.merge("sum", MergeFunction::kMax, number(3));
  batch.append("new", "a");
  batch.append("new", "b");
  batch.put("put", "x");
  batch.append("put", "y");
  batch.erase("gone");
  batch.append("gone", "again");
  batch.append("last", "lost");
  batch.put("last", "put");
  batch.append("last", "!");
  batch.append("erased", "lost");
  batch.erase("erased");
  batch.merge("mixed", MergeFunction::kAdd, number(1));
  batch.append("mixed", "tail");
  ASSERT_TRUE(store_.write(batch));
  expect_contents(store_, {{"log", "one two three"},
                           {"sum", number(12)},
                           {"new", "ab"},
                           {"put", "xy"},
                           {"gone", "again"},
                           {"last", "put!"},
                           {"mixed", number(1) + "tail"}});
}

TEST_P(BatchMerge, SizesThatDoNotFitRefuseAllOfIt) {
  ASSERT_TRUE(store_.put("short", "abc"));
  const Version before = store_.stats().newest_version;
  const auto refused = [&](const WriteBatch& batch) {
    const auto written = store_.write(batch);
    ASSERT_EQ(written.code(), Errc::kInvalidOption);
    EXPECT_TRUE(mentions(written.error(), "8 bytes")) << written.error().message();
    expect_contents(store_, {{"short", "abc"}});
  };
  WriteBatch of_store, of_batch, of_new;
  of_store.put("other", "1");
  of_store.merge("short", MergeFunction::kAdd, number(1));
  refused(of_store);
  of_batch.put("other", "1");
  of_batch.merge("other", MergeFunction::kAdd, number(1));
  refused(of_batch);
  of_new.put("other", "1");
  of_new.merge("third", MergeFunction::kAdd, "abc");
  refused(of_new);
  EXPECT_GE(store_.stats().newest_version, before);
  EXPECT_TRUE(store_.put("other", "2"));
}

TEST_P(BatchMerge, LongValuesLieInPieces) {
  Contents expected;
  std::string& value = expected["log"];
  std::string& other = expected["other"];
  for (int i = 0; i < 200; ++i) {
    WriteBatch batch;
    for (std::string* const one : {&value, &other}) {
      const std::string added = text_of(static_cast<std::uint64_t>(i), 80);
      batch.append(one == &value ? "log" : "other", added);
      *one += added;
    }
    batch.put("count", expected["count"] = std::to_string(i));
    ASSERT_TRUE(store_.write(batch));
  }
  EXPECT_GE(pieces_in(store_), 2 * (value.size() / (Pieces::kPieceBytes + 90) - 1));
  expect_contents(store_, expected);
  ForTests::abandon(store_);
  store_ = open(with_access(RegionAccess::kOpen));
  expect_contents(store_, expected);
  // A function of numbers does not fit such a value; nothing is left of the piece of the other.
  const std::uint64_t pieces = pieces_in(store_);
  WriteBatch batch;
  batch.append("log", text_of(1, 2 * Pieces::kPieceBytes));
  batch.merge("other", MergeFunction::kAdd, number(1));
  EXPECT_EQ(store_.write(batch).code(), Errc::kInvalidOption);
  ASSERT_TRUE(store_.reclaim());
  EXPECT_EQ(pieces_in(store_), pieces);
  expect_contents(store_, expected);
}

TEST_P(BatchMerge, KeyspacesAreReachedToo) {
  const Space users = store_.create_space("users").value();
  ASSERT_TRUE(users.put("k", "of users"));
  ASSERT_TRUE(store_.put("k", "own"));
  std::string long_value = "of users";
  for (int i = 0; i < 30; ++i) {
    WriteBatch batch;
    const std::string added = text_of(static_cast<std::uint64_t>(i), 100);
    batch.append(users, "k", added);
    long_value += added;
    batch.append("k", "+");
    batch.merge(users, "n", MergeFunction::kAdd, number(2));
    ASSERT_TRUE(store_.write(batch));
  }
  std::string value;
  ASSERT_TRUE(users.get("k", value));
  EXPECT_EQ(value, long_value);
  ASSERT_TRUE(users.get("n", value));
  EXPECT_EQ(value, number(60));
  EXPECT_EQ(get(store_, "k"), "own" + std::string(30, '+'));
  EXPECT_GE(pieces_in(store_), 2u);
}

TEST_P(BatchMerge, TheStampIsKeptOrRenewed) {
  ASSERT_TRUE(store_.expire({.prefix = "s", .ttl = 100}));
  ASSERT_TRUE(store_.set_clock(1'000));
  for (const char* const key : {"s1", "s2", "s3"})
    ASSERT_TRUE(store_.put(key, number(950) + "begun"));
  WriteBatch one, two, three;
  one.append("s1", "!");
  two.append("s2", "!");
  three.append("s3", "!");
  ASSERT_TRUE(store_.write(one));
  ASSERT_TRUE(store_.write(two, {.renew = true}));
  ASSERT_TRUE(store_.set_clock(1'070));
  EXPECT_EQ(get(store_, "s1"), "<kNotFound>");
  EXPECT_EQ(get(store_, "s2"), number(1'000) + "begun!");
  // What has expired is absent to a merge.
  ASSERT_TRUE(store_.write(three));
  EXPECT_EQ(get(store_, "s3"), "!");
}

TEST_P(BatchMerge, ARandomProgramAgreesWithADullModel) {
  Contents expected;
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    WriteBatch batch;
    for (std::uint64_t i = 0; i <= random.below(8); ++i) {
      const std::string key = "key" + std::to_string(random.below(12));
      const std::string value = text_of(random.next(), random.below(400));
      switch (random.below(6)) {
        case 0: batch.erase(key), expected.erase(key); break;
        case 1: batch.put(key, expected[key] = value); break;
        default: batch.append(key, value), expected[key] += value; break;
      }
    }
    ASSERT_TRUE(store_.write(batch));
    if (round % 50 == 49) {
      ASSERT_TRUE(store_.reclaim());
      expect_contents(store_, expected);
    }
    if (round % 100 == 99) {
      ForTests::abandon(store_);
      store_ = open(with_access(RegionAccess::kOpen));
    }
  }
  expect_contents(store_, expected);
}

}  // namespace
}  // namespace holdfast::kv
