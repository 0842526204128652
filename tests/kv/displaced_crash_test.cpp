// Puts that supersede records which nobody read, crashed in every way on page media: before keys are
// compared, meanwhile, and after, with reclamation beside.
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvDisplacedCrash : public OnEveryMedium {
 protected:
  void SetUp() override {
    if (GetParam().granularity != Granularity::kPage) GTEST_SKIP() << "page media only";
    crash_.in_memory = false;
    crash_.before = [](Tested& store) {
      store.put("a", value_of('a', 30));
      store.put("b", value_of('b', 100));
      store.seal();
      store.put("c", value_of('c', 10));
    };
  }
  static std::uint64_t waiting(Tested& store) { return store.store().stats().displaced_records; }

  Crash crash_;
};
HOLDFAST_ON_EVERY_MEDIUM(KvDisplacedCrash);

TEST_P(KvDisplacedCrash, PutsOverWhatNobodyRead) {
  crash_.during = [](Tested& store) {
    store.put("a", value_of('x', 70));
    store.put("c", value_of('y', 90));
    store.put("a", value_of('z', 20));
    EXPECT_EQ(waiting(store), 3u);
    store.put_many({{"b", value_of('e', 60)}, {"d", value_of('d', 20)}, {"b", value_of('f', 9)}});
    EXPECT_EQ(waiting(store), 4u);
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

TEST_P(KvDisplacedCrash, ErasesOfWhatIsDisplaced) {
  crash_.during = [](Tested& store) {
    store.put("a", value_of('x', 70));
    store.erase("a");
    store.put("a", value_of('y', 70));
    store.put("b", value_of('z', 70));
    store.batch({{"b", std::nullopt}, {"c", value_of('C', 40)}});
    EXPECT_EQ(waiting(store), 0u);
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

TEST_P(KvDisplacedCrash, ReclamationOfWhatIsDisplaced) {
  crash_.during = [](Tested& store) {
    store.put("a", value_of('x', 70));
    store.put("b", value_of('y', 90));
    store.seal();
    store.other([&] { store.store().reclaim().value(); });
    EXPECT_EQ(waiting(store), 0u);
    store.put("a", value_of('z', 30));
    store.erase("b");
    store.seal();
    store.other([&] { store.store().reclaim().value(); });
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

TEST_P(KvDisplacedCrash, ACloseComparesTheKeysFirst) {
  crash_.during = [](Tested& store) {
    store.put("a", value_of('x', 70));
    store.put("b", value_of('y', 90));
    store.close();
  };
  EXPECT_TRUE(holds(crash_.run(GetParam())));
}

}  // namespace
}  // namespace holdfast::kv
