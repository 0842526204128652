// Every verb, what it returns, and what it refuses, on every granularity.
#include <cstring>
#include <functional>

#include "support.hpp"

namespace holdfast::kv {
namespace {

class EveryVerb : public OnEveryPlace {
 protected:
  Store<> store_ = open();
};
INSTANTIATE_TEST_SUITE_P(Everywhere, EveryVerb, kEveryPlace, place_name);

TEST_P(EveryVerb, PutTellsInsertedFromOverwrote) {
  EXPECT_EQ(store_.put("k", "1").value(), PutOutcome::kInserted);
  EXPECT_EQ(store_.put("k", "2").value(), PutOutcome::kOverwrote);
  EXPECT_TRUE(store_.erase("k").value());
  EXPECT_EQ(store_.put("k", "3").value(), PutOutcome::kInserted);
  EXPECT_EQ(get(store_, "k"), "3");
}

TEST_P(EveryVerb, AbsenceIsNotFoundWithoutDetail) {
  std::string value = "untouched";
  const auto got = store_.get("absent", value);
  EXPECT_EQ(got.code(), Errc::kNotFound);
  EXPECT_TRUE(got.error().detail.empty());
  EXPECT_EQ(store_.get_pinned("absent").code(), Errc::kNotFound);
  EXPECT_EQ(store_.update("absent", [](std::string&) { FAIL(); }).code(), Errc::kNotFound);
  EXPECT_EQ(store_.update_word("absent", 0, [](std::uint64_t word) { return word; }).code(),
            Errc::kNotFound);
  EXPECT_FALSE(store_.erase("absent").value());
  EXPECT_EQ(store_.count(), 0u);
}

TEST_P(EveryVerb, KeysOfEveryLengthAreKeptApart) {
  Contents expected;
  for (const std::size_t bytes :
       {0,  1,   2,   7,    8,    9,    15,   23,   24,   25,   31,   32,   33,    63,    64,
        65, 127, 128, 1000, 4031, 4032, 4033, 4096, 7999, 8000, 8064, 8192, 16384, 65535, 65536}) {
    for (const char filler : {'a', '\0', '\xff'}) {
      const std::string key(bytes, filler);
      expected[key] = std::to_string(bytes) + filler;
      ASSERT_TRUE(store_.put(key, expected[key])) << bytes;
    }
  }
  expect_contents(store_, expected);
}

TEST_P(EveryVerb, ValuesOfEveryLengthComeBack) {
  Contents expected;
  for (const std::size_t bytes :
       {0,    1,    7,    8,    9,     23,    24,    25,    31,     32,      33,     63,
        64,   65,   1000, 3900, 4000,  4032,  4096,  7900,  7984,   8000,    8016,   8032,
        8048, 8064, 8100, 8192, 10000, 16384, 60000, 65536, 200000, 1048576, 3000000}) {
    const std::string key = "value of " + std::to_string(bytes);
    expected[key] = text_of(bytes, bytes);
    ASSERT_TRUE(store_.put(key, expected[key])) << bytes;
  }
  expect_contents(store_, expected);
}

TEST_P(EveryVerb, EmptyViewsWithoutMemoryAreEmptyKeysAndValues) {
  EXPECT_EQ(store_.put(std::string_view{}, std::string_view{}).value(), PutOutcome::kInserted);
  EXPECT_EQ(get(store_, ""), "");
  EXPECT_EQ(store_.put("", "x").value(), PutOutcome::kOverwrote);
  WriteBatch batch;
  batch.put(std::string_view{}, std::string_view{});
  EXPECT_TRUE(store_.write(batch));
  EXPECT_EQ(get(store_, std::string_view{}), "");
  EXPECT_TRUE(store_.get_pinned("").value().value().empty());
  EXPECT_TRUE(store_.erase(std::string_view{}).value());
  EXPECT_EQ(store_.count(), 0u);
}

TEST_P(EveryVerb, TooLongKeysAreRefusedAndChangeNothing) {
  const std::string key(kMaxKeyBytes + 1, 'k');
  const auto refused = store_.put(key, "v");
  ASSERT_EQ(refused.code(), Errc::kTooLarge);
  EXPECT_TRUE(mentions(refused.error(), "65537")) << refused.error().detail;
  EXPECT_TRUE(mentions(refused.error(), "65536")) << refused.error().detail;
  EXPECT_EQ(store_.put_if_absent(key, "v").code(), Errc::kTooLarge);
  EXPECT_EQ(store_.compare_and_put(key, 0, "v").code(), Errc::kTooLarge);
  const std::string_view keys[] = {"fine", key}, values[] = {"1", "2"};
  EXPECT_EQ(store_.put_many(keys, values).code(), Errc::kTooLarge);
  WriteBatch batch;
  batch.put("fine", "1");
  batch.erase(key);
  EXPECT_EQ(store_.write(batch).code(), Errc::kTooLarge);
  EXPECT_EQ(store_.count(), 0u);
  EXPECT_EQ(get(store_, key), "<kNotFound>");
  EXPECT_FALSE(store_.erase(key).value());
}

TEST_P(EveryVerb, ValuesThatNoRunCanHoldAreRefusedWithTheLimit) {
  // 511 blocks of 8 KiB lie behind a table block.
  const std::string value(5 * MiB, 'v');
  const auto refused = store_.put("k", value);
  ASSERT_EQ(refused.code(), Errc::kTooLarge);
  EXPECT_TRUE(mentions(refused.error(), "block_bytes=8192")) << refused.error().detail;
  ASSERT_TRUE(store_.put("k", "small"));
  EXPECT_EQ(store_.update("k", [&](std::string& old) { old = value; }).code(), Errc::kTooLarge);
  EXPECT_EQ(get(store_, "k"), "small");
}

TEST_P(EveryVerb, EraseOfAKeyLargerThanABlockLeavesItsNeighboursAlone) {
  const std::string key(kMaxKeyBytes, 'k');
  Contents expected;
  ASSERT_TRUE(store_.put(key, "v"));
  for (int i = 0; i < 200; ++i) {
    const std::string other = "other" + std::to_string(i);
    expected[other] = text_of(i, 500);
    ASSERT_TRUE(store_.put(other, expected[other]));
    if (i == 100) {
      EXPECT_TRUE(store_.erase(key).value());
    }
  }
  expect_contents(store_, expected);
  ASSERT_TRUE(store_.put(key, "again"));
  expected[key] = "again";
  ASSERT_TRUE(store_.reclaim());
  expect_contents(store_, expected);
  EXPECT_TRUE(store_.erase(key).value());
  expected.erase(key);
  copy_files("copy");
  auto reopened = open(tiny(), "copy");
  expect_contents(reopened, expected);
}

TEST_P(EveryVerb, GetIntoABufferCopiesWhatFitsAndTellsTheLength) {
  ASSERT_TRUE(store_.put("k", "0123456789"));
  std::array<std::byte, 16> buffer{};
  EXPECT_EQ(store_.get("k", std::span(buffer).first(4)).value(), 10u);
  EXPECT_EQ(std::memcmp(buffer.data(), "0123\0\0", 6), 0);
  EXPECT_EQ(store_.get("k", buffer).value(), 10u);
  EXPECT_EQ(std::memcmp(buffer.data(), "0123456789\0", 11), 0);
  EXPECT_EQ(store_.get("k", std::span<std::byte>{}).value(), 10u);
  EXPECT_EQ(store_.get("absent", buffer).code(), Errc::kNotFound);
}

TEST_P(EveryVerb, VersionsGrowWithEveryWriteOfARecord) {
  std::string value;
  Version last = 0, written = 0;
  const auto grown = [&](const char* after) {
    const Version now = store_.get("k", value).value();
    EXPECT_GT(now, last) << after;
    last = now;
  };
  ASSERT_TRUE(store_.put("k", "12345678"));
  grown("put");
  ASSERT_TRUE(store_.put("k", "12345678"));
  grown("overwrite with the same");
  written = store_.update("k", [](std::string& old) { old += "9"; }).value();
  EXPECT_EQ(store_.get("k", value).value(), written);
  grown("update");
  written = store_.compare_and_put("k", last, "abcdefgh").value();
  EXPECT_EQ(store_.get("k", value).value(), written);
  grown("compare_and_put");
  ASSERT_TRUE(store_.update_word("k", 0, [](std::uint64_t word) { return word + 1; }));
  grown("update_word by the record path");
  WriteBatch batch;
  batch.put("k", "batch");
  written = store_.write(batch).value();
  EXPECT_EQ(store_.get("k", value).value(), written);
  grown("batch");
  EXPECT_EQ(store_.get_pinned("k").value().version(), last);
  ASSERT_TRUE(store_.erase("k").value());
  written = store_.put_if_absent("k", "new").value();
  EXPECT_EQ(store_.get("k", value).value(), written);
  grown("erase and put_if_absent");
  EXPECT_GE(store_.stats().newest_version, last);
}

TEST_P(EveryVerb, PutIfAbsentWritesOnlyWhereThereIsNothing) {
  ASSERT_TRUE(store_.put_if_absent("k", "1"));
  EXPECT_EQ(store_.put_if_absent("k", "2").code(), Errc::kAlreadyExists);
  EXPECT_EQ(get(store_, "k"), "1");
  ASSERT_TRUE(store_.erase("k").value());
  ASSERT_TRUE(store_.put_if_absent("k", "3"));
  EXPECT_EQ(get(store_, "k"), "3");
  EXPECT_EQ(store_.count(), 1u);
}

TEST_P(EveryVerb, CompareAndPutWritesOnlyOverTheExpectedVersion) {
  EXPECT_EQ(store_.compare_and_put("k", 7, "x").code(), Errc::kVersionMismatch);
  const Version first = store_.compare_and_put("k", 0, "1").value();
  const auto refused = store_.compare_and_put("k", 0, "x");
  ASSERT_EQ(refused.code(), Errc::kVersionMismatch);
  EXPECT_TRUE(mentions(refused.error(), std::to_string(first))) << refused.error().detail;
  const Version second = store_.compare_and_put("k", first, "2").value();
  EXPECT_EQ(store_.compare_and_put("k", first, "x").code(), Errc::kVersionMismatch);
  EXPECT_EQ(get(store_, "k"), "2");
  ASSERT_TRUE(store_.erase("k").value());
  EXPECT_EQ(store_.compare_and_put("k", second, "x").code(), Errc::kVersionMismatch);
  EXPECT_TRUE(store_.compare_and_put("k", 0, "3"));
}

TEST_P(EveryVerb, GetManyAnswersEachKeyInItsPlace) {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    texts.push_back("key" + std::to_string(i));
    if (i % 3 != 0) store_.put(texts.back(), text_of(i, i * 10)).value();
  }
  texts.push_back("key1");  // Twice.
  const std::vector<std::string_view> keys(texts.begin(), texts.end());
  std::vector<std::string> values(keys.size(), "untouched");
  std::vector<Errc> outcomes(keys.size(), Errc::kIo);
  ASSERT_TRUE(store_.get_many(keys, values, outcomes));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(outcomes[i], i % 3 != 0 ? Errc::kOk : Errc::kNotFound) << i;
    EXPECT_EQ(values[i], i % 3 != 0 ? text_of(i, i * 10) : "untouched") << i;
  }
  EXPECT_EQ(values[100], text_of(1, 10));
  EXPECT_TRUE(store_.get_many({}, {}, {}));
  const auto refused = store_.get_many(keys, std::span(values).first(3), outcomes);
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(refused.error(), "101 keys, 3 values")) << refused.error().detail;
}

