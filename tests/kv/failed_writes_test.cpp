// Writes and syncs that the system refuses, on page media.
#include <atomic>
#include <cerrno>
#include <functional>

#include <holdfast/memory/system.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class FailedWrites : public testing::Test {
 protected:
  std::string path() const { return scratch_.path("store"); }

  Scratch scratch_ = Scratch::tmpfs();
};

std::atomic<int> failing_syncs{0};
int fail_sync(memory_detail::Call call, int) {
  return call == memory_detail::Call::kDataSync && failing_syncs > 0 ? EIO : 0;
}

TEST_F(FailedWrites, AFailedSyncMakesTheStoreReadOnlyAndSaysWhy) {
  memory_detail::set_fault_hook(&fail_sync);
  auto store = Store<>::open(path() + "?granularity=page", tiny()).value();
  ASSERT_TRUE(store.put("before", "v", {Durability::kPower}));
  failing_syncs = 1;
  EXPECT_EQ(store.put("during", "v", {Durability::kPower}).code(), Errc::kIo);
  failing_syncs = 0;
  memory_detail::set_fault_hook(nullptr);
  const auto refused = store.put("after", "v");
  ASSERT_EQ(refused.code(), Errc::kReadOnly);
  EXPECT_TRUE(mentions(refused.error(), "EIO")) << refused.error().detail;
  EXPECT_TRUE(mentions(refused.error(), "stays readable")) << refused.error().detail;
  EXPECT_FALSE(store.sync());
  EXPECT_EQ(get(store, "before"), "v");
  EXPECT_FALSE(store.close());
  auto reopened = Store<>::open(path() + "?granularity=page", tiny()).value();
  EXPECT_FALSE(reopened.recovery().clean);
  EXPECT_EQ(get(reopened, "before"), "v");
}

// All sequences in use lie below a durable limit: an operation that gets one beyond it because the
// limit could not be raised must fail, or a crash could hand its sequence out again.
std::atomic<int> writes_until_failure{0};
std::atomic<int> error_of_write{EIO};
int fail_write(memory_detail::Call call, int) {
  return call == memory_detail::Call::kWrite && --writes_until_failure == 0 ? error_of_write.load()
                                                                            : 0;
}

// From then on each.
int fail_writes_from(memory_detail::Call call, int) {
  return call == memory_detail::Call::kWrite && --writes_until_failure <= 0 ? error_of_write.load()
                                                                            : 0;
}

TEST_F(FailedWrites, AnOperationWithoutADurableSequenceIsNotAcknowledged) {
  const std::string spec = path() + "?granularity=page";
  WriteBatch batch;
  batch.put("k", "new");
  const std::pair<const char*, std::function<Errc(Store<>&)>> verbs[] = {
      {"put", [](Store<>& store) { return store.put("k", "new").code(); }},
      {"put_if_absent", [](Store<>& store) { return store.put_if_absent("n", "new").code(); }},
      {"update",
       [](Store<>& store) { return store.update("k", [](auto& v) { v = "new"; }).code(); }},
      {"update_word",
       [](Store<>& store) {
         return store.update_word("word", 0, [](auto w) { return w + 1; }).code();
       }},
      {"erase", [](Store<>& store) { return store.erase("k").code(); }},
      {"batch", [&](Store<>& store) { return store.write(batch).code(); }},
      {"put_many",
       [](Store<>& store) {
         const std::string_view keys[] = {"k", "n"}, values[] = {"new", "new"};
         return store.put_many(keys, values).code();
       }},
  };
  for (const int error : {EIO, ENOSPC}) {
    for (const auto& [name, verb] : verbs) {
      std::filesystem::remove_all(path());
      auto store = Store<>::open(spec, tiny()).value();
      ASSERT_TRUE(store.put("k", "old"));
      ASSERT_TRUE(store.put("word", std::string(8, '\0')));
      ForTests::small_steps(store, 1, 1000);  // The limit is to be raised with each chunk.
      ForTests::lapse_sequences(store);       // And this thread has none left.
      writes_until_failure = 1;
      error_of_write = error;
      memory_detail::set_fault_hook(&fail_writes_from);
      EXPECT_EQ(verb(store), error == EIO ? Errc::kIo : Errc::kNoSpace) << name;
      memory_detail::set_fault_hook(nullptr);
      EXPECT_EQ(get(store, "k"), "old") << name;
      EXPECT_EQ(store.count(), 2u) << name;
      // For lack of space nothing is in doubt: the store goes on.
      EXPECT_EQ(store.put("k", "next").code(), error == EIO ? Errc::kReadOnly : Errc::kOk) << name;
      EXPECT_EQ(store.close().has_value(), error != EIO) << name;
      auto reopened = Store<>::open(spec, tiny()).value();
      EXPECT_EQ(get(reopened, "k"), error == EIO ? "old" : "next") << name;
    }
  }
}

