// Tables of operators over a store that keeps entries: what a checkpoint had is there again, what was
// taken away is not, and a change is written once.
#include <holdfast/stream/graph/state_table.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <random>
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

// ---- Groups that are fetched ----

// A table over a store with so much memory for it; it may have several lives.
class FetchedTable {
 public:
  using Grouping = StateStore::Grouping;

  explicit FetchedTable(std::uint64_t memory_bytes = 1, Grouping grouping = Grouping::kKey)
      : memory_bytes_(memory_bytes), grouping_(grouping) {
    begin();
  }

  void begin(Retention retention = {}) {
    table_.reset();
    store_.reset();
    store_ = std::make_unique<KvStateStore>(KvStateStore::open_region(place_ / "state").value(), 1,
                                            memory_bytes_);
    const auto found = store_->open().value();
    epoch_ = found ? found->epoch : 0;
    table_ = std::make_unique<NumberTable>(store_.get(), 5, NumberCodec(), retention, grouping_);
    table_->restore().value();
  }
  void sweep(std::int64_t oldest) {
    table_->sweep(oldest, [](const std::string&, std::int64_t) {});
  }
  void complete() {
    table_->put_all().value();
    if (table_->wants_room()) table_->leave().value();
    store_->complete({++epoch_, "m"}).value();
  }
  std::int64_t& at(const std::string& key) {
    table_->fetch(key).value();
    return table_->at(key);
  }
  // -1: there is none.
  std::int64_t get(const std::string& key) {
    table_->fetch(key).value();
    const auto found = table_->find(key);
    return found == table_->end() ? -1 : found->second.value;
  }
  void erase(const std::string& key) {
    table_->fetch(key).value();
    if (const auto found = table_->find(key); found != table_->end()) table_->erase(found);
  }
  NumberTable& table() { return *table_; }
  StateStore& store() { return *store_; }

 private:
  Place place_;
  const std::uint64_t memory_bytes_;
  const Grouping grouping_;
  std::uint64_t epoch_ = 0;
  std::unique_ptr<KvStateStore> store_;
  std::unique_ptr<NumberTable> table_;
};

TEST(FetchedStateTable, LeavesMemoryAndIsFetchedAgain) {
  FetchedTable table;
  table.at("a") = 1, table.at("b") = 2;
  EXPECT_FALSE(table.table().is_partial());
  table.complete();
  EXPECT_TRUE(table.table().is_partial());
  EXPECT_EQ(table.table().size(), 0u);
  EXPECT_EQ(table.get("a"), 1);
  EXPECT_EQ(table.get("none"), -1);
  EXPECT_EQ(table.table().size(), 1u) << "b was not asked for";
  table.begin();
  EXPECT_TRUE(table.table().is_partial());
  EXPECT_EQ(table.table().size(), 0u);
  EXPECT_EQ(table.get("b"), 2);
}

TEST(FetchedStateTable, WithRoomStaysInMemory) {
  FetchedTable table(1 << 20);
  table.at("a") = 1;
  table.complete();
  EXPECT_FALSE(table.table().is_partial());
  table.begin();
  EXPECT_FALSE(table.table().is_partial()) << "few entries are read at once";
  EXPECT_EQ(table.table().size(), 1u);
}

// What has gone since the last checkpoint is in the store, and is not fetched from there.
TEST(FetchedStateTable, WhatIsErasedIsNotFetched) {
  FetchedTable table;
  table.at("a") = 1;
  table.complete();
  table.erase("a");
  EXPECT_EQ(table.get("a"), -1);
  table.at("a") = 2;
  table.erase("a");
  EXPECT_EQ(table.get("a"), -1);
  table.complete();
  EXPECT_EQ(table.get("a"), -1);
  table.begin();
  EXPECT_EQ(table.get("a"), -1);
}

