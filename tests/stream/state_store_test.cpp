// All state stores: what is put counts from its completed checkpoint on, and never twice.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include <holdfast/base/hash.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/snapshot_store.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream {
namespace {

class StateStores : public KeptStores {};
INSTANTIATE_TEST_SUITE_P(Kept, StateStores, kKeptStores, kept_name);

TEST_P(StateStores, EntriesOfAnEpochThatWasNotCompletedAreGone) {
  Place place;
  {
    const auto open = open_all(place / "state");
    const auto store = open(1).value(), other = open(2).value();
    EXPECT_FALSE(store->open().value());
    store->put(-60, "k", "1").value();
    store->put(60, "k", "2").value();
    store->complete({1, "first"}).value();
    store->put(60, "k", "3").value();
    store->put(120, "z", "4").value();
    EXPECT_FALSE(other->open().value()) << "a query sees its own state only";
    EXPECT_EQ(contents(*other), "");
  }
  const auto store = open_one(place / "state");
  const auto found = store->open().value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->epoch, 1u);
  EXPECT_EQ(found->metadata, "first");
  EXPECT_EQ(contents(*store), "-60:k=1 60:k=2 ");
  store->put(60, "k", "5").value();
  store->complete({2, ""}).value();
  EXPECT_EQ(contents(*store), "-60:k=1 60:k=2 60:k=5 ") << "deltas of two epochs";
}

TEST_P(StateStores, ADroppedSliceStaysUntilTheNextCheckpoint) {
  Place place;
  {
    const auto store = open_one(place / "state");
    store->open().value();
    store->put(60, "k", "1").value();
    store->put(61, "k", "2").value();
    store->complete({1, ""}).value();
    store->drop(60);
  }
  const auto store = open_one(place / "state");
  store->open().value();
  EXPECT_EQ(contents(*store), "60:k=1 61:k=2 ");
  store->drop(60);
  store->complete({2, ""}).value();
  EXPECT_EQ(contents(*store), "61:k=2 ");
}

// Slices at both ends, keys that begin as others do, keys with any bytes.
TEST_P(StateStores, SlicesAndKeysOfAnyKindStayApart) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Place place;
  const auto open = open_all(place / "state");
  const auto store = open(1).value(), other = open(2).value();
  store->open().value();
  other->open().value();
  const std::string zeros(3, '\0'), ones(9, '\xff');
  for (const auto slice : {kMost, kLeast, std::int64_t{-1}, std::int64_t{0}}) {
    for (const auto& key : {std::string(), zeros, ones, std::string("a"), std::string("ab")})
      store->put(slice, key, std::to_string(slice) + key).value();
    other->put(slice, "a", "other").value();
  }
  store->complete({1, ""}).value();
  other->complete({1, ""}).value();
  EXPECT_EQ(store->slices().value(), (std::vector<std::int64_t>{kLeast, -1, 0, kMost}));
  for (const auto slice : {kMost, kLeast, std::int64_t{-1}, std::int64_t{0}}) {
    std::map<std::string, std::string> found;
    const auto keep = [&](std::string_view key, std::string_view state) -> Status {
      EXPECT_TRUE(found.emplace(key, state).second);
      return {};
    };
    store->for_each(slice, keep).value();
    EXPECT_EQ(found.size(), 5u);
    for (const auto& [key, state] : found)
      EXPECT_EQ(state, std::to_string(slice) + key);
  }
  store->drop(kMost);
  store->drop(-1);
  store->complete({2, ""}).value();
  EXPECT_EQ(store->slices().value(), (std::vector<std::int64_t>{kLeast, 0}));
  EXPECT_EQ(other->slices().value().size(), 4u) << "of another query";
}

