// Closing and opening again: in order, or as the death of the process leaves the files; read-only;
// busy.
#include <thread>

#include <holdfast/kv/write_verbs.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class Reopening : public OnEveryPlace {
 protected:
  // Everything that a recovery has to tell apart: overwritten, erased, erased and put again,
  // batches, large, updated words, empty.
  Contents fill(Store<>& store) {
    Contents expected;
    const auto put = [&](const std::string& key, const std::string& value) {
      EXPECT_TRUE(store.put(key, value));
      expected[key] = value;
    };
    const auto erase = [&](const std::string& key) {
      EXPECT_TRUE(store.erase(key).value());
      expected.erase(key);
    };
    for (int i = 0; i < 400; ++i)
      put("key" + std::to_string(i), text_of(i, i));
    for (int i = 0; i < 400; i += 2)
      put("key" + std::to_string(i), text_of(i + 1000, 80));
    for (int i = 0; i < 400; i += 5)
      erase("key" + std::to_string(i));
    for (int i = 0; i < 400; i += 15)
      put("key" + std::to_string(i), text_of(i + 2000, 30));
    put("", "of the empty key");
    put(std::string("\0", 1), "");
    put("large", text_of(1, 100000));
    put("large and gone", text_of(2, 100000));
    erase("large and gone");
    WriteBatch batch;
    for (int i = 0; i < 30; ++i) {
      batch.put("batch" + std::to_string(i), text_of(i, 100));
      expected["batch" + std::to_string(i)] = text_of(i, 100);
    }
    batch.erase("key1");
    expected.erase("key1");
    EXPECT_TRUE(store.write(batch));
    return expected;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, Reopening, kEveryPlace, place_name);

TEST_P(Reopening, AfterAnOrderlyCloseLoadsTheIndex) {
  auto store = open();
  EXPECT_TRUE(store.recovery().created);
  const Contents expected = fill(store);
  const auto before = store.stats();
  ASSERT_TRUE(store.close());
  store = open();
  EXPECT_FALSE(store.recovery().created);
  EXPECT_TRUE(store.recovery().clean);
  EXPECT_EQ(store.recovery().blocks_scanned, 0u);
  EXPECT_EQ(store.recovery().records, expected.size());
  // The frame of a batch is counted with the record before it.
  EXPECT_NEAR(static_cast<double>(store.stats().live_bytes), static_cast<double>(before.live_bytes),
              64);
  EXPECT_GE(store.stats().newest_version, before.newest_version);
  expect_contents(store, expected);
}

TEST_P(Reopening, TheDestructorClosesInOrderToo) {
  Contents expected;
  {
    auto store = open();
    expected = fill(store);
  }
  auto store = open();
  EXPECT_TRUE(store.recovery().clean);
  expect_contents(store, expected);
}

TEST_P(Reopening, AfterADeathKeepsEverythingAcknowledged) {
  auto store = open();
  const Contents expected = fill(store);
  copy_files("copy");
  auto copy = open(tiny(), "copy");
  EXPECT_FALSE(copy.recovery().clean);
  EXPECT_GE(copy.recovery().blocks_scanned, 1u);
  EXPECT_GE(copy.recovery().records_scanned, 1u);
  expect_contents(copy, expected);
  EXPECT_NEAR(static_cast<double>(copy.stats().live_bytes),
              static_cast<double>(store.stats().live_bytes), 64);
}

TEST_P(Reopening, AfterADeathTombstonesOfKeysOfEveryLengthAreKept) {
  auto store = open();
  Contents expected;
  for (int bytes = 1; bytes < 80; ++bytes) {
    ASSERT_TRUE(store.put(std::string(bytes, 'e'), "erased"));
    ASSERT_TRUE(store.erase(std::string(bytes, 'e')).value());
    expected[std::string(bytes, 'p')] = "behind the tombstone";
    ASSERT_TRUE(store.put(std::string(bytes, 'p'), "behind the tombstone"));
  }
  copy_files("copy");
  auto copy = open(tiny(), "copy");
  expect_contents(copy, expected);
}

