// Tables of operators over a store that keeps entries: what a checkpoint had is there again, what was
// taken away is not, and a change is written once.
#include <holdfast/stream/graph/state_table.hpp>

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include <holdfast/stream/graph/operator.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

namespace holdfast::stream::graph {
namespace {

class StateTables : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast_table_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // "a=1 b=2 " of a process that begins, does `work` and completes a checkpoint.
  template <class Work>
  std::string life(std::uint64_t epoch, Work work) {
    KvStateStore store(KvStateStore::open_region(directory_ + "/region").value(), 1);
    EXPECT_EQ(store.open().value().has_value(), epoch > 1);
    NumberTable table(&store, 5, {});
    table.restore().value();
    std::string found;
    for (const auto& [key, entry] : table)
      found += key + "=" + std::to_string(entry.value) + " ";
    work(table);
    table.put_all().value();
    store.complete({epoch, "m"}).value();
    return found;
  }

  std::string directory_;
};

TEST_F(StateTables, WhatIsErasedStaysAwayAndMayComeBack) {
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

TEST_F(StateTables, OfSeveralChangesTheLastIsFound) {
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
