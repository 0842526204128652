// Atomic batches: all of it or nothing, the last operation on a key, more than a block.
#include <thread>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class AtomicBatches : public OnEveryPlace {
 protected:
  Store<> store_ = open();
};
INSTANTIATE_TEST_SUITE_P(Everywhere, AtomicBatches, kEveryPlace, place_name);

TEST_P(AtomicBatches, AnEmptyBatchChangesNothing) {
  ASSERT_TRUE(store_.put("k", "v"));
  EXPECT_TRUE(store_.write({}));
  expect_contents(store_, {{"k", "v"}});
}

TEST_P(AtomicBatches, PutsAndErasesGoTogether) {
  ASSERT_TRUE(store_.put("old", "1"));
  ASSERT_TRUE(store_.put("kept", "2"));
  WriteBatch batch;
  batch.put("new", "3");
  batch.erase("old");
  batch.erase("never there");
  EXPECT_EQ(batch.size(), 3u);
  const Version version = store_.write(batch).value();
  expect_contents(store_, {{"kept", "2"}, {"new", "3"}});
  std::string value;
  EXPECT_EQ(store_.get("new", value).value(), version);
  batch.clear();
  EXPECT_EQ(batch.size(), 0u);
  batch.erase("new");
  ASSERT_TRUE(store_.write(batch));
  expect_contents(store_, {{"kept", "2"}});
}

// A session takes its sequences in chunks, so that its next one may be older than what a batch of
// another session erased the key with. After a crash the newer of both would win.
TEST_P(AtomicBatches, APutAfterABatchErasedItsKeyOutlivesTheProcess) {
  ASSERT_TRUE(store_.put("mine", "takes a chunk of sequences"));
  std::thread([&] {
    ASSERT_TRUE(store_.put("k", "old"));
    WriteBatch batch;
    batch.erase("k");
    batch.erase("never there");
    ASSERT_TRUE(store_.write(batch));
  }).join();
  ASSERT_TRUE(store_.put("k", "new"));
  ASSERT_TRUE(store_.put("never there", "there"));
  ForTests::abandon(store_);
  store_ = open(with_access(RegionAccess::kOpen));
  expect_contents(store_,
                  {{"mine", "takes a chunk of sequences"}, {"k", "new"}, {"never there", "there"}});
}

TEST_P(AtomicBatches, TheLastOperationOnAKeyWins) {
  WriteBatch batch;
  batch.put("a", "1");
  batch.put("a", "22");
  batch.put("b", "1");
  batch.erase("b");
  batch.erase("c");
  batch.put("c", "1");
  ASSERT_TRUE(store_.write(batch));
  expect_contents(store_, {{"a", "22"}, {"c", "1"}});
  ASSERT_TRUE(store_.write(batch));
  expect_contents(store_, {{"a", "22"}, {"c", "1"}});
  EXPECT_EQ(store_.stats().live_bytes, 2u * 64);
}

TEST_P(AtomicBatches, LargerThanABlockAndThanASegment) {
  for (const std::size_t value_bytes : {100, 3000, 20000}) {
    Contents expected;
    WriteBatch batch;
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key" + std::to_string(i);
      expected[key] = text_of(i, value_bytes);
      batch.put(key, expected[key]);
    }
    for (int i = 0; i < 100; i += 7) {
      const std::string key = "key" + std::to_string(i);
      batch.erase(key);
      expected.erase(key);
    }
    ASSERT_TRUE(store_.write(batch));
    expect_contents(store_, expected);
    ASSERT_TRUE(store_.reclaim());
    expect_contents(store_, expected);
    const std::string copy = "copy" + std::to_string(value_bytes);
    copy_files(copy);
    auto reopened = open(tiny(), copy);
    expect_contents(reopened, expected);
  }
}

