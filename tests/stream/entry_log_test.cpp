// Entries that replace one another, in the log that a store of kv has of them: against a map, with
// checkpoints, and what is there found again; and how much room they take.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/compile/runtime/mark.hpp>
#include <holdfast/stream/graph/keys.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream {
namespace {

constexpr std::int64_t kSlice = 7;

// A table as an operator keeps it (graph/state_table.hpp), with its state in a region.
class KeptTable {
 public:
  explicit KeptTable(std::string place) : place_(std::move(place)) { open(); }

  void open() {
    state_.reset();
    region_.reset();
    region_ = KvStateStore::open_region(place_).value();
    state_ = std::make_unique<KvStateStore>(region_, 1);
    const auto found = state_->open().value();
    epoch_ = found ? found->epoch : 0;
    values_.clear();
    versions_.clear();
    state_
        ->for_each_version(
            kSlice,
            [&](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
              const std::string name(key);
              if (versions_.contains(name)) state_->remove_version(kSlice, key, versions_[name]);
              values_.erase(name);
              versions_.erase(name);
              if (state.empty()) return {};
              values_[name] = state;
              versions_[name] = version;
              return {};
            })
        .value();
  }
  // All of a group, as the store finds it.
  std::map<std::string, std::string> find(StateStore::Grouping grouping, const std::string& group) {
    EXPECT_TRUE(state_->group_by(kSlice, grouping, 0).value());
    std::map<std::string, std::string> found;
    state_
        ->for_each_of_group(
            kSlice, group,
            [&](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
              EXPECT_EQ(version, versions_[std::string(key)]) << key;
              EXPECT_TRUE(found.emplace(key, state).second) << key << " twice";
              return {};
            })
        .value();
    return found;
  }
  void put(const std::string& key, const std::string& value) {
    state_->replace(kSlice, key, value, versions_[key]).value();
    values_[key] = value;
  }
  void erase(const std::string& key) {
    state_->replace(kSlice, key, {}, versions_[key]).value();
    versions_.erase(key);
    values_.erase(key);
  }
  void complete() { state_->complete({++epoch_, "m"}).value(); }

  const std::map<std::string, std::string>& values() const { return values_; }
  KvStateStore& state() { return *state_; }
  kv::Store<>& region() { return *region_; }

  struct Room {
    std::size_t blocks = 0, bytes = 0;
  };
  Room room() {
    Room all;
    const StateKeys keys(1);
    auto cursor = region_->cursor().value();
    for (cursor.first(keys.log_of_slice(kSlice)); cursor; cursor.next()) {
      ++all.blocks;
      all.bytes += cursor.value().size();
    }
    return all;
  }
  std::size_t single_entries() {
    std::size_t count = 0;
    auto cursor = region_->cursor().value();
    for (cursor.first(StateKeys(1).of_slice(kSlice)); cursor; cursor.next())
      ++count;
    return count;
  }

 private:
  std::string place_;
  std::shared_ptr<kv::Store<>> region_;
  std::unique_ptr<KvStateStore> state_;
  std::uint64_t epoch_ = 0;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::uint64_t> versions_;
};

// Checkpoints of all sizes, ended before they are complete, too; keys that come again.
TEST(EntryLog, IsAsAMapThatSurvives) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::mt19937 random(seed);
    Place place;
    KeptTable table(place / "state");
    std::map<std::string, std::string> completed;
    const unsigned keys = seed == 1 ? 5 : 500;
    const auto change = [&] {
      const auto key = "key" + std::to_string(random() % keys);
      if (random() % 3 != 0)
        table.put(key, std::string(1 + random() % (seed == 3 ? 5000 : 40),
                                   static_cast<char>('a' + random() % 26)));
      else if (table.values().contains(key))
        table.erase(key);
    };
    for (int round = 0; round < 150; ++round) {
      const auto changes = random() % (random() % 8 == 0 ? 400 : 6);
      for (std::size_t i = 0; i < changes; ++i)
        change();
      if (random() % 4 != 0) {
        table.complete();
        completed = table.values();
      }
      if (random() % 4 == 0) {
        table.open();
        ASSERT_EQ(table.values(), completed) << "seed " << seed << ", round " << round;
      }
    }
  }
}