// Recovery met the tombstone before the record, noted that the record is dead, and forgot that the
// medium does not know; so the tombstone was dropped at the next reclamation, and the record came
// back.
TEST_P(Reopening, ARecordFoundDeadBehindItsTombstoneStaysDeadWhenTheTombstoneIsReclaimed) {
  auto store = open();
  const auto fill_block = [&](const std::string& key) {
    ASSERT_TRUE(store.put(key, std::string(7000, 'f')));
  };
  for (int i = 0; i < 20; ++i)
    fill_block("low");
  ASSERT_TRUE(store.put("victim", std::string(3000, 'v')));
  fill_block("high");
  fill_block("high");
  ASSERT_TRUE(store.reclaim());  // Blocks before the victim's are free again, and used first.
  ASSERT_TRUE(store.erase("victim").value());
  fill_block("low");
  fill_block("low");
  copy_files("died");
  StoreOptions options = tiny();
  options.recovery_threads = 1;
  auto died = open(options, "died");
  EXPECT_EQ(get(died, "victim"), "<kNotFound>");
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(died.put("low", std::string(7000, 'f')));
  ASSERT_TRUE(died.reclaim());
  copy_files("died again", "died");
  auto again = open(options, "died again");
  EXPECT_EQ(get(again, "victim"), "<kNotFound>");
}

TEST_P(Reopening, VersionsGoOnRisingAfterADeathAndAfterAClose) {
  std::string value;
  Version last = 0;
  const auto step = [&](Store<>& store) {
    ASSERT_TRUE(store.put("k", "v"));
    const Version now = store.get("k", value).value();
    EXPECT_GT(now, last);
    last = now;
  };
  auto first = open();
  step(first);
  copy_files("second");
  auto second = open(tiny(), "second");
  step(second);
  ASSERT_TRUE(second.erase("k").value());  // Leaves no record with the version.
  ASSERT_TRUE(second.close());
  second = open(tiny(), "second");
  step(second);
  copy_files("third", "second");
  auto third = open(tiny(), "third");
  step(third);
}

TEST_P(Reopening, ManyTimesChangesNothing) {
  auto store = open();
  const Contents expected = fill(store);
  std::string last = "store";
  for (int round = 0; round < 6; ++round) {
    const std::string next = "copy" + std::to_string(round);
    copy_files(next, last);
    auto copy = open(tiny(), next);
    expect_contents(copy, expected);
    if (round % 2 == 0) copy_files(next + "unclean", next);  // Of a store that was only opened.
    ASSERT_TRUE(copy.close());
    last = round % 2 == 0 ? next + "unclean" : next;
  }
}

TEST_P(Reopening, WithOneThreadOrManyFindsTheSame) {
  auto store = open();
  const Contents expected = fill(store);
  for (int i = 0; i < 5000; ++i)
    ASSERT_TRUE(store.put("more", text_of(i, 300)));
  for (const unsigned threads : {1u, 3u, 8u}) {
    const std::string name = "copy" + std::to_string(threads);
    copy_files(name);
    StoreOptions options = tiny();
    options.recovery_threads = threads;
    auto copy = open(options, name);
    EXPECT_EQ(copy.count(), expected.size() + 1);
    EXPECT_EQ(get(copy, "more"), text_of(4999, 300));
    EXPECT_TRUE(copy.verify().ok());
  }
}

TEST_P(Reopening, UsesTheGeometryOfTheStoreNotOfTheOptions) {
  auto store = open(with_words({8}));
  ASSERT_TRUE(store.put("k", text_of(1, 64)));
  ASSERT_TRUE(store.close());
  StoreOptions other;
  other.max_bytes = 256 * MiB;
  store = open(other);
  EXPECT_EQ(get(store, "k"), text_of(1, 64));
  const auto refused = Store<>::open(spec("second"), with_access(RegionAccess::kOpen));
  EXPECT_EQ(refused.code(), Errc::kNotFound);
  ASSERT_TRUE(store.close());
  const auto wrong = Store<>::open(spec(), with_words({16}));
  ASSERT_EQ(wrong.code(), Errc::kWrongType);
  EXPECT_TRUE(mentions(wrong.error(), "patchable_words")) << wrong.error().detail;
}

TEST_P(Reopening, WithAMaxBelowThePresentSizeServesReadsAndTellsPuts) {
  auto store = open();
  Contents expected;
  for (int i = 0; i < 100; ++i) {
    expected["key" + std::to_string(i)] = text_of(i, 5000);
    ASSERT_TRUE(store.put("key" + std::to_string(i), text_of(i, 5000)));
  }
  ASSERT_TRUE(store.close());
  StoreOptions options = tiny();
  options.max_bytes = 64 * KiB;
  store = open(options);
  expect_contents(store, expected);
}

