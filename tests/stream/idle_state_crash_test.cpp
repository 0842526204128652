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

// A table of which memory has nothing between two checkpoints. Entries may have two parts each, which
// say when they changed, too.
class AgedTable {
 public:
  AgedTable(Region&& region, bool has_parts) : query_(std::move(region)), has_parts_(has_parts) {
    group();
  }

  Aged found() {
    Aged all{query_.epoch(), {}};
    for (const std::string key : {"a", "b", "c", "d", "e"}) {
      fetch(kSlice, key, [&](std::string_view, std::string_view state, std::uint64_t) {
        query::Text rest{state.data(), state.size()};
        std::int64_t time = 0;
        EXPECT_TRUE(query::take_begin(rest, time));
        // What has a key for each entry may still be there behind the checkpoint that ended it. It
        // is as old as it was: the operator does not see it.
        if (time > aged()[all.epoch].oldest_ms) all.times[key] = time;
      });
      if (!has_parts_) continue;
      Times parts;
      if (all.times.contains(key)) parts = {{"0", all.times[key]}, {"1", all.times[key]}};
      Times found;
      fetch(kParts, first_part(key),
            [&](std::string_view of_part, std::string_view state, std::uint64_t) {
              found[std::string(of_part.substr(first_part(key).size()))] =
                  std::stoll(std::string(state));
            });
      if (found != parts) all.times[key] = -1;
    }
    return all;
  }
  void go_to(std::uint64_t epoch, bool copy = false) {
    const auto& [oldest_ms, times] = aged()[epoch];
    std::map<std::string, std::uint64_t> versions;
    const auto note = [&](std::string_view key, std::string_view, std::uint64_t version) {
      versions[std::string(key)] = version;
    };
    for (const auto& [key, time] : times) {
      fetch(kSlice, key, note);
      if (has_parts_) fetch(kParts, first_part(key), note);
    }
    for (const auto& [key, time] : times) {
      const auto& before = aged()[epoch - 1].times;
      if (before.contains(key) && before.at(key) == time) continue;
      std::string state;
      query::append_begin(&time, state);
      const auto put = [&](std::int64_t slice, const std::string& at, const std::string& what) {
        (copy ? query_.state().put_copy(slice, at, what, 1)
              : query_.state().replace(slice, at, what, versions[at]))
            .value();
      };
      put(kSlice, key, state);
      for (const auto* const number : {"0", "1"}) {
        if (has_parts_) put(kParts, first_part(key) + number, std::to_string(time));
      }
    }
    query_.state().end_idle(kSlice, oldest_ms, 0, has_parts_ ? kParts : query::kNoSlice);
    query_.state().complete({epoch, "m"}).value();
    group();
  }

 private:
  static constexpr std::int64_t kSlice = 7, kParts = 8;
  static std::string first_part(const std::string& key) {
    std::string part;
    query::append_size(key.size(), part);
    return part + key;
  }
  void group() {
    using Grouping = StateStore::Grouping;
    EXPECT_TRUE(query_.state().group_by(kSlice, Grouping::kKey, 0).value());
    if (!has_parts_) return;
    EXPECT_TRUE(query_.state().group_by(kParts, Grouping::kFirstPart, 0).value());
  }
  template <class Visit>
  void fetch(std::int64_t slice, const std::string& group, const Visit& visit) {
    const auto visit_one = [&](std::string_view key, std::string_view state,
                               std::uint64_t version) {
      visit(key, state, version);
      return Status();
    };
    query_.state().for_each_of_group(slice, group, visit_one).value();
  }

  Query query_;
  const bool has_parts_;
};

using kv::medium_name;  // For the macro.
class IdleStateCrash : public StateCrash {};
HOLDFAST_ON_EVERY_MEDIUM(IdleStateCrash);

void check_idle(const crash::Options& options, bool copied, bool has_parts, bool of_pages) {
  SCOPED_TRACE(std::string(copied ? "copied " : "") + (has_parts ? "with parts" : ""));
  crash::Protocol<Aged> protocol;
  protocol.initial = {1, aged()[1].times};
  protocol.setup = [=](Region& region) {
    AgedTable(std::move(region), has_parts).go_to(1, copied);
  };
  protocol.workload = [=](Region& region, crash::Workload& run) {
    AgedTable table(std::move(region), has_parts);
    for (const std::uint64_t epoch : {2u, 3u, 4u, 5u})
      run.perform(epoch, [&] { table.go_to(epoch); });
  };
  protocol.recover = [=](Region& region) -> Result<Aged> {
    return AgedTable(std::move(region), has_parts).found();
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
  const auto report = crash::check(protocol, options);
  EXPECT_TRUE(kv::holds(report));
  EXPECT_GT(report.images_in_all(), 50u);
  // Entries that end share the fence of those that come; the fifth has a block to remove.
  if (copied || has_parts) return;
  const std::uint64_t removal = of_pages ? 0 : 1;
  EXPECT_EQ(report.operation(3).barriers(), 2u);
  EXPECT_EQ(report.operation(4).barriers(), 2u);
  EXPECT_EQ(report.operation(5).barriers(), 2u + removal);
}

TEST_P(IdleStateCrash, WhatHasEndedSinceItWasIdleDoesNotComeBack) {
  for (const bool copied : {false, true})
    check_idle(check_options(400), copied, false, GetParam().granularity == Granularity::kPage);
}

TEST_P(IdleStateCrash, PartsEndWithTheirEntryAndDoNotComeBack) {
  for (const bool copied : {false, true})
    check_idle(check_options(400), copied, true, GetParam().granularity == Granularity::kPage);
}

}  // namespace
}  // namespace holdfast::stream