TEST(FetchedStateTable, AsksForACheckpointWhenMemoryIsFull) {
  FetchedTable table(1 << 20);
  int entries = 0;
  while (!table.store().take_request() && entries < 100'000)
    table.at(std::to_string(entries++)) = 1;
  EXPECT_LT(entries, 20'000);
  table.complete();
  EXPECT_EQ(table.table().size(), 0u);
  EXPECT_EQ(table.get("0"), 1);
}

// Its entries were counted as new ones: each batch of rows ended with a checkpoint, left the group
// behind, and fetched all of it again.
TEST(FetchedStateTable, AGroupLargerThanMemoryIsNotFetchedForEachBatch) {
  FetchedTable table(1, FetchedTable::Grouping::kFirstPart);
  std::string group;
  append_part("k", group);
  for (int i = 0; i < 10'000; ++i)
    table.table().at(group + std::to_string(i)) = i;
  table.complete();
  EXPECT_TRUE(table.store().take_request());
  table.table().fetch(group).value();
  EXPECT_EQ(table.table().size(), 10'000u);
  EXPECT_FALSE(table.store().take_request());
}

// The new entry was among those whose bytes were taken, and had no columns: a ranking in `kv` with
// a few rows crashed at its 4096th.
TEST(FetchedStateTable, ANewEntryIsNotEncodedBeforeItHasAValue) {
  Place place;
  KvStateStore store(KvStateStore::open_region(place / "state").value(), 1, 1 << 20);
  store.open().value();
  const std::vector<sql::Column> columns{{"k", sql::kStringType}};
  RowTable table(&store, 5, RowCodec{&columns}, {}, StateStore::Grouping::kKey);
  for (int i = 0; i < 10'000; ++i) {
    table.at("a").assign(1, sql::Value::of_text("x"));
    table.erase(table.find("a"));
  }
  EXPECT_TRUE(table.empty());
}

// Entries of a run that kept all for ever are as if they had changed when this one began.
TEST(FetchedStateTable, AnEntryWithoutATimeEndsWhenTheRunIsOldEnough) {
  FetchedTable table;
  table.at("a") = 1, table.at("b") = 2;
  table.complete();
  now_of_test = 1000;
  table.begin({100, [] { return now_of_test; }});
  table.sweep(999);
  table.complete();
  EXPECT_EQ(table.get("a"), 1);
  table.at("a") = 3;  // Has a time now.
  now_of_test = 1150;
  table.sweep(1000);
  table.complete();
  EXPECT_EQ(table.get("b"), -1) << "nobody has changed it since the run began";
  EXPECT_EQ(table.get("a"), -1);
  table.at("a") = 4;
  table.complete();
  table.sweep(1100);
  table.complete();
  EXPECT_EQ(table.get("a"), 4);
}

// Entries of one block, of which one ends, and later the others; one without a time stays.
TEST(FetchedStateTable, EntriesOfABlockEndAtTheirTimes) {
  FetchedTable table;
  const Retention hundred{100, [] { return now_of_test; }};
  now_of_test = 1000;
  table.begin(hundred);
  table.at("a") = 1;
  now_of_test = 1050;
  for (const char* key : {"b", "c", "d", "e"})
    table.at(key) = 2;
  std::string plain;
  query::append_begin(nullptr, plain);
  NumberCodec().encode(3, plain);
  std::uint64_t version = 0;
  table.store().replace(5, "p", plain, version).value();
  table.complete();
  const auto sweep_and_read = [&](std::int64_t oldest) {
    table.begin(hundred);
    table.sweep(oldest);
    table.complete();
    table.sweep(oldest);
    table.complete();
    table.begin();
    return std::array{table.get("a"), table.get("b"), table.get("e"), table.get("p")};
  };
  now_of_test = 1120;
  EXPECT_EQ(sweep_and_read(1020), (std::array<std::int64_t, 4>{-1, 2, 2, 3}));
  table.begin(hundred);
  table.sweep(1020);
  table.complete();
  table.sweep(1060);
  table.complete();
  table.begin();
  EXPECT_EQ(table.get("b"), -1);
  EXPECT_EQ(table.get("p"), 3);
}

// A copy of a checkpoint has a key of the store for each entry. Those that nobody asks for end, too.
TEST(FetchedStateTable, EntriesOfACopyEnd) {
  FetchedTable table;
  const auto timed = [](std::int64_t ms, std::int64_t value) {
    std::string bytes;
    query::append_begin(&ms, bytes);
    NumberCodec().encode(value, bytes);
    return bytes;
  };
  table.store().put_copy(5, "a", timed(1000, 1), 1).value();
  table.store().put_copy(5, "b", timed(1050, 2), 1).value();
  table.complete();
  now_of_test = 1110;
  table.begin({100, [] { return now_of_test; }});
  table.sweep(1010);
  EXPECT_EQ(table.get("a"), -1) << "its time is over";
  table.begin({100, [] { return now_of_test; }});
  table.sweep(1010);
  table.complete();
  table.begin();
  EXPECT_EQ(table.get("a"), -1) << "it is not on the medium any more";
  EXPECT_EQ(table.get("b"), 2);
}

TEST(FetchedStateTable, IsAsAMap) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    FetchedTable table(seed == 1 ? 1 : 40'000);
    std::map<std::string, std::int64_t> model, completed;
    for (int step = 0; step < 8000; ++step) {
      const auto key = std::to_string(random() % 300);
      const auto kind = random() % 100;
      if (kind < 50) {
        table.at(key) = model[key] = step;
      } else if (kind < 75) {
        ASSERT_EQ(table.get(key), model.contains(key) ? model[key] : -1) << step;
      } else if (kind < 97) {
        table.erase(key);
        model.erase(key);
      } else if (kind < 99) {
        table.complete();
        completed = model;
      } else {
        table.begin();
        model = completed;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::stream::graph