TEST_P(EveryVerb, PutManyPutsAllAndTheLastOfAKeyWins) {
  std::vector<std::string> texts, contents;
  Contents expected;
  for (int i = 0; i < 300; ++i) {
    texts.push_back("key" +
                    std::to_string(i % 170));  // Some twice, in the same group of 64 and in others.
    contents.push_back(text_of(i, i * 7));
    if (i % 10 == 9) texts.back() = "hot";
    expected[texts.back()] = contents.back();
  }
  contents[50] = text_of(50, 50000);  // More than a block, in the middle.
  expected[texts[50]] = contents[50];
  if (texts[50] == texts[220]) expected[texts[50]] = contents[220];
  const std::vector<std::string_view> keys(texts.begin(), texts.end()),
      values(contents.begin(), contents.end());
  ASSERT_TRUE(store_.put_many(keys, values));
  expect_contents(store_, expected);
  EXPECT_TRUE(store_.put_many({}, {}));
  const auto refused = store_.put_many(std::span(keys).first(2), std::span(values).first(1));
  ASSERT_EQ(refused.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(refused.error(), "2 keys and 1 values")) << refused.error().detail;
}

TEST_P(EveryVerb, UpdateReplacesTheValueByWhatTheChangeMakesOfIt) {
  ASSERT_TRUE(store_.put("k", "abc"));
  ASSERT_TRUE(store_.update("k", [](std::string& value) {
    EXPECT_EQ(value, "abc");
    value.append(20000, 'x');
  }));
  EXPECT_EQ(get(store_, "k"), "abc" + std::string(20000, 'x'));
  ASSERT_TRUE(store_.update("k", [](std::string& value) { value.clear(); }));
  EXPECT_EQ(get(store_, "k"), "");
  EXPECT_EQ(store_.count(), 1u);
}

