// What a log shows, and what it promises, in the middle of its own steps. In the traced build,
// where every fence and every sync can be met.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include <holdfast/blocks/log/space.hpp>
#include <holdfast/memory/trace.hpp>

#include "../memory/scratch.hpp"
#include "log_support.hpp"

namespace holdfast::blocks {
namespace {

// Calls `at_fence` before a fence takes place, `at_call` before a region's own call; each once.
class Moment final : public TraceSink {
 public:
  Moment() : before_(set_trace_sink(this)) {}
  ~Moment() override { set_trace_sink(before_); }
  void on_fence(const std::source_location&) override { once(at_fence); }
  void on_region_call(const std::source_location&) override { once(at_call); }
  std::function<void()> at_fence, at_call;

 private:
  static void once(std::function<void()>& f) {
    if (const auto now = std::exchange(f, nullptr)) now();
  }
  TraceSink* before_;
};

// A reader must not be shown what a power loss takes back.
TEST(LogMoments, ARecordIsNotReadableBeforeItsFence) {
  auto region = dram(64 * KiB);
  auto log = Log::create(region, whole(region), LogKind{}.options(8 * KiB)).value();
  const auto first = log.append(bytes("first")).value();
  Moment moment;
  bool met = false;
  Lsn stable;
  moment.at_fence = [&] {
    met = true;
    stable = log.stable();
    EXPECT_EQ(records(log), std::vector<std::string>{"first"});
  };
  const auto second = log.append(bytes("second")).value();
  EXPECT_TRUE(met);
  EXPECT_GE(stable, first);
  EXPECT_LT(stable, second);
  EXPECT_EQ(log.stable(), second);
}

// A group that says that all before it was durable makes the loss of one before it kCorrupt. While
// a sync is under way nothing is durable by it.
TEST(LogMoments, ARecordDoesNotVouchForWhatASyncUnderWayHasStillToWrite) {
  const auto scratch = Scratch::tmpfs();
  RegionOptions options;
  options.layout = RegionLayout::kFile;
  options.size_bytes = options.unit_bytes = options.reserve_bytes = 64 * KiB;
  auto region = Region::open(scratch.path("log") + "?granularity=page", options).value();
  auto log = Log::create(region, whole(region), LogKind{}.options(8 * KiB)).value();
  const auto vouches = [&](Lsn lsn) {
    auto reader = log.read(lsn);
    EXPECT_TRUE(reader.next().value());
    std::uint64_t tag = 0;
    std::memcpy(&tag, reader.record().data() - 24, sizeof tag);
    return (tag & log_detail::kStartsDurable) != 0;
  };
  ASSERT_TRUE(log.sync());
  ASSERT_TRUE(log.append(bytes("not synced yet")));
  Moment moment;
  Lsn during;
  moment.at_call = [&] { during = log.append(bytes("during the sync")).value(); };
  ASSERT_TRUE(log.sync());
  EXPECT_FALSE(vouches(during));
  EXPECT_FALSE(vouches(log.append(bytes("that was not covered")).value()));
  ASSERT_TRUE(log.sync());
  EXPECT_TRUE(vouches(log.append(bytes("all before is durable")).value()));
}

}  // namespace
}  // namespace holdfast::blocks