TEST(EntryLog, TakesTwiceItsEntriesAtMost) {
  Place place;
  KeptTable table(place / "state");
  constexpr int kKeys = 4000;
  const std::string state(200, 's');
  std::mt19937 random(1);
  for (int i = 0; i < kKeys; ++i)
    table.put(std::to_string(i), state);
  table.complete();
  const auto first = table.room();
  EXPECT_GE(first.bytes, kKeys * state.size());
  for (int epoch = 0; epoch < 100; ++epoch) {
    for (int i = 0; i < kKeys / 4; ++i)
      table.put(std::to_string(random() % kKeys), state);
    table.complete();
    // What a checkpoint made superfluous the next one compacts.
    ASSERT_LE(table.room().bytes, 2 * first.bytes + first.bytes / 4) << epoch;
  }
  table.open();
  EXPECT_EQ(table.values().size(), kKeys);
}

TEST(EntryLog, OfKeysThatAreGoneNothingStays) {
  Place place;
  KeptTable table(place / "state");
  for (int i = 0; i < 3000; ++i)
    table.put(std::to_string(i), std::string(100, 's'));
  table.complete();
  for (int i = 0; i < 3000; ++i)
    table.erase(std::to_string(i));
  table.complete();
  EXPECT_NE(table.room().blocks, 0u) << "they hide entries until these are erased";
  table.complete();
  table.complete();
  EXPECT_EQ(table.room().blocks, 0u);
  table.open();
  EXPECT_TRUE(table.values().empty());
}

// A checkpoint a second, each with an entry or two.
TEST(EntryLog, SmallBlocksBecomeLargerOnes) {
  Place place;
  KeptTable table(place / "state");
  for (int epoch = 0; epoch < 1000; ++epoch) {
    table.put(std::to_string(epoch), "state");
    table.complete();
    const auto room = table.room();
    ASSERT_LE(room.blocks, EntryLog::kMostSmall + 1 + 4 * room.bytes / EntryLog::kBlockBytes);
  }
  table.open();
  EXPECT_EQ(table.values().size(), 1000u);
  EXPECT_LE(table.room().blocks, EntryLog::kMostSmall + 10);
}

// A copy of a checkpoint, and a region of format 2, have a key for each entry and epoch.
TEST(EntryLog, EntriesWithAKeyPerVersionGoOver) {
  Place place;
  {
    KvStateStore state(KvStateStore::open_region(place / "state").value(), 1);
    state.open().value();
    for (const auto* key : {"a", "b", "c", "d"})
      state.put_copy(kSlice, key, "1", 1).value();
    state.complete({1, "m"}).value();
  }
  KeptTable table(place / "state");
  EXPECT_EQ(table.values().size(), 4u);
  EXPECT_EQ(table.single_entries(), 4u);
  table.put("a", "2");
  table.erase("b");
  table.complete();
  table.put("b", "3");
  table.complete();
  table.complete();
  EXPECT_EQ(table.single_entries(), 2u);
  const std::map<std::string, std::string> expected = {
      {"a", "2"}, {"b", "3"}, {"c", "1"}, {"d", "1"}};
  table.open();
  EXPECT_EQ(table.values(), expected);
}

// A crash came before the key was removed; the log has a later entry. Then the entry goes: what
// was left may not come back, should the next crash come at the same place.
TEST(EntryLog, AKeyThatACrashLeftIsRemovedBeforeTheNextCheckpoint) {
  Place place;
  KeptTable table(place / "state");
  table.put("a", "new");
  table.complete();
  table.region().put(StateKeys(1).of_entry(kSlice, "a", 1), "old").value();
  table.open();
  EXPECT_EQ(table.values().at("a"), "new");
  table.erase("a");
  table.complete();
  EXPECT_EQ(table.single_entries(), 0u);
  table.open();
  EXPECT_TRUE(table.values().empty());
}

TEST(EntryLog, ADroppedSliceHasNoEntries) {
  Place place;
  KeptTable table(place / "state");
  table.put("a", "1");
  table.complete();
  EXPECT_EQ(table.state().slices().value(), std::vector<std::int64_t>{kSlice});
  table.state().drop(kSlice);
  table.complete();
  EXPECT_TRUE(table.state().slices().value().empty());
  table.open();
  EXPECT_TRUE(table.values().empty());
  table.put("a", "2");
  table.complete();
  table.open();
  EXPECT_EQ(table.values().at("a"), "2");
}