TEST_P(EveryVerb, UpdateWordRefusesOffsetsOutsideOfTheValue) {
  ASSERT_TRUE(store_.put("k", std::string(20, 'x')));
  const auto add = [](std::uint64_t word) { return word + 1; };
  EXPECT_TRUE(store_.update_word("k", 8, add));
  for (const std::uint32_t offset : {4u, 16u, 24u, 0xfffffff8u}) {
    const auto refused = store_.update_word("k", offset, add);
    ASSERT_EQ(refused.code(), Errc::kInvalidOption) << offset;
    EXPECT_TRUE(mentions(refused.error(), "offset_bytes=" + std::to_string(offset)))
        << refused.error().detail;
    EXPECT_TRUE(mentions(refused.error(), "20 bytes")) << refused.error().detail;
  }
  ASSERT_TRUE(store_.put("short", "1234567"));
  EXPECT_EQ(store_.update_word("short", 0, add).code(), Errc::kInvalidOption);
}

TEST_P(EveryVerb, PinnedValuesStayWhileTheirRecordsGo) {
  ASSERT_TRUE(store_.put("a", "first"));
  ASSERT_TRUE(store_.put("b", text_of(1, 30000)));
  seal_blocks(store_);
  auto a = store_.get_pinned("a").value();
  auto b = store_.get_pinned("b").value();
  ASSERT_TRUE(store_.put("a", "second"));
  ASSERT_TRUE(store_.erase("b").value());
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(store_.put("filler" + std::to_string(i % 10), text_of(i, 700)));
  ASSERT_TRUE(store_.reclaim());
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(store_.put("filler" + std::to_string(i % 10), text_of(i, 700)));
  EXPECT_EQ(a.value(), "first");
  EXPECT_EQ(b.value(), text_of(1, 30000));
  Pinned moved = std::move(b);
  EXPECT_TRUE(b.value().empty());  // NOLINT: what a move leaves is documented by use here.
  EXPECT_EQ(moved.value(), text_of(1, 30000));
  moved = std::move(a);
  EXPECT_EQ(moved.value(), "first");
  {
    const Pinned gone = std::move(moved);
  }
  ASSERT_TRUE(store_.reclaim());
  EXPECT_EQ(get(store_, "a"), "second");
}

