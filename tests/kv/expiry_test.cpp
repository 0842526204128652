// Expiry: what has expired is absent to every verb, and its medium comes back.
#include <bit>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/typed_store.hpp>

#include "for_tests.hpp"
#include "kept_checkpoints.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

bool has(Store<>& store, const std::string& key) {
  std::string value;
  const auto found = store.get(key, value);
  EXPECT_TRUE(found || found.code() == Errc::kNotFound) << key;
  return found.has_value();
}

class Expiry : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, Expiry, kEveryPlace, place_name);

std::string stamped(std::uint64_t stamp, std::string rest = "") {
  std::string value(sizeof stamp, '\0');
  std::memcpy(value.data(), &stamp, sizeof stamp);
  return value + rest;
}

ExpiryRule after(std::uint64_t ttl, std::string prefix = "") {
  return {.prefix = std::move(prefix), .ttl = ttl};
}

TEST_P(Expiry, WhatHasExpiredIsAbsentToEveryVerb) {
  StoreOptions options = with_words({0});
  options.order = true;
  auto store = open(options);
  ASSERT_TRUE(store.expire(after(10, "t")));
  for (const char* key : {"t1", "t2", "t3", "t4", "t5", "t6"})
    ASSERT_TRUE(store.put(key, stamped(100, key)));
  ASSERT_TRUE(store.put("other", stamped(100)));
  ASSERT_TRUE(store.put("t7", stamped(101)));
  ASSERT_TRUE(store.set_clock(109));
  EXPECT_EQ(get(store, "t1"), stamped(100, "t1")) << "one before the end";
  ASSERT_TRUE(store.set_clock(110));

  std::string value;
  std::byte buffer[64];
  EXPECT_EQ(store.get("t1", value).code(), Errc::kNotFound);
  EXPECT_EQ(store.get("t1", std::span(buffer)).code(), Errc::kNotFound);
  EXPECT_EQ(store.get_pinned("t1").code(), Errc::kNotFound);
  const std::string_view keys[] = {"t1", "other", "t7"};
  std::string values[3];
  Errc outcomes[3];
  ASSERT_TRUE(store.get_many(keys, values, outcomes));
  EXPECT_EQ(outcomes[0], Errc::kNotFound);
  EXPECT_EQ(outcomes[1], Errc::kOk);
  EXPECT_EQ(outcomes[2], Errc::kOk);
  auto cursor = store.cursor().value();
  ASSERT_TRUE(cursor.first());
  EXPECT_EQ(cursor.key(), "other");
  ASSERT_TRUE(cursor.next());
  EXPECT_EQ(cursor.key(), "t7");
  EXPECT_FALSE(cursor.next());
  EXPECT_EQ(store.count_prefix("t").value(), 1u);
  EXPECT_EQ(store.snapshot().count(), 2u);

  EXPECT_EQ(store.update("t1", [](std::string&) { FAIL(); }).code(), Errc::kNotFound);
  EXPECT_EQ(store.update_word("t1", 0, [](std::uint64_t) { return 0; }).code(), Errc::kNotFound);
  EXPECT_EQ(store.compare_and_put("t1", 1, "x").code(), Errc::kVersionMismatch);
  EXPECT_FALSE(store.erase("t2").value());
  const std::string_view erased[] = {"t3", "t7"};
  Errc erase_outcomes[2];
  ASSERT_TRUE(store.erase_many(erased, erase_outcomes));
  EXPECT_EQ(erase_outcomes[0], Errc::kNotFound);
  EXPECT_EQ(erase_outcomes[1], Errc::kOk);
  const auto put = store.put("t4", stamped(105));
  EXPECT_TRUE(put.value() == PutOutcome::kInserted || put.value() == PutOutcome::kWritten);
  EXPECT_TRUE(store.put_if_absent("t5", stamped(106)));
  EXPECT_TRUE(store.compare_and_put("t6", 0, stamped(107)));
  EXPECT_EQ(get(store, "t4"), stamped(105));
  EXPECT_EQ(get(store, "t5"), stamped(106));
  EXPECT_EQ(get(store, "t6"), stamped(107));
  EXPECT_EQ(store.put("t4", stamped(120)).value(), PutOutcome::kOverwrote);
  // Renewed in place.
  ASSERT_TRUE(store.update_word("t5", 0, [](std::uint64_t) { return 200; }));
  ASSERT_TRUE(store.set_clock(125));
  EXPECT_EQ(get(store, "t5"), stamped(200));
  EXPECT_FALSE(has(store, "t6"));
  EXPECT_TRUE(store.verify().ok());
}

