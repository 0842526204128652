// Fields while nothing goes wrong: all kernels against a dull model, all widths alike.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/blocks/field/cow_field.hpp>
#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/field_group.hpp>
#include <holdfast/blocks/field/log_field.hpp>

#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

using field_detail::fam_blocks;
using field_detail::fam_kernels;

std::vector<VectorWidth> widths() {
  std::vector<VectorWidth> all;
  for (const auto width : {VectorWidth::kPortable, VectorWidth::kAvx2, VectorWidth::kAvx512}) {
    if (width <= cpu().vectors) all.push_back(width);
  }
  return all;
}

// Hole 21: the printed listing loses the top bits and takes the version from the payload.
TEST(FamKernels, EveryUpdateOfEveryLengthReadsBackAndLeavesOneVersionInAllBlocks) {
  Random random(7);
  for (std::size_t count = 1; count <= field_detail::kFamWordsMax; ++count) {
    for (const auto width : widths()) {
      std::vector<std::uint64_t> blocks(fam_blocks(count) + 1, 0);
      blocks.back() = 0x1234;  // Not theirs.
      std::vector<std::uint32_t> value(count), before(count, 0), found(count);
      for (std::uint64_t update = 1; update <= 30; ++update) {
        for (auto& word : value)
          word = static_cast<std::uint32_t>(random.next());
        fam_kernels(width).update(blocks.data(), value.data(), count);
        for (const auto reader : widths()) {
          fam_kernels(reader).read(blocks.data(), found.data(), count);
          ASSERT_EQ(found, value) << count << " words, " << name(width) << ", " << name(reader);
        }
        for (std::size_t i = 0; i < fam_blocks(count); ++i)
          ASSERT_EQ(blocks[i] >> 62, update % 4) << "block " << i << " of " << count << " words";
        before = value;
      }
      ASSERT_EQ(blocks.back(), 0x1234u);
    }
  }
}

// Hole 22: beyond 32 words the published variant takes the old half from another block.
TEST(FamField, AnyPartOfAnUpdateIsRolledBackAtEveryLength) {
  Random random(8);
  const auto persist = Persist::none();
  for (const std::size_t count : {4, 8, 16, 28, 31, 32, 33, 62, 63, 64}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<std::uint64_t> blocks(fam_blocks(count), 0);
      std::vector<std::uint32_t> first(count), second(count), found(count);
      for (auto& word : first)
        word = static_cast<std::uint32_t>(random.next());
      for (auto& word : second)
        word = static_cast<std::uint32_t>(random.next());
      const auto& kernels = fam_kernels(widths().back());
      for (auto n = 1 + random.below(5); n > 0; --n)
        kernels.update(blocks.data(), first.data(), count);
      auto torn = blocks;
      kernels.update(blocks.data(), second.data(), count);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < torn.size(); ++i) {
        if (random.below(2) == 0) torn[i] = blocks[i], ++kept;
      }
      ASSERT_TRUE(field_detail::fam_recover(persist, torn.data(), torn.size()));
      kernels.read(torn.data(), found.data(), count);
      ASSERT_EQ(found, kept == torn.size() ? second : first) << count << " words";
    }
  }
}

TEST(FamField, RefusesVersionsThatNoCrashLeaves) {
  std::uint64_t apart[2] = {std::uint64_t{1} << 62, std::uint64_t{3} << 62};
  EXPECT_EQ(field_detail::fam_recover(Persist::none(), apart, 2).code(), Errc::kCorrupt);
  std::uint64_t three[3] = {0, std::uint64_t{1} << 62, std::uint64_t{2} << 62};
  EXPECT_EQ(field_detail::fam_recover(Persist::none(), three, 3).code(), Errc::kCorrupt);
}

template <class Value>
class Field : public testing::Test {};
template <std::size_t N>
struct Bytes {
  std::uint8_t bytes[N];
  bool operator==(const Bytes&) const = default;
};
using Values = testing::Types<Bytes<16>, Bytes<17>, Bytes<32>, Bytes<64>, Bytes<100>, Bytes<128>,
                              Bytes<252>, Bytes<256>>;
TYPED_TEST_SUITE(Field, Values);

template <class T>
T value_of(std::uint64_t number) {
  T value;
  const auto text = pattern(number, sizeof value);
  std::memcpy(&value, text.data(), sizeof value);
  return value;
}

