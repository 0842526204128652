// Pipelines: what each operation answers, in which order, and what becomes of those in flight when
// something happens to the store.
#include <cstring>
#include <map>
#include <optional>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/typed_store.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class PipelineTest : public OnEveryPlace {
 protected:
  Pipeline<> pipeline(std::uint32_t window = 8) {
    return Pipeline<>::open(store_, {.window = window}).value();
  }
  std::optional<Store<>> held_ = open(with_words({0, 8}));
  Store<>& store_ = *held_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, PipelineTest, kEveryPlace, place_name);

std::uint64_t plus_one(std::uint64_t word) { return word + 1; }

TEST_P(PipelineTest, EachVerbAnswersAsTheStoreDoes) {
  auto pipe = pipeline(16);
  std::string value, absent, word;
  std::byte buffer[2];
  const auto inserted = pipe.put("k", std::string(16, '\0'));
  const auto overwrote = pipe.put("k", std::string(24, '\0'));
  const auto incremented = pipe.update_word("k", 8, plus_one);
  const auto again = pipe.update_word("k", 8, plus_one);
  const auto appended = pipe.update("k", [](std::string& text) { text += "!"; });
  const auto got = pipe.get("k", value);
  const auto length = pipe.get("k", buffer);
  const auto missing = pipe.get("absent", absent);
  const auto not_updated = pipe.update("absent", [](std::string&) { ADD_FAILURE(); });
  const auto not_there = pipe.erase("absent");
  const auto erased = pipe.erase("k");
  const auto gone = pipe.get("k", word);
  EXPECT_EQ(pipe.in_flight(), 12u);
  EXPECT_EQ(pipe.wait(inserted).value(), PutOutcome::kInserted);
  EXPECT_EQ(pipe.in_flight(), 0u);
  EXPECT_EQ(pipe.wait(overwrote).value(), PutOutcome::kOverwrote);
  EXPECT_EQ(pipe.wait(incremented).value(), 0u);
  EXPECT_EQ(pipe.wait(again).value(), 1u);
  EXPECT_EQ(pipe.wait(got).value(), pipe.wait(appended).value()) << "the version that was written";
  EXPECT_EQ(value.size(), 25u);
  EXPECT_EQ(value[8], 2);
  EXPECT_EQ(pipe.wait(length).value(), 25u);
  EXPECT_EQ(pipe.wait(missing).code(), Errc::kNotFound);
  EXPECT_EQ(pipe.wait(not_updated).code(), Errc::kNotFound);
  EXPECT_FALSE(pipe.wait(not_there).value());
  EXPECT_TRUE(pipe.wait(erased).value());
  EXPECT_EQ(pipe.wait(gone).code(), Errc::kNotFound);
  EXPECT_TRUE(pipe.flush()) << "absence is no failure";
  expect_contents(store_, {});
}

// A group compared keys of any length by their first and last eight bytes: an erase of a key that is
// not there took another one with it.
TEST_P(PipelineTest, KeysThatDifferInTheirMiddleAloneAreTwo) {
  Store<> store = open(tiny(), "usual");  // Without words: hot paths take it.
  const KeyIndex& index = ForTests::rooms(store).index;
  std::map<std::pair<const void*, std::uint64_t>, std::string> seen;  // By home and tag.
  std::string one, other;
  for (std::uint64_t i = 0; i < 4'000'000 && other.empty(); ++i) {
    std::string key = "begins--" + std::string(8, '\0') + "----ends";
    std::memcpy(key.data() + 8, &i, sizeof i);
    const auto place = index.place(index.hash(ForTests::bytes(key)));
    const auto [at, is_new] = seen.try_emplace({place.home, place.tag}, key);
    if (!is_new) one = at->second, other = key;
  }
  ASSERT_FALSE(other.empty());
  const std::string value(40, 'v');
  store.put(one, value).value();
  auto pipe = Pipeline<>::open(store, {.window = 8}).value();
  const auto erased = pipe.erase(other);
  EXPECT_FALSE(pipe.wait(erased).value());
  std::string text;
  EXPECT_TRUE(store.get(one, text));
  const auto put = pipe.put(other, "2");
  EXPECT_EQ(pipe.wait(put).value(), PutOutcome::kInserted);
  const std::string_view keys[] = {other}, values[] = {"3"};
  EXPECT_TRUE(store.put_many(keys, values));
  EXPECT_TRUE(store.get(one, text));
  EXPECT_EQ(text, value);
  EXPECT_EQ(store.count(), 2u);
}