TEST_P(Expiry, NothingComesBackAtAnOpen) {
  {
    auto store = open();
    ASSERT_TRUE(store.expire(after(10)));
    ASSERT_TRUE(store.put("a", stamped(50)));
    ASSERT_TRUE(store.put("a", stamped(5)));
    ASSERT_TRUE(store.put("b", stamped(50)));
    ASSERT_TRUE(store.set_clock(20));
    EXPECT_FALSE(has(store, "a"));
    ForTests::abandon(store);
  }
  for (const RegionAccess access : {RegionAccess::kOpenReadOnly, RegionAccess::kOpen}) {
    auto store = open(with_access(access));
    EXPECT_EQ(store.clock(), 20u);
    EXPECT_EQ(store.expiry_rules(), std::vector{after(10)});
    EXPECT_FALSE(has(store, "a"));
    EXPECT_EQ(get(store, "b"), stamped(50));
    EXPECT_EQ(store.set_clock(30).has_value(), access == RegionAccess::kOpen);
    ASSERT_TRUE(store.close());
  }
}

// A run that a resting thread has open is older than all of it. The first look at it did not count
// as rest, and there was no second one: all puts were refused until the clock moved.
TEST_P(Expiry, WhatHasExpiredMakesRoomBesideAThreadThatRests) {
  for (const bool reclaims : {false, true}) {
    StoreOptions options = tiny();
    options.max_bytes = 256 * KiB;
    options.reclaim.background = false;
    auto store = open(options, reclaims ? "reclaims" : "puts");
    ASSERT_TRUE(store.expire(after(10, "t")));
    std::promise<void> written, ended;
    std::thread resting([&] {
      EXPECT_TRUE(store.put("rests", std::string(5'000, 'x')));  // More than half of its run.
      written.set_value();
      ended.get_future().wait();
    });
    written.get_future().wait();
    const auto put = [&](int i) {
      return store.put("t" + std::to_string(i), stamped(100, std::string(1'000, 'x')));
    };
    int records = 0;
    while (records < 1'000 && put(records))
      ++records;
    EXPECT_LT(records, 1'000);
    ASSERT_TRUE(store.set_clock(110));
    if (reclaims) {
      EXPECT_TRUE(store.reclaim());
      EXPECT_EQ(store.stats().expired_records, static_cast<std::uint64_t>(records));
    }
    int fit = 0;
    while (fit < records && store.put("n" + std::to_string(fit), std::string(1'008, 'x')))
      ++fit;
    EXPECT_GE(fit, records - 10);
    ended.set_value();
    resting.join();
  }
}

TEST_P(Expiry, ReclamationGetsItsMediumBackAndCopiesNothing) {
  StoreOptions options = tiny();
  options.order = true;
  auto store = open(options);
  ASSERT_TRUE(store.expire(after(10)));
  constexpr int kRecords = 4000, kLiving = 100;
  const auto key_of = [](int i) { return "key" + std::to_string(i); };
  for (int i = 0; i < kRecords; ++i)
    ASSERT_TRUE(
        store.put(key_of(i), stamped(i < kRecords - kLiving ? 100 : 1000, std::string(200, 'x'))));
  const StoreStats before = store.stats();
  ASSERT_TRUE(store.set_clock(110));
  ASSERT_TRUE(ForTests::seal(store));
  ASSERT_TRUE(store.reclaim());
  const StoreStats after = store.stats();
  EXPECT_EQ(store.count(), std::uint64_t{kLiving});
  EXPECT_EQ(after.expired_records, std::uint64_t{kRecords - kLiving});
  EXPECT_LT(after.live_bytes, before.live_bytes / 10);
  EXPECT_LT(after.used_bytes, before.used_bytes / 4);
  EXPECT_LT(after.relocated_bytes, kLiving * 600u) << "expired records were copied";
  EXPECT_TRUE(store.verify().ok());
  const KeyOrder& order = *ForTests::rooms(store).index.order();
  EXPECT_EQ(order.keys().count(), std::uint64_t{kLiving});
  ASSERT_TRUE(store.close());
  auto again = open(with_access(RegionAccess::kOpen));
  EXPECT_EQ(again.count(), std::uint64_t{kLiving});
  for (int i = 0; i < kRecords; ++i)
    EXPECT_EQ(has(again, key_of(i)), i >= kRecords - kLiving) << i;
}

TEST_P(Expiry, TheBackgroundReclaimsWhatExpires) {
  StoreOptions options = tiny();
  options.background = true;
  auto store = open(options);
  ASSERT_TRUE(store.expire(after(10)));
  std::uint64_t clock = 1;
  // Ten times what lives at a time; nothing is overwritten or erased.
  for (int i = 0; i < 40'000; ++i) {
    ASSERT_TRUE(store.put("key" + std::to_string(i), stamped(clock, std::string(200, 'x'))));
    if (i % 400 == 0) {
      ASSERT_TRUE(store.set_clock(++clock));
    }
  }
  ASSERT_TRUE(store.reclaim());
  const StoreStats stats = store.stats();
  EXPECT_GT(stats.expired_records, 20'000u);
  EXPECT_LT(stats.records, 10'000u);
}

TEST_P(Expiry, ASnapshotKeepsItsClock) {
  auto store = open();
  ASSERT_TRUE(store.expire(after(10)));
  ASSERT_TRUE(store.put("a", stamped(100)));
  ASSERT_TRUE(store.set_clock(105));
  Snapshot early = store.snapshot();
  ASSERT_TRUE(store.set_clock(110));
  std::string value;
  EXPECT_TRUE(early.get("a", value));
  EXPECT_EQ(early.count(), 1u);
  EXPECT_EQ(store.snapshot().get("a", value).code(), Errc::kNotFound);
  ASSERT_TRUE(ForTests::seal(store));
  ASSERT_TRUE(store.reclaim());
  EXPECT_TRUE(early.get("a", value)) << "reclamation keeps what an open snapshot sees";
  EXPECT_EQ(value, stamped(100));
  early = Snapshot();
  ASSERT_TRUE(ForTests::seal_relocated(store));
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(store.count(), 0u);
}

// A rule that comes later would take records from it.
TEST_P(Expiry, ASnapshotKeepsItsRules) {
  auto options = tiny();
  options.order = true;
  auto store = open(options);
  ASSERT_TRUE(store.set_clock(105));
  ASSERT_TRUE(store.put("a", stamped(100)));
  Snapshot early = store.snapshot();
  ASSERT_TRUE(store.expire(after(10)));
  ASSERT_TRUE(store.expire({.prefix = "a", .offset_bytes = 0, .ttl = 5}));
  std::string value;
  EXPECT_EQ(store.get("a", value).code(), Errc::kNotFound);
  EXPECT_EQ(store.snapshot().count(), 0u);
  EXPECT_TRUE(early.get("a", value));
  EXPECT_EQ(early.count(), 1u);
  auto cursor = early.cursor().value();
  EXPECT_TRUE(cursor.first("a")) << "an ordered walk, too";
  ASSERT_TRUE(store.put("a", stamped(200)));
  ASSERT_TRUE(ForTests::seal(store));
  ASSERT_TRUE(store.reclaim());
  EXPECT_TRUE(early.get("a", value));
  EXPECT_EQ(value, stamped(100));
}

// A writer may have drawn its sequence before the record that expires. When that has left the index
// but not the medium, the writer has to be newer: after a crash the two are compared.
TEST_P(Expiry, APutWithAnOlderSequenceBehindASweep) {
  auto store = open();
  ASSERT_TRUE(store.expire(after(10)));
  ASSERT_TRUE(store.put("this thread", stamped(1000)));  // Draws a chunk of sequences.
  ASSERT_TRUE(ForTests::seal(store));
  std::optional<Pinned> pin;
  std::thread([&] {
    ASSERT_TRUE(store.put("neighbour", stamped(1000)));
    ASSERT_TRUE(store.put("key", stamped(5)));
    ASSERT_TRUE(ForTests::seal(store));
    pin = store.get_pinned("neighbour").value();
  }).join();
  ASSERT_TRUE(store.set_clock(15));
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(store.stats().expired_records, 1u);
  ASSERT_TRUE(store.put("key", stamped(1000)));
  pin.reset();
  ForTests::abandon(store);
  store = open(with_access(RegionAccess::kOpen));
  EXPECT_EQ(get(store, "key"), stamped(1000));
}

TEST_P(Expiry, ACheckpointHasItsRulesAndItsClock) {
  auto store = open();
  ASSERT_TRUE(store.expire(after(10, "t")));
  ASSERT_TRUE(store.put("t1", stamped(5)));
  ASSERT_TRUE(store.put("t2", stamped(50)));
  ASSERT_TRUE(store.put("u", stamped(5)));
  ASSERT_TRUE(store.set_clock(15));
  Kept kept;
  kept.take(store.checkpoint().value());
  ASSERT_TRUE(store.set_clock(60));
  EXPECT_FALSE(has(store, "t2"));

  ASSERT_TRUE(kept.restore_to(spec("copy")));
  auto copy = Store<>::open(spec("copy"), with_access(RegionAccess::kOpen)).value();
  EXPECT_EQ(copy.clock(), 15u);
  EXPECT_FALSE(has(copy, "t1"));
  EXPECT_TRUE(has(copy, "t2"));
  EXPECT_TRUE(has(copy, "u"));
  ASSERT_TRUE(copy.set_clock(60));
  EXPECT_FALSE(has(copy, "t2"));

  auto other = Store<>::open(spec("other"), tiny()).value();
  const auto read = kept.reader();
  EXPECT_EQ(import_checkpoint(other, kept.private_part, read, {}).value(), 2u);
  EXPECT_FALSE(has(other, "t1"));
  EXPECT_TRUE(has(other, "t2"));
}

TEST_P(Expiry, RulesOfKeyspaces) {
  {
    auto store = open();
    Space timed = store.create_space("timed").value(), plain = store.create_space("plain").value();
    ASSERT_TRUE(store.expire(timed, after(10)));
    ASSERT_TRUE(timed.put("a", stamped(5)));
    ASSERT_TRUE(plain.put("a", stamped(5)));
    ASSERT_TRUE(store.put("a", stamped(5)));
    ASSERT_TRUE(store.set_clock(15));
    EXPECT_TRUE(store.expiry_rules().empty());
    EXPECT_EQ(store.expiry_rules(timed).value(), std::vector{after(10)});
  }
  auto store = open(with_access(RegionAccess::kOpen));
  Space timed = store.space("timed").value(), plain = store.space("plain").value();
  std::string value;
  EXPECT_EQ(timed.get("a", value).code(), Errc::kNotFound);
  EXPECT_EQ(timed.update("a", [](std::string&) { FAIL(); }).code(), Errc::kNotFound);
  EXPECT_FALSE(timed.erase("a").value());
  EXPECT_TRUE(timed.put_if_absent("a", stamped(50)));
  EXPECT_TRUE(plain.get("a", value));
  EXPECT_TRUE(store.get("a", value));
  std::uint64_t seen = 0;
  ASSERT_TRUE(timed.put("b", stamped(5)));
  ASSERT_TRUE(timed.for_each([&](std::string_view, std::string_view, Version) { return ++seen; }));
  EXPECT_EQ(seen, 1u);
  ASSERT_TRUE(store.close());  // Seals all runs.
  store = open(with_access(RegionAccess::kOpen));
  timed = store.space("timed").value();
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(timed.count(), 1u);
  ASSERT_TRUE(store.drop_space("timed"));
  EXPECT_EQ(store.expire(timed, after(10)).code(), Errc::kClosed);
}

TEST_P(Expiry, StampsOfAllForms) {
  auto store = open();
  ASSERT_TRUE(store.expire({.prefix = "big", .order = std::endian::big, .ttl = 1}));
  ASSERT_TRUE(store.expire({.prefix = "four", .offset_bytes = 3, .width_bytes = 4, .ttl = 1}));
  ASSERT_TRUE(store.expire({.prefix = "four-big",
                            .offset_bytes = 1,
                            .width_bytes = 4,
                            .order = std::endian::big,
                            .ttl = 1}));
  ASSERT_TRUE(store.expire({.prefix = "end"}));
  const std::string big("\0\0\0\0\0\0\1\2", 8), four("abc\2\1\0\0", 7), four_big("a\0\0\1\2", 5);
  ASSERT_TRUE(store.put("big", big));
  ASSERT_TRUE(store.put("four", four));
  ASSERT_TRUE(store.put("four-big", four_big)) << "the longest prefix counts";
  ASSERT_TRUE(store.put("end", stamped(0x103)));
  ASSERT_TRUE(store.put("end of all", stamped(~std::uint64_t{0})));
  ASSERT_TRUE(store.put("four short", std::string(6, 'x'))) << "too short for a stamp";
  ASSERT_TRUE(store.set_clock(0x102));
  for (const char* key : {"big", "four", "four-big", "end", "end of all", "four short"})
    EXPECT_TRUE(has(store, key)) << key;
  ASSERT_TRUE(store.set_clock(0x103));
  for (const char* key : {"big", "four", "four-big", "end"})
    EXPECT_FALSE(has(store, key)) << key;
  ASSERT_TRUE(store.set_clock((std::uint64_t{1} << 63) + 5));
  EXPECT_TRUE(has(store, "end of all"));
  EXPECT_TRUE(has(store, "four short"));
}

// A rule of a longer prefix takes keys away from the rule that they had.
TEST_P(Expiry, ARuleOfALongerPrefixBringsNothingBack) {
  auto store = open();
  ASSERT_TRUE(store.expire(after(10, "")));
  ASSERT_TRUE(store.put("a", stamped(0)));
  ASSERT_TRUE(store.expire(after(1000, "before the clock")));
  ASSERT_TRUE(store.set_clock(100));
  EXPECT_FALSE(has(store, "a"));
  const auto longer = store.expire(after(1000, "a"));
  EXPECT_EQ(longer.code(), Errc::kInvalidOption);
  EXPECT_NE(longer.error().message().find("ttl=10"), std::string::npos);
  EXPECT_EQ(store.expire({.prefix = "a", .offset_bytes = 8, .ttl = 1}).code(),
            Errc::kInvalidOption);
  EXPECT_FALSE(has(store, "a"));
  EXPECT_TRUE(store.expire(after(9, "a"))) << "nothing lives longer";
  EXPECT_FALSE(has(store, "a"));
}

// The rules of a dropped keyspace are none of the 64 that a store may have.
TEST_P(Expiry, RulesOfDroppedSpacesMakeRoom) {
  auto store = open();
  ASSERT_TRUE(store.expire(after(10, "own")));
  for (int i = 0; i < 70; ++i) {
    auto timed = store.create_space("timed").value();
    ASSERT_TRUE(store.expire(timed, after(10, "a"))) << i;
    ASSERT_EQ(store.expiry_rules(timed).value().size(), 1u);
    ASSERT_TRUE(store.drop_space("timed"));
  }
  auto kept = store.create_space("kept").value();
  ASSERT_TRUE(store.expire(kept, after(10, "b")));
  ASSERT_TRUE(kept.put("b", stamped(5)));
  ASSERT_TRUE(store.set_clock(20));
  ASSERT_TRUE(store.close());
  store = open(with_access(RegionAccess::kOpen));
  kept = store.space("kept").value();
  EXPECT_EQ(store.expiry_rules(kept).value(), std::vector{after(10, "b")});
  EXPECT_EQ(store.expiry_rules(), std::vector{after(10, "own")});
  std::string value;
  EXPECT_EQ(kept.get("b", value).code(), Errc::kNotFound);
}

TEST_P(Expiry, WhatIsRefused) {
  auto store = open();
  const auto message = [](const Status& status) {
    return status ? std::string("no error") : status.error().message();
  };
  EXPECT_NE(message(store.expire({.width_bytes = 3})).find("width_bytes=3; 4 and 8 are allowed"),
            std::string::npos);
  EXPECT_NE(message(store.expire({.prefix = std::string(256, 'x')})).find("at most 255"),
            std::string::npos);
  ASSERT_TRUE(store.expire(after(10, "a")));
  EXPECT_TRUE(store.expire(after(10, "a"))) << "the same once more";
  const auto other = store.expire(after(11, "a"));
  EXPECT_EQ(other.code(), Errc::kAlreadyExists);
  EXPECT_NE(message(other).find("ttl=10"), std::string::npos);
  for (int i = 1; i < 64; ++i)
    ASSERT_TRUE(store.expire(after(10, "rule" + std::to_string(i))));
  EXPECT_EQ(store.expire(after(10, "one more")).code(), Errc::kNoSpace);
  ASSERT_TRUE(store.set_clock(7));
  EXPECT_NE(message(store.set_clock(6)).find("clock=6; it is at 7"), std::string::npos);
  EXPECT_TRUE(store.set_clock(7));
  ASSERT_TRUE(store.put("key", "value"));
  Errc inside = Errc::kOk;
  ASSERT_TRUE(store.update("key", [&](std::string&) { inside = store.set_clock(8).code(); }));
  EXPECT_EQ(inside, Errc::kBusy);
  ASSERT_TRUE(store.close());
  EXPECT_EQ(store.expire(after(1)).code(), Errc::kClosed);
  EXPECT_EQ(store.set_clock(9).code(), Errc::kClosed);
}

struct Session16 {
  std::uint64_t id, expires;
};
TEST_P(Expiry, OfATypedStore) {
  const auto spec_of = spec("typed");
  auto store = Store<std::uint64_t, Session16>::open(spec_of, tiny()).value();
  EXPECT_EQ(store.expire({.offset_bytes = 12}).code(), Errc::kInvalidOption) << "beyond the value";
  ASSERT_TRUE(store.expire({.offset_bytes = 8}));
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(store.put(i, {i, i}));
  ASSERT_TRUE(store.set_clock(50));
  Session16 value{};
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(store.get(i, value).has_value(), i > 50) << i;
  ASSERT_TRUE(store.close());
  store = Store<std::uint64_t, Session16>::open(spec_of, with_access(RegionAccess::kOpen)).value();
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_EQ(store.get(i, value).has_value(), i > 50) << i;
}

}  // namespace
}  // namespace holdfast::kv