TEST_P(EveryVerb, DurabilityThatTheMediumCannotGiveIsRefused) {
  const WriteOptions power{Durability::kPower};
  std::vector<std::pair<const char*, std::function<Errc()>>> verbs;
  ASSERT_TRUE(store_.put("there", "12345678"));
  const std::string_view keys[] = {"m"}, values[] = {"n"};
  WriteBatch batch;
  batch.put("k", "v");
  verbs.emplace_back("put", [&] { return store_.put("k", "v", power).code(); });
  verbs.emplace_back("put_if_absent",
                     [&] { return store_.put_if_absent("k2", "v", power).code(); });
  verbs.emplace_back("compare_and_put",
                     [&] { return store_.compare_and_put("k3", 0, "v", power).code(); });
  verbs.emplace_back("put_many", [&] { return store_.put_many(keys, values, power).code(); });
  verbs.emplace_back("update",
                     [&] { return store_.update("there", [](std::string&) {}, power).code(); });
  verbs.emplace_back("update_word", [&] {
    return store_.update_word("there", 0, [](std::uint64_t w) { return w; }, power).code();
  });
  verbs.emplace_back("write", [&] { return store_.write(batch, power).code(); });
  verbs.emplace_back("erase", [&] { return store_.erase("there", power).code(); });
  for (const auto& [verb, call] : verbs) {
    EXPECT_EQ(call(), loses_all_with_the_power() ? Errc::kUnsupported : Errc::kOk) << verb;
  }
  EXPECT_EQ(store_.count(), loses_all_with_the_power() ? 1u : 4u);
  if (loses_all_with_the_power()) {
    EXPECT_TRUE(mentions(store_.put("k", "v", power).error(), "durability=process"));
  }
}