TEST_P(PipelineTest, TheStoreSeesNothingThatIsInFlight) {
  auto pipe = pipeline(4);
  pipe.put("a", "1");
  EXPECT_EQ(get(store_, "a"), "<kNotFound>");
  for (const char* key : {"b", "c", "d"})
    pipe.put(key, "1");
  EXPECT_EQ(get(store_, "a"), "<kNotFound>") << "four are in flight";
  pipe.put("e", "1");  // The fifth executes those before it.
  EXPECT_EQ(get(store_, "d"), "1");
  EXPECT_EQ(get(store_, "e"), "<kNotFound>");
  pipe.flush().value();
  EXPECT_EQ(get(store_, "e"), "1");
}

// Words in place, words by new records, texts, puts and erases of the same few keys.
TEST_P(PipelineTest, OperationsOfOneKeyTakeEffectInOrder) {
  store_.put("k", std::string(16, '\0')).value();
  seal_blocks(store_);  // Its words can change in place.
  auto pipe = pipeline(64);
  std::vector<std::uint64_t> seen;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i)
      pipe.update_word("k", 0, plus_one,
                       [&](Result<std::uint64_t> before) { seen.push_back(before.value()); });
    pipe.update("k", [](std::string& text) { text[0] = static_cast<char>(text[0] * 2); });
    pipe.update_word("k", 0, plus_one,
                     [&](Result<std::uint64_t> before) { seen.push_back(before.value()); });
  }
  pipe.flush().value();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 32, 33, 34, 35,
                                              36, 37, 76}));
}

