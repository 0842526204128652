// The offset map against a dull model, by one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/meminfo.hpp>
#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {
namespace {

// A key is a number; its record lies in line number `key`. Hashes are given per test.
struct Fixture {
  EpochDomain domain;
  EpochDomain::Participant participant = domain.join();
  std::unique_ptr<OffsetMap> map;
  OffsetMap::Tally* tally;
  explicit Fixture(const OffsetMapOptions& options = {})
      : map(std::move(OffsetMap::create(domain, options)).value()), tally(&map->new_tally()) {}

  // What kv does, with versions instead of records: line = key * 16 + version.
  static auto is(std::uint64_t key) {
    return [key](Line line) { return line.number / 16 == key; };
  }
  void put(std::uint64_t hash, std::uint64_t key, std::uint64_t version) {
    const auto guard = domain.enter(participant);
    for (;;) {
      auto home = map->latch(hash);
      Entry entry = home.find(is(key));
      if (!entry) entry = home.claim();
      if (entry) return home.replace(entry, Line{key * 16 + version});
      home.release();
      ASSERT_TRUE(map->grow(hash));
    }
  }
  // As hot paths do, by a glance at the home. False: nothing was done, put() can.
  bool put_at_once(std::uint64_t hash, std::uint64_t key, std::uint64_t version) {
    const auto guard = domain.enter(participant);
    const Place at = map->place(hash);
    const Line line{key * 16 + version};
    const auto allowed = [] { return true; };
    Seen old;
    map->glance<AnyProbing>(at, [](Line) { return true; }, old);
    if (!old) return map->insert_at_once<AnyProbing, true>(at, line, *tally, allowed);
    return is(key)(old.line()) && map->replace_at_once(at, old, line, allowed);
  }
  bool erase(std::uint64_t hash, std::uint64_t key) {
    const auto guard = domain.enter(participant);
    auto home = map->latch(hash);
    const Entry entry = home.find(is(key));
    if (entry) home.remove(entry);
    return static_cast<bool>(entry);
  }
  std::uint64_t get(std::uint64_t hash, std::uint64_t key) {
    const auto guard = domain.enter(participant);
    const std::uint64_t found = map->find(hash, is(key)).number;
    // A glance cannot always say, but what it says is the same.
    const Place at = map->place(hash);
    Seen near, seen;
    const bool sure_near = map->glance<AnyProbing>(at, is(key), near);
    const bool sure = map->glance<AnyProbing, true>(at, is(key), seen);
    EXPECT_TRUE(!sure_near || near.line().number == found);
    EXPECT_TRUE(!sure || seen.line().number == found);
    return found;
  }
  std::multiset<std::uint64_t> lines() {
    const auto guard = domain.enter(participant);
    std::multiset<std::uint64_t> all;
    for (std::uint32_t p = 0; p < map->partitions(); ++p) {
      map->for_each(p, [&](Line line) { return all.insert(line.number), true; });
    }
    return all;
  }
};

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

// `partition_bits` and `tag_bits` say how much of the hash varies: few of them make keys collide.
struct Spread {
  const char* name;
  unsigned partition_bits, tag_bits;
  std::uint64_t keys, operations;
};
std::uint64_t hash_in(const Spread& spread, std::uint64_t key) {
  const std::uint64_t hash = mixed(key + 1);
  const std::uint64_t partition = hash & ((std::uint64_t{1} << spread.partition_bits) - 1);
  const std::uint64_t tag = (hash >> 20) & ((std::uint64_t{1} << spread.tag_bits) - 1);
  return (spread.partition_bits == 0 ? 0 : partition << (64 - spread.partition_bits)) |
         tag << (64 - 10 - spread.tag_bits);
}

class OffsetMapModel : public testing::TestWithParam<Spread> {};

TEST_P(OffsetMapModel, RandomOperationsGiveWhatAnUnorderedMapGives) {
  const Spread& spread = GetParam();
  const std::uint64_t seed = 20260101 + spread.tag_bits;
  std::mt19937_64 random(seed);
  Fixture f;
  std::unordered_map<std::uint64_t, std::uint64_t> model;
  for (std::uint64_t i = 0; i < spread.operations; ++i) {
    // Phases of growing and of shrinking.
    const bool growing = i / (spread.operations / 4) % 2 == 0;
    const std::uint64_t key = random() % spread.keys + 1, hash = hash_in(spread, key);
    const unsigned dice = random() % 8;
    if (dice < 2) {
      const auto found = model.find(key);
      ASSERT_EQ(f.get(hash, key), found == model.end() ? 0 : found->second)
          << "seed=" << seed << " i=" << i;
    } else if ((dice < 7) == growing) {
      const std::uint64_t version = random() % 16;
      if (key % 2 == 0 || !f.put_at_once(hash, key, version)) f.put(hash, key, version);
      model[key] = key * 16 + version;
    } else {
      ASSERT_EQ(f.erase(hash, key), model.erase(key) != 0) << "seed=" << seed << " i=" << i;
    }
  }
  EXPECT_EQ(f.map->size(), model.size()) << "seed=" << seed;
  for (std::uint64_t key = 1; key <= spread.keys; ++key) {
    const auto found = model.find(key);
    ASSERT_EQ(f.get(hash_in(spread, key), key), found == model.end() ? 0 : found->second)
        << "seed=" << seed;
  }
  std::multiset<std::uint64_t> expected;
  for (const auto& [key, line] : model)
    expected.insert(line);
  EXPECT_EQ(f.lines(), expected) << "seed=" << seed;
  EXPECT_GT(f.map->rehashes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Spreads, OffsetMapModel,
                         testing::Values(Spread{"Random", 10, 25, 100'000, 600'000},
                                         Spread{"OnePartition", 0, 25, 30'000, 300'000},
                                         Spread{"FewTags", 0, 5, 3'000, 60'000},
                                         Spread{"OneTag", 0, 0, 400, 20'000},
                                         Spread{"TwoPartitionsFewTags", 1, 3, 1'000, 40'000}),
                         [](const auto& spread) { return spread.param.name; });

TEST(OffsetMap, OptionsAreValidatedByName) {
  for (const std::uint32_t bad : {1u, 512u, 1025u, 1u << 21, ~0u}) {
    const Status status = OffsetMapOptions{.partitions = bad}.validate();
    ASSERT_FALSE(status) << bad;
    EXPECT_EQ(status.code(), Errc::kInvalidOption);
    EXPECT_NE(status.error().detail.find(std::to_string(bad)), std::string::npos);
    EpochDomain domain;
    EXPECT_EQ(OffsetMap::create(domain, {.partitions = bad}).code(), Errc::kInvalidOption);
  }
  for (const std::uint32_t good : {0u, 1024u, 1u << 20})
    EXPECT_TRUE(OffsetMapOptions{.partitions = good}.validate());
}

TEST(OffsetMap, PartitionsFollowTheExpectedRecords) {
  EpochDomain domain;
  const auto partitions = [&](std::uint64_t records) {
    return OffsetMap::create(domain, {.expected_records = records}).value()->partitions();
  };
  EXPECT_EQ(partitions(0), 1024u);
  EXPECT_EQ(partitions(1'000'000), 1024u);
  EXPECT_EQ(partitions(10'000'000), 4096u);
  EXPECT_EQ(partitions(100'000'000), 65536u);
}

TEST(OffsetMap, AReservedMapDoesNotGrow) {
  Fixture f({.expected_records = 200'000, .reserve = true});
  for (std::uint64_t key = 1; key <= 180'000; ++key)
    f.put(mixed(key), key, 0);
  EXPECT_EQ(f.map->rehashes(), 0u);
  EXPECT_EQ(f.map->size(), 180'000u);
}

// At this load a fifth of the homes is full, and as many have keys behind them.
TEST(OffsetMap, FullHomesAreNoReasonToGoTheLongWay) {
  constexpr std::uint64_t kKeys = 200'000;
  Fixture f({.expected_records = kKeys, .reserve = true});
  std::uint64_t the_long_way = 0;
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    if (f.put_at_once(mixed(key), key, 1)) continue;
    f.put(mixed(key), key, 1);
    ++the_long_way;
  }
  EXPECT_LT(the_long_way, kKeys / 1'000) << "tags that are equal by chance, and no others";
  EXPECT_EQ(f.map->size(), kKeys);
  std::uint64_t behind = 0, named = 0;
  const auto guard = f.domain.enter(f.participant);
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    const Place at = f.map->place(mixed(key));
    const Seen seen = f.map->look(at, Fixture::is(key));
    ASSERT_TRUE(seen) << key;
    behind += seen.entry.distance != 0;
    // What lies one behind is asked for, too.
    if (seen.entry.distance == 1) named += f.map->candidate(at) == seen.line();
    auto home = f.map->latch(mixed(key));
    ASSERT_TRUE(home.unchanged(seen) && home.replace_unchanged(seen, Line{key * 16 + 2})) << key;
  }
  EXPECT_GT(behind, kKeys / 50);
  EXPECT_GT(named, behind / 2);
  EXPECT_EQ(f.map->rehashes(), 0u);
  EXPECT_EQ(f.map->size(), kKeys);
}

// Each key finds another one of its tag, at home or behind.
TEST(OffsetMap, AKeyIsNotInsertedAtOnceBesideOneOfItsTag) {
  Fixture f;
  ASSERT_TRUE(f.put_at_once(7, 1, 0));
  for (std::uint64_t key = 2; key <= 20; ++key) {
    EXPECT_FALSE(f.put_at_once(7, key, 0)) << key;
    f.put(7, key, 0);
  }
  EXPECT_EQ(f.map->size(), 20u);
  // The one at home goes; others of the tag stay, behind.
  for (std::uint64_t key = 1; key <= 8; ++key)
    f.erase(7, key);
  EXPECT_FALSE(f.put_at_once(7, 30, 0));
  for (std::uint64_t key = 9; key <= 20; ++key)
    EXPECT_EQ(f.get(7, key), key * 16) << key;
  EXPECT_EQ(f.map->size(), 12u);
}

TEST(OffsetMap, ReserveMakesRoomBesideWhatIsThereAndNothingGrowsAfterwards) {
  Fixture f;
  for (std::uint64_t key = 1; key <= 50'000; ++key)
    f.put(mixed(key), key, 0);
  ASSERT_TRUE(f.map->reserve(300'000));
  const std::uint64_t rebuilt = f.map->rehashes(), slots = f.map->slots();
  EXPECT_GE(slots, 300'000u);
  for (std::uint64_t key = 50'001; key <= 280'000; ++key)
    f.put(mixed(key), key, 0);
  EXPECT_EQ(f.map->rehashes(), rebuilt);
  for (std::uint64_t key = 1; key <= 280'000; ++key)
    ASSERT_NE(f.get(mixed(key), key), 0u) << key;
  ASSERT_TRUE(f.map->reserve(1'000)) << "less than there is";
  EXPECT_EQ(f.map->slots(), slots);
}

TEST(OffsetMap, ReserveOfMoreThanIsAvailableIsRefusedAndChangesNothing) {
  Fixture f;
  const std::uint64_t slots = f.map->slots();
  for (const std::uint64_t many :
       {meminfo("MemAvailable") / 8, std::uint64_t{1} << 50, ~std::uint64_t{0}}) {
    const Status status = f.map->reserve(many);
    EXPECT_EQ(status.code(), Errc::kNoSpace);
    EXPECT_NE(status.error().detail.find(std::to_string(many)), std::string::npos);
  }
  EXPECT_EQ(f.map->slots(), slots);
}

TEST(OffsetMap, AClaimedEntryIsInvisibleUntilReplacedAndMayBeGivenBack) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  const auto any = [](Line) { return true; };
  {
    auto home = f.map->latch(1);
    const Entry entry = home.claim();
    ASSERT_TRUE(entry);
    EXPECT_EQ(f.map->find(1, any), kNoLine);
    EXPECT_FALSE(home.find(any));
    EXPECT_EQ(f.map->size(), 0u);
    EXPECT_EQ(f.map->serialize(0, {}), 0u);
    home.remove(entry);
    EXPECT_EQ(f.map->size(), 0u);
  }
  {
    auto home = f.map->latch(1);
    const Entry entry = home.claim();
    home.replace(entry, Line{9});
    EXPECT_EQ(f.map->find(1, any), Line{9});
    EXPECT_EQ(home.line(home.find(any)), Line{9});
  }
  EXPECT_EQ(f.map->size(), 1u);
}

// Every place is taken, and none lost, when claims are given back: at home and behind it.
TEST(OffsetMap, ClaimsGivenBackFreeTheirPlaces) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  for (std::uint64_t key = 1; key <= 200; ++key)
    f.put(7, key, 0);  // One tag: guests far behind.
  std::uint64_t places = 0;
  for (int round = 0; round < 3; ++round) {
    auto home = f.map->latch(7);
    std::vector<Entry> claimed;
    while (const Entry entry = home.claim())
      claimed.push_back(entry);
    if (round == 0) places = claimed.size();
    EXPECT_EQ(claimed.size(), places);
    EXPECT_GT(places, 0u);
    for (const Entry& entry : claimed)
      home.remove(entry);
    EXPECT_EQ(f.map->size(), 200u);
  }
  for (std::uint64_t key = 1; key <= 200; ++key)
    ASSERT_EQ(f.get(7, key), key * 16);
}

// So many keys of one hash that a neighbourhood cannot hold them: slower, but none is refused.
TEST(OffsetMap, KeysOfOneHashAreSlowerButNeverRefused) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  constexpr std::uint64_t kKeys = 25'000;
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    while (!f.map->latch(7).insert(Line{key}))
      ASSERT_TRUE(f.map->grow(7));
  }
  EXPECT_EQ(f.map->size(), kKeys);
  EXPECT_LT(f.map->dram_bytes(), 8 * MiB);
  for (std::uint64_t k = 1; k <= kKeys; k += 501) {
    ASSERT_EQ(f.map->find(7, [&](Line line) { return line.number == k; }).number, k);
  }
  // Another key of the partition is not refused.
  f.put(std::uint64_t{1} << 53, 123'456, 0);
  EXPECT_EQ(f.get(std::uint64_t{1} << 53, 123'456), 123'456u * 16);
}

TEST(OffsetMap, WhatLookSawHoldsUnderTheLatchUntilSomethingChanged) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  OffsetMap::Tally& tally = f.map->new_tally();
  const auto is = [](std::uint64_t number) {
    return [number](Line line) { return line.number == number; };
  };
  Place place = f.map->place(7);
  f.map->latch(place, tally).insert(Line{3});
  EXPECT_EQ(f.map->size(), 1u);
  const Seen seen = f.map->look(place, is(3));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen.line(), Line{3});
  EXPECT_TRUE(f.map->latch(place, tally).unchanged(seen));
  // Another line in the same entry.
  f.map->latch(place, tally).replace(seen.entry, Line{4});
  EXPECT_FALSE(f.map->latch(place, tally).unchanged(seen));
  // The same line in another table.
  const Seen fresh = f.map->look(place, is(4));
  ASSERT_TRUE(fresh);
  ASSERT_TRUE(f.map->reserve(4'000'000));
  auto home = f.map->latch(place, tally);
  EXPECT_FALSE(home.unchanged(fresh));
  EXPECT_EQ(place.table, f.map->place(7).table) << "latch() brings the place up to date";
  home.remove(home.find(is(4)));
  home.release();
  EXPECT_EQ(f.map->size(), 0u);
}

// One thread inserts, another removes: what each of them reported is rounded by itself, and their
// sum is below zero now and then.
TEST(OffsetMap, AQueueThatStaysShortDoesNotGrowTheMap) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  OffsetMap::Tally& in = f.map->new_tally();
  OffsetMap::Tally& out = f.map->new_tally();
  const auto is = [](std::uint64_t number) {
    return [number](Line line) { return line.number == number; };
  };
  constexpr std::uint64_t kLength = 20;
  const std::uint64_t before = f.map->dram_bytes();
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    Place tail = f.map->place(mix64(i));
    ASSERT_TRUE(f.map->latch(tail, in).insert(Line{i}));
    f.map->grow_in_turn();
    ASSERT_EQ(f.map->rehashes(), 0u) << "with " << i << " insertions";
    if (i <= kLength) continue;
    Place head = f.map->place(mix64(i - kLength));
    auto home = f.map->latch(head, out);
    home.remove(home.find(is(i - kLength)));
  }
  EXPECT_EQ(f.map->size(), kLength);
  EXPECT_EQ(f.map->dram_bytes(), before);
}

// A batch that latches many homes grows each partition once, not once per key.
TEST(OffsetMap, GrowingForManyHashesRebuildsEachPartitionOnce) {
  Fixture f;
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 50'000; ++i)
    hashes.push_back(mix64(i));
  const std::uint64_t before = f.map->rehashes();
  ASSERT_TRUE(f.map->grow(hashes));
  EXPECT_LE(f.map->rehashes() - before, f.map->partitions());
  const auto guard = f.domain.enter(f.participant);
  OffsetMap::LatchedMany many;
  many.acquire(*f.map, hashes);
  std::size_t inserted = 0;
  for (std::size_t i = 0; i < hashes.size(); ++i)
    inserted += many[i].insert(Line{i + 1});
  many.release();
  EXPECT_EQ(inserted, hashes.size());
}

TEST(OffsetMap, ThePatchMarkBelongsToOneHomeAndSurvivesOtherChanges) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  const std::uint64_t other = std::uint64_t{5} << 54;
  EXPECT_FALSE(f.map->patching(1));
  auto home = f.map->latch(1);
  home.set_patching(true);
  EXPECT_TRUE(f.map->patching(1));
  EXPECT_FALSE(f.map->patching(other));
  std::vector<Entry> entries;
  while (const Entry entry = home.claim())
    home.replace(entry, Line{3}), entries.push_back(entry);
  EXPECT_EQ(entries.size(), kEntriesPerBucket);
  EXPECT_TRUE(f.map->patching(1));
  for (const Entry& entry : entries)
    home.remove(entry);
  EXPECT_TRUE(f.map->patching(1));
  home.set_patching(false);
  EXPECT_FALSE(f.map->patching(1));
}

TEST(OffsetMap, TheEraseHorizonOnlyRisesPerPartitionAndSurvivesGrowth) {
  Fixture f;
  const std::uint64_t other = std::uint64_t{5} << 54;
  EXPECT_EQ(f.map->erase_horizon(1), 0u);
  f.map->raise_erase_horizon(1, 10);
  f.map->raise_erase_horizon(2, 7);  // The same partition.
  EXPECT_EQ(f.map->erase_horizon(1), 10u);
  EXPECT_EQ(f.map->erase_horizon(other), 0u);
  for (std::uint64_t key = 1; key <= 1'000; ++key)
    f.put(key << 40, key, 0);
  EXPECT_GT(f.map->rehashes(), 0u);
  EXPECT_EQ(f.map->erase_horizon(1), 10u);
  ASSERT_TRUE(f.map->clear());
  EXPECT_EQ(f.map->erase_horizon(1), 0u);
}

TEST(OffsetMap, ClearRemovesEverythingAndGivesMemoryBack) {
  Fixture f;
  for (std::uint64_t key = 1; key <= 300'000; ++key)
    f.put(mixed(key), key, 0);
  const std::uint64_t full = f.map->dram_bytes();
  ASSERT_TRUE(f.map->clear());
  f.domain.collect();
  EXPECT_EQ(f.map->size(), 0u);
  EXPECT_TRUE(f.lines().empty());
  EXPECT_LT(f.map->dram_bytes(), full / 2);
  for (std::uint64_t key = 1; key <= 300'000; ++key)
    f.put(mixed(key), key, 1);
  for (std::uint64_t key = 1; key <= 300'000; key += 97)
    ASSERT_EQ(f.get(mixed(key), key), key * 16 + 1);
}

TEST(OffsetMap, ForEachStopsWhenTold) {
  Fixture f;
  for (std::uint64_t key = 1; key <= 50; ++key)
    f.put(key << 40, key, 0);
  const auto guard = f.domain.enter(f.participant);
  int visited = 0;
  EXPECT_FALSE(f.map->for_each(0, [&](Line) { return ++visited < 5; }));
  EXPECT_EQ(visited, 5);
  EXPECT_TRUE(f.map->for_each(0, [&](Line) { return ++visited < 500; }));
  EXPECT_EQ(visited, 55);
}

TEST(OffsetMap, BatchesHoldEachHomeOnceAndReleaseIt) {
  Fixture f;
  const auto guard = f.domain.enter(f.participant);
  OffsetMap::LatchedMany many;
  const std::vector<std::uint64_t> hashes = {7, std::uint64_t{9} << 54, 7,
                                             1, std::uint64_t{3} << 60, 7};
  for (int round = 0; round < 2; ++round) {
    many.acquire(*f.map, hashes);
    ASSERT_EQ(many.size(), hashes.size());
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const auto mine = [&](Line line) { return line.number == i + 1; };
      if (round == 0) {
        ASSERT_TRUE(many[i].insert(Line{i + 1}));
      } else {
        const Entry entry = many[i].find(mine);
        ASSERT_TRUE(entry);
        many[i].remove(entry);
      }
    }
    many.release();
    EXPECT_EQ(f.map->size(), round == 0 ? hashes.size() : 0);
    for (const std::uint64_t hash : hashes)
      f.map->latch(hash).release();  // Would wait for ever.
  }
  many.acquire(*f.map, {});
  many.release();
}

#ifdef HF_INDEX_SSE2
[[gnu::target("avx2")]] Vacancy vacancy_by_avx2(const Bucket& bucket, std::uint64_t tag) {
  return Avx2Probing::vacancy(bucket, tag);
}
[[gnu::target("avx2")]] Probe look_by_avx2(const Bucket& bucket, std::uint64_t tag) {
  return Avx2Probing::look(bucket, tag);
}

TEST(OffsetMap, EachWayToLookAtABucketSeesTheSameEntries) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
  std::mt19937_64 random(46);
  for (int round = 0; round < 10'000; ++round) {
    Bucket bucket;
    const std::uint64_t tag = 1 + random() % kTagMask;
    unsigned candidates = 0, controls = 0, free = 0;
    for (unsigned i = 0; i < kEntriesPerBucket; ++i) {
      // A tag and its neighbours of one bit, other lines beside it, and none.
      const std::uint64_t tags[] = {tag, tag ^ 1, tag ^ std::uint64_t{1} << (kTagBits - 1), 0};
      const std::uint64_t here = tags[random() % 4];
      const bool control = random() % 2 != 0;
      bucket.words[i] = payload(here, random() & kLineMask) | (control ? kControl : 0);
      candidates |= static_cast<unsigned>(here == tag) << i;
      free |= static_cast<unsigned>(here == 0) << i;
      controls |= static_cast<unsigned>(control) << i;
    }
    const Probe any = AnyProbing::look(bucket, tag), avx2 = look_by_avx2(bucket, tag);
    const Vacancy room = vacancy_by_avx2(bucket, tag);
    ASSERT_EQ(any.candidates, candidates);
    ASSERT_EQ(any.controls, controls);
    ASSERT_EQ(avx2.candidates, candidates);
    ASSERT_EQ(avx2.controls, controls);
    ASSERT_EQ(room.candidates, candidates);
    ASSERT_EQ(room.controls, controls);
    ASSERT_EQ(room.free, free);
  }
}
#endif

}  // namespace
}  // namespace holdfast::index