TEST_P(EveryVerb, DefaultDurabilityIsWhatTheMediumGivesWithoutASystemCall) {
  const bool fences_suffice = !paged() && !loses_all_with_the_power();
  EXPECT_EQ(store_.durability(), fences_suffice ? Durability::kPower : Durability::kProcess);
}

TEST_P(EveryVerb, DurableUpToCoversWhatWasAcknowledgedForPower) {
  ASSERT_TRUE(store_.put("k", "v"));
  std::string value;
  const Version first = store_.get("k", value).value();
  ASSERT_TRUE(store_.sync());
  if (loses_all_with_the_power()) {
    EXPECT_EQ(store_.durable_up_to(), 0u);
    return;
  }
  EXPECT_GE(store_.durable_up_to(), first);
  const Version second = store_.compare_and_put("k", first, "w", {Durability::kPower}).value();
  EXPECT_GE(store_.durable_up_to(), second);
  if (paged()) {
    EXPECT_GE(store_.stats().syncs, 2u);
    const Version third = store_.compare_and_put("k", second, "x").value();
    EXPECT_LT(store_.durable_up_to(), third);  // Nobody has synced since.
    ASSERT_TRUE(store_.sync());
    EXPECT_GE(store_.durable_up_to(), third);
  }
}

TEST_P(EveryVerb, StatsCountWhatIsThere) {
  const auto empty = store_.stats();
  EXPECT_EQ(empty.records, 0u);
  EXPECT_EQ(empty.live_bytes, 0u);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(store_.put("key" + std::to_string(i), std::string(100, 'v')));
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(store_.put("key" + std::to_string(i), std::string(100, 'w')));
  for (int i = 90; i < 100; ++i)
    ASSERT_TRUE(store_.erase("key" + std::to_string(i)).value());
  const auto snapshot = store_.snapshot();
  const auto stats = store_.stats();
  EXPECT_EQ(stats.records, 90u);
  EXPECT_EQ(stats.live_bytes,
            90u * 192);  // 32 of header, 4 or 5 of key, 100 of value, in lines of 64.
  EXPECT_EQ(stats.medium_bytes % (64 * KiB), 0u);
  EXPECT_GE(stats.used_bytes, stats.live_bytes);
  EXPECT_GE(stats.medium_bytes, stats.used_bytes);
  EXPECT_GT(stats.dram_index_bytes, 90u * 8);
  EXPECT_EQ(stats.sessions, 1u);
  EXPECT_EQ(stats.snapshots_open, 1u);
  EXPECT_EQ(stats.open_blocks >= 1, true);
  const std::string_view place = GetParam().name;
  if (place == "Line" || place == "Byte") {
    EXPECT_GE(stats.fences, 160u);
  } else {
    EXPECT_EQ(stats.fences, 0u) << "counted, not executed";
  }
  EXPECT_EQ(stats.lines_written_back != 0, place == "Line");
}

