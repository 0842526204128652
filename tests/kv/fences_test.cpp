// How many barriers the verbs cost: constants, counted by the crash checker's medium.
#include "kv_crash.hpp"

#include <unistd.h>
#include <filesystem>

#include <holdfast/base/random.hpp>

namespace holdfast::kv {
namespace {

struct Counted {
  Crash crash;
  Report of(const std::function<void(Tested&)>& during, const crash::Model& model) {
    crash.check.depth = 1;
    crash.check.images_per_run = 16;  // What is wanted is the count.
    crash.then = false;
    crash.before = [](Tested& store) {
      for (const char* key : {"a", "b", "c"})
        store.put(key, value_of('v', 60));
      store.seal();
      store.put("d", value_of('d', 60));
      store.other([&] { ForTests::grow(store.store()).value(); });
    };
    crash.during = during;
    return crash.run(model);
  }
};

class KvFences : public testing::TestWithParam<crash::Model> {};
INSTANTIATE_TEST_SUITE_P(Medium, KvFences, testing::Values(crash::kLine, crash::kLineStreaming),
                         medium_name);

TEST_P(KvFences, OnePerPutEraseUpdateAndBatch) {
  Counted counted;
  counted.crash.options = patchable_options();
  const Report report = counted.of(
      [](Tested& store) {
        store.put("new", value_of('n', 200));
        store.put("a", value_of('o', 200));
        store.erase("b");
        store.update_word("c", 0, 5);  // In place.
        store.update_word("d", 0, 5);  // In an open run: appended.
        store.put_if_absent("z", "1");
        store.compare_and_put("z", "2");
        store.update("z", "3");
        store.batch({{"a", "1"}, {"e", "2"}, {"d", std::nullopt}});
      },
      GetParam());
  ASSERT_TRUE(holds(report));
  for (std::uint64_t id = Crash::kFirst; id < Crash::kFirst + 9; ++id) {
    EXPECT_EQ(report.operation(id).barriers(), 1u) << id;
    EXPECT_EQ(report.operation(id).redundant_fences, 0u) << id;
    EXPECT_EQ(report.operation(id).redundant_write_backs, 0u) << id;
  }
}

TEST_P(KvFences, NonePerGetAndOnePerSealAndPutManyAndTwoPerRunOfItsOwn) {
  Counted counted;
  const Report report = counted.of(
      [](Tested& store) {
        std::string value;
        store.other([&] { store.store().get("a", value).value(); });
        store.other([&] { EXPECT_FALSE(store.store().erase("absent").value()); });
        store.seal();
        store.put("large", value_of('l', 10'000));
        std::vector<std::pair<std::string, std::string>> sixteen;
        for (char key = 'A'; key < 'Q'; ++key)
          sixteen.emplace_back(std::string(1, key), value_of(key, 30));
        store.put_many(sixteen);
      },
      GetParam());
  ASSERT_TRUE(holds(report));
  EXPECT_EQ(report.operation(Crash::kFirst).barriers(), 0u);
  EXPECT_EQ(report.operation(Crash::kFirst + 1).barriers(), 0u);
  EXPECT_EQ(report.operation(Crash::kFirst + 2).barriers(), 1u);
  EXPECT_EQ(report.operation(Crash::kFirst + 3).barriers(), 2u);
  for (std::uint64_t i = 0; i < 16; ++i)
    EXPECT_EQ(report.operation(Crash::kFirst + 4 + i).barriers(), 1u);
}

// Copies of a victim, however many, and at the end the words of all that is free. No run is sealed
// here, and no tombstone asks for dead bits. The first victim is half empty.
TEST_P(KvFences, OnePerVictimAndOneMoreForAPass) {
  Counted counted;
  counted.crash.options = patchable_options();
  const Report report = counted.of(
      [](Tested& store) {
        for (const char* keys : {"ABCDEF", "GHIJKL"}) {
          for (const char* key = keys; *key != 0; ++key)
            store.put(std::string(1, *key), value_of(*key, 300));
          store.seal();
        }
        for (const char* key : {"A", "C", "G", "H"})
          store.put(key, value_of('n', 60));
        store.other([&] {
          EXPECT_EQ(ForTests::pass(store.store(), 0.2).value(), 3u);
          EXPECT_GT(store.store().stats().relocated_bytes, 8 * 384u);
        });
      },
      GetParam());
  ASSERT_TRUE(holds(report));
  EXPECT_EQ(report.operation(Crash::kFirst + 18).barriers(), 4u);
  EXPECT_EQ(report.operation(Crash::kFirst + 18).redundant_fences, 0u);
  EXPECT_EQ(report.operation(Crash::kFirst + 18).redundant_write_backs, 0u);
}

// The order goes into a run of its own, which no fence of its own waits for.
TEST_P(KvFences, ACloseThatStoresTheOrderHasNoneMore) {
  const auto barriers_of_close = [](bool order) {
    Counted counted;
    counted.crash.options.order = order;
    const Report report = counted.of(
        [order](Tested& store) {
          store.put("e", value_of('e', 60));
          store.close();
          store.reopen();
          if (order) {
            EXPECT_TRUE(ForTests::rooms(store.store()).index.order()->was_stored());
          }
        },
        GetParam());
    EXPECT_TRUE(holds(report));
    return report.operation(Crash::kFirst + 1).barriers();
  };
  const std::uint64_t hashed = barriers_of_close(false);
  EXPECT_EQ(hashed, 3u) << "the seal, what the mark vouches for, the mark";
  EXPECT_EQ(barriers_of_close(true), hashed);
}

// With the default blocks, sealing, limits, growth and reclamation together cost next to nothing.
TEST(KvFencesAmortised, AtMostFivePercentMoreThanOnePerOperation) {
  constexpr std::uint64_t kOperations = 20'000;
  // On tmpfs, which stands for a line medium: the checker would compare all of it at every fence.
  const std::string path = "/dev/shm/holdfast_fences_" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  {
    StoreOptions options;
    options.segment_bytes = options.initial_bytes = 16 * MiB;
    options.max_bytes = 64 * MiB;
    options.background = false;
    options.patchable_words = {0};
    Store<> store = Store<>::open(path + "?granularity=line", options).value();
    Random random(7);
    const auto key = [&] { return "key" + std::to_string(random.below(2'000)); };
    for (int i = 0; i < 2'000; ++i)
      store.put("key" + std::to_string(i), value_of('v', 200)).value();
    const std::uint64_t before = persist_counts().fences;
    std::uint64_t writes = 0;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      const std::uint64_t which = random.below(10);
      if (which < 6)
        store.put(key(), value_of('w', 200)).value(), ++writes;
      else if (which < 8)
        writes +=
            store.update_word(key(), 0, [](std::uint64_t word) { return word + 1; }).has_value();
      else
        writes += store.erase(key()).value();
      if (i % 1'000 == 999) ForTests::maintain(store);
    }
    const std::uint64_t fences = persist_counts().fences - before;
    EXPECT_GE(fences, writes);
    EXPECT_LE(static_cast<double>(fences), 1.05 * static_cast<double>(writes))
        << fences << " fences for " << writes;
    EXPECT_GT(store.stats().reclaimed_blocks, 0u);
    store.close().value();
  }
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace holdfast::kv
