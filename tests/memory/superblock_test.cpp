// Superblocks: what is refused and how it is said, and what is never overwritten.
#include <holdfast/memory/superblock.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "region_support.hpp"

namespace holdfast {
namespace {

constexpr SuperblockFormat kFormat{.name = "thing",
                                   .magic = magic_of("HLDTHNG1"),
                                   .version = 3,
                                   .oldest_version = 2,
                                   .known_incompatible = 0b101};
const std::string kBody = "sixteen bytes ok";

class Superblocks : public testing::Test {
 protected:
  SuperblockHeader header() const {
    SuperblockHeader made{};
    made.format_version = made.oldest_reader = kFormat.version;
    made.id = 77;
    return made;
  }
  void write(const SuperblockHeader& made, const std::string& body = kBody) {
    write_superblock(DurableWriter(region_), 4096, sealed_header(made, kFormat, bytes(body)),
                     bytes(body))
        .value();
  }
  Result<SuperblockHeader> read(std::size_t room = 4096) {
    body_.assign(body_.size(), '#');
    return read_superblock(kFormat, {region_.data() + 4096, room},
                           std::as_writable_bytes(std::span(body_)));
  }
  std::string refusal() { return read().error().message(); }

  Region region_ = Region::open("dram", with(RegionAccess::kCreate)).value();
  std::string body_ = std::string(16, '#');
};

TEST_F(Superblocks, AreReadAsTheyWereWritten) {
  auto made = new_header(kFormat, bytes(kBody)).value();
  write_superblock(DurableWriter(region_), 4096, made, bytes(kBody)).value();
  const auto found = read().value();
  EXPECT_EQ(std::memcmp(&found, &made, sizeof made), 0);
  EXPECT_EQ(body_, kBody);
  EXPECT_EQ(found.format_version, 3u);
  EXPECT_EQ(found.oldest_reader, 3u);
  EXPECT_NE(found.id, new_header(kFormat, bytes(kBody)).value().id);
}

TEST_F(Superblocks, EveryFlippedBitIsRefused) {
  write(header());
  for (std::size_t at = 0; at < sizeof(SuperblockHeader) + kBody.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      region_.data()[4096 + at] ^= std::byte{1} << bit;
      const auto expected = at < 8 ? Errc::kNotHoldfast : Errc::kCorrupt;
      EXPECT_EQ(read().code(), expected) << at << " " << bit;
      region_.data()[4096 + at] ^= std::byte{1} << bit;
    }
  }
  EXPECT_TRUE(read());
}

TEST_F(Superblocks, AnUnknownIncompatibleFlagIsRefusedByItsBit) {
  auto made = header();
  made.incompatible_features = 0b101;
  write(made);
  EXPECT_EQ(read().value().incompatible_features, 0b101u);
  made.incompatible_features = 0b101 | 1ull << 17 | 1ull << 40;
  write(made);
  EXPECT_EQ(read().code(), Errc::kNewerFormat);
  EXPECT_NE(refusal().find("bit 17"), std::string::npos) << refusal();
}

TEST_F(Superblocks, AnUnknownCompatibleFlagIsIgnoredAndKept) {
  auto made = header();
  made.compatible_features = ~std::uint64_t{0};
  write(made);
  EXPECT_EQ(read().value().compatible_features, ~std::uint64_t{0});
}

TEST_F(Superblocks, ANewerVersionIsReadIfItSaysThatThisBuildMay) {
  auto made = header();
  made.format_version = 9;
  write(made);
  EXPECT_EQ(read().value().format_version, 9u);
  made.oldest_reader = 4;
  write(made);
  EXPECT_EQ(read().code(), Errc::kNewerFormat);
  EXPECT_NE(refusal().find("format version 9"), std::string::npos) << refusal();
}

TEST_F(Superblocks, AnOldVersionIsReadDownToTheOldest) {
  auto made = header();
  made.format_version = made.oldest_reader = 2;
  write(made);
  EXPECT_TRUE(read());
  made.format_version = made.oldest_reader = 1;
  write(made);
  EXPECT_EQ(read().code(), Errc::kUnsupported);
}

TEST_F(Superblocks, ABodyMayBeLongerOrShorterThanTheReadersOwn) {
  write(header(), "short");
  ASSERT_TRUE(read());
  EXPECT_EQ(body_, std::string("short") + std::string(11, '\0'));
  write(header(), kBody + " and what a later build added");
  ASSERT_TRUE(read());
  EXPECT_EQ(body_, kBody);
}

TEST_F(Superblocks, ABodyBeyondTheRoomIsRefusedUnread) {
  write(header());
  EXPECT_EQ(read(sizeof(SuperblockHeader) + kBody.size()).code(), Errc::kOk);
  EXPECT_EQ(read(sizeof(SuperblockHeader) + kBody.size() - 1).code(), Errc::kCorrupt);
  EXPECT_EQ(read(sizeof(SuperblockHeader)).code(), Errc::kCorrupt);
  auto made = sealed_header(header(), kFormat, bytes(kBody));
  made.body_bytes = ~std::uint64_t{0};
  std::memcpy(region_.data() + 4096, &made, sizeof made);
  EXPECT_EQ(read().code(), Errc::kCorrupt);
}

TEST_F(Superblocks, NothingAndSomethingElseAreNotHoldfast) {
  EXPECT_EQ(read().code(), Errc::kNotHoldfast);
  EXPECT_NE(refusal().find("none here"), std::string::npos) << refusal();
  std::memcpy(region_.data() + 4096, "ELF", 3);
  EXPECT_NE(refusal().find("something else"), std::string::npos) << refusal();
}

TEST_F(Superblocks, AnErasedOneIsGone) {
  write(header());
  erase_superblock(DurableWriter(region_), 4096).value();
  EXPECT_EQ(read().code(), Errc::kNotHoldfast);
  EXPECT_EQ(what_lies_here(region_, {4096, 4096}), "");
}

TEST_F(Superblocks, EveryKnownMagicIsNamedAndNotOverwritten) {
  std::set<std::uint64_t> magics;
  for (const auto& known : kKnownStructures) {
    EXPECT_TRUE(magics.insert(known.magic).second) << known.name;
    std::memset(region_.data() + 4096, 0, 4096);
    std::memcpy(region_.data() + 4096 + known.magic_at, &known.magic, 8);
    EXPECT_EQ(what_lies_here(region_, {4096, 4096}), known.name);
    const auto refused = refuse_to_overwrite("page store", region_, {4096, 4096});
    ASSERT_EQ(refused.code(), Errc::kAlreadyExists);
    EXPECT_NE(refused.error().detail.find(known.name), std::string::npos);
    EXPECT_TRUE(refuse_to_overwrite("page store", region_, {0, 4096}));
    EXPECT_TRUE(refuse_to_overwrite("page store", region_, {8192, 4096}));
  }
}

TEST_F(Superblocks, AStructureOfANewerHoldfastIsNotOverwrittenEither) {
  std::memcpy(region_.data(), "HLDXYZW7", 8);
  EXPECT_EQ(what_lies_here(region_, {0, 4096}), "something of a newer Holdfast");
  std::memcpy(region_.data(), "HELLO", 5);
  EXPECT_EQ(what_lies_here(region_, {0, 4096}), "");
}

TEST_F(Superblocks, RandomIdsAreNotZeroAndDiffer) {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 100; ++i)
    ids.insert(random_id().value());
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_FALSE(ids.contains(0));
}

}  // namespace
}  // namespace holdfast