// A key of a group: its first part, then what tells it from others.
std::string key_in(const std::string& group, unsigned number) {
  std::string key;
  graph::append_part(group, key);
  return key + "row" + std::to_string(number);
}

// Each group, and groups that there are not, between checkpoints of all sizes; of a process that
// goes on, and of one that begins.
TEST(EntryLog, FindsTheEntriesOfEachGroup) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::mt19937 random(seed);
    Place place;
    KeptTable table(place / "state");
    const bool alone = seed % 2 == 0;
    const auto grouping = alone ? StateStore::Grouping::kKey : StateStore::Grouping::kFirstPart;
    const unsigned groups = seed < 3 ? 40 : 400;
    const auto check_all = [&] {
      for (unsigned number = 0; number < groups + 5; ++number) {
        const auto name = std::to_string(number);
        std::string group = alone ? key_in(name, 1) : std::string();
        if (!alone) graph::append_part(name, group);
        std::map<std::string, std::string> expected;
        for (const auto& [key, value] : table.values()) {
          if (alone ? key == group : key.starts_with(group)) expected[key] = value;
        }
        ASSERT_EQ(table.find(grouping, group), expected) << "seed " << seed << ", " << name;
      }
    };
    for (int round = 0; round < 60; ++round) {
      for (auto changes = random() % (random() % 8 == 0 ? 400 : 6); changes > 0; --changes) {
        const auto key = key_in(std::to_string(random() % groups),
                                alone ? 1u : static_cast<unsigned>(random() % 5));
        if (random() % 3 != 0)
          table.put(key, std::string(1 + random() % (seed == 3 ? 3000 : 40), 'v'));
        else if (table.values().contains(key))
          table.erase(key);
      }
      table.complete();
      if (random() % 4 == 0) table.open();
      check_all();
    }
  }
}

// Two keys whose groups have one hash of 32 bits.
std::pair<std::string, std::string> keys_of_one_hash(StateStore::Grouping grouping) {
  std::map<std::uint32_t, std::string> seen;
  for (unsigned number = 0;; ++number) {
    const auto key = key_in(std::to_string(number), 1);
    const auto group = StateStore::group_of(key, grouping);
    const auto [place, first] = seen.emplace(static_cast<std::uint32_t>(hash64(group)), key);
    if (!first) return {place->second, key};
  }
}

TEST(EntryLog, GroupsOfOneHashAreToldApart) {
  constexpr auto kFirstPart = StateStore::Grouping::kFirstPart;
  const auto [first, second] = keys_of_one_hash(kFirstPart);
  Place place;
  KeptTable table(place / "state");
  table.put(first, "1");
  table.put(second, "2");
  table.complete();
  const std::map<std::string, std::string> one = {{first, "1"}}, other = {{second, "2"}};
  EXPECT_EQ(table.find(kFirstPart, std::string(StateStore::group_of(first, kFirstPart))), one);
  EXPECT_EQ(table.find(kFirstPart, std::string(StateStore::group_of(second, kFirstPart))), other);
}

