// Every verb, crashed in every way, on every medium.
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvVerbCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvVerbCrash);

// Some records in the same open run, some sealed.
void some_records(Tested& store) {
  store.put("a", value_of('a', 30));
  store.put("b", value_of('b', 100));
  store.seal();
  store.put("c", value_of('c', 10));
}

TEST_P(KvVerbCrash, PutOfANewKey) {
  for (const std::size_t bytes : {8, 40, 100, 200}) {  // One to four lines.
    Crash crash;
    crash.before = some_records;
    crash.during = [&](Tested& store) { store.put("new", value_of('n', bytes)); };
    const Report report = crash.run(GetParam());
    EXPECT_TRUE(holds(report)) << bytes;
  }
}

TEST_P(KvVerbCrash, PutOverAnOldValue) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put("a", value_of('x', 70));
    store.put("c", value_of('y', 90));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, PutMany) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put_many({{"d", value_of('d', 20)}, {"a", value_of('e', 60)}, {"f", value_of('f', 20)}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, ConditionalPutsAndUpdate) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put_if_absent("a", "no");
    store.put_if_absent("z", "yes");
    store.compare_and_put("b", value_of('B', 40));
    store.compare_and_put("y", "fresh");
    store.update("c", value_of('C', 80));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, Erase) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.erase("a");
    store.erase("a");
    store.put("a", "back");
    store.erase("c");
    store.erase("absent");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, UpdateWordInPlace) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.update_word("a", 0, 7);
    store.update_word("a", 8, 8);
    store.update_word("a", 16, 9);  // Not declared: a new record.
    store.update_word("b", 8, 10);
    store.put("b", value_of('v', 20));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, BatchInABlock) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) { store.batch({{"a", "1"}, {"b", std::nullopt}, {"n", "2"}}); };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, BatchThatNeedsTheNextBlock) {
  Crash crash;
  crash.before = [](Tested& store) {
    some_records(store);
    store.put("big", value_of('g', 7000));
  };
  crash.during = [](Tested& store) {
    store.batch({{"a", value_of('1', 900)}, {"b", std::nullopt}, {"n", "2"}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, BatchInARunOfItsOwn) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.batch({{"a", value_of('1', 5000)}, {"b", std::nullopt}, {"n", value_of('2', 5000)}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// Key and value are written one after the other; of a key this long the value's lines cover
// nothing.
TEST_P(KvVerbCrash, LongKeyInARunOfItsOwn) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put(std::string(200, 'k'), value_of('l', 9000));
    store.put("d", "after");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, LargeValueInARunOfItsOwn) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put("a", value_of('l', 9000));
    store.put("b", value_of('m', 17000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, PutManyOverTheEndOfABlock) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    store.put_many({{"d", value_of('d', 3000)},
                    {"e", value_of('e', 3000)},
                    {"f", value_of('f', 3000)},
                    {"g", value_of('g', 100)}});
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvVerbCrash, SealingAndOpeningBlocks) {
  Crash crash;
  crash.before = some_records;
  crash.during = [](Tested& store) {
    for (char i = 'd'; i < 'h'; ++i)
      store.put(std::string(1, i), value_of(i, 4000));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

}  // namespace
}  // namespace holdfast::kv
