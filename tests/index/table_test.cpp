// Buckets, tables and their arena, each alone.
#include <holdfast/index/table.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::index {
namespace {

using Stream = TableArena::Stream;

TEST(Bucket, ProbeFindsExactlyTheEntriesWithTheTagAndTheControlBits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2'000; ++round) {
    Bucket bucket{};
    unsigned candidates = 0, controls = 0;
    const std::uint64_t tag = random() % kTagMask + 1;
    for (unsigned i = 0; i < kEntriesPerBucket; ++i) {
      // The tag, one that differs in one bit, any, or a free entry; any line, any control bit.
      const std::uint64_t near = tag ^ std::uint64_t{1} << random() % kTagBits;
      const std::uint64_t choices[] = {tag, near, random() & kTagMask, 0};
      const std::uint64_t chosen = choices[random() % 4], control = random() % 2;
      bucket.words[i] = payload(chosen, chosen == 0 ? 0 : random() & kLineMask) | control << 63;
      candidates |= static_cast<unsigned>(chosen == tag) << i;
      controls |= static_cast<unsigned>(control) << i;
    }
    const Probe seen = probe(bucket, tag);
    ASSERT_EQ(seen.candidates, candidates);
    ASSERT_EQ(seen.controls, controls);
  }
}

TEST(Table, HomesRiseWithTheTagAndCoverAllBuckets) {
  for (const std::uint32_t buckets : {1u, 2u, 7u, 313u, 4'194'303u}) {
    EXPECT_EQ(Table::home(1, buckets), 0u);
    EXPECT_EQ(Table::home(kTagMask, buckets), buckets - 1);
    std::uint32_t last = 0;
    for (std::uint64_t tag = 1; tag <= kTagMask; tag += 977) {
      const std::uint32_t home = Table::home(tag, buckets);
      ASSERT_GE(home, last);
      last = home;
    }
  }
}

TEST(Table, ReachEndsAtTheLastBucket) {
  TableArena arena;
  Table* table = arena.allocate({10, 3, 5}, 0, Stream::kInTurn);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->reach_of(0), 5u);
  EXPECT_EQ(table->reach_of(7), 5u);
  EXPECT_EQ(table->reach_of(8), 4u);
  EXPECT_EQ(table->reach_of(9), 3u);
  TableArena::free(table);
}

TEST(TableArena, TablesAreZeroDisjointAndAlignedWhileUnitsArePrepared) {
  TableArena arena;
  std::jthread beside([&](std::stop_token stop) {
    while (!stop.stop_requested())
      arena.prepare();
  });
  std::mt19937_64 random(2);
  std::vector<Table*> tables;
  for (int i = 0; i < 3'000; ++i) {
    const auto buckets = static_cast<std::uint32_t>(random() % 300 + 1);
    Table* table = arena.allocate({buckets, 2, 8}, static_cast<std::uint32_t>(i),
                                  i % 7 == 0 ? Stream::kStray : Stream::kInTurn);
    ASSERT_NE(table, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(table) % kCacheLineBytes, 0u);
    for (std::uint32_t b = 0; b < buckets + 2; ++b) {
      for (auto& word : table->buckets()[b].words) {
        ASSERT_EQ(word.load(), 0u);
        word = ~std::uint64_t{0};  // Shows in a bucket that gets it again, or overlaps.
      }
    }
    tables.push_back(table);
    if (random() % 2 == 0) {
      std::swap(tables[random() % tables.size()], tables.back());
      TableArena::free(tables.back());
      tables.pop_back();
    }
  }
  beside.request_stop();
  beside.join();
  std::uint64_t bytes = 0;
  for (Table* table : tables)
    bytes += table->bytes;
  EXPECT_EQ(arena.live_bytes(), bytes);
  EXPECT_GE(arena.held_bytes(), bytes);
  for (Table* table : tables)
    TableArena::free(table);
  EXPECT_EQ(arena.live_bytes(), 0u);
}

