// Logs of published formats where the benchmark's module is not linked: refused by their format's
// name. With it they open (log_golden_test.cpp).
#include <gtest/gtest.h>

#include "log_golden.hpp"

namespace holdfast::blocks {
namespace {

TEST(LogFormats, AreRefusedByNameWhereTheirModuleIsNotLinked) {
  EXPECT_EQ(log_detail::registered_formats(), std::vector{LogFormat::kChecksum});
  for (const auto& [file, format] : {std::pair{"line_tags", baselines::kLineTags},
                                     {"poplog", baselines::kPopcount},
                                     {"rawl", baselines::kParity},
                                     {"classic", baselines::kClassic},
                                     {"header", baselines::kHeader},
                                     {"header_dancing", baselines::kDancing}}) {
    auto golden =
        read_golden_log(std::string(HOLDFAST_GOLDEN_DIRECTORY) + "/log_" + file + "_padded.v2.hex");
    ASSERT_FALSE(golden.lsns.empty()) << file;
    const auto log = Log::open(golden.region, whole(golden.region));
    ASSERT_FALSE(log) << file;
    EXPECT_EQ(log.code(), Errc::kUnsupported);
    const std::string called(name(format));
    EXPECT_NE(log.error().detail.find("its format is " + called), std::string::npos)
        << log.error().detail;
    // Nor is one made, or overwritten.
    LogOptions options;
    options.format = format;
    EXPECT_EQ(options.validate().code(), Errc::kInvalidOption);
    EXPECT_NE(options.validate().error().detail.find(called), std::string::npos);
    EXPECT_EQ(Log::create(golden.region, whole(golden.region), LogKind{}.options(8 * KiB)).code(),
              Errc::kAlreadyExists);
    EXPECT_EQ(Log::open_or_create(golden.region, whole(golden.region)).code(), Errc::kUnsupported);
  }
}

TEST(LogFormats, OfOursOpenWithoutAnyModule) {
  auto golden = read_golden_log(HOLDFAST_GOLDEN_DIRECTORY "/log_checksum_padded.v2.hex");
  EXPECT_EQ(records(Log::open(golden.region, whole(golden.region)).value()), golden_log_records());
}

}  // namespace
}  // namespace holdfast::blocks
