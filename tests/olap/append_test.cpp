// Rows that are appended: seen, kept, merged, damaged; beside versions that somebody holds.
#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/olap/delta.hpp>

#include "growing_star.hpp"

namespace holdfast::olap {
namespace {

RegionOptions small_units() {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = 64 * KiB;
  return options;
}

TEST(StarAppend, AnswersAreThoseOfAllRowsBeforeAndAfterMergesAndOpenings) {
  Region region = Region::open("dram", small_units()).value();
  auto store = StarStore::create(region).value();
  Growing growing(0.02, 5'000);
  growing.load(*store);
  for (unsigned round = 0; round < 8; ++round) {
    EXPECT_GT(growing.append(*store, 100 << round).value(), 100u);
    if (round % 3 == 2) {
      EXPECT_FALSE(store->catalogue().deltas.empty());
      store->merge().value();
      EXPECT_TRUE(store->catalogue().deltas.empty());
    }
    if (round % 2 == 1) {
      store.reset();
      store = StarStore::open(region).value();
    }
    EXPECT_EQ(all_answers(*store->version()), growing.expected()) << round;
    EXPECT_TRUE(store->verify().empty());
  }
}

TEST(StarAppend, AMergeMakesUsualBlocksAndLeavesLargeOnesWhereTheyAre) {
  auto star = empty_star();
  Growing growing(0.06, 50'000);
  growing.load(*star.store);
  const auto first = star.store->catalogue().blocks[0];
  for (unsigned round = 0; round < 40; ++round)
    growing.append(*star.store, 600).value();
  const auto before = star.store->catalogue();
  EXPECT_EQ(before.deltas.size(), 40u);
  EXPECT_EQ(before.delta_blocks, 40u);
  star.store->merge().value();
  const auto& after = star.store->catalogue();
  EXPECT_EQ(after.rows(), before.rows());
  EXPECT_EQ(after.blocks[0], first);
  EXPECT_LE(after.blocks.size(), before.blocks.size() - 38);
  for (std::size_t i = 0; i + 1 < after.blocks.size(); ++i)
    EXPECT_GE(after.blocks[i].rows, kUsualBlockRows / 2);
  EXPECT_EQ(all_answers(*star.store->version()), growing.expected());
  star.store->merge().value();  // Nothing to do.
}

TEST(StarAppend, AVersionStaysAsItIsWhileOthersComeAndGo) {
  Region region = Region::open("dram", small_units()).value();
  auto store = StarStore::create(region).value();
  Growing growing(0.02, 2'000);
  growing.load(*store);
  const auto held = store->version();
  const auto expected = all_answers(*held);
  for (unsigned round = 0; round < 6; ++round) {
    growing.append(*store, 2'000).value();
    store->merge().value();
    ssb::load_generated(ssb::Generator::create(0.01, round).value(), "", *store, 1).value();
    growing.load(*store);
    EXPECT_EQ(all_answers(*held), expected) << round;
    EXPECT_TRUE(held->verify().empty());
  }
}

TEST(StarAppend, BlocksOfANewVersionAreCheckedThoughTheirNumbersWere) {
  auto star = empty_star();
  Growing growing(0.02, 4'000);
  growing.load(*star.store);
  growing.append(*star.store, 500).value();
  // What was checked before stays so: damage of it is not looked for again.
  const auto damage = [&](std::size_t number) {
    const auto& block = star.store->catalogue().blocks[number];
    star.region->data()[block.offset + block.columns[kRevenue].offset] ^= std::byte{1};
  };
  const auto ask = [&] {
    Team team(1);
    return answer(query("q2.1"), *star.store, team, kernels(VectorWidth::kAvx512)).code();
  };
  EXPECT_EQ(ask(), Errc::kOk);
  damage(0);
  EXPECT_EQ(ask(), Errc::kOk);
  damage(0);
  growing.append(*star.store, 500).value();
  damage(2);
  EXPECT_EQ(ask(), Errc::kCorrupt);
  damage(2);
  EXPECT_EQ(ask(), Errc::kOk);
  growing.load(*star.store);
  damage(0);
  EXPECT_EQ(ask(), Errc::kCorrupt);
}

TEST(StarAppend, SpaceIsUsedAgainOnceNobodyHoldsIt) {
  Region region = Region::open("dram", small_units()).value();
  auto store = StarStore::create(region).value();
  Growing growing(0.02, 10'000);
  growing.load(*store);
  std::uint64_t after_few = 0;
  for (unsigned round = 0; round < 30; ++round) {
    growing.append(*store, 30).value();
    store->merge().value();
    if (round == 3) after_few = region.size_bytes();
  }
  EXPECT_LE(region.size_bytes(), after_few * 5 / 4);
}

TEST(StarAppend, BadLinesAndUnknownKeysLeaveEverythingAsItWas) {
  auto star = empty_star();
  TextTables tables;
  tables.load(*star.store).value();
  const TemporaryDirectory directory;
  const auto append = [&](const std::string& text) {
    directory.write("more.tbl", text);
    return ssb::append_lines(directory.path() + "/more.tbl", *star.store, 1);
  };
  const auto good = TextTables::fact("7", "1", "1", "19940206", "30", "100", "6", "94", "60");
  const auto bad =
      append(good + TextTables::fact("8", "1", "1", "19940206", "1", "1", "1", "1", "1"));
  EXPECT_EQ(bad.code(), Errc::kCorrupt);
  EXPECT_NE(bad.error().detail.find("more.tbl:2: lo_custkey '8'"), std::string::npos);
  EXPECT_EQ(star.store->catalogue().rows(), 2u);
  EXPECT_EQ(append(good + good).value(), 2u);
  EXPECT_EQ(append("").value(), 0u);
  EXPECT_EQ(star.store->catalogue().rows(), 4u);
  EXPECT_EQ(star.store->catalogue().deltas.size(), 1u);
  EXPECT_EQ(csv_of(*star.store, query("q1.3")), "revenue\n1800\n");
}

TEST(StarAppend, WhatCannotBeAppendedToSaysSo) {
  auto star = empty_star();
  const TemporaryDirectory directory;
  directory.write("more.tbl", "");
  const auto append = [&](StarStore& store) {
    return ssb::append_lines(directory.path() + "/more.tbl", store, 1).code();
  };
  EXPECT_EQ(append(*star.store), Errc::kNotFound);
  EXPECT_EQ(star.store->merge().code(), Errc::kNotFound);
  TextTables().load_rows(*star.store).value();
  EXPECT_EQ(append(*star.store), Errc::kUnsupported);
  EXPECT_EQ(star.store->merge().code(), Errc::kUnsupported);

  auto options = small_units();
  options.reserve_bytes = options.size_bytes;
  Region small = Region::open("dram", options).value();
  auto store = StarStore::create(small).value();
  TextTables tables;
  tables.load(*store).value();
  FactRows rows;
  for (std::uint32_t i = 0; i < kMaxBlockRows; ++i) {
    for (Column column = 0; column < kColumns; ++column)
      rows.columns[column].push_back(column == kRevenue ? i * 2'654'435'761u : 0);
  }
  const std::vector<EncodedBlock> blocks(8, encode_block(rows, 0, rows.size()));
  const auto full = store->append(blocks);
  EXPECT_EQ(full.code(), Errc::kNoSpace);
  EXPECT_NE(full.error().detail.find("need a region of"), std::string::npos);
  EXPECT_EQ(store->catalogue().rows(), 2u);
}

TEST(StarAppend, EveryDamagedByteOfEntriesWordAndBlocksIsFound) {
  Region region = Region::open("dram", small_units()).value();
  Catalogue catalogue;
  {
    auto store = StarStore::create(region).value();
    Growing growing(0.004, 300);
    growing.load(*store);
    growing.append(*store, 200).value(), growing.append(*store, 100).value();
    catalogue = store->catalogue();
  }
  ASSERT_EQ(catalogue.deltas.size(), 2u);
  const auto flip = [&](std::uint64_t at) { region.data()[at] ^= std::byte{0x04}; };
  const auto expect_refused = [&](std::uint64_t at) {
    flip(at);
    EXPECT_EQ(StarStore::open(region).code(), Errc::kCorrupt) << at;
    flip(at);
  };
  for (const auto& entry : catalogue.deltas) {
    for (std::uint64_t at = 0; at < entry.size_bytes; ++at) {
      if (at >= 40 && at < 64) continue;  // Reserved bytes of the header.
      expect_refused(entry.offset_bytes + at);
    }
  }
  for (unsigned byte = 0; byte < 8; ++byte)
    expect_refused(catalogue.place.offset_bytes + offsetof(CatalogueHeader, deltas) + byte);
  for (auto number = catalogue.blocks.size() - 2; number < catalogue.blocks.size(); ++number) {
    const auto& block = catalogue.blocks[number];
    flip(block.offset + block.columns[kRevenue].offset);
    auto store = StarStore::open(region).value();
    EXPECT_EQ(store->verify().size(), 1u);
    EXPECT_EQ(store->merge().code(), Errc::kCorrupt);
    flip(block.offset + block.columns[kRevenue].offset);
  }
  EXPECT_TRUE(StarStore::open(region).value()->verify().empty());
}

// The entries of a star, with what a test writes into one of them under a good checksum.
class ForgedEntries : public testing::Test {
 protected:
  void SetUp() override {
    auto store = StarStore::create(region_).value();
    Growing growing(0.004, 300);
    growing.load(*store);
    for (int i = 0; i < 3; ++i)
      growing.append(*store, 100).value();
    id_ = store->id();
    catalogue_ = store->catalogue();
    ASSERT_EQ(catalogue_.deltas.size(), 3u);
  }
  void reseal(std::size_t number) {
    std::byte* bytes = region_.data() + catalogue_.deltas[number].offset_bytes;
    DeltaHeader header;
    std::memcpy(&header, bytes, sizeof header);
    header.checksum = checksum64({bytes + sizeof header, header.body_bytes},
                                 mix64(mix64(id_ + header.previous) + header.number));
    std::memcpy(bytes, &header, sizeof header);
  }
  void expect_refused(const std::string& what) {
    const auto opened = StarStore::open(region_);
    ASSERT_EQ(opened.code(), Errc::kCorrupt);
    EXPECT_NE(opened.error().detail.find(what), std::string::npos) << opened.error().detail;
  }

  Region region_ = Region::open("dram", small_units()).value();
  Catalogue catalogue_;
  std::uint64_t id_ = 0;
};

TEST_F(ForgedEntries, AnEntryThatIsLeftOutIsNoticed) {
  const auto first = catalogue_.deltas[0].offset_bytes / kCacheLineBytes;
  std::memcpy(region_.data() + catalogue_.deltas[2].offset_bytes + offsetof(DeltaHeader, previous),
              &first, sizeof first);
  reseal(2);
  expect_refused("they do not follow each other");
}

TEST_F(ForgedEntries, AnEntryThatLeadsToItselfIsRefused) {
  const auto own = catalogue_.deltas[2].offset_bytes / kCacheLineBytes;
  std::memcpy(region_.data() + catalogue_.deltas[2].offset_bytes + offsetof(DeltaHeader, previous),
              &own, sizeof own);
  reseal(2);
  expect_refused("they do not follow each other");
}

TEST_F(ForgedEntries, ABlockThatEndsBehindTheRegionIsRefused) {
  const auto& block = catalogue_.blocks.back();
  auto offset = block.offset;
  std::byte* const body =
      region_.data() + catalogue_.deltas[2].offset_bytes + sizeof(DeltaHeader) + 4;
  ASSERT_EQ(std::memcmp(body, &offset, sizeof offset), 0);
  offset = region_.size_bytes() - kCacheLineBytes;
  std::memcpy(body, &offset, sizeof offset);
  reseal(2);
  expect_refused("a block leads outside of the region");
}

TEST(StarAppend, AKeyThatLeadsToNoRowIsFoundThoughChecksumsFit) {
  auto star = empty_star();
  TextTables().load(*star.store).value();
  constexpr auto column_of_customers = column(Dimension::kCustomer, Digit::kOrdinal);
  FactRows rows;
  for (Column column = 0; column < kColumns; ++column)
    rows.columns[column].push_back(column == column_of_customers ? 7 : 0);
  star.store->append(std::vector{encode_block(rows, 0, 1)}).value();
  const auto found = star.store->verify();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("a key leads to no row of customer, though its checksums fit"),
            std::string::npos)
      << found[0];
}

TEST(StarAppend, AMergeDoesNotSealDamageOfASmallBlockThatItRewrites) {
  Region region = Region::open("dram", small_units()).value();
  auto store = StarStore::create(region).value();
  Growing growing(0.004, 300);
  growing.load(*store);
  growing.append(*store, 100).value();
  const auto block = store->catalogue().blocks[0];
  store.reset();
  region.data()[block.offset + block.columns[kSupplyCost].offset] ^= std::byte{1};
  store = StarStore::open(region).value();
  EXPECT_EQ(store->merge().code(), Errc::kCorrupt);
  EXPECT_EQ(store->catalogue().deltas.size(), 1u);
}

}  // namespace
}  // namespace holdfast::olap