// What a table of an operator does: one value of each key, the last.
TEST_P(StateStores, OfEntriesThatReplaceOneAnotherTheLastIsFound) {
  Place place;
  std::map<std::string, std::uint64_t> versions;
  const auto found = [&](StateStore& store) {
    std::map<std::string, std::string> values;
    const auto take = [&](std::string_view key, std::string_view state,
                          std::uint64_t version) -> Status {
      const std::string name(key);
      if (values.contains(name)) store.remove_version(7, key, versions[name]);
      values[name] = state;
      versions[name] = version;
      return {};
    };
    store.for_each_version(7, take).value();
    std::string all;
    for (const auto& [key, value] : values)
      if (!value.empty()) all += key + "=" + value + " ";
    return all;
  };
  {
    const auto store = open_one(place / "state");
    store->open().value();
    for (const auto* key : {"a", "b", "c"})
      store->replace(7, key, "1", versions[key]).value();
    store->complete({1, ""}).value();
    store->replace(7, "a", "2", versions["a"]).value();
    store->replace(7, "b", {}, versions["b"]).value();
    store->complete({2, ""}).value();
    store->replace(7, "a", "3", versions["a"]).value();  // Never completed.
    store->replace(7, "c", {}, versions["c"]).value();
  }
  {
    versions.clear();
    const auto store = open_one(place / "state");
    EXPECT_EQ(store->open().value()->epoch, 2u);
    EXPECT_EQ(found(*store), "a=2 c=1 ");
    // Several changes before one checkpoint: the last of them.
    store->replace(7, "a", "4", versions["a"]).value();
    store->replace(7, "a", "5", versions["a"]).value();
    store->replace(7, "c", "6", versions["c"]).value();
    store->replace(7, "c", {}, versions["c"]).value();
    std::uint64_t none = 0;
    store->replace(7, "d", "7", none).value();
    store->replace(7, "d", {}, none).value();
    store->replace(7, "d", "8", none).value();
    store->complete({3, ""}).value();
  }
  for (std::uint64_t epoch = 4; epoch < 7; ++epoch) {
    versions.clear();
    const auto store = open_one(place / "state");
    EXPECT_EQ(store->open().value()->epoch, epoch - 1);
    EXPECT_EQ(found(*store), "a=5 d=8 ");
    store->complete({epoch, ""}).value();
  }
}

// An epoch beyond what waits in memory: entries are written before it is completed.
TEST_P(StateStores, ALargeEpochThatWasNotCompletedIsGone) {
  Place place;
  const std::string state(1000, 's');
  const std::size_t entries = 3 * kEarlyBytes / state.size();
  const auto put_all = [&](StateStore& store, std::int64_t slice) {
    for (std::size_t i = 0; i < entries; ++i)
      store.put(slice, std::to_string(i), state).value();
  };
  const auto count = [](StateStore& store, std::int64_t slice) {
    std::size_t seen = 0;
    store.for_each(slice, [&](std::string_view, std::string_view) { return ++seen, Status(); })
        .value();
    return seen;
  };
  {
    const auto store = open_one(place / "state");
    store->open().value();
    put_all(*store, 1);
    store->complete({1, ""}).value();
    EXPECT_EQ(count(*store, 1), entries);
    store->drop(1);
    put_all(*store, 1);
    put_all(*store, 2);
  }
  for (std::uint64_t epoch = 1; epoch < 3; ++epoch) {
    const auto store = open_one(place / "state");
    EXPECT_EQ(store->open().value()->epoch, epoch);
    EXPECT_EQ(store->slices().value(), std::vector<std::int64_t>{1});
    EXPECT_EQ(count(*store, 1), entries);
    EXPECT_GT(store->bytes(), entries * 10);
    store->complete({epoch + 1, ""}).value();
  }
  const auto store = open_one(place / "state");
  store->open().value();
  put_all(*store, 2);
  store->drop(1);
  store->complete({4, ""}).value();
  EXPECT_EQ(store->slices().value(), std::vector<std::int64_t>{2});
  EXPECT_EQ(count(*store, 2), entries);
}

