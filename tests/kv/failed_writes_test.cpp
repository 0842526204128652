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
      memory_detail::set_fault_hook(&fail_write);
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

}  // namespace
}  // namespace holdfast::kv
