// Checkpoints and restore() under the crash checker.
#include <vector>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/checkpoint_format.hpp>

#include "kept_checkpoints.hpp"
#include "kv_crash.hpp"

namespace holdfast::kv {
namespace {

class KvCheckpointCrash : public OnEveryMedium {};
HOLDFAST_ON_EVERY_MEDIUM(KvCheckpointCrash);

void take(Tested& store, Kept& kept) {
  store.other([&] { kept.take(store.store().checkpoint().value()); });
}

TEST_P(KvCheckpointCrash, TheStoreIsWhatItWas) {
  Kept kept;
  Crash crash;
  crash.before = [](Tested& store) {
    store.create_space("one");
    for (char key = 'b'; key < 'h'; ++key)
      store.put(std::string(1, key), value_of(key, 900));
  };
  crash.during = [&](Tested& store) {
    take(store, kept);
    store.put("b", value_of('B', 100));
    store.put_in("one", "b", value_of('1', 100));
    store.erase("c");
    take(store, kept);
    store.pass();
    store.put("d", value_of('D', 100));
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

// A crash behind a checkpoint: what it copied keeps its name and its bytes.
TEST_P(KvCheckpointCrash, RunsThatWereCopiedStayWhatTheyWere) {
  Kept kept;
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) {
    for (char key = 'b'; key < 'f'; ++key)
      store.put(std::string(1, key), value_of(key, 100));
    store.seal();
    store.update_word("b", 0, 5);
  };
  crash.during = [&](Tested& store) {
    take(store, kept);
    store.put("marker", "1");  // An image that has it is of after the checkpoint.
    store.update_word("b", 0, 6);
  };
  crash.afterwards = [&](Tested& store) {
    if (!store.dull().contains("marker")) return;
    store.update_word("c", 0, 7);
    store.update_word("b", 8, 8);
    Kept known = kept;   // Each crash leads to a history of its own.
    take(store, known);  // Compares bytes of equal names.
  };
  EXPECT_TRUE(holds(crash.run(GetParam())));
}

class KvCheckpointFences : public OnEveryMedium {};
HOLDFAST_ON_MEDIA_THAT_WAIT(KvCheckpointFences);

TEST_P(KvCheckpointFences, OfACheckpoint) {
  Crash crash;
  crash.options = patchable_options();
  crash.before = [](Tested& store) { store.put("b", value_of('b', 100)); };
  crash.during = [](Tested& store) {
    const auto checkpoint = [&] { store.other([&] { (void)store.store().checkpoint().value(); }); };
    checkpoint();
    checkpoint();
    store.put("b", value_of('c', 100));
    checkpoint();
  };
  const Report report = crash.run(GetParam());
  ASSERT_TRUE(holds(report));
  // On pages a run is synced before its tail.
  const std::uint64_t seal = GetParam().granularity == Granularity::kPage ? 2 : 1;
  // The tail of a run, the flag of the store and its copy, the limit.
  EXPECT_EQ(report.operation(Crash::kFirst).barriers(), seal + 3);
  EXPECT_EQ(report.operation(Crash::kFirst + 1).barriers(), 1u) << "the limit";
  EXPECT_EQ(report.operation(Crash::kFirst + 3).barriers(), seal + 1) << "a run, the limit";
}

// ---- restore() ----

using Whole = std::optional<State>;  // Nothing: there is no store.

// A checkpoint with dead records, of an older store of the same options.
Kept some_checkpoint(State& expected) {
  StoreOptions options = small_options();
  options.durability = Durability::kProcess;
  Region region = Region::open("dram", {.access = RegionAccess::kCreate,
                                        .size_bytes = options.segment_bytes,
                                        .unit_bytes = options.segment_bytes})
                      .value();
  Store<> store = Store<>::open(std::move(region), options).value();
  for (int i = 0; i < 12; ++i)
    store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = value_of('a', 700))
        .value();
  for (int i = 0; i < 12; i += 5)
    store.put("key" + std::to_string(i), expected["key" + std::to_string(i)] = "new").value();
  store.erase("key3").value(), expected.erase("key3");
  Kept kept;
  kept.take(store.checkpoint().value());
  return kept;
}

TEST_P(KvCheckpointCrash, ARestoredStoreIsThereWhollyOrNotAtAll) {
  State expected;
  const Kept kept = some_checkpoint(expected);
  const CheckpointPlan plan = CheckpointPlan::decode(kept.private_part).value();
  ASSERT_GE(plan.runs.size(), 2u);
  StoreOptions options = small_options();
  options.access = RegionAccess::kOpen;
  const auto restore_all = [&](Medium& medium) {
    return restore_into(medium, plan, [&](const CheckpointRun& wanted, std::span<std::byte> to) {
      const auto& bytes = kept.runs.at(wanted.name);
      std::copy(bytes.begin(), bytes.end(), to.begin());
      return ok_status();
    });
  };
  crash::Protocol<Whole> protocol;
  protocol.workload = [&](Region& region, crash::Workload& run) {
    Medium medium(std::move(region));
    run.perform(1, [&] { restore_all(medium).value(); });
  };
  // One that did not end is done again. Its blocks are there, and of the words that change some.
  protocol.recover = [&](Region& region) -> Result<Whole> {
    Medium medium(std::move(region));
    const std::uint64_t magic = medium.word(0);
    if (magic == 0) return Whole();
    if (magic == kRestoringMagic) HF_RETURN_IF_ERROR(restore_all(medium));
    auto store = Store<>::open(std::move(medium.region()), options);
    if (!store) return std::move(store).error();
    if (const VerifyReport report = store->verify(); !report.ok())
      return Error{Errc::kCorrupt, report.defects.front().what};
    State contents;
    HF_RETURN_IF_ERROR(
        store->snapshot().for_each([&](std::string_view key, std::string_view value, Version) {
          return contents.emplace(key, value).second;
        }));
    ForTests::abandon(*store);
    return Whole(std::move(contents));
  };
  protocol.check = [&](const crash::Past<Whole>& past, const Whole& found) -> std::string {
    const bool done = past.operations.back().acknowledged();
    if (!found) return done ? "the store is gone" : "";
    return *found == expected ? "" : "other records than those of the checkpoint";
  };
  crash::Options check{.size_bytes = 64 * KiB,
                       .unit_bytes = 64 * KiB,
                       .max_size_bytes = 1 * MiB,
                       .images_per_run = thorough() ? 15'000u : 300u};
  check.model = GetParam();
  const Report report = crash::check(protocol, check);
  EXPECT_TRUE(holds(report));
  EXPECT_GT(report.images_in_all(), 5u);
  if (GetParam().granularity == Granularity::kLine) {
    EXPECT_EQ(report.operation(1).barriers(), 5u);
  }
}

}  // namespace
}  // namespace holdfast::kv