TEST(SnapshotStore, TheFileIsTheLastCompletedCheckpoint) {
  Place place;
  {
    SnapshotStore store(place / "file");
    EXPECT_FALSE(store.open().value());
    store.put(60, "k", "1").value();
    store.complete({1, "first"}).value();
    store.put(60, "k", "2").value();
  }
  SnapshotStore store(place / "file");
  EXPECT_EQ(store.open().value()->metadata, "first");
  EXPECT_EQ(contents(store), "60:k=1 ");
}

TEST(SnapshotStore, EachDamagedByteIsFound) {
  Place place;
  SnapshotStore writer(place / "file");
  writer.put(60, "key", "state").value();
  writer.complete({1, "meta"}).value();
  const auto good = read_file(place / "file").value();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    replace_file(place / "file", bad).value();
    EXPECT_EQ(SnapshotStore(place / "file").open().code(), Errc::kCorrupt) << i;
    replace_file(place / "file", good.substr(0, i)).value();
    EXPECT_EQ(SnapshotStore(place / "file").open().code(), Errc::kCorrupt) << i;
  }
}

// It was told as damaged.
TEST(SnapshotStore, AFileOfALaterFormatSaysSo) {
  Place place;
  SnapshotStore(place / "file").complete({1, "meta"}).value();
  auto bytes = read_file(place / "file").value();
  bytes.resize(bytes.size() - 8);
  bytes[0] = 2;
  ByteWriter sum;
  sum.number(hash64(bytes));
  replace_file(place / "file", bytes + sum.take()).value();
  const auto opened = SnapshotStore(place / "file").open();
  EXPECT_EQ(opened.code(), Errc::kNewerFormat);
  EXPECT_NE(opened.error().detail.find("has format 2; this build knows format 1"),
            std::string::npos);
}

// A region that was closed is opened by its index: no record is read before it is asked for.
TEST(KvState, DamageOfWhatIsReadIsAnErrorAndNoOtherState) {
  Place place;
  {
    KvStateStore store(KvStateStore::open_region(place / "state").value(), 1);
    store.open().value();
    store.put(60, "key", "what the group is").value();
    store.complete({1, "the plan of the query"}).value();
  }
  const auto path = place / "state/segment-000000";
  const auto good = read_file(path).value();
  for (const std::string_view part : {"the plan of the query", "what the group is"}) {
    auto bad = good;
    const auto at = bad.find(part);
    ASSERT_NE(at, bad.npos);
    bad[at + 2] ^= 4;
    std::ofstream(path, std::ios::in | std::ios::out | std::ios::binary) << bad;
    KvStateStore store(KvStateStore::open_region(place / "state").value(), 1);
    const auto opened = store.open();
    const auto read = store.for_each_entry(60, [](auto, auto) { return Status(); });
    EXPECT_EQ(opened ? read.code() : opened.code(), Errc::kCorrupt) << part;
  }
}

// ---- Formats of state in kv ----

// A region of a build that had no blocks: an entry per key and epoch, 'm' without a format.
TEST(KvState, StateOfTheFormatBeforeIsReadAndGoesOn) {
  Place place;
  const StateKeys keys(1);
  {
    const auto region = KvStateStore::open_region(place / "state").value();
    std::string last;
    StateKeys::append_number(2, last);
    region->put(keys.of_entry(60, "k", 1), "1").value();
    region->put(keys.of_entry(60, "k", 2), "2").value();
    region->put(keys.of_entry(60, "k", 3), "never completed").value();
    region->put(keys.other('m'), last + "before").value();
  }
  {
    KvStateStore store(KvStateStore::open_region(place / "state").value(), 1);
    const auto found = store.open().value();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->epoch, 2u);
    EXPECT_EQ(found->metadata, "before");
    EXPECT_EQ(contents(store), "60:k=1 60:k=2 ");
    store.put(60, "k", "3").value();
    store.complete({3, "now"}).value();
  }
  KvStateStore store(KvStateStore::open_region(place / "state").value(), 1);
  const auto found = store.open().value();
  EXPECT_EQ(found->epoch, 3u);
  EXPECT_EQ(found->metadata, "now");
  EXPECT_EQ(contents(store), "60:k=1 60:k=2 60:k=3 ");
  store.drop(60);
  store.complete({4, ""}).value();
  EXPECT_EQ(contents(store), "");
}

