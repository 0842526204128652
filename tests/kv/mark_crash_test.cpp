// Marks and openings at them under the crash checker.
#include <vector>

#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvMarkCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvMarkCrash);

void mark(Tested& store) {
  store.other([&] { store.store().mark().value(); });
}

// A usual opening finds what was acknowledged, marks or not.
TEST_P(KvMarkCrash, TheStoreIsWhatItWas) {
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    for (char key = 'b'; key < 'h'; ++key)
      store.put(std::string(1, key), value_of(key, 900));
  };
  crash.during = [&](Tested& store) {
    mark(store);
    store.put("b", value_of('B', 100));
    store.erase("c");
    mark(store);
    store.pass();
    store.put("d", value_of('D', 100));
    store.other([&] { store.store().drop_mark().value(); });
    store.pass();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

TEST_P(KvMarkCrash, TombstonesGoWhileAMarkHoldsWhatWasMoved) {
  Crash crash;
  crash.before = [](Tested& store) {
    for (char key = 'b'; key < 'h'; ++key)
      store.put(std::string(1, key), value_of(key, 900));
    store.seal();
    mark(store);
    store.erase("b"), store.erase("c"), store.erase("d");
    store.pass();
    store.erase("e");
    store.seal();
  };
  crash.during = [&](Tested& store) {
    store.reclaim();
    store.reclaim();
    store.put("e", value_of('E', 50));
    store.erase("e");
    store.seal();
    store.reclaim();
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// ---- What an opening at the mark finds ----

using Whole = std::optional<State>;  // Nothing: there is no mark.

Result<Whole> look(Store<>& store) {
  if (const VerifyReport report = store.verify(); !report.ok())
    return Error{Errc::kCorrupt, report.defects.front().what};
  State contents;
  HF_RETURN_IF_ERROR(
      store.snapshot().for_each([&](std::string_view key, std::string_view value, Version) {
        return contents.emplace(key, value).second;
      }));
  return Whole(std::move(contents));
}

crash::Options check_options(const crash::Model& model) {
  crash::Options check{.size_bytes = 64 * KiB,
                       .unit_bytes = 64 * KiB,
                       .max_size_bytes = 1 * MiB,
                       .images_per_run = thorough() ? 15'000u : 300u};
  check.model = model;
  if (model.granularity == Granularity::kPage) check.durable_at_acknowledge = false;
  return check;
}

// What a store holds, and what it held when it was marked.
struct History {
  State now;
  std::map<std::uint64_t, State> marks;  // By the operation.

  void put(Store<>& store, const std::string& key, const std::string& value) {
    store.put(key, now[key] = value).value();
  }
  void erase(Store<>& store, const std::string& key) {
    store.erase(key).value();
    now.erase(key);
  }
  void mark(Store<>& store, std::uint64_t id) {
    marks[id] = now;
    store.mark().value();
  }
};

std::string compare(const History& history, const crash::Past<Whole>& past, const Whole& found) {
  // The last mark that was acknowledged, or one that was under way.
  const State* last = nullptr;
  for (const auto& operation : past.operations) {
    const auto mark = history.marks.find(operation.id);
    if (mark == history.marks.end()) continue;
    if (found && *found == mark->second && !operation.acknowledged()) return "";
    if (operation.acknowledged()) last = &mark->second;
  }
  if (last == nullptr) return found ? "a mark that nobody made" : "";
  if (!found) return "the mark is gone";
  return *found == *last ? "" : "other records than those of the mark";
}

// `options`: of the opening after the crash.
crash::Protocol<Whole> at_the_mark(History& history, const StoreOptions& options) {
  crash::Protocol<Whole> protocol;
  protocol.recover = [options](Region& region) -> Result<Whole> {
    auto store = Store<>::open(std::move(region), options);
    if (store.code() == Errc::kNotFound) return Whole();
    if (!store) return std::move(store).error();
    auto found = look(*store);
    ForTests::abandon(*store);
    return found;
  };
  protocol.check = [&](const crash::Past<Whole>& past, const Whole& found) {
    return compare(history, past, found);
  };
  return protocol;
}

TEST_P(KvMarkCrash, AnOpeningAtTheMarkFindsTheNewestOne) {
  History history;
  StoreOptions options = small_options();
  options.access = RegionAccess::kOpen;
  options.at_mark = true;
  crash::Protocol<Whole> protocol = at_the_mark(history, options);
  protocol.workload = [&](Region& region, crash::Workload& run) {
    history = {};
    std::optional<Store<>> opened;
    {
      const auto quiet = run.quiet();
      opened = Store<>::open(std::move(region), small_options()).value();
      for (char key = 'b'; key < 'h'; ++key)
        history.put(*opened, std::string(1, key), value_of(key, 900));
      history.erase(*opened, "b");
    }
    Store<>& store = *opened;
    run.perform(1, [&] { history.mark(store, 1); });
    run.perform(2, [&] {
      history.put(store, "c", value_of('C', 100));
      history.erase(store, "d");
    });
    run.perform(3, [&] { ForTests::pass(store).value(); });
    run.perform(4, [&] { history.mark(store, 4); });
    run.perform(5, [&] { history.put(store, "e", value_of('E', 100)); });
    run.perform(6, [&] { ForTests::pass(store).value(); });
    run.perform(7, [&] { history.mark(store, 7); });
    run.perform(8, [&] { history.put(store, "f", value_of('F', 100)); });
    run.perform(9, [&] { history.mark(store, 9); });
    run.perform(10, [&] { history.mark(store, 10); });
    ForTests::abandon(store);
  };
  const Report report = crash::check(protocol, check_options(GetParam()));
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 5u);
  if (GetParam().granularity == Granularity::kLine) {
    EXPECT_EQ(report.operation(1).barriers(), 5u) << "the flag twice, a tail, the image, the word";
    EXPECT_EQ(report.operation(9).barriers(), 5u)
        << "a run in which nothing lives, a tail, the image, the word, the one before";
    EXPECT_EQ(report.operation(10).barriers(), 3u) << "no run is open";
  }
}

// The opening itself: from the moment at which it begins to change the store there is no way back.
TEST_P(KvMarkCrash, AReturnIsWholeOrNotBegun) {
  State marked, later;
  StoreOptions usual = small_options(), back = small_options();
  usual.access = back.access = RegionAccess::kOpen;
  back.at_mark = true;
  History none;
  crash::Protocol<Whole> protocol = at_the_mark(none, usual);
  protocol.workload = [&](Region& region, crash::Workload& run) {
    {
      const auto quiet = run.quiet();
      run.begin(1);
      Store<> store = Store<>::open(std::move(region), small_options()).value();
      History history;
      for (char key = 'b'; key < 'h'; ++key)
        history.put(store, std::string(1, key), value_of(key, 900));
      history.erase(store, "b");
      history.mark(store, 1);
      marked = history.now;
      history.put(store, "c", value_of('C', 100));
      history.put(store, "d", value_of('D', 9000));
      for (const char* key : {"e", "f", "g"})
        history.erase(store, key);
      // Tombstones go, since what they erased is durably dead: bits of the mark that are there
      // before it is known that there is no way back bring the erased records back.
      ForTests::seal(store).value();
      store.reclaim().value();
      store.reclaim().value();
      EXPECT_GT(store.stats().tombstones_dropped, 0u);
      later = history.now;
      store.close().value();
      run.acknowledge(1);
    }
    run.perform(2, [&] {
      Store<> store = Store<>::open(run.open_again(), back).value();
      ForTests::abandon(store);
    });
    run.perform(3, [&] {
      Store<> store = Store<>::open(run.open_again(), usual).value();
      ForTests::abandon(store);
    });
  };
  protocol.check = [&](const crash::Past<Whole>& past, const Whole& found) -> std::string {
    if (!found) return "the store is gone";
    const bool begun = past.operations.size() > 1;
    const bool done = begun && past.operations[1].acknowledged();
    if (*found == marked && begun) return "";
    if (*found == later && !done) return "";
    return "neither what was there nor what the mark has";
  };
  const Report report = crash::check(protocol, check_options(GetParam()));
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 5u);
  if (GetParam().granularity == Granularity::kLine) {
    EXPECT_EQ(report.operation(2).barriers(), report.operation(3).barriers() + 3)
        << "the returning bit; the dead bits and all words; the bit again. And those of a recovery";
  }
}

}  // namespace
}  // namespace holdfast::kv