TEST(TableArena, MemoryOfTablesFreedInTheirOrderGoesBack) {
  TableArena arena;
  std::vector<Table*> tables;
  for (std::uint32_t i = 0; i < 2'000; ++i)
    tables.push_back(arena.allocate({400, 2, 8}, i, Stream::kInTurn));
  const std::uint64_t full = arena.held_bytes();
  EXPECT_LT(full, arena.live_bytes() + 5 * MiB);
  for (std::size_t i = 0; i < 1'500; ++i)
    TableArena::free(tables[i]);
  EXPECT_LT(arena.held_bytes(), arena.live_bytes() + 5 * MiB);
  for (std::size_t i = 1'500; i < 2'000; ++i)
    TableArena::free(tables[i]);
}

TEST(TableArena, TablesLeftInNearlyEmptyUnitsAreNamedUntilLittleLiesFallow) {
  TableArena arena;
  std::set<Table*> tables;
  for (std::uint32_t i = 0; i < 4'000; ++i)
    tables.insert(arena.allocate({400, 2, 8}, i, Stream::kInTurn));
  std::mt19937_64 random(3);
  for (auto it = tables.begin(); it != tables.end();) {
    if (random() % 10 == 0) {
      ++it;
    } else {
      TableArena::free(*it);
      it = tables.erase(it);
    }
  }
  ASSERT_GT(arena.held_bytes(), 4 * arena.live_bytes());
  // Units whose remaining tables were all named end one call each without a name.
  int unnamed = 0, moved = 0;
  while (unnamed < 3 && arena.held_bytes() > arena.live_bytes() + 5 * MiB) {
    const auto move = arena.next_to_move();
    if (!move) {
      ++unnamed;
      continue;
    }
    unnamed = 0;
    const auto it = std::find(tables.begin(), tables.end(), move->table);
    ASSERT_NE(it, tables.end());
    EXPECT_EQ((*it)->partition, move->partition);
    tables.insert(arena.allocate((*it)->geometry, move->partition, Stream::kStray));
    TableArena::free(*it);
    tables.erase(it);
    ASSERT_LT(++moved, 10'000);
  }
  EXPECT_GT(moved, 10);
  EXPECT_LT(arena.held_bytes(), arena.live_bytes() + 5 * MiB);
  for (Table* table : tables)
    TableArena::free(table);
}

// What the system has given pages to, of a table.
std::size_t resident_pages(Table* table) {
  auto* const begin =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(table), kPageBytes));
  const auto* const end = reinterpret_cast<const std::byte*>(table) + table->bytes;
  std::vector<unsigned char> pages(static_cast<std::size_t>(end - begin) / kPageBytes);
  EXPECT_EQ(::mincore(begin, pages.size() * kPageBytes, pages.data()), 0);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

// 300 MiB, so that slabs end as well. Without prepare() the first table of a unit has one page,
// that of its header, or on machines without huge pages a few.
TEST(TableArena, TablesComeFromUnitsThatWereThereBefore) {
  TableArena arena;
  std::vector<Table*> tables;
  int prepared = 0;
  for (std::uint32_t i = 0; i < 1'200; ++i) {
    const std::uint64_t held = arena.held_bytes();
    const bool wanted = arena.wants_unit();
    if (wanted) {
      arena.prepare();
      ASSERT_EQ(arena.held_bytes(), held + 2 * MiB);
      ASSERT_FALSE(arena.wants_unit());
      ++prepared;
    }
    const std::uint64_t before = arena.held_bytes();
    tables.push_back(arena.allocate({4'093, 2, 8}, i, Stream::kInTurn));  // A quarter of a MiB.
    if (prepared != 0) {
      ASSERT_EQ(arena.held_bytes(), before) << i;
      ASSERT_EQ(resident_pages(tables.back()), 64u) << i;
    }
  }
  EXPECT_GT(prepared, 140);
  EXPECT_FALSE(arena.next_to_move()) << "what is prepared does not lie fallow";
  for (Table* table : tables)
    TableArena::free(table);
  EXPECT_LE(arena.held_bytes(), 4 * MiB);
}

TEST(TableArena, NothingIsPreparedForASmallMap) {
  TableArena arena;
  std::vector<Table*> tables;
  for (std::uint32_t i = 0; i < 1'024; ++i)
    tables.push_back(arena.allocate({8, 2, 7}, i, Stream::kInTurn));
  EXPECT_FALSE(arena.wants_unit());
  const std::uint64_t held = arena.held_bytes();
  arena.prepare();
  EXPECT_EQ(arena.held_bytes(), held);
  for (Table* table : tables)
    TableArena::free(table);
}

TEST(TableArena, ATableMayBeLargerThanASlab) {
  TableArena arena;
  Table* table = arena.allocate({2'000'000, 2, 8}, 0, Stream::kInTurn);  // 122 MiB.
  ASSERT_NE(table, nullptr);
  table->buckets()[2'000'001].words[7] = 1;
  Table* small = arena.allocate({1, 0, 0}, 1, Stream::kInTurn);
  ASSERT_NE(small, nullptr);
  TableArena::free(table);
  EXPECT_LT(arena.held_bytes(), 5 * MiB);
  TableArena::free(small);
}

}  // namespace
}  // namespace holdfast::index