TEST_P(AtomicBatches, OneThatNoRunCanHoldIsRefusedWhole) {
  ASSERT_TRUE(store_.put("key1", "before"));
  WriteBatch batch;
  for (int i = 0; i < 50; ++i)
    batch.put("key" + std::to_string(i), text_of(i, 100000));
  EXPECT_EQ(store_.write(batch).code(), Errc::kTooLarge);
  expect_contents(store_, {{"key1", "before"}});
}

TEST_P(AtomicBatches, OfManyNewKeysMakeTheIndexGrow) {
  Contents expected;
  for (int round = 0; round < 10; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 2000; ++i) {
      const std::string key = std::to_string(round) + "/" + std::to_string(i);
      batch.put(key, key);
      expected[key] = key;
    }
    ASSERT_TRUE(store_.write(batch));
  }
  expect_contents(store_, expected);
}

// A batch's frame is dead from the start; the next process must not take it for data that lives, or
// small batches would keep reclamation from ever beginning.
TEST_P(AtomicBatches, FramesAreNoLiveBytesAlsoAfterReopening) {
  WriteBatch batch;
  const auto write = [&] {
    ASSERT_TRUE(store_.write(batch));
    batch.clear();
  };
  for (int i = 0; i < 200; ++i) {
    batch.put("single" + std::to_string(i), "v");
    write();
  }
  for (int i = 0; i < 200; i += 3) {  // Superseded and erased, by batches and without.
    batch.put("single" + std::to_string(i), text_of(i, 100));
    batch.erase("single" + std::to_string(i + 1));
    write();
    if (i % 2 == 0) {
      ASSERT_TRUE(store_.put("single" + std::to_string(i), "w"));
    }
  }
  for (int i = 0; i < 10; ++i)
    batch.put("large" + std::to_string(i), text_of(i, 1500));
  write();  // In a run of its own.
  const auto live = store_.stats().live_bytes;
  copy_files("died");
  {
    auto died = open(tiny(), "died");
    EXPECT_EQ(died.stats().live_bytes, live);
    ASSERT_TRUE(died.close());
    died = open(tiny(), "died");
    EXPECT_EQ(died.stats().live_bytes, live);
  }
  ASSERT_TRUE(store_.close());
  store_ = open();
  EXPECT_TRUE(store_.recovery().clean);
  EXPECT_EQ(store_.stats().live_bytes, live);
}

TEST_P(AtomicBatches, SurviveUncleanReopeningsWhole) {
  Contents expected;
  for (int round = 0; round < 20; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 20; ++i) {
      const std::string key = "key" + std::to_string((round * 13 + i) % 60);
      if (i % 5 == 4) {
        batch.erase(key);
        expected.erase(key);
      } else {
        expected[key] = text_of(round * 100 + i, 50 + i * 10);
        batch.put(key, expected[key]);
      }
    }
    ASSERT_TRUE(store_.write(batch));
    ASSERT_TRUE(store_.put("single", std::to_string(round)));
    expected["single"] = std::to_string(round);
    const std::string copy = "copy" + std::to_string(round);
    copy_files(copy);
    auto reopened = open(tiny(), copy);
    EXPECT_FALSE(reopened.recovery().clean);
    expect_contents(reopened, expected);
  }
}

// Growing partition by partition, and latching and claiming all of the batch again for each, took
// quadratic time: 50,000 new keys rebuilt 2,029 tables.
TEST(Batch, OfFiftyThousandNewKeysGrowsEachPartitionOnce) {
  auto store = Store<>::open("dram").value();
  WriteBatch batch;
  for (int i = 0; i < 50'000; ++i)
    batch.put("b" + std::to_string(i), "v");
  ASSERT_TRUE(store.write(batch));
  EXPECT_EQ(store.count(), 50'000u);
  const std::uint64_t rehashes = store.stats().index_rehashes;
  EXPECT_LE(rehashes, 1'100u) << "1,024 partitions, and a few by turns";
  ASSERT_TRUE(store.write(batch));
  EXPECT_LE(store.stats().index_rehashes, rehashes + 76) << "no key is new";
}

}  // namespace
}  // namespace holdfast::kv
