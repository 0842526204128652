// Sites can be listed and dropped, and the checker turns red for each one that is needed.
#include <gtest/gtest.h>

#include <holdfast/crash/checker.hpp>
#include <holdfast/crash/mutation.hpp>

#include <algorithm>

namespace holdfast::crash {
namespace {

std::uint64_t* word(Region& region, std::uint64_t offset) {
  return reinterpret_cast<std::uint64_t*>(region.data() + offset);
}

// Data, fence, selector, fence; and one fence that nobody needs.
constexpr unsigned kDataLine = __LINE__ + 7;
Protocol<std::uint64_t> published() {
  Protocol<std::uint64_t> protocol;
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      region.persist().store(word(region, 64), 5);
      region.persist().store(word(region, 72), 5);
      region.persist().persist(word(region, 64), 16);  // kDataLine.
      region.persist().store(word(region, 0), 1);
      region.persist().persist(word(region, 0), 8);  // Two below.
      region.persist().fence();                      // Three below: redundant.
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    if (Persist::load(word(region, 0)) == 0) return 0u;
    return Persist::load(word(region, 64)) + Persist::load(word(region, 72));
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    return observed == 10 || (observed == 0 && !past.operations[0].acknowledged()) ? "" : "wrong";
  };
  return protocol;
}

std::string site(const char* step, unsigned line) {
  return std::string(step) + " tests/crash/mutation_test.cpp:" + std::to_string(line);
}

bool survives(const std::string& dropped) {
  const DropSite drop(dropped);
  return check(published(), {.model = kLine, .kills = false}).ok();
}

TEST(CrashMutation, SitesThatAreReachedAreListedBySourceLine) {
  EXPECT_TRUE(check(published(), {.model = kLine, .kills = false}).ok());
  const auto sites = sites_reached();
  const auto listed = [&](const std::string& name) {
    return std::count(sites.begin(), sites.end(), name) == 1;
  };
  EXPECT_TRUE(listed(site("write_back", kDataLine)));
  EXPECT_TRUE(listed(site("fence", kDataLine)));
  EXPECT_TRUE(listed(site("write_back", kDataLine + 2)));
  EXPECT_TRUE(listed(site("fence", kDataLine + 2)));
  EXPECT_TRUE(listed(site("fence", kDataLine + 3)));
  EXPECT_FALSE(listed(site("write_back", kDataLine + 3)));
}

TEST(CrashMutation, EveryNeededSiteTurnsTheTestRedWhenDropped) {
  EXPECT_FALSE(survives(site("write_back", kDataLine)));
  EXPECT_FALSE(survives(site("fence", kDataLine)));
  EXPECT_FALSE(survives(site("write_back", kDataLine + 2)));
  EXPECT_FALSE(survives("tests/crash/mutation_test.cpp:" + std::to_string(kDataLine)));  // Both.
}

TEST(CrashMutation, ASiteThatNobodyNeedsSurvives) {
  EXPECT_TRUE(survives(site("fence", kDataLine + 3)));
  // The last fence stands in for the selector's own, so alone that one is not needed either.
  EXPECT_TRUE(survives(site("fence", kDataLine + 2)));
}

TEST(CrashMutation, NothingIsDroppedAfterwards) {
  EXPECT_FALSE(survives(site("fence", kDataLine)));
  EXPECT_TRUE(check(published(), {.model = kLine, .kills = false}).ok());
}

TEST(CrashMutation, ASyncCanBeDropped) {
  Protocol<std::uint64_t> protocol;
  constexpr unsigned kSyncLine = __LINE__ + 5;
  protocol.workload = [](Region& region, Workload& run) {
    run.perform(1, [&] {
      const std::uint64_t value = 5;
      region.write(0, std::as_bytes(std::span(&value, 1))).value();
      region.sync().value();
    });
  };
  protocol.recover = [](Region& region) -> Result<std::uint64_t> {
    return Persist::load(word(region, 0));
  };
  protocol.check = [](const Past<std::uint64_t>& past,
                      const std::uint64_t& observed) -> std::string {
    return past.operations[0].acknowledged() && observed != 5 ? "lost" : "";
  };
  EXPECT_TRUE(check(protocol, {.model = kPage, .kills = false}).ok());
  const DropSite drop(site("sync", kSyncLine));
  EXPECT_FALSE(check(protocol, {.model = kPage, .kills = false}).ok());
}

}  // namespace
}  // namespace holdfast::crash