TYPED_TEST(Field, HoldsWhatWasWrittenLastWithItsFences) {
  auto region = dram(256 * KiB);
  auto log = Log::create(region, {64 * KiB, 192 * KiB}, LogKind{}.options()).value();
  FieldLog redo(region, log);
  struct Place {
    alignas(64) FamField<TypeParam> fam;
    alignas(64) CowField<TypeParam> cow;
    alignas(64) LogField<TypeParam> logged;
  };
  auto& place = *reinterpret_cast<Place*>(region.data());
  EXPECT_EQ(place.fam.read(), TypeParam{});
  EXPECT_EQ(place.cow.read(), TypeParam{});
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto value = value_of<TypeParam>(i);
    const auto begin = persist_counts().fences;
    place.fam.update(region.persist(), value);
    EXPECT_EQ(persist_counts().fences - begin, 1u);
    place.cow.update(region.persist(), value);
    EXPECT_EQ(persist_counts().fences - begin, 3u);
    ASSERT_TRUE(place.logged.update(redo, value));
    if (i == 10) {
      EXPECT_EQ(persist_counts().fences - begin, 5u);
    }
    ASSERT_EQ(place.fam.read(), value);
    ASSERT_EQ(place.cow.read(), value);
    ASSERT_EQ(place.logged.read(), value);
  }
  ASSERT_TRUE(place.fam.recover(region.persist()));
  ASSERT_TRUE(place.cow.recover(region.persist()));
  ASSERT_TRUE(redo.recover());
  EXPECT_EQ(place.fam.read(), value_of<TypeParam>(1999));
  EXPECT_EQ(place.cow.read(), value_of<TypeParam>(1999));
  EXPECT_EQ(place.logged.read(), value_of<TypeParam>(1999));
}

// All three kinds side by side, against plain arrays: updates, groups, recoveries, now and then a
// log that is full.
TYPED_TEST(Field, AgreesWithAPlainArray) {
  constexpr std::size_t kFields = 6;
  auto region = dram(64 * KiB);
  auto log = Log::create(region, {32 * KiB, 16 * KiB}, LogKind{}.options(4 * KiB, 1)).value();
  FieldLog redo(region, log);
  struct Place {
    alignas(64) FamField<TypeParam> fam;
    alignas(64) CowField<TypeParam> cow;
    alignas(64) LogField<TypeParam> logged;
  };
  auto* const places = reinterpret_cast<Place*>(region.data());
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    std::memset(region.data(), 0, 32 * KiB);
    ASSERT_TRUE(log.truncate({log.stable().value + 1}));
    TypeParam fam[kFields]{}, cow[kFields]{}, logged[kFields]{};
    for (int step = 0; step < 600; ++step) {
      const auto i = random.below(kFields);
      const auto next = value_of<TypeParam>(random.next());
      switch (random.below(6)) {
        case 0: places[i].fam.update(region.persist(), fam[i] = next); break;
        case 1: places[i].cow.update(region.persist(), cow[i] = next); break;
        case 2:
        case 3: ASSERT_TRUE(places[i].logged.update(redo, logged[i] = next)); break;
        case 4: {
          FieldGroup group(region.persist());
          for (auto n = random.below(10); n > 0; --n) {
            const auto at = random.below(kFields);
            group.update(places[at].fam, fam[at] = value_of<TypeParam>(random.next()));
          }
          break;
        }
        default:
          for (std::size_t at = 0; at < kFields; ++at) {
            ASSERT_TRUE(places[at].fam.recover(region.persist()));
            ASSERT_TRUE(places[at].cow.recover(region.persist()));
          }
          log = reopened(std::move(log), region);
          ASSERT_TRUE(redo.recover());
      }
      for (std::size_t at = 0; at < kFields; ++at) {
        ASSERT_EQ(places[at].fam.read(), fam[at]) << "seed " << seed << " step " << step;
        ASSERT_EQ(places[at].cow.read(), cow[at]) << "seed " << seed << " step " << step;
        ASSERT_EQ(places[at].logged.read(), logged[at]) << "seed " << seed << " step " << step;
      }
    }
  }
}

// Whatever bytes lie there: a field, or kCorrupt and not a byte changed.
TYPED_TEST(Field, AnyBytesAreRefusedOrAFieldThatCanBeUpdated) {
  using Fam = FamField<TypeParam>;
  using Cow = CowField<TypeParam>;
  auto region = dram(64 * KiB);
  auto* const fam = reinterpret_cast<Fam*>(region.data());
  auto* const cow = reinterpret_cast<Cow*>(region.data() + 4 * KiB);
  unsigned refused = 0, taken = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    // Few versions, else hardly any field is one.
    const auto versions = random.next() & random.next();
    for (std::size_t at = 0; at < sizeof(Fam); at += 8) {
      const auto block = (random.next() >> 2) | (versions >> random.below(4) << 62);
      std::memcpy(region.data() + at, &block, 8);
    }
    for (std::size_t at = 0; at < sizeof(Cow); at += 8) {
      const auto word = at == 0 ? random.below(3) : random.next();
      std::memcpy(region.data() + 4 * KiB + at, &word, 8);
    }
    const std::vector<std::byte> before(region.data(), region.data() + 8 * KiB);
    const auto next = value_of<TypeParam>(seed);
    const auto try_one = [&](auto& field) {
      const auto* const bytes = reinterpret_cast<const std::byte*>(&field);
      if (const auto status = field.recover(region.persist()); !status) {
        ++refused;
        EXPECT_EQ(status.code(), Errc::kCorrupt);
        EXPECT_EQ(std::memcmp(bytes, before.data() + (bytes - region.data()), sizeof field), 0);
        return;
      }
      ++taken;
      field.update(region.persist(), next);
      EXPECT_TRUE(field.recover(region.persist()));
      EXPECT_EQ(field.read(), next);
    };
    try_one(*fam);
    try_one(*cow);
  }
  EXPECT_GT(refused, 50u);
  EXPECT_GT(taken, 50u);
}

