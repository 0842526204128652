// Tables of operators over a store that keeps entries: what a checkpoint had is there again, what was
// taken away is not, and a change is written once.
#include <holdfast/stream/graph/state_table.hpp>

#include <gtest/gtest.h>

#include <string>

#include <holdfast/stream/graph/operator.hpp>

#include "kept_stores.hpp"

namespace holdfast::stream::graph {
namespace {

class StateTables : public KeptStores {
 protected:
  // "a=1 b=2 " of a process that begins, does `work` and completes a checkpoint.
  template <class Work>
  std::string life(std::uint64_t epoch, Work work) {
    const auto store = open_one(place_ / "state");
    EXPECT_EQ(store->open().value().has_value(), epoch > 1);
    NumberTable table(store.get(), 5, {});
    table.restore().value();
    std::string found;
    for (const auto& [key, entry] : table)
      found += key + "=" + std::to_string(entry.value) + " ";
    work(table);
    table.put_all().value();
    store->complete({epoch, "m"}).value();
    return found;
  }

  Place place_;
};
INSTANTIATE_TEST_SUITE_P(Kept, StateTables, kKeptStores, kept_name);

TEST_P(StateTables, WhatIsErasedStaysAwayAndMayComeBack) {
  EXPECT_EQ(life(1, [](NumberTable& table) { table.at("a") = 1, table.at("b") = 2; }), "");
  EXPECT_EQ(life(2, [](NumberTable& table) { table.erase(table.find("a")); }), "a=1 b=2 ");
  EXPECT_EQ(life(3, [](NumberTable& table) { table.at("c") = 3; }), "b=2 ");
  EXPECT_EQ(life(4, [](NumberTable& table) { table.at("a") = 4; }), "b=2 c=3 ");
  EXPECT_EQ(life(5,
                 [](NumberTable& table) {
                   table.erase(table.find("b"));
                   table.at("b") = 5;  // The same key, before the checkpoint.
                 }),
            "a=4 b=2 c=3 ");
  EXPECT_EQ(life(6, [](NumberTable&) {}), "a=4 b=5 c=3 ");
}

std::int64_t now_of_test = 0;

// What no row changes is forgotten when its time is over, in the store, too. A process that comes
// later knows when each entry changed; one that keeps all for ever reads the same entries.
TEST_P(StateTables, WhatNobodyChangesIsForgotten) {
  const Retention hundred{100, [] { return now_of_test; }};
  const auto at = [&](std::int64_t now, std::uint64_t epoch, const Retention& retention,
                      const std::string& changed) {
    now_of_test = now;
    const auto store = open_one(place_ / "state");
    EXPECT_EQ(store->open().value().has_value(), epoch > 1);
    NumberTable table(store.get(), 5, {}, retention);
    table.restore().value();
    for (const char name : changed)
      table.at(std::string(1, name)) = now;
    std::string seen;
    Sweeps sweeps(retention);
    std::int64_t oldest = 0;
    if (sweeps.due(oldest))
      table.sweep(oldest, [&](const std::string& key, std::int64_t) { seen += "-" + key + " "; });
    EXPECT_FALSE(sweeps.due(oldest));  // Not again at once.
    for (const auto& [key, entry] : table)
      seen += key + "=" + std::to_string(entry.value) + " ";
    table.put_all().value();
    store->complete({epoch, "m"}).value();
    return seen;
  };
  EXPECT_EQ(at(1000, 1, hundred, "abc"), "a=1000 b=1000 c=1000 ");
  EXPECT_EQ(at(1099, 2, hundred, "b"), "a=1000 b=1099 c=1000 ");
  EXPECT_EQ(at(1100, 3, hundred, "c"), "-a b=1099 c=1100 ");
  EXPECT_EQ(at(9000, 4, Retention{}, ""), "b=1099 c=1100 ");
  EXPECT_EQ(at(1150, 5, hundred, "d"), "b=1099 c=1100 d=1150 ");
  EXPECT_EQ(at(1200, 6, hundred, ""), "-b -c d=1150 ");
  // An entry that was written without a time counts as changed when it is read.
  EXPECT_EQ(at(1201, 7, Retention{}, "e"), "d=1150 e=1201 ");
  EXPECT_EQ(at(1251, 8, hundred, ""), "-d e=1201 ");
}

TEST_P(StateTables, OfSeveralChangesTheLastIsFound) {
  EXPECT_EQ(life(1, [](NumberTable& table) { table.at("a") = 1; }), "");
  for (std::uint64_t epoch = 2; epoch < 6; ++epoch) {
    const auto change = [&](NumberTable& table) {
      table.at("a") = static_cast<std::int64_t>(epoch);
    };
    EXPECT_EQ(life(epoch, change), "a=" + std::to_string(epoch - 1) + " ");
  }
}

}  // namespace
}  // namespace holdfast::stream::graph
