// Verbs that fail half way: what they had appended when the medium was full does not appear after a
// crash. A put or erase appends a second time where another key's erase came between
// (docs/kv_arguments.md).
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvFailureCrash : public OnEveryMedium {
 protected:
  // A full medium on which one more record of two lines goes into the open run, and no second one.
  static void fill(Tested& store) {
    store.put("old", value_of('o', 64));
    ForTests::take_all_blocks(store.store());
    for (int i = 0; ForTests::fits(store.store(), 2 * 128, 2); ++i)
      store.put("k" + std::to_string(i), value_of('k', 64));
    ASSERT_TRUE(ForTests::fits(store.store(), 128, 1));
  }
  Crash crash_ = [] {
    Crash crash;
    crash.options.max_bytes = crash.options.initial_bytes;
    crash.check.max_size_bytes = crash.options.max_bytes;
    crash.before = fill;
    crash.then = false;  // There is no room for it.
    return crash;
  }();
};
HOLDFAST_ON_EVERY_MEDIUM(KvFailureCrash);

TEST_P(KvFailureCrash, PutOfANewKeyIsNotThere) {
  crash_.during = [](Tested& store) {
    store.failing({{"new", value_of('n', 64)}}, [](Store<>& full) {
      ForTests::raise_erase_horizon(full, "new");
      EXPECT_EQ(full.put("new", value_of('n', 64)).code(), Errc::kNoSpace);
    });
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

TEST_P(KvFailureCrash, PutOverAnOldValueLeavesIt) {
  crash_.during = [](Tested& store) {
    store.failing({{"old", value_of('n', 64)}}, [](Store<>& full) {
      ForTests::raise_erase_horizon(full, "old");
      EXPECT_EQ(full.put("old", value_of('n', 64)).code(), Errc::kNoSpace);
    });
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

TEST_P(KvFailureCrash, EraseLeavesTheRecord) {
  crash_.before = [](Tested& store) {
    fill(store);
    for (int i = 0; ForTests::fits(store.store(), 2 * 64, 2); ++i)  // A tombstone is smaller.
      store.put("t" + std::to_string(i), "");
    ASSERT_TRUE(ForTests::fits(store.store(), 64, 1));
  };
  crash_.during = [](Tested& store) {
    store.failing({{"old", std::nullopt}}, [](Store<>& full) {
      ForTests::raise_erase_horizon(full, "old");
      EXPECT_EQ(full.erase("old").code(), Errc::kNoSpace);
    });
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

TEST_P(KvFailureCrash, PutManyLeavesNothing) {
  crash_.during = [](Tested& store) {
    store.failing({{"new", value_of('n', 64)}}, [](Store<>& full) {
      ForTests::raise_erase_horizon(full, "new");
      const std::string value = value_of('n', 64);
      const std::string_view keys[] = {"new"}, values[] = {value};
      EXPECT_EQ(full.put_many(keys, values).code(), Errc::kNoSpace);
    });
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

}  // namespace
}  // namespace holdfast::kv