TEST_P(Reopening, ReadOnlyOpensStandBesideEachOtherAndWriteNothing) {
  auto store = open();
  const Contents expected = fill(store);
  copy_files("unclean");
  ASSERT_TRUE(store.close());
  for (const std::string name : {"store", "unclean"}) {
    auto first = open(with_access(RegionAccess::kOpenReadOnly), name);
    auto second = open(with_access(RegionAccess::kOpenReadOnly), name);
    EXPECT_TRUE(first.read_only());
    EXPECT_EQ(first.recovery().clean, name == "store");
    expect_contents(first, expected);
    expect_contents(second, expected);
    std::vector<Status> refused;
    const auto code = [](const auto& result) { return result ? Errc::kOk : result.code(); };
    WriteBatch batch;
    batch.put("k", "v");
    const std::string_view keys[] = {"k"}, values[] = {"v"};
    EXPECT_EQ(code(first.put("k", "v")), Errc::kReadOnly);
    EXPECT_EQ(code(first.put_if_absent("k", "v")), Errc::kReadOnly);
    EXPECT_EQ(code(first.compare_and_put("k", 0, "v")), Errc::kReadOnly);
    EXPECT_EQ(code(first.put_many(keys, values)), Errc::kReadOnly);
    EXPECT_EQ(code(first.update("key2", [](std::string&) {})), Errc::kReadOnly);
    EXPECT_EQ(code(first.update_word("key2", 0, [](std::uint64_t word) { return word; })),
              Errc::kReadOnly);
    EXPECT_EQ(code(first.erase("key2")), Errc::kReadOnly);
    EXPECT_EQ(code(first.write(batch)), Errc::kReadOnly);
    EXPECT_EQ(code(first.reclaim()), Errc::kReadOnly);
    EXPECT_TRUE(first.sync());
    EXPECT_TRUE(mentions(first.put("k", "v").error(), "read-only"));
    const auto busy = Store<>::open(spec(name), with_access(RegionAccess::kOpen));
    ASSERT_EQ(busy.code(), Errc::kBusy);
    EXPECT_TRUE(mentions(busy.error(), std::to_string(::getpid()))) << busy.error().detail;
    EXPECT_TRUE(first.close());
  }
  // Nothing changed: the unclean one still is.
  auto reopened = open(tiny(), "unclean");
  EXPECT_FALSE(reopened.recovery().clean);
  expect_contents(reopened, expected);
}

TEST_P(Reopening, WhileAWriterHasItIsBusyForEverybody) {
  auto store = open();
  for (const auto access :
       {RegionAccess::kOpen, RegionAccess::kOpenReadOnly, RegionAccess::kOpenOrCreate}) {
    const auto busy = Store<>::open(spec(), with_access(access));
    ASSERT_EQ(busy.code(), Errc::kBusy);
    EXPECT_TRUE(mentions(busy.error(), std::to_string(::getpid()))) << busy.error().detail;
  }
  ASSERT_TRUE(store.close());
  EXPECT_TRUE(Store<>::open(spec(), with_access(RegionAccess::kOpen)));
}

TEST_P(Reopening, CreateRefusesWhatIsThere) {
  {
    open(with_access(RegionAccess::kCreate)).put("k", "v").value();
  }
  EXPECT_EQ(Store<>::open(spec(), with_access(RegionAccess::kCreate)).code(), Errc::kAlreadyExists);
  auto store = open();
  EXPECT_EQ(get(store, "k"), "v");
}

TEST_P(Reopening, InBackgroundModeClosesWithoutLoss) {
  StoreOptions options = tiny();
  options.background = true;
  options.sync_interval_ms = 1;
  Contents expected;
  for (int round = 0; round < 3; ++round) {
    auto store = open(options);
    EXPECT_EQ(store.recovery().clean, round > 0);
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "key" + std::to_string(i % 500);
      expected[key] = text_of(round * 10000 + i, 100);
      ASSERT_TRUE(store.put(key, expected[key]));
    }
    expect_contents(store, expected);
    ASSERT_TRUE(store.close());
  }
}

