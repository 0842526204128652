#include <holdfast/memory/spec.hpp>

#include <gtest/gtest.h>

#include <holdfast/memory/region.hpp>

namespace holdfast {
namespace {

using Kind = RegionSpec::Kind;

TEST(RegionSpec, TakesEveryKindApart) {
  EXPECT_EQ(RegionSpec::parse("dram").value().kind, Kind::kDram);
  const auto node = RegionSpec::parse("node:12?huge=1G").value();
  EXPECT_EQ(node.kind, Kind::kNode);
  EXPECT_EQ(node.nodes, std::vector{12});
  EXPECT_EQ(node.huge, HugePages::k1G);
  EXPECT_EQ(RegionSpec::parse("node:0,1,0").value().nodes, (std::vector{0, 1, 0}));
  const auto path = RegionSpec::parse("/mnt/pmem0/x?huge=2M&granularity=line&nt_evicts=on").value();
  EXPECT_EQ(path.kind, Kind::kPath);
  EXPECT_EQ(path.path, "/mnt/pmem0/x");
  EXPECT_EQ(path.huge, HugePages::k2M);
  EXPECT_EQ(path.granularity, Granularity::kLine);
  EXPECT_EQ(path.nt_evicts, true);
  EXPECT_FALSE(path.trailing_slash);
}

TEST(RegionSpec, PathsMayBeRelativeEndInSlashesOrHoldAQuestionMark) {
  EXPECT_EQ(RegionSpec::parse("store").value().path, "store");
  EXPECT_EQ(RegionSpec::parse("./dram").value().kind, Kind::kPath);
  const auto directory = RegionSpec::parse("/a/b//").value();
  EXPECT_EQ(directory.path, "/a/b");
  EXPECT_TRUE(directory.trailing_slash);
  EXPECT_EQ(RegionSpec::parse("/a?b?huge=off").value().path, "/a?b");
  EXPECT_EQ(RegionSpec::parse("/").value().path, "/");
}

TEST(RegionSpec, ASpecIsCutAtItsLastQuestionMark) {
  const auto parts = parts_of("/a?b?huge=off");
  EXPECT_EQ(parts.place, "/a?b");
  EXPECT_EQ(parts.options, "?huge=off");
  EXPECT_EQ(parts_of("node:0").place, "node:0");
  EXPECT_EQ(parts_of("node:0").options, "");
}

TEST(RegionSpec, EveryGranularityIsReadByItsName) {
  for (const auto granularity :
       {Granularity::kNone, Granularity::kPage, Granularity::kLine, Granularity::kByte}) {
    const auto text = "/x?granularity=" + std::string(name(granularity));
    EXPECT_EQ(RegionSpec::parse(text).value().granularity, granularity);
  }
}

TEST(RegionSpec, RefusalsNameThePartTheValueAndWhatIsAllowed) {
  struct Case {
    std::string spec;
    std::string part;
  };
  const Case cases[] = {
      {"", "names no place"},
      {"?huge=2M", "names no place"},
      {"node:", "numbers of NUMA nodes"},
      {"node:x", "node:x"},
      {"node:-1", "node:-1"},
      {"node:1x", "node:1x"},
      {"node:99999999999", "node:99999999999"},
      {"node:0,", "node:0, needs numbers"},
      {"node:,0", "node:,0"},
      {"node:0,-1", "node:0,-1"},
      {"node:0;1", "node:0;1"},
      {"/x?", "\"\" is not of the form key=value"},
      {"/x?huge", "\"huge\" is not of the form key=value"},
      {"/x?huge=4K", "huge=4K is none of 2M, 1G, off"},
      {"/x?huge=2M&", "not of the form"},
      {"/x?granularity=word", "granularity=word is none of byte, line, page, none"},
      {"/x?nt_evicts=yes", "nt_evicts=yes is neither on nor off"},
      {"/x?granularity=line&granularity=page", "granularity is given twice"},
      {"/x?huge=off&nt_evicts=on&huge=off", "huge is given twice"},
      {"/x?size=1G", "unknown option \"size\"; known are huge, granularity and nt_evicts"},
      {std::string("/x\0y", 4), "NUL"},
  };
  for (const auto& [spec, part] : cases) {
    const auto result = RegionSpec::parse(spec);
    ASSERT_EQ(result.code(), Errc::kInvalidOption) << spec;
    EXPECT_NE(result.error().detail.find(part), std::string::npos) << result.error().detail;
  }
}

TEST(RegionOptions, EachRuleIsChecked) {
  EXPECT_TRUE(RegionOptions{}.validate());
  struct Case {
    void (*spoil)(RegionOptions&);
    std::string part;
  };
  const Case cases[] = {
      {[](RegionOptions& o) { o.size_bytes = 0; }, "size_bytes=0"},
      {[](RegionOptions& o) { o.size_bytes = 64 * MiB + 1; }, "size_bytes=67108865"},
      {[](RegionOptions& o) { o.size_bytes = 65 * MiB; }, "multiple of unit_bytes=67108864"},
      {[](RegionOptions& o) { o.unit_bytes = 0; }, "unit_bytes=0"},
      {[](RegionOptions& o) { o.unit_bytes = 4095; }, "unit_bytes=4095"},
      {[](RegionOptions& o) { o.file_bytes = 96 * MiB; }, "file_bytes=100663296"},
      {[](RegionOptions& o) { o.reserve_bytes = 1; }, "reserve_bytes=1"},
      {[](RegionOptions& o) { o.tolerate_damage = true; }, "tolerate_damage=true needs"},
  };
  for (const auto& [spoil, part] : cases) {
    RegionOptions options;
    spoil(options);
    const auto status = options.validate();
    ASSERT_EQ(status.code(), Errc::kInvalidOption) << part;
    EXPECT_NE(status.error().detail.find(part), std::string::npos) << status.error().detail;
    EXPECT_EQ(Region::open("dram", options).code(), Errc::kInvalidOption);
  }
}

}  // namespace
}  // namespace holdfast