// The lines that docs/blocks_field.md names, of fields that begin on one.
TEST(FieldCosts, AreTheLinesThatTheDocumentNames) {
  auto region = dram(64 * KiB);
  auto log = Log::create(region, {32 * KiB, 32 * KiB}, LogKind{}.options(4 * KiB, 1)).value();
  FieldLog redo(region, log);
  const auto lines = [](auto&& update) {
    update();  // The first one takes a segment of the log.
    const auto before = persist_counts().lines_written_back;
    update();
    return persist_counts().lines_written_back - before;
  };
  const auto check = [&]<class T>(T, std::uint64_t fam, std::uint64_t cow, std::uint64_t logged) {
    struct Place {
      alignas(64) FamField<T> fam;
      alignas(64) CowField<T> cow;
      alignas(64) LogField<T> logged;
    };
    auto& place = *reinterpret_cast<Place*>(region.data());
    const auto value = value_of<T>(1);
    EXPECT_EQ(lines([&] { place.fam.update(region.persist(), value); }), fam) << sizeof(T);
    EXPECT_EQ(lines([&] { place.cow.update(region.persist(), value); }), cow) << sizeof(T);
    EXPECT_EQ(lines([&] { place.logged.update(redo, value).value(); }), logged) << sizeof(T);
    std::memset(region.data(), 0, sizeof place);
  };
  check(Bytes<16>{}, 1, 2, 1 + 1);
  check(Bytes<64>{}, 3, 3, 2 + 1);
  check(Bytes<256>{}, 9, 6, 5 + 4);
}

TEST(FieldGroup, SharesAFenceAndFencesBeforeAFieldComesAgain) {
  auto region = dram(64 * KiB);
  auto* const fields = reinterpret_cast<FamField<Bytes<16>>*>(region.data());
  const auto begin = persist_counts().fences;
  {
    FieldGroup group(region.persist());
    for (int i = 0; i < 8; ++i)
      group.update(fields[i], value_of<Bytes<16>>(1));
    EXPECT_EQ(persist_counts().fences, begin);
    group.update(fields[3], value_of<Bytes<16>>(2));
    EXPECT_EQ(persist_counts().fences, begin + 1);
    group.commit();
    EXPECT_EQ(persist_counts().fences, begin + 2);
    group.commit();
    EXPECT_EQ(persist_counts().fences, begin + 2);
    group.update(fields[4], value_of<Bytes<16>>(3));
  }
  EXPECT_EQ(persist_counts().fences, begin + 3);
  EXPECT_EQ(fields[3].read(), value_of<Bytes<16>>(2));
}

// What it held is in place: of a full log only the update that found it full is left.
TEST(FieldLog, IsEmptiedWhenItIsFull) {
  auto region = dram(64 * KiB);
  auto log = Log::create(region, {32 * KiB, 12 * KiB}, LogKind{}.options(4 * KiB, 1)).value();
  FieldLog redo(region, log);
  auto& field = *reinterpret_cast<LogField<Bytes<16>>*>(region.data());
  const auto head = log.head();
  while (log.head() == head)
    ASSERT_TRUE(field.update(redo, value_of<Bytes<16>>(1)));
  EXPECT_EQ(records(log).size(), 1u);
}

TEST(FieldLog, RefusesRecordsThatAreNoUpdates) {
  auto region = dram(256 * KiB);
  auto log = Log::create(region, {64 * KiB, 192 * KiB}, LogKind{}.options()).value();
  FieldLog redo(region, log);
  std::string own_log(16, '\0');  // A field in the log's own first segment.
  own_log[2] = 1;
  for (const auto& bad : {std::string("short"), std::string(8, '\xff') + "beyond the region",
                          std::string(8 + 257, '\0'), own_log}) {
    ASSERT_TRUE(log.truncate({log.stable().value + 1}));
    ASSERT_TRUE(log.append(bytes(bad)));
    EXPECT_EQ(redo.recover().code(), Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace holdfast::blocks