// Found by reading: a write that the file system refused for lack of space may have arrived all the
// same, and was handed over again with the next one: after a death the refused put was there.
TEST_F(FailedWrites, AWriteRefusedHalfWayForLackOfSpaceMakesTheStoreReadOnly) {
  const std::string spec = path() + "?granularity=page";
  const std::pair<const char*, std::function<Errc(Store<>&)>> verbs[] = {
      {"a record of its run", [](Store<>& store) { return store.put("k", "new").code(); }},
      {"a record with a run of its own",
       [](Store<>& store) { return store.put("k", std::string(20'000, 'n')).code(); }},
      {"a batch with a run of its own",
       [](Store<>& store) {
         WriteBatch batch;
         for (const char* key : {"k", "l", "m"})
           batch.put(key, std::string(7'000, 'n'));
         return store.write(batch).code();
       }},
  };
  for (const auto& [name, verb] : verbs) {
    // Where a word of the table is refused (the segment is too small for some, so it grows first),
    // the run does not exist. The record's own writes are the last ones.
    std::uint64_t doubts = 0;
    for (int at = 1; at <= 20; ++at) {
      std::filesystem::remove_all(path());
      auto store = Store<>::open(spec, tiny()).value();
      ASSERT_TRUE(store.put("k", "old"));
      writes_until_failure = at;
      error_of_write = ENOSPC;
      memory_detail::set_fault_hook(&fail_write);
      const Errc refused = verb(store);
      memory_detail::set_fault_hook(nullptr);
      if (refused == Errc::kOk) continue;
      EXPECT_TRUE(refused == Errc::kNoSpace || refused == Errc::kReadOnly) << name << " " << at;
      EXPECT_EQ(get(store, "k"), "old") << name;
      const Errc next = store.put("next", "v").code();
      EXPECT_TRUE(next == Errc::kOk || next == Errc::kReadOnly) << name << " " << at;
      doubts += next == Errc::kReadOnly;
      ForTests::abandon(store);
      auto died = Store<>::open(spec, tiny()).value();
      EXPECT_EQ(get(died, "next"), next == Errc::kOk ? "v" : "<kNotFound>") << name << " " << at;
      if (next == Errc::kOk) {
        EXPECT_EQ(get(died, "k"), "old") << name << " " << at;
      }
    }
    EXPECT_GE(doubts, 1u) << name;
  }
}

// ---- Found by reading: what a refused write leaves behind ----

// Calls `act` with the n-th write refused for lack of space.
template <class Act>
void with_refused_write(int n, Act&& act) {
  writes_until_failure = n;
  error_of_write = ENOSPC;
  memory_detail::set_fault_hook(&fail_write);
  act();
  memory_detail::set_fault_hook(nullptr);
}
constexpr int kManyWrites = 60;  // More than any of these acts takes.

// The tail of a full run, or its word, is put within a sync. No later sync was tried then: puts
// without a wait were acknowledged for ever and never synced, and one that waits was refused and
// there after a death.
TEST_F(FailedWrites, ASyncThatCannotSealARunMakesTheStoreReadOnly) {
  const std::string spec = path() + "?granularity=page";
  int read_only = 0;
  for (int n = 1; n <= kManyWrites; ++n) {
    std::filesystem::remove_all(path());
    auto store = Store<>::open(spec, tiny()).value();
    ASSERT_TRUE(store.put("k", "old", {Durability::kPower}));
    for (int i = 0; i < 30; ++i)
      ASSERT_TRUE(store.put("filler" + std::to_string(i), text_of(i, 1'000)));
    with_refused_write(n, [&] {
      for (int i = 0; i < 3; ++i)
        (void)store.sync();
    });
    const Errc next = store.put("k", "new", {Durability::kPower}).code();
    EXPECT_TRUE(next == Errc::kOk || next == Errc::kReadOnly) << n << " " << name(next);
    read_only += next == Errc::kReadOnly;
    ForTests::abandon(store);
    auto died = Store<>::open(spec, tiny()).value();
    EXPECT_EQ(get(died, "k"), next == Errc::kOk ? "new" : "old") << n;
  }
  EXPECT_GT(read_only, 0);
}

// Of the run with the erased record the dead bits were not put, and it did not count as one that
// lacks them any more. So the next pass dropped the tombstone, and after a death the key was back.
TEST_F(FailedWrites, AnErasedKeyStaysErasedWhereItsDeadBitWasRefused) {
  const std::string spec = path() + "?granularity=page";
  const auto seal = [](Store<>& store) {
    ASSERT_TRUE(ForTests::seal(store));
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(store.sync());
  };
  const auto key = [](const char* kind, int i) { return kind + std::to_string(i); };
  for (int n = 1; n <= kManyWrites; ++n) {
    std::filesystem::remove_all(path());
    auto store = Store<>::open(spec, tiny()).value();
    for (int i = 0; i < 6; ++i)
      ASSERT_TRUE(store.put(key("lives", i), text_of(i, 1'000)));
    ASSERT_TRUE(store.put("erased", "value"));
    seal(store);
    ASSERT_TRUE(store.erase("erased").value());
    for (int i = 0; i < 6; ++i)
      ASSERT_TRUE(store.put(key("goes", i), text_of(i, 1'000)));
    seal(store);
    for (int i = 0; i < 6; ++i)
      ASSERT_TRUE(store.put(key("goes", i), "short"));
    seal(store);
    with_refused_write(n, [&] { (void)ForTests::pass(store); });
    (void)ForTests::pass(store);
    ForTests::abandon(store);
    auto died = Store<>::open(spec, tiny()).value();
    EXPECT_EQ(get(died, "erased"), "<kNotFound>") << n;
    EXPECT_EQ(died.count(), 12u) << n;
    EXPECT_TRUE(died.verify().ok()) << n;
  }
}

// A sweep that failed counted as done: what had expired stayed until the clock moved.
TEST_F(FailedWrites, WhatExpiredGoesWhereASweepFailedBefore) {
  int failed = 0;
  for (int n = 1; n <= kManyWrites; ++n) {
    std::filesystem::remove_all(path());
    auto store = Store<>::open(path() + "?granularity=page", tiny()).value();
    ASSERT_TRUE(store.expire({.prefix = "t", .ttl = 10}));
    const std::string value(1'000, '\0');  // Stamped with 0.
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(store.put("t" + std::to_string(i), value));
    ASSERT_TRUE(store.put("t0", value));  // A dead bit that is to be put.
    ASSERT_TRUE(ForTests::seal(store));
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(store.sync());
    ASSERT_TRUE(store.set_clock(100));
    Maintenance& maintenance = ForTests::maintenance(store);
    Maintenance::RoomSoFar first, second;
    with_refused_write(n, [&] { failed += !maintenance.make_room(first).has_value(); });
    if (!store.put("next", "v")) continue;  // Read-only.
    EXPECT_TRUE(maintenance.make_room(second)) << n;
    EXPECT_EQ(store.stats().expired_records, 20u) << n;
  }
  EXPECT_GT(failed, 0);
}

// Each attempt that was refused took a run's blocks with it, until the next opening.
TEST_F(FailedWrites, ARunWhoseWordIsRefusedGivesItsBlocksBack) {
  std::uint64_t used_without_refusal = 0;
  for (int n = 0; n <= kManyWrites; ++n) {  // With 0 none is refused.
    std::filesystem::remove_all(path());
    auto store = Store<>::open(path() + "?granularity=page", tiny()).value();
    ASSERT_TRUE(store.put("before", "v"));
    with_refused_write(n, [&] { (void)store.put("k", text_of(2, 20'000)); });
    if (store.put("next", "v").code() == Errc::kReadOnly) continue;
    ASSERT_TRUE(store.put("k", text_of(2, 20'000))) << n;
    ASSERT_TRUE(store.reclaim());
    const BlockTable& table = ForTests::table(store);
    const std::uint64_t used = table.blocks() - table.free_blocks();
    if (n == 0) used_without_refusal = used;
    EXPECT_EQ(used, used_without_refusal) << n;
  }
}

// A growth that finds no descriptor or no memory has done nothing.
int refused_growth = 0;
int refuse_growth(memory_detail::Call call, int) {
  return call == memory_detail::Call::kAllocate ? refused_growth : 0;
}

TEST_F(FailedWrites, AStoreThatCannotGrowForWantOfDescriptorsOrMemoryGoesOn) {
  for (const int error : {EMFILE, ENFILE, ENOMEM}) {
    std::filesystem::remove_all(path());
    StoreOptions options = tiny();
    options.background = false;
    auto store = Store<>::open(path() + "?granularity=page", options).value();
    refused_growth = error;
    memory_detail::set_fault_hook(&refuse_growth);
    ForTests::maintain(store);  // It would grow ahead.
    Errc code = Errc::kOk;
    int puts = 0;
    for (; code == Errc::kOk && puts < 1'000; ++puts)
      code = store.put(std::to_string(puts), text_of(puts, 1'000)).code();
    EXPECT_EQ(code, Errc::kNoSpace);
    EXPECT_TRUE(store.erase("0").value()) << "what makes room may use the reserve";
    ForTests::maintain(store);
    memory_detail::set_fault_hook(nullptr);
    EXPECT_TRUE(store.put("after", "v"));
    EXPECT_EQ(get(store, "1"), text_of(1, 1'000));
  }
}

// The second mark was there, and its pins were released with those of the moment that it was made
// of: the store could not be closed, and its destructor aborted.
TEST_F(FailedWrites, AMarkThatFailsLeavesAStoreThatCloses) {
  const std::string spec = path() + "?granularity=page";
  const auto fail = [](int n, auto&& act) {
    writes_until_failure = n;
    error_of_write = EIO;
    memory_detail::set_fault_hook([](memory_detail::Call call, int) {
      return call == memory_detail::Call::kDataSync && --writes_until_failure == 0 ? EIO : 0;
    });
    act();
    memory_detail::set_fault_hook(nullptr);
  };
  StoreOptions at_mark = tiny();
  at_mark.access = RegionAccess::kOpenReadOnly;
  at_mark.at_mark = true;
  for (const bool of_space : {false, true}) {
    int failed = 0;
    for (int n = 1; n <= kManyWrites; ++n) {
      std::filesystem::remove_all(path());
      Errc marked = Errc::kOk;
      {
        auto store = Store<>::open(spec, tiny()).value();
        ASSERT_TRUE(store.put("k", "first"));
        ASSERT_TRUE(store.mark());
        ASSERT_TRUE(store.put("k", "second"));
        const auto act = [&] { marked = store.mark().code(); };
        if (of_space)
          with_refused_write(n, act);
        else
          fail(n, act);
        failed += marked != Errc::kOk;
        EXPECT_NE(store.close().code(), Errc::kBusy) << n;
      }
      auto old = Store<>::open(spec, at_mark).value();
      const std::string found = get(old, "k");
      // One that was refused for lack of space has changed nothing.
      EXPECT_TRUE(found == "second" || (found == "first" && marked != Errc::kOk)) << n << found;
      EXPECT_TRUE(found == "first" || marked != Errc::kNoSpace) << n;
    }
    EXPECT_GT(failed, 0) << of_space;
  }
}

}  // namespace
}  // namespace holdfast::kv
