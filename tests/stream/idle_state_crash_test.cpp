// State that ends when it is idle, in kv, under the crash checker: after any crash a query finds what
// one completed checkpoint has, and nothing that it has ended.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/mark.hpp>

#include "state_crash.hpp"

namespace holdfast::stream {
namespace {

// By key: when it changed.
using Times = std::map<std::string, std::int64_t>;
struct Aged {
  std::uint64_t epoch = 0;
  Times times;
  bool operator==(const Aged&) const = default;
};

// What each checkpoint has, and the time up to which it ends what was there before. The fourth has a
// again, which the second has ended.
struct AgedCheckpoint {
  std::int64_t oldest_ms = 0;
  Times times;
};
const std::vector<AgedCheckpoint>& aged() {
  static const std::vector<AgedCheckpoint> all = {
      {},
      {0, {{"a", 100}, {"b", 200}, {"c", 300}, {"e", 900}}},
      {150, {{"b", 500}, {"c", 300}, {"e", 900}}},
      {350, {{"b", 500}, {"d", 600}, {"e", 900}}},
      {350, {{"a", 700}, {"b", 500}, {"d", 600}, {"e", 900}}},
      {650, {{"a", 700}, {"e", 900}}}};
  return all;
}

// A table of which memory has nothing between two checkpoints.
class AgedTable {
 public:
  explicit AgedTable(Region&& region) : query_(std::move(region)) { group(); }

  Aged found() {
    Aged all{query_.epoch(), {}};
    for (const auto* key : {"a", "b", "c", "d", "e"}) {
      fetch(key, [&](std::string_view state, std::uint64_t) {
        query::Text rest{state.data(), state.size()};
        std::int64_t time = 0;
        EXPECT_TRUE(query::take_begin(rest, time));
        // What has a key for each entry may still be there behind the checkpoint that ended it. It
        // is as old as it was: the operator does not see it.
        if (time > aged()[all.epoch].oldest_ms) all.times[key] = time;
      });
    }
    return all;
  }
  void go_to(std::uint64_t epoch, bool copy = false) {
    const auto& [oldest_ms, times] = aged()[epoch];
    std::map<std::string, std::uint64_t> versions;
    for (const auto& [key, time] : times)
      fetch(key,
            [&, key = key](std::string_view, std::uint64_t version) { versions[key] = version; });
    for (const auto& [key, time] : times) {
      const auto& before = aged()[epoch - 1].times;
      if (before.contains(key) && before.at(key) == time) continue;
      std::string state;
      query::append_begin(&time, state);
      (copy ? query_.state().put_copy(kSlice, key, state, 1)
            : query_.state().replace(kSlice, key, state, versions[key]))
          .value();
    }
    query_.state().end_idle(kSlice, oldest_ms, 0);
    query_.state().complete({epoch, "m"}).value();
    group();
  }

 private:
  static constexpr std::int64_t kSlice = 7;
  void group() {
    EXPECT_TRUE(query_.state().group_by(kSlice, StateStore::Grouping::kKey, 0).value());
  }
  template <class Visit>
  void fetch(const std::string& key, const Visit& visit) {
    const auto visit_one = [&](std::string_view, std::string_view state, std::uint64_t version) {
      visit(state, version);
      return Status();
    };
    query_.state().for_each_of_group(kSlice, key, visit_one).value();
  }

  Query query_;
};

using kv::medium_name;  // For the macro.
class IdleStateCrash : public StateCrash {};
HOLDFAST_ON_EVERY_MEDIUM(IdleStateCrash);

TEST_P(IdleStateCrash, WhatHasEndedSinceItWasIdleDoesNotComeBack) {
  for (const bool copied : {false, true}) {
    crash::Protocol<Aged> protocol;
    protocol.initial = {1, aged()[1].times};
    protocol.setup = [copied](Region& region) { AgedTable(std::move(region)).go_to(1, copied); };
    protocol.workload = [](Region& region, crash::Workload& run) {
      AgedTable table(std::move(region));
      for (const std::uint64_t epoch : {2u, 3u, 4u, 5u})
        run.perform(epoch, [&] { table.go_to(epoch); });
    };
    protocol.recover = [](Region& region) -> Result<Aged> {
      return AgedTable(std::move(region)).found();
    };
    protocol.print = [](const Aged& found) {
      std::string text = std::to_string(found.epoch);
      for (const auto& [key, time] : found.times)
        text += " " + key + "@" + std::to_string(time);
      return text;
    };
    protocol.check = [](const crash::Past<Aged>& past, const Aged& found) -> std::string {
      std::uint64_t least = past.base.epoch;
      for (const auto& operation : past.operations) {
        if (operation.acknowledged()) least = std::max(least, operation.id);
      }
      if (found.epoch < least) return "an acknowledged checkpoint is lost";
      return found.times == aged()[found.epoch].times ? "" : "not what the checkpoint has";
    };
    const auto report = crash::check(protocol, check_options(400));
    EXPECT_TRUE(kv::holds(report)) << (copied ? "copied" : "");
    EXPECT_GT(report.images_in_all(), 50u);
    // Entries that end share the fence of those that come; the fifth has a block to remove.
    if (copied) continue;
    const std::uint64_t removal = GetParam().granularity == Granularity::kPage ? 0 : 1;
    EXPECT_EQ(report.operation(3).barriers(), 2u);
    EXPECT_EQ(report.operation(4).barriers(), 2u);
    EXPECT_EQ(report.operation(5).barriers(), 2u + removal);
  }
}

}  // namespace
}  // namespace holdfast::stream