TEST_P(EveryVerb, CloseGivesAStatusAndEndsEveryVerbWithClosed) {
  ASSERT_TRUE(store_.put("k", "v"));
  EXPECT_TRUE(store_.close());
  EXPECT_TRUE(store_.close());  // Nothing left to do.
  std::string value;
  WriteBatch batch;
  batch.put("k", "v");
  EXPECT_EQ(store_.put("k", "v").code(), Errc::kClosed);
  EXPECT_EQ(store_.put_if_absent("k", "v").code(), Errc::kClosed);
  EXPECT_EQ(store_.compare_and_put("k", 0, "v").code(), Errc::kClosed);
  EXPECT_EQ(store_.get("k", value).code(), Errc::kClosed);
  EXPECT_EQ(store_.get("k", std::span<std::byte>{}).code(), Errc::kClosed);
  EXPECT_EQ(store_.get_pinned("k").code(), Errc::kClosed);
  EXPECT_EQ(store_.get_many({}, {}, {}).code(), Errc::kClosed);
  EXPECT_EQ(store_.put_many({}, {}).code(), Errc::kClosed);
  EXPECT_EQ(store_.update("k", [](std::string&) {}).code(), Errc::kClosed);
  EXPECT_EQ(store_.update_word("k", 0, [](std::uint64_t word) { return word; }).code(),
            Errc::kClosed);
  EXPECT_EQ(store_.erase("k").code(), Errc::kClosed);
  EXPECT_EQ(store_.write(batch).code(), Errc::kClosed);
  EXPECT_EQ(store_.sync().code(), Errc::kClosed);
  EXPECT_EQ(store_.reclaim().code(), Errc::kClosed);
}

// They return no Status: what they return is that of an empty store, and verify() says why.
TEST_P(EveryVerb, ClosedAndMovedFromStoresAnswerQuestionsAsEmptyOnes) {
  ASSERT_TRUE(store_.put("k", "v"));
  Store<> other = std::move(store_);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(store_.count(), 0u);
    EXPECT_EQ(store_.durable_up_to(), 0u);
    EXPECT_EQ(store_.stats().medium_bytes, 0u);
    EXPECT_EQ(store_.stats().records, 0u);
    EXPECT_EQ(store_.recovery().records, 0u);
    EXPECT_TRUE(store_.region_report().kind.empty());
    EXPECT_TRUE(store_.read_only());
    EXPECT_EQ(store_.durability(), Durability::kProcess);
    const VerifyReport report = store_.verify();
    EXPECT_FALSE(report.ok());
    ASSERT_EQ(report.defects.size(), 1u);
    EXPECT_NE(report.defects[0].what.find("kClosed"), std::string::npos) << report.defects[0].what;
    const Snapshot snapshot = store_.snapshot();
    std::string value;
    EXPECT_EQ(snapshot.get("k", value).code(), Errc::kClosed);
    EXPECT_EQ(snapshot.count(), 0u);
    EXPECT_EQ(snapshot.for_each([](auto...) { return true; }).code(), Errc::kClosed);
    // The first time it is one that was moved from, then one that was closed.
    std::swap(store_, other);
    ASSERT_TRUE(store_.close());
  }
}

TEST_P(EveryVerb, CloseIsRefusedWhileSnapshotsAreOpen) {
  ASSERT_TRUE(store_.put("k", "v"));
  {
    const Snapshot snapshot = store_.snapshot();
    const Status refused = store_.close();
    ASSERT_EQ(refused.code(), Errc::kBusy);
    EXPECT_TRUE(mentions(refused.error(), "1 snapshots")) << refused.error().detail;
    std::string value;
    EXPECT_TRUE(snapshot.get("k", value));
    EXPECT_TRUE(store_.put("k", "w"));
  }
  EXPECT_TRUE(store_.close());
}

TEST_P(EveryVerb, AReservedIndexDoesNotGrowAndWhatWasThereStays) {
  Contents expected;
  const auto put_all = [&](int first, int end) {
    for (int i = first; i < end; ++i) {
      const std::string key = "key" + std::to_string(i);
      expected[key] = std::to_string(i);
      ASSERT_TRUE(store_.put(key, expected[key]));
    }
  };
  put_all(0, 2'000);
  ASSERT_TRUE(store_.reserve(20'000));
  const auto rebuilt = store_.stats().index_rehashes;
  put_all(2'000, 20'000);
  EXPECT_EQ(store_.stats().index_rehashes, rebuilt);
  expect_contents(store_, expected);
  const auto refused = store_.reserve(std::uint64_t{1} << 60);
  EXPECT_EQ(refused.code(), Errc::kNoSpace);
  EXPECT_TRUE(mentions(refused.error(), "1152921504606846976")) << refused.error().detail;
}

}  // namespace
}  // namespace holdfast::kv