// Found by reading: no record has a key of more than 64 KiB, but one in 10^4 has the tag of one
// that is there. Its tombstone was longer than recovery believes of any record, so what was
// acknowledged after it in the same run was lost with the process.
TEST_P(Reopening, AnEraseOfAKeyThatIsTooLongHidesNothingAfterADeath) {
  StoreOptions options = tiny();
  options.block_bytes = 256 * KiB;
  options.segment_bytes = options.initial_bytes = 4 * MiB;
  auto store = open(options);
  ASSERT_TRUE(store.put("before", "v"));
  const std::string key(kMaxKeyBytes + 1, 'k');
  ForTests::collide(store, key, "before");
  EXPECT_FALSE(store.erase(key).value());
  ASSERT_TRUE(store.put("after", "v"));
  copy_files("died");
  auto died = open(with_access(RegionAccess::kOpen, options), "died");
  expect_contents(died, {{"before", "v"}, {"after", "v"}});
}

// Its record is older than the tombstone: published as it is, it would be visible until the store is
// opened again.
TEST(Horizons, APutThatAnEraseOvertookIsAppendedAgain) {
  const Scratch scratch = Scratch::tmpfs();
  const std::string spec = scratch.path("store") + "?granularity=line";
  const std::string key = "of sixteen bytes", other = "another of them.";
  {
    auto store = Store<>::open(spec, tiny()).value();
    ASSERT_TRUE(store.put(key, "old"));
    Rooms& rooms = ForTests::rooms(store);
    Session& own = rooms.sessions.of_this_thread();
    const NewRecord record{RecordKind::kPut, rooms.index.hash(ForTests::bytes(key)),
                           ForTests::bytes(key), ForTests::bytes("new")};
    Appended appended;
    rooms.appender.append(own.lane, record, false, BlockTable::Purpose::kPut, appended).value();
    rooms.appender.commit(own.lane).value();
    std::thread([&] {
      // From the second one on a thread's erases are what they usually are.
      ASSERT_TRUE(store.put(other, ""));
      ASSERT_TRUE(store.erase(other).value());
      EXPECT_TRUE(store.erase(key).value());
    }).join();
    EXPECT_EQ(get(store, key), "<kNotFound>");
    rooms.epochs.enter_briefly(own.participant).leave_open();
    Writes& writes = store.core()->writes;
    EXPECT_EQ(
        writes.finish_put<AnyPath>(record.key, record.value, appended.offset, appended.sequence)
            .value(),
        PutOutcome::kInserted);
    EXPECT_EQ(get(store, key), "new");
    ForTests::abandon(store);
  }
  auto store = Store<>::open(spec, tiny()).value();
  EXPECT_EQ(get(store, key), "new");
}

// A store in a region that its caller had opened, with the defaults, could not grow: segments are
// of 4 MiB, the region's units of 64.
TEST(RegionsOfTheCaller, MayHaveLargerUnitsThanSegments) {
  const Scratch scratch = Scratch::tmpfs();
  RegionOptions region;
  region.size_bytes = region.unit_bytes = 256 * KiB;
  Contents expected;
  const auto key = [](int i) { return "key" + std::to_string(i); };
  const auto opened = [&] {
    return Store<>::open(Region::open(scratch.path("store") + "?granularity=line", region).value(),
                         tiny())
        .value();
  };
  {
    auto store = opened();
    for (int i = 0; i < 8'000; ++i)
      ASSERT_TRUE(store.put(key(i), text_of(i, 200))) << i;
    for (int i = 0; i < 7'000; ++i)
      ASSERT_TRUE(store.erase(key(i)).value());
    for (int i = 7'000; i < 8'000; ++i)
      expected[key(i)] = text_of(i, 200);
    const std::uint64_t full = store.stats().medium_bytes;
    ASSERT_TRUE(store.reclaim());
    ASSERT_TRUE(ForTests::trim(store, 8));
    EXPECT_LT(store.stats().medium_bytes, full);
    EXPECT_EQ(store.stats().medium_bytes % region.unit_bytes, 0u);
    for (int i = 0; i < 3'000; ++i)
      ASSERT_TRUE(store.put(key(10'000 + i), expected[key(10'000 + i)] = text_of(i, 200))) << i;
    expect_contents(store, expected);
  }
  region.access = RegionAccess::kOpen;
  auto store = opened();
  expect_contents(store, expected);
  EXPECT_TRUE(store.verify().ok());
}

}  // namespace
}  // namespace holdfast::kv
