// The star on its medium: reopened, replaced, damaged.
#include <algorithm>
#include <cstring>

#include <holdfast/base/checksum.hpp>

#include "star_support.hpp"

namespace holdfast::olap {
namespace {

std::string q21(const StarStore& store) { return csv_of(store, query("q2.1")); }

RegionOptions small_units() {
  RegionOptions options;
  options.size_bytes = options.unit_bytes = 64 * KiB;
  return options;
}

TEST(StarStore, IsFoundAgainAndTheSame) {
  const TemporaryDirectory directory;
  const auto spec = directory.path() + "/star";
  std::string before;
  {
    Region region = Region::open(spec, small_units()).value();
    auto store = StarStore::open_or_create(region).value();
    EXPECT_FALSE(store->loaded());
    ssb::load_generated(ssb::Generator::create(0.01).value(), "here", *store, 2).value();
    before = q21(*store);
  }
  RegionOptions reading;
  reading.access = RegionAccess::kOpenReadOnly;
  Region region = Region::open(spec, reading).value();
  auto store = StarStore::open(region).value();
  EXPECT_EQ(store->catalogue().source, "here");
  EXPECT_EQ(q21(*store), before);
  EXPECT_TRUE(store->verify().empty());
  EXPECT_EQ(StarStore::open(region).code(), Errc::kOk);  // Readers share.
}

// The magic comes last. What lay before it was refused for ever as something that is no star.
TEST(StarStore, OneWhoseCreationWasInterruptedIsCreatedAgain) {
  Region region = Region::open("dram", small_units()).value();
  StarStore::create(region).value();
  DurableWriter(region).put_word(0, 0).value();
  const auto store = StarStore::open_or_create(region);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_FALSE((*store)->loaded());
}

TEST(StarStore, LoadingAgainAndAgainUsesTheSameSpace) {
  Region region = Region::open("dram", small_units()).value();
  auto store = StarStore::create(region).value();
  std::uint64_t after_two = 0;
  for (unsigned round = 0; round < 8; ++round) {
    const auto generator = ssb::Generator::create(0.02, round % 3).value();
    ssb::load_generated(generator, "", *store, 1).value();
    EXPECT_EQ(q21(*store), q21(*loaded_star(0.02, 1, round % 3).store));
    EXPECT_TRUE(store->verify().empty());
    if (round == 1) after_two = region.size_bytes();
  }
  EXPECT_LE(region.size_bytes(), after_two * 5 / 4);
}

TEST(StarStore, NothingOfHoldfastsIsOverwritten) {
  Region region = Region::open("dram", small_units()).value();
  {
    StarStore::create(region).value();
  }
  EXPECT_EQ(StarStore::create(region).code(), Errc::kAlreadyExists);
  Region empty = Region::open("dram", small_units()).value();
  EXPECT_EQ(StarStore::open(empty).code(), Errc::kNotHoldfast);
  const auto store = StarStore::open(region).value();
  EXPECT_EQ(StarStore::open(region).code(), Errc::kBusy);
}

class DamagedStar : public testing::Test {
 protected:
  void SetUp() override {
    region_ = std::make_unique<Region>(Region::open("dram", small_units()).value());
    const auto store = StarStore::create(*region_).value();
    ssb::load_generated(ssb::Generator::create(0.012).value(), "", *store, 1).value();
    catalogue_ = store->catalogue();
  }
  void flip(std::uint64_t offset) { region_->data()[offset] ^= std::byte{0x10}; }

