// Stores that keep their keys in order: closes that store the order, and erased ranges. read_all()
// compares a cursor with for_each after every crash.
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvOrderCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvOrderCrash);

Crash ordered() {
  Crash crash;
  crash.options.order = true;
  return crash;
}

bool was_stored(Tested& tested) {
  return ForTests::rooms(tested.store()).index.order()->was_stored();
}

TEST_P(KvOrderCrash, ACloseThatStoresTheOrder) {
  Crash crash = ordered();
  crash.before = [](Tested& store) {
    store.put("b", value_of('b', 100));
    store.put("a", value_of('a', 30));
    store.put(std::string(300, 'k'), "long");
    store.erase("b");
  };
  crash.during = [](Tested& store) {
    store.put("d", "1");
    store.close();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// The image that an open has read counts no more when the store is written to, and a death behind
// that does not bring it back.
TEST_P(KvOrderCrash, OpeningsThatReadTheOrder) {
  Crash crash = ordered();
  crash.before = [](Tested& store) {
    store.put("a", value_of('a', 30));
    store.put("b", value_of('b', 100));
    store.close();
  };
  crash.during = [](Tested& store) {
    store.reopen();
    EXPECT_TRUE(was_stored(store));
    store.put("c", value_of('x', 50));
    store.erase("a");
    store.close();
    store.reopen();
    EXPECT_TRUE(was_stored(store));
    store.put("d", "2");
    store.abandon();
    store.reopen();
    EXPECT_FALSE(was_stored(store));
    store.put("e", "3");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvOrderCrash, AnErasedPrefix) {
  Crash crash = ordered();
  crash.before = [](Tested& store) {
    for (const char* key : {"a", "user:1", "user:2", "user:3", "z"})
      store.put(key, value_of(key[0], 60));
  };
  crash.during = [](Tested& store) {
    store.erase_prefix("user:");
    store.put("user:2", "again");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvOrderCrash, AnErasedRangeOfAKeyspace) {
  Crash crash = ordered();
  crash.before = [](Tested& store) {
    store.create_space("users");
    for (const char* key : {"a", "b", "c", "d"}) {
      store.put_in("users", key, value_of(key[0], 60));
      store.put(key, "of the store");
    }
  };
  crash.during = [](Tested& store) {
    store.erase_range_in("users", "b", "d");
    store.put_in("users", "c", "again");
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

}  // namespace
}  // namespace holdfast::kv