// With an idle entry of a copy its parts go, also where the checkpoint has an entry of another key
// with the same hash. That one was taken for a later entry of the idle one's key: the parts stayed.
TEST(EntryLog, AnIdleEntryOfACopyGoesWithItsParts) {
  constexpr std::int64_t kParts = kSlice + 1;
  const auto [idle, changed] = keys_of_one_hash(StateStore::Grouping::kKey);
  const auto entry_of = [](std::int64_t time) {
    std::string entry;
    query::append_begin(&time, entry);
    return entry + "entry";
  };
  for (const bool finds : {false, true}) {
    Place place;
    const auto region = KvStateStore::open_region(place / "state").value();
    {
      KvStateStore store(region, 1);
      EXPECT_FALSE(store.open().value());
      store.put_copy(kSlice, idle, entry_of(10), 1).value();
      std::string part;
      graph::append_part(idle, part);
      store.put_copy(kParts, part + "0", "part", 1).value();
      store.complete({1, "m"}).value();
    }
    KvStateStore store(region, 1);
    EXPECT_TRUE(store.open().value());
    EXPECT_TRUE(store.group_by(kSlice, StateStore::Grouping::kKey, 0).value());
    EXPECT_TRUE(store.group_by(kParts, StateStore::Grouping::kFirstPart, 0).value());
    const auto ignore = [](std::string_view, std::string_view, std::uint64_t) { return Status(); };
    if (finds) store.for_each_of_group(kSlice, changed, ignore).value();
    std::uint64_t version = 0;
    store.replace(kSlice, changed, entry_of(1'000), version).value();
    store.end_idle(kSlice, 500, 0, kParts);
    store.complete({2, "m"}).value();
    std::map<std::string, std::string> entries, parts;
    for (auto* const all : {&entries, &parts}) {
      const auto take = [&](std::string_view key, std::string_view state, std::uint64_t) {
        if (!state.empty()) all->emplace(key, state);
        return Status();
      };
      store.for_each_version(all == &entries ? kSlice : kParts, take).value();
    }
    EXPECT_EQ(entries, (std::map<std::string, std::string>{{changed, entry_of(1'000)}})) << finds;
    EXPECT_TRUE(parts.empty()) << finds;
  }
}

// Entries of a copy of a checkpoint have a key of the store each, several of one perhaps.
TEST(EntryLog, FindsEntriesWithAKeyPerVersion) {
  Place place;
  const auto a = key_in("g", 1), b = key_in("g", 2), c = key_in("g", 3), d = key_in("h", 1);
  {
    KvStateStore state(KvStateStore::open_region(place / "state").value(), 1);
    state.open().value();
    for (const auto& key : {a, b, c, d})
      state.put_copy(kSlice, key, "1", 1).value();
    state.put_copy(kSlice, a, "2", 2).value();
    state.put_copy(kSlice, c, "", 2).value();
    state.complete({2, "m"}).value();
  }
  std::string group;
  graph::append_part("g", group);
  const auto found = [&](KeptTable& table) {
    return table.find(StateStore::Grouping::kFirstPart, group);
  };
  KeptTable table(place / "state");
  std::map<std::string, std::string> expected = {{a, "2"}, {b, "1"}};
  EXPECT_EQ(found(table), expected);
  table.put(b, "3");
  table.complete();
  // A crash came before what was replaced was removed.
  table.region().put(StateKeys(1).of_entry(kSlice, b, 1), "1").value();
  table.open();
  expected[b] = "3";
  EXPECT_EQ(found(table), expected);
  table.erase(b);
  table.complete();
  expected.erase(b);
  EXPECT_EQ(found(table), expected);
  table.open();
  EXPECT_EQ(found(table), expected);
  table.complete();
  table.complete();
  EXPECT_EQ(table.single_entries(), 2u) << "of a and d the newest";
}

// Of entries that say a time, those between two; and where the next one is.
TEST(EntryLog, FindsEntriesByTheirTimes) {
  Place place;
  KeptTable table(place / "state");
  std::mt19937 random(5);
  std::map<std::string, std::int64_t> times;
  const auto state_of = [](std::int64_t time) {
    std::string state;
    query::append_begin(&time, state);
    return state + std::string(40, 's');
  };
  for (int epoch = 0; epoch < 40; ++epoch) {
    for (int i = 0; i < 60; ++i) {
      const std::string key = std::to_string(random() % 300);
      if (random() % 4 == 0 && times.erase(key) != 0)
        table.erase(key);
      else
        table.put(key, state_of(times[key] = 10 * epoch + random() % 200));
    }
    table.complete();
    if (epoch % 7 == 3) table.open();
    EXPECT_TRUE(table.state().says_times(kSlice).value());
    const std::int64_t from = random() % 600, until = from + random() % 100;
    std::map<std::string, std::int64_t> found, wanted;
    const auto take = [&](std::string_view key, std::string_view state, std::uint64_t) {
      std::int64_t time = 0;
      query::Text rest{state.data(), state.size()};
      EXPECT_TRUE(query::take_begin(rest, time));
      EXPECT_TRUE(found.emplace(key, time).second) << key << " twice";
      return Status();
    };
    auto beyond = table.state().for_each_of_times(kSlice, from, until, take).value();
    std::int64_t next = INT64_MAX;
    for (const auto& [key, time] : times) {
      if (from <= time && time <= until) wanted.emplace(key, time);
      if (time > until) next = std::min(next, time);
    }
    EXPECT_EQ(found, wanted);
    // It may be that of an entry that has been replaced: who goes on finds the next one in the end.
    while (beyond < next) {
      found.clear();
      beyond = table.state().for_each_of_times(kSlice, beyond, beyond, take).value();
      EXPECT_TRUE(found.empty());
    }
    EXPECT_EQ(beyond, next);
  }
  table.put("plain", "\1s");
  table.complete();
  EXPECT_FALSE(table.state().says_times(kSlice).value());
}

TEST(EntryLog, WhatIsFewIsNotGrouped) {
  Place place;
  KeptTable table(place / "state");
  table.put("a", std::string(1000, 's'));
  table.complete();
  constexpr auto kKey = StateStore::Grouping::kKey;
  EXPECT_FALSE(table.state().group_by(kSlice, kKey, 2000).value());
  EXPECT_TRUE(table.state().group_by(kSlice, kKey, 500).value());
  KvStateStore copy(KvStateStore::open_region(place / "copy").value(), 1);
  copy.open().value();
  copy.put_copy(kSlice, "a", std::string(1000, 's'), 1).value();
  copy.complete({1, "m"}).value();
  EXPECT_FALSE(copy.group_by(kSlice, kKey, 2000).value());
  EXPECT_TRUE(copy.group_by(kSlice, kKey, 500).value());
}

TEST(EntryLog, WhatIsNoBlockIsRefused) {
  Place place;
  const StateKeys keys(1);
  std::string entry;
  query::append_raw(std::uint32_t{0}, entry);
  entry += "\x01k\x01s";
  std::string far = entry;
  far.replace(0, 4, "\xff\xff\xff\xff");
  std::vector<std::string> bad = {far, entry + "\1"};
  for (std::size_t size = 1; size < entry.size(); ++size)
    bad.push_back(entry.substr(0, size));
  for (const auto& block : bad) {
    const auto region = KvStateStore::open_region(place / "state").value();
    region->put(keys.of_log(kSlice, 1, 0), block).value();
    KvStateStore state(region, 1);
    state.complete({1, "m"}).value();
    const auto none = [](std::string_view, std::string_view, std::uint64_t) { return Status(); };
    EXPECT_EQ(state.for_each_version(kSlice, none).code(), Errc::kCorrupt) << block.size();
    EXPECT_EQ(state.group_by(kSlice, StateStore::Grouping::kKey, 0).code(), Errc::kCorrupt);
    EXPECT_EQ(state.for_each_of_group(kSlice, "k", none).code(), Errc::kCorrupt);
  }
  const auto region = KvStateStore::open_region(place / "state").value();
  region->put(keys.log_of_slice(kSlice) + "short", entry).value();
  EXPECT_EQ(KvStateStore(region, 1).open().code(), Errc::kCorrupt);
}

// A reader that goes on behind such a block would begin again, without end.
TEST(EntryLog, ABlockWithTheLastNumberOfAllIsRefused) {
  const StateKeys keys(1);
  std::string block;
  query::append_sized(block, [](std::string& bytes) { bytes += "k"; });
  query::append_sized(block, [](std::string& bytes) { bytes += "v"; });
  for (const auto& key :
       {keys.of_block(kSlice, UINT64_MAX, 0, 1), keys.of_block(kSlice, 1, 0, UINT32_MAX)}) {
    Place place;
    const auto region = KvStateStore::open_region(place / "state").value();
    region->put(key, block).value();
    KvStateStore state(region, 1);
    EXPECT_EQ(state.open().code(), Errc::kCorrupt);
    int entries = 0;
    const auto count = [&](std::string_view, std::string_view) -> Status {
      return ++entries < 10 ? Status() : Error{Errc::kNoSpace, "there is no end"};
    };
    EXPECT_EQ(state.for_each(kSlice, count).code(), Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace holdfast::stream