  std::unique_ptr<Region> region_;
  std::optional<Catalogue> catalogue_;
};

TEST_F(DamagedStar, EachDamagedColumnIsNamedByVerifyAndRefusedByQueriesThatReadIt) {
  const auto& block = catalogue_->blocks.at(1);
  for (Column column = 0; column < kColumns; ++column) {
    const auto& of = block.columns[column];
    if (of.constant()) continue;
    for (const auto at : {std::uint64_t{0}, column_bytes(block.rows, of.width) - 1}) {
      flip(block.offset + of.offset + at);
      const auto store = StarStore::open(*region_).value();
      const auto found = store->verify();
      ASSERT_EQ(found.size(), 1u) << kColumnNames[column];
      EXPECT_NE(found[0].find("block 1, column " + std::string(kColumnNames[column]) + " "),
                std::string::npos)
          << found[0];
      flip(block.offset + of.offset + at);
    }
  }
  flip(block.offset + block.columns[kSupplyCost].offset);
  const auto store = StarStore::open(*region_).value();
  Team team(2);
  EXPECT_EQ(answer(query("q4.1"), *store, team, kernels(VectorWidth::kAvx512)).code(),
            Errc::kCorrupt);
  EXPECT_EQ(answer(query("q2.1"), *store, team, kernels(VectorWidth::kAvx512)).code(), Errc::kOk);
}

TEST_F(DamagedStar, EveryByteOfTheCatalogueAndTheRootWordIsCovered) {
  const auto place = catalogue_->place;
  for (std::uint64_t at = 0; at < place.size_bytes; at += at < 512 ? 1 : 97) {
    if (at >= 24 && at < 64) continue;  // Reserved bytes of the header.
    flip(place.offset_bytes + at);
    EXPECT_EQ(StarStore::open(*region_).code(), Errc::kCorrupt) << at;
    flip(place.offset_bytes + at);
  }
  for (unsigned byte = 0; byte < 8; ++byte) {
    flip(kRootAt + byte);
    EXPECT_EQ(StarStore::open(*region_).code(), Errc::kCorrupt) << byte;
    flip(kRootAt + byte);
  }
  EXPECT_EQ(StarStore::open(*region_).code(), Errc::kOk);
}

TEST_F(DamagedStar, ACatalogueThatLiesUnderAGoodChecksumIsRefusedOrHarmless) {
  // Each number of a block's entry, changed, with the checksum made to fit.
  const auto place = catalogue_->place;
  std::byte* bytes = region_->data() + place.offset_bytes;
  CatalogueHeader header;
  std::memcpy(&header, bytes, sizeof header);
  std::uint64_t id = 0;
  {
    const auto store = StarStore::open(*region_).value();
    id = store->id();
  }
  const auto reseal = [&] {
    header.checksum = checksum64({bytes + sizeof header, header.body_bytes}, id);
    std::memcpy(bytes, &header, sizeof header);
  };
  Team team(1);
  for (std::uint64_t at = place.size_bytes - 420; at < place.size_bytes; at += 4) {
    std::uint32_t number;
    std::memcpy(&number, bytes + at, sizeof number);
    for (const auto wrong : {0u, number + 1, ~0u, number ^ 0x80000000u}) {
      std::memcpy(bytes + at, &wrong, sizeof wrong);
      reseal();
      if (const auto store = StarStore::open(*region_)) {
        for (const auto* name : {"q1.1", "q2.1", "q4.3"})
          (void)answer(query(name), **store, team, kernels(VectorWidth::kAvx512));
        (void)(*store)->verify();
      }
      std::memcpy(bytes + at, &number, sizeof number);
    }
  }
  reseal();
  EXPECT_TRUE(StarStore::open(*region_).value()->verify().empty());
}

TEST(DimensionTable, LeavesAreInTheOrderOfTheirHierarchy) {
  std::vector<DimensionRow> rows;
  for (std::uint32_t key = 1; key <= 60; ++key)
    rows.push_back({key,
                    {"R" + std::to_string(key % 2), "N" + std::to_string(key % 4),
                     "C" + std::to_string(key % 12), ""}});
  const auto table = DimensionTable::build(Dimension::kCustomer, rows).value();
  ASSERT_EQ(table.leaves().size(), 12u);
  const KeyLookup lookup(table);
  for (std::size_t i = 1; i < table.leaves().size(); ++i)
    EXPECT_LT(table.leaves()[i - 1].values, table.leaves()[i].values);
  for (const auto& row : rows) {
    Digits digits;
    ASSERT_TRUE(lookup.find(row.key, digits));
    EXPECT_EQ(table.key(digits), row.key);
    EXPECT_EQ(table.leaf(digits.outer, digits.inner)->values, row.values);
  }
  Digits digits;
  EXPECT_FALSE(lookup.find(0, digits));
  EXPECT_FALSE(lookup.find(61, digits));
  EXPECT_EQ(table.key({0, 0, 5}), std::nullopt);
  EXPECT_EQ(table.key({0, 1, 0}), std::nullopt);
}

// All that this CPU runs, with and without an instruction that packs bytes.
std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> all;
  for (const auto width : {VectorWidth::kPortable, VectorWidth::kAvx2, VectorWidth::kAvx512})
    all.push_back(&kernels(width));
  if (cpu().avx512) all.push_back(&kernel_detail::kAvx512Kernels);
  return all;
}

std::vector<std::byte> some_bytes() {
  std::vector<std::byte> bytes(kChunkRows + kSlackBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 167 >> 3);
  return bytes;
}

// The masks of a chunk before a filter: of every fifth group none, or of one group alone some.
std::vector<std::uint64_t> candidates(bool few) {
  std::vector<std::uint64_t> masks(kChunkGroups);
  for (std::uint32_t i = 0; i < kChunkRows; ++i) {
    const auto group = i / kGroupRows;
    const bool asked = (few ? group == 3 : group % 5 != 0) && i % 3 != 0;
    masks[group] |= std::uint64_t{asked} << i % kGroupRows;
  }
  return masks;
}

std::uint32_t count_open(const std::vector<std::uint64_t>& masks) {
  return static_cast<std::uint32_t>(masks.size()) -
         static_cast<std::uint32_t>(std::count(masks.begin(), masks.end(), 0u));
}

TEST(Kernels, AgreeOnEveryRangeAndMask) {
  const auto bytes = some_bytes();
  for (const bool few : {false, true}) {
    const auto before = candidates(few);
    for (unsigned from = 0; from < 256; from += 15) {
      for (unsigned to = from; to < 256; to += 17) {
        const std::vector<ByteRange> ranges{
            {static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)}, {7, 9}};
        std::vector<std::uint32_t> expected;
        for (std::uint32_t i = 0; i < kChunkRows; ++i) {
          const auto value = static_cast<unsigned>(bytes[i]);
          const bool asked = (before[i / kGroupRows] >> i % kGroupRows & 1) != 0;
          if (asked && ((value >= from && value <= to) || (value >= 7 && value <= 9)))
            expected.push_back(1000 + i);
        }
        for (const auto* of : all_kernels()) {
          auto masks = before;
          const auto open = of->narrow({bytes.data(), ranges}, kChunkGroups, masks.data());
          EXPECT_EQ(open, count_open(masks));
          std::vector<std::uint32_t> rows(kChunkRows + 16);
          rows.resize(of->expand(masks.data(), kChunkGroups, 1000, rows.data()));
          EXPECT_EQ(rows, expected) << name(of->width) << " " << from << ".." << to;
        }
      }
    }
  }
}