TEST(KvState, ALaterFormatIsRefusedByItsNumber) {
  Place place;
  const auto region = KvStateStore::open_region(place / "state").value();
  const auto key = StateKeys(1).other('m');
  KvStateStore(region, 1).complete({1, "m"}).value();
  std::string last;
  region->get(key, last).value();
  ASSERT_EQ(last[8], 4);
  last[8] = 5;
  region->put(key, last).value();
  const auto refused = KvStateStore(region, 1).open();
  EXPECT_EQ(refused.code(), Errc::kNewerFormat);
  EXPECT_NE(refused.error().detail.find("format 5"), std::string::npos);
  last[8] = 1;  // Which has no such byte.
  region->put(key, last).value();
  EXPECT_EQ(KvStateStore(region, 1).open().code(), Errc::kNewerFormat);
  for (const char earlier : {'\2', '\3'}) {
    last[8] = earlier;
    region->put(key, last).value();
    EXPECT_EQ(KvStateStore(region, 1).open().value()->metadata, "m");
  }
  region->put(key, last.substr(0, 8)).value();
  EXPECT_EQ(KvStateStore(region, 1).open().code(), Errc::kNewerFormat);
  region->put(key, last.substr(0, 7)).value();
  EXPECT_EQ(KvStateStore(region, 1).open().code(), Errc::kCorrupt);
}

// Whether the one generation of the slice is a run.
bool is_run(KvStateStore& store, std::int64_t slice) {
  std::uint64_t generation = 0;
  query::BlockPlace run;
  store.next_generation(slice, generation, run).value();
  EXPECT_NE(generation, 0u);
  return run.epoch != 0;
}

TEST(KvState, WhatIsPutInTheOrderOfItsKeysIsARun) {
  Place place;
  KvStateStore store(KvStateStore::open_region(place / "state").value(), 1);
  const auto put = [&](std::int64_t slice, std::initializer_list<const char*> keys) {
    for (const auto* key : keys)
      store.put(slice, key, std::string(30'000, 'x')).value();  // Two in a block.
  };
  put(60, {"a", "b", "c", "d", "e"});
  put(120, {"a", "c", "b", "d", "e"});
  put(180, {"a", "b"});
  put(240, {"a"});
  put(180, {"c", "d", "e"});
  put(300, {"a", "b", "b"});
  store.complete({1, ""}).value();
  EXPECT_TRUE(is_run(store, 60));
  EXPECT_FALSE(is_run(store, 120));
  EXPECT_FALSE(is_run(store, 180));
  EXPECT_TRUE(is_run(store, 240));
  EXPECT_FALSE(is_run(store, 300));
  for (const std::int64_t slice : {60, 120, 180}) {
    std::string keys;
    const auto visit = [&](std::string_view key, std::string_view) {
      keys += key;
      return Status();
    };
    store.for_each(slice, visit).value();
    EXPECT_EQ(keys, "abcde");
  }
}

TEST(KvState, ABlockThatIsNoneIsNotRead) {
  Place place;
  KvStateStore store(KvStateStore::open_region(place / "state").value(), 1);
  std::uint64_t generation = 0;
  store.put_block(60, std::string("\x09short", 6), false, generation).value();
  store.complete({1, ""}).value();
  const auto none = [](std::string_view, std::string_view) { return Status(); };
  EXPECT_EQ(store.for_each(60, none).code(), Errc::kCorrupt);
}

}  // namespace
}  // namespace holdfast::stream
