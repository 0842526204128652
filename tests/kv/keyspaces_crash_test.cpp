// Keyspaces under the crash checker: each is there wholly, with its records, or not at all.
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvKeyspacesCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvKeyspacesCrash);

// The first one changes the superblock, too.
TEST_P(KvKeyspacesCrash, CreationOfTheFirstAndOfAnother) {
  Crash crash;
  crash.before = [](Tested& store) { store.put("a", value_of('a', 30)); };
  crash.during = [](Tested& store) {
    store.create_space("one");
    store.put_in("one", "a", value_of('1', 40));
    store.create_space("two");
    store.put_in("two", "a", value_of('2', 40));
    store.put("a", value_of('A', 30));
  };
  const Report report = crash.run(GetParam());
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 20u);
}

TEST_P(KvKeyspacesCrash, EqualKeysOfSeveralSpaces) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    store.create_space("two");
    store.put_in("one", "a", value_of('x', 100));
  };
  crash.during = [](Tested& store) {
    store.put_in("one", "a", value_of('1', 50));
    store.put("a", value_of('0', 50));
    store.put_in("two", "a", value_of('2', 50));
    store.erase_in("one", "a");
    store.put_in("two", "a", value_of('3', 9000));
    store.erase("a");
    store.put_in("one", "a", value_of('4', 60));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvKeyspacesCrash, ADropWithRunsSealedAndOpen) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.put("a", value_of('a', 30));
    store.create_space("one");
    store.create_space("two");
    for (char key = 'b'; key < 'h'; ++key) {
      store.put_in("one", std::string(1, key), value_of(key, 2500));
      store.put_in("two", std::string(1, key), value_of(key, 100));
    }
    store.put_in("one", "large", value_of('l', 9000));
    store.erase_in("one", "b");
  };
  crash.during = [](Tested& store) {
    store.put_in("one", "c", value_of('C', 100));
    store.drop_space("one");
    store.put_in("two", "c", value_of('C', 100));
    store.put("d", value_of('d', 5000));
    store.put("e", value_of('e', 5000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// What was freed is written again: nothing of the old space may come back under the same name.
TEST_P(KvKeyspacesCrash, ADropAndACreationUnderTheSameName) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    for (char key = 'b'; key < 'f'; ++key)
      store.put_in("one", std::string(1, key), value_of(key, 2500));
  };
  crash.during = [](Tested& store) {
    store.drop_space("one");
    store.create_space("one");
    for (char key = 'b'; key < 'f'; ++key)
      store.put_in("one", std::string(1, key), value_of('n', 2500));
    store.drop_space("one");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvKeyspacesCrash, ReclamationOfTheirRuns) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    for (int round = 0; round < 3; ++round) {
      for (char key = 'b'; key < 'h'; ++key) {
        store.put_in("one", std::string(1, key), value_of(key, 900));
        store.put(std::string(1, key), value_of(key, 400));
      }
    }
    store.erase_in("one", "b");
    store.erase_in("one", "c");
  };
  crash.during = [](Tested& store) {
    store.pass();
    store.put_in("one", "b", value_of('B', 900));
    store.pass();
    store.erase_in("one", "d");
    store.pass();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvKeyspacesCrash, CloseAndReopening) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    store.create_space("two");
    store.put_in("one", "a", value_of('a', 100));
    store.put_in("two", "a", value_of('b', 100));
    store.put("a", value_of('c', 100));
  };
  crash.during = [](Tested& store) {
    store.close();
    store.reopen();
    EXPECT_TRUE(store.store().recovery().clean);
    store.put_in("one", "a", value_of('A', 100));
    store.erase_in("two", "a");
    store.abandon();
    store.reopen();
    store.drop_space("one");
    store.close();
    store.reopen();
    store.put_in("two", "b", value_of('B', 100));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvKeyspacesCrash, ABatchOverThreeSpaces) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    store.create_space("two");
    store.put_in("one", "a", value_of('a', 100));
    store.put_in("two", "b", value_of('b', 100));
    store.put("c", value_of('c', 100));
  };
  crash.during = [](Tested& store) {
    const auto three = [&](char letter, std::size_t bytes) {
      store.batch({{"c", value_of(letter, bytes)},
                   {"~one/a", value_of(letter, bytes)},
                   {"~two/a", value_of(letter, bytes)},
                   {"~two/b", std::nullopt}});
    };
    three('1', 60);
    store.put_in("two", "b", value_of('B', 100));
    three('2', 4000);  // A run of its own.
    store.drop_space("two");
    store.put("d", value_of('d', 100));
    store.pass();
    store.batch({{"~one/a", value_of('3', 60)}, {"~one/b", value_of('4', 60)}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// ---- Many keys, and words ----

TEST_P(KvKeyspacesCrash, PutsUpdatesAndErasesOfManyKeys) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    store.put_in("one", "b", value_of('b', 100));
    store.put_in("one", "e", value_of('e', 3000));
    store.put("b", value_of('0', 30));
  };
  crash.during = [](Tested& store) {
    store.put_many_in("one", {{"a", value_of('1', 40)},
                              {"b", value_of('2', 4000)},
                              {"c", value_of('3', 4000)},
                              {"a", value_of('4', 60)}});
    store.update_many_in("one", {{"c", value_of('5', 50)}, {"e", value_of('6', 500)}});
    store.erase_many_in("one", {"a", "b", "absent"});
    store.put_in("one", "a", value_of('7', 100));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// In place in a sealed run, and by a copy beside a snapshot and in an open one.
TEST_P(KvKeyspacesCrash, WordsInPlaceAndByACopy) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) {
    store.create_space("one");
    store.put_in("one", "a", value_of('a', 80));
    store.put_in("one", "b", value_of('b', 16));
    store.seal_in("one");
  };
  crash.during = [](Tested& store) {
    store.update_word_in("one", "a", 0, 17);
    store.update_word_in("one", "a", 8, 18);
    store.update_word_in("one", "b", 8, 19);
    {
      const Snapshot snapshot = store.store().space("one").value().snapshot();
      store.update_word_in("one", "a", 0, 20);
    }
    store.update_word_in("one", "a", 0, 21);
    store.pass();
    store.update_word_in("one", "b", 0, 22);
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// What a snapshot of a space holds back is dead after a crash, and so is what it let go.
TEST_P(KvKeyspacesCrash, ASnapshotThatIsLetGo) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    for (char key = 'a'; key < 'g'; ++key)
      store.put_in("one", std::string(1, key), value_of(key, 1200));
  };
  crash.during = [](Tested& store) {
    const Space space = store.store().space("one").value();
    std::vector<Snapshot> taken = store.store().snapshots(std::span(&space, 1)).value();
    store.put_in("one", "a", value_of('A', 100));
    store.erase_in("one", "b");
    store.erase_many_in("one", {"c", "d"});
    store.pass();
    std::string value;
    EXPECT_TRUE(taken[1].get("b", value));
    EXPECT_EQ(value, value_of('b', 1200));
    store.other([&] { taken.clear(); });
    store.pass();
    store.put_in("one", "b", value_of('B', 100));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// ---- Barriers ----

TEST(KvKeyspacesFences, OneForAGroup) {
  Crash crash;
  crash.options = patchable_options();
  crash.check.depth = 1;
  crash.check.images_per_run = 16;
  crash.then = false;
  crash.before = [](Tested& store) {
    store.create_space("one");
    store.put_in("one", "a", value_of('a', 80));
    store.put_in("one", "b", value_of('b', 80));
    store.seal_in("one");
    store.put_in("one", "c", value_of('c', 80));
  };
  crash.during = [](Tested& store) {
    store.update_word_in("one", "a", 0, 17);
    store.other([&] {
      const std::vector<std::string_view> keys{"a", "b"};
      std::vector<Errc> outcomes(2);
      const auto same = [](std::size_t, std::uint64_t word) { return word; };
      store.store().space("one").value().update_word_many(keys, 0, same, outcomes).value();
    });
    store.put_many_in("one", {{"a", "1"}, {"b", "2"}, {"d", "3"}});
    store.update_many_in("one", {{"a", "4"}, {"b", "5"}});
    store.erase_many_in("one", {"a", "b", "d"});
  };
  const Report report = crash.run(crash::kLine);
  ASSERT_TRUE(holds(report));
  // A fence counts for each operation that is under way: all of a group share one.
  for (std::uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(report.operation(Crash::kFirst + i).barriers(), 1u) << "operation " << i;
}

TEST(KvKeyspacesFences, OnePerVerbAndPerCreation) {
  Crash crash;
  crash.check.depth = 1;
  crash.check.images_per_run = 16;
  crash.then = false;
  crash.before = [](Tested& store) { store.put("a", value_of('a', 30)); };
  crash.during = [](Tested& store) {
    store.create_space("one");  // Its superblock, twice; its name's run opens.
    store.create_space("two");
    store.put_in("one", "a", value_of('1', 200));
    store.put_in("one", "a", value_of('2', 200));
    store.erase_in("one", "a");
    store.drop_space("two");  // Nothing was ever in it.
    store.batch({{"b", value_of('b', 40)}, {"~one/b", value_of('b', 40)}});
  };
  const Report report = crash.run(crash::kLine);
  ASSERT_TRUE(holds(report));
  EXPECT_EQ(report.operation(Crash::kFirst).barriers(), 3u);
  for (std::uint64_t i = 1; i < 5; ++i)
    EXPECT_EQ(report.operation(Crash::kFirst + i).barriers(), 1u) << i;
  EXPECT_LE(report.operation(Crash::kFirst + 5).barriers(), 2u);
  EXPECT_EQ(report.operation(Crash::kFirst + 6).barriers(), 1u);
}

}  // namespace
}  // namespace holdfast::kv