TEST(Kernels, ExpandGroupsOfEveryNumberOfRows) {
  for (unsigned count = 0; count <= kGroupRows; ++count) {
    std::vector<std::uint64_t> masks(3);
    masks[1] = count == kGroupRows ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << count);
    masks[2] = std::uint64_t{1} << 63;
    std::vector<std::uint32_t> expected;
    for (unsigned i = 0; i < count; ++i)
      expected.push_back(64 + i);
    expected.push_back(191);
    for (const auto* of : all_kernels()) {
      std::vector<std::uint32_t> rows(3 * kGroupRows + 16);
      rows.resize(of->expand(masks.data(), 3, 0, rows.data()));
      EXPECT_EQ(rows, expected) << name(of->width) << " " << count;
    }
  }
}

TEST(Kernels, ReadEachByteOnce) {
  auto bytes = some_bytes();
  for (const auto* of : all_kernels()) {
    const auto before = of->read(bytes.data(), bytes.size());
    EXPECT_EQ(before, kernels(VectorWidth::kPortable).read(bytes.data(), bytes.size()));
    for (std::size_t i = 0; i < bytes.size(); i += 41) {
      bytes[i] ^= std::byte{64};
      EXPECT_EQ(of->read(bytes.data(), bytes.size()) ^ before, std::uint64_t{64} << i % 8 * 8);
      bytes[i] ^= std::byte{64};
    }
  }
}

}  // namespace
}  // namespace holdfast::olap
