// Fields where they cannot be: on media that are written by system calls, and in regions that were
// opened read-only. Opening says so; nothing that follows stores to such a mapping unnoticed.
#include <gtest/gtest.h>

#include <holdfast/blocks/field/cow_field.hpp>
#include <holdfast/blocks/field/fam_field.hpp>
#include <holdfast/blocks/field/field_group.hpp>
#include <holdfast/blocks/field/log_field.hpp>

#include "../memory/scratch.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

struct Value {
  std::uint64_t words[4];
};
struct Place {
  alignas(64) FamField<Value> fam;
  alignas(64) CowField<Value> cow;
  alignas(64) LogField<Value> logged;
};
constexpr Extent kLog{kPageBytes, 64 * KiB - kPageBytes};

class FieldMedia : public testing::Test {
 protected:
  Region region(const std::string& granularity, RegionAccess access) const {
    RegionOptions options;
    options.access = access;
    options.layout = RegionLayout::kFile;
    options.size_bytes = options.unit_bytes = options.reserve_bytes = 64 * KiB;
    return Region::open(scratch_.path("fields") + "?granularity=" + granularity, options).value();
  }
  static Place& place(Region& region) { return *reinterpret_cast<Place*>(region.data()); }
  // What every way to open a field says.
  static void expect_refused(Region& region, Errc code, const std::string& says) {
    auto& [fam, cow, logged] = place(region);
    const auto check = [&](const Status& status) {
      EXPECT_EQ(status.code(), code);
      EXPECT_NE(status.error().detail.find(says), std::string::npos) << status.error().detail;
    };
    check(fam.recover(region.persist()));
    check(FamField<Value>::recover_all(region.persist(), std::span(&fam, 1)));
    check(cow.recover(region.persist()));
    auto log = Log::open(region, kLog).value();
    FieldLog redo(region, log);
    check(redo.recover());
    check(logged.update(redo, Value{{1, 2, 3, 4}}));
    EXPECT_TRUE(records(log).empty());
  }
  static LogOptions log_options() { return LogKind{}.options(8 * KiB, 1); }
  const Scratch scratch_ = Scratch::tmpfs();
};

TEST_F(FieldMedia, OnAPlainFileRecoverySaysThatTheMediumIsNotForFields) {
  auto region = this->region("page", RegionAccess::kCreate);
  (void)Log::create(region, kLog, log_options()).value();
  expect_refused(region, Errc::kUnsupported, "granularity=page");
}

TEST_F(FieldMedia, InARegionThatIsReadOnlyRecoverySaysSo) {
  {
    auto region = this->region("line", RegionAccess::kCreate);
    (void)Log::create(region, kLog, log_options()).value();
    auto& fam = place(region).fam;
    fam.update(region.persist(), Value{{1, 2, 3, 4}});
    reinterpret_cast<std::uint64_t*>(&fam)[1] += std::uint64_t{1} << 62;  // Torn.
  }
  auto region = this->region("line", RegionAccess::kOpenReadOnly);
  expect_refused(region, Errc::kReadOnly, "read-only");
}

TEST_F(FieldMedia, AnUpdateThatDidNotAskStopsWithWordsNotWithASignalOfTheMapping) {
  auto region = this->region("page", RegionAccess::kCreate);
  auto& [fam, cow, logged] = place(region);
  const Value value{{1, 2, 3, 4}};
  EXPECT_DEATH(fam.update(region.persist(), value), "a field is stored to: see recover");
  EXPECT_DEATH(cow.update(region.persist(), value), "a field is stored to: see recover");
  EXPECT_DEATH(
      {
        FieldGroup group(region.persist());
        group.update(fam, value);
      },
      "a field is stored to: see recover");
}

}  // namespace
}  // namespace holdfast::blocks