TEST_P(PipelineTest, CallbacksComeInOrderOnceEach) {
  auto pipe = pipeline(4);
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) {
    const std::size_t acknowledged = order.size();
    pipe.put("key" + std::to_string(i), "v", [&order, i](Result<PutOutcome> put) {
      EXPECT_EQ(put.value(), PutOutcome::kInserted);
      order.push_back(i);
    });
    EXPECT_LE(pipe.in_flight(), 4u);
    EXPECT_TRUE(order.size() == acknowledged || order.size() == acknowledged + 4);
  }
  pipe.flush().value();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_P(PipelineTest, ACallbackMaySubmitAndCallTheStoreButNotFlush) {
  auto pipe = pipeline(2);
  int chained = 0;
  std::function<void(Result<PutOutcome>)> next = [&](Result<PutOutcome>) {
    EXPECT_EQ(pipe.flush().code(), Errc::kBusy);
    EXPECT_EQ(get(store_, "first"), "1");
    if (++chained == 20) return;
    const auto mine = pipe.put("second", "2");
    EXPECT_EQ(pipe.wait(mine).code(), Errc::kBusy);
    // More than the window, and more than it copies into one buffer.
    pipe.put("chain" + std::to_string(chained), std::string(50'000, 'c'), next);
  };
  pipe.put("first", "1", next);
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(pipe.flush());
  EXPECT_EQ(chained, 20);
  EXPECT_EQ(get(store_, "chain19"), std::string(50'000, 'c'));
}

TEST_P(PipelineTest, AnErrorReachesItsOwnTicketAndTheOthersGoOn) {
  auto pipe = pipeline(16);
  const auto good = pipe.put("good", std::string(8, 'g'));
  const auto long_key = pipe.put(std::string(kMaxKeyBytes + 1, 'k'), "v");
  const auto wrong_word = pipe.update_word("good", 4, plus_one);
  const auto behind = pipe.update_word("good", 8, plus_one);
  const auto last = pipe.put("last", "l");
  const Status flushed = pipe.flush();
  ASSERT_EQ(flushed.code(), Errc::kTooLarge);
  EXPECT_TRUE(mentions(flushed.error(), "operation 2: key of 65537 bytes"));
  EXPECT_TRUE(mentions(flushed.error(), "2 more failed")) << flushed.error().message();
  EXPECT_TRUE(pipe.flush()) << "told once";
  EXPECT_EQ(pipe.wait(good).value(), PutOutcome::kInserted);
  EXPECT_EQ(pipe.wait(long_key).code(), Errc::kTooLarge);
  EXPECT_EQ(pipe.wait(wrong_word).code(), Errc::kInvalidOption);
  EXPECT_EQ(pipe.wait(behind).code(), Errc::kInvalidOption);
  EXPECT_EQ(pipe.wait(last).value(), PutOutcome::kInserted);
  EXPECT_EQ(get(store_, "good"), std::string(8, 'g'));
}

TEST_P(PipelineTest, WhatWaitToldFlushDoesNotRepeat) {
  auto pipe = pipeline();
  EXPECT_FALSE(pipe.wait(pipe.erase(std::string(kMaxKeyBytes + 1, 'k'))).value());
  const auto too_long = pipe.put(std::string(kMaxKeyBytes + 1, 'k'), "v");
  EXPECT_EQ(pipe.wait(too_long).code(), Errc::kTooLarge);
  EXPECT_TRUE(pipe.flush());
}

TEST_P(PipelineTest, TheLastOutcomesAreKept) {
  auto pipe = pipeline(4);
  for (std::uint64_t ticket = 1; ticket <= 100; ++ticket) {
    pipe.put("a", "1");
    if (ticket % 7 == 0) pipe.flush().value();
    const std::uint64_t acknowledged = ticket - pipe.in_flight();
    for (std::uint64_t kept = std::max<std::uint64_t>(4, acknowledged) - 3; kept <= acknowledged;
         ++kept)
      ASSERT_TRUE(pipe.wait(Ticket<PutOutcome>{kept})) << kept << " at " << ticket;
  }
  const auto late = pipe.wait(Ticket<PutOutcome>{3});
  EXPECT_EQ(late.code(), Errc::kInvalidOption);
  EXPECT_TRUE(mentions(late.error(), "ticket=3; outcomes of ")) << late.error().message();
  EXPECT_EQ(pipe.wait(Ticket<bool>{999}).code(), Errc::kInvalidOption);
  EXPECT_EQ(pipe.wait(Ticket<bool>{0}).code(), Errc::kInvalidOption);
}

TEST_P(PipelineTest, OptionsAreChecked) {
  for (const std::uint32_t window : {0u, 257u}) {
    const auto refused = Pipeline<>::open(store_, {.window = window});
    ASSERT_EQ(refused.code(), Errc::kInvalidOption);
    EXPECT_TRUE(mentions(refused.error(), "window=" + std::to_string(window)));
  }
  const auto durability = static_cast<Durability>(3);
  EXPECT_EQ(Pipeline<>::open(store_, {.durability = durability}).code(), Errc::kInvalidOption);
  ASSERT_TRUE(store_.close());
  EXPECT_EQ(Pipeline<>::open(store_).code(), Errc::kClosed);
}

TEST_P(PipelineTest, ItsEndExecutesWhatIsInFlightAndReports) {
  std::vector<Error> reported;
  const auto open = [&] {
    return Pipeline<>::open(store_, {.report = [&](const Error& e) { reported.push_back(e); }})
        .value();
  };
  {
    auto pipe = open();
    pipe.put("a", "1");
    auto moved = std::move(pipe);
    moved.put("b", "2");
    EXPECT_EQ(pipe.wait(pipe.put("c", "3")).code(), Errc::kClosed);
    EXPECT_EQ(pipe.flush().code(), Errc::kClosed);
  }
  EXPECT_TRUE(reported.empty());
  expect_contents(store_, {{"a", "1"}, {"b", "2"}});
  {
    auto pipe = open();
    pipe.update_word("a", 4, plus_one);
    pipe.put("never", "1", [&](Result<PutOutcome>) { pipe.put("from a callback", "2"); });
  }
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_TRUE(mentions(reported[0], "operation 1: offset_bytes=4")) << reported[0].message();
  EXPECT_TRUE(mentions(reported[0], "1 more failed")) << reported[0].message();
  EXPECT_EQ(get(store_, "from a callback"), "<kNotFound>");
}

TEST_P(PipelineTest, AClosedStoreTakesNothingThatWasInFlight) {
  std::vector<Errc> called;
  std::vector<Error> reported;
  {
    auto pipe = Pipeline<>::open(store_, {.report = [&](const Error& e) { reported.push_back(e); }})
                    .value();
    pipe.put("before", "1");
    pipe.flush().value();
    const auto ticket = pipe.put("in flight", "2");
    pipe.put("also", "3", [&](Result<PutOutcome> put) { called.push_back(put.code()); });
    Store<> moved = std::move(store_);
    pipe.flush().value();  // A store that moves is the same store.
    EXPECT_EQ(get(moved, "in flight"), "2");
    pipe.put("in flight", "4");
    pipe.erase("also", [&](Result<bool> erased) { called.push_back(erased.code()); });
    {
      const Snapshot snapshot = moved.snapshot();
      EXPECT_EQ(moved.close().code(), Errc::kBusy);
    }
    EXPECT_EQ(pipe.in_flight(), 2u);
    ASSERT_TRUE(moved.close());
    EXPECT_EQ(pipe.flush().code(), Errc::kClosed);
    EXPECT_EQ(pipe.wait(pipe.put("x", "y")).code(), Errc::kClosed);
    pipe.put("nobody asks", "y");
    (void)ticket;
  }
  EXPECT_EQ(called, (std::vector<Errc>{Errc::kOk, Errc::kClosed}));
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].code, Errc::kClosed);
  if (loses_all_with_the_power()) return;
  held_ = open(with_words({0, 8}));
  expect_contents(*held_, {{"before", "1"}, {"in flight", "2"}, {"also", "3"}});
}

// What is in flight has not happened yet: it is behind the snapshot, the batch and the verbs.
TEST_P(PipelineTest, WhatIsInFlightComesAfterWhatHappensMeanwhile) {
  store_.put("k", "old").value();
  auto pipe = pipeline();
  const auto put = pipe.put("k", "new");
  const auto erased = pipe.erase("b");
  const Snapshot snapshot = store_.snapshot();
  WriteBatch batch;
  batch.put("k", "batch");
  batch.put("b", "batch");
  store_.write(batch).value();
  pipe.flush().value();
  EXPECT_EQ(pipe.wait(put).value(), PutOutcome::kOverwrote);
  EXPECT_TRUE(pipe.wait(erased).value());
  EXPECT_EQ(get(store_, "k"), "new");
  EXPECT_EQ(get(store_, "b"), "<kNotFound>");
  EXPECT_EQ(contents_of(snapshot), (Contents{{"k", "old"}}));
}

TEST_P(PipelineTest, AReadOnlyStoreReadsAndRefusesToWrite) {
  store_.put("k", "v").value();
  ASSERT_TRUE(store_.close());
  if (loses_all_with_the_power()) return;
  held_ = open(with_access(RegionAccess::kOpenReadOnly));
  auto pipe = Pipeline<>::open(*held_).value();
  std::string value;
  const auto got = pipe.get("k", value);
  const auto put = pipe.put("k", "w");
  const auto erased = pipe.erase("k");
  const auto updated = pipe.update("k", [](std::string&) { ADD_FAILURE(); });
  EXPECT_TRUE(pipe.wait(got));
  EXPECT_EQ(value, "v");
  EXPECT_EQ(pipe.wait(put).code(), Errc::kReadOnly);
  EXPECT_EQ(pipe.wait(erased).code(), Errc::kReadOnly);
  EXPECT_EQ(pipe.wait(updated).code(), Errc::kReadOnly);
}

TEST_P(PipelineTest, ValuesOfEverySizeAreTakenAsTheyWereGiven) {
  auto pipe = pipeline();
  Contents expected;
  for (const std::size_t bytes : {0, 1, 8, 5'000, 30'000, 60'000, 65'536, 65'537, 300'000}) {
    std::string key = "key" + std::to_string(bytes), value = text_of(bytes, bytes);
    expected[key] = value;
    pipe.put(key, value);
    key.assign(key.size(), 'x');
    value.assign(value.size(), 'x');
  }
  pipe.flush().value();
  expect_contents(store_, expected);
}

TEST_P(PipelineTest, OfATypedStore) {
  struct Account {
    std::uint64_t balance, turns;
  };
  auto accounts = Store<std::uint64_t, Account>::open(spec("accounts"), with_words({0})).value();
  auto pipe = Pipeline<std::uint64_t, Account>::open(accounts).value();
  Account seen{};
  pipe.put(17, {100, 0});
  const auto before = pipe.update_word(17, 0, plus_one);
  pipe.update(17, [](Account& account) { ++account.turns; });
  int called = 0;
  pipe.get(17, seen, [&](Result<Version> got) { called += got.has_value(); });
  pipe.erase(18, [&](Result<bool> was_there) { called += !was_there.value(); });
  EXPECT_EQ(pipe.wait(before).value(), 100u);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(seen.balance, 101u);
  EXPECT_EQ(seen.turns, 1u);
}

// 80 of 123 blocks live; ten times as much is written, through windows.
TEST_P(PipelineTest, AFullMediumMakesRoomForWindows) {
  StoreOptions options = tiny();
  options.max_bytes = 1 * MiB;
  auto store = open(options, "full");
  auto pipe = Pipeline<>::open(store, {.window = 32}).value();
  Contents expected;
  Random random(7);
  for (std::uint64_t i = 0; i < 16'000; ++i) {
    const std::string key = "key" + std::to_string(i < 1'600 ? i : random.below(1'600));
    pipe.put(key, expected[key] = text_of(i, 320));
    if (i % 64 == 63) {
      ASSERT_TRUE(pipe.flush()) << i;
    }
  }
  pipe.flush().value();
  expect_contents(store, expected);
  // What lives does not fit: each that finds no room says so, and only these.
  std::uint64_t refused = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::string key = "more" + std::to_string(i), value = text_of(i, 1'000);
    pipe.put(key, value, [&, key, value](Result<PutOutcome> put) {
      refused += put.code() == Errc::kNoSpace;
      if (put) expected[key] = value;
    });
    std::string read;
    if (i % 10 == 0)
      pipe.get("key" + std::to_string(i), read, [](Result<Version> got) { EXPECT_TRUE(got); });
    if (i % 10 == 0) pipe.flush().value();
  }
  const std::string erased = expected.begin()->first;
  pipe.erase(erased, [](Result<bool> was_there) { EXPECT_TRUE(was_there.value()); });
  pipe.flush().value();
  expected.erase(erased);
  EXPECT_GT(refused, 100u);
  EXPECT_LT(refused, 1'000u);
  expect_contents(store, expected);
  ForTests::abandon(store);
  if (loses_all_with_the_power()) return;
  store = open(with_access(RegionAccess::kOpen, options), "full");
  expect_contents(store, expected);
}

// ---- Cost ----

TEST(PipelineFences, OnePerWindowOfPutsErasesAndUpdates) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options = with_words({0});
  options.block_bytes = 256 * KiB;
  options.segment_bytes = options.initial_bytes = 32 * MiB;
  Store<> store = Store<>::open(scratch.path("store") + "?granularity=line", options).value();
  constexpr std::uint64_t kOperations = 640, kWindow = 32;
  const auto fences_of = [&](auto&& submit) {
    auto pipe = Pipeline<>::open(store, {.window = kWindow}).value();
    const std::uint64_t before = persist_counts().fences;
    for (std::uint64_t i = 0; i < kOperations; ++i)
      submit(pipe, "key" + std::to_string(i));
    pipe.flush().value();
    return persist_counts().fences - before;
  };
  std::string value;
  const std::uint64_t puts =
      fences_of([](auto& pipe, const std::string& key) { pipe.put(key, std::string(100, 'p')); });
  EXPECT_GE(puts, kOperations / kWindow);
  EXPECT_LE(puts, kOperations / kWindow + 4) << "a run that is sealed, a limit that is raised";
  for (int i = 0; i < 2; ++i)  // The records are in sealed runs.
    store.put("seal", std::string(options.block_bytes * 3 / 4, 's')).value();
  EXPECT_EQ(
      fences_of([](auto& pipe, const std::string& key) { pipe.update_word(key, 0, plus_one); }),
      kOperations / 16);
  EXPECT_EQ(fences_of([&](auto& pipe, const std::string& key) { pipe.get(key, value); }), 0u);
  EXPECT_EQ(fences_of([](auto& pipe, const std::string& key) { pipe.erase(key + "absent"); }), 0u);
  const std::uint64_t mixed = fences_of([&](auto& pipe, const std::string& key) {
    pipe.get(key, value);
    pipe.put(key, "2");
    pipe.get(key, value);
    pipe.erase(key);
  });
  EXPECT_GE(mixed, 4 * kOperations / kWindow);
  EXPECT_LE(mixed, 4 * kOperations / kWindow + 4);
}

TEST(PipelineFences, OneSyncPerWindowOnAPlainFile) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options = tiny();
  options.block_bytes = 64 * KiB;
  options.segment_bytes = options.initial_bytes = 1 * MiB;
  Store<> store = Store<>::open(scratch.path("store") + "?granularity=page", options).value();
  auto pipe = Pipeline<>::open(store, {.window = 32, .durability = Durability::kPower}).value();
  const std::uint64_t before = store.stats().syncs;
  Version newest = 0;
  for (int i = 0; i < 320; ++i) {
    const std::string key = "key" + std::to_string(i);
    pipe.put(key, "v");
  }
  pipe.flush().value();
  EXPECT_EQ(store.stats().syncs - before, 10u);
  std::string value;
  newest = store.get("key319", value).value();
  EXPECT_GE(store.durable_up_to(), newest);
}

}  // namespace
}  // namespace holdfast::kv
