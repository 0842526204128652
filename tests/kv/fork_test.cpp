// A child that fork() makes has the store's books and none of its threads. Found by trying: a child
// that left the scope of a store closed it, and what the parent put afterwards was lost with the
// parent's death, since the medium said that it was closed cleanly.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/store_core.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

using Fork = OnEveryPlace;
INSTANTIATE_TEST_SUITE_P(Everywhere, Fork, kEveryPlace, place_name);

// Whether `body` returns true in a child, within half a minute.
bool in_child(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(30);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

StoreOptions with_background(bool on) {
  StoreOptions options = tiny();
  options.background = on;
  return options;
}

TEST_P(Fork, AChildThatClosesTheStoreHarmsNothing) {
  for (const bool background : {false, true}) {
    const std::string name = background ? "with" : "without";
    auto store = open(with_background(background), name);
    ASSERT_TRUE(store.put("before", "1"));
    EXPECT_TRUE(in_child([&] { return store.close().code() == Errc::kClosed; }));
    EXPECT_TRUE(in_child([&] {
      const Store<> leaves_its_scope = std::move(store);
      return true;
    }));
    ASSERT_TRUE(store.put("after", "2"));
    // A background thread may grow the store while its files are copied: no image of one moment.
    if (!background) {
      copy_files(name + "-died", name);
      auto died = open(tiny(), name + "-died");
      EXPECT_FALSE(died.recovery().clean);
      expect_contents(died, {{"before", "1"}, {"after", "2"}});
    }
    ASSERT_TRUE(store.close());
    auto reopened = open(tiny(), name);
    EXPECT_TRUE(reopened.recovery().clean);
    expect_contents(reopened, {{"before", "1"}, {"after", "2"}});
  }
}

TEST_P(Fork, AChildIsToldThatItMayNotWrite) {
  auto store = open(with_words({0}));
  ASSERT_TRUE(store.put("key", "12345678"));
  EXPECT_TRUE(in_child([&] {
    WriteBatch batch;
    batch.put("key", "child");
    const std::string_view key = "key";
    const auto refused = store.put(key, "child");
    return refused.code() == Errc::kClosed && mentions(refused.error(), "forked") &&
           mentions(refused.error(), "open the store after the fork") &&
           store.put_if_absent("other", "child").code() == Errc::kClosed &&
           store.compare_and_put(key, 1, "child").code() == Errc::kClosed &&
           store.update(key, [](std::string&) {}).code() == Errc::kClosed &&
           store.update_word(key, 0, [](std::uint64_t) { return 0; }).code() == Errc::kClosed &&
           store.erase(key).code() == Errc::kClosed && store.write(batch).code() == Errc::kClosed &&
           store.put_many({&key, 1}, {&key, 1}).code() == Errc::kClosed &&
           store.reclaim().code() == Errc::kClosed && store.sync().code() == Errc::kClosed;
  }));
  expect_contents(store, {{"key", "12345678"}});
}

// Found by trying: verify() hung in a child that was forked while a thread of the parent reclaimed.
TEST_P(Fork, AChildIsToldAtOnceThatTheStoreIsItsParents) {
  StoreOptions options = tiny();
  options.order = true;
  auto store = open(options);
  auto space = store.create_space("space").value();
  ASSERT_TRUE(store.put("key", "1"));
  ASSERT_TRUE(space.put("key", "2"));
  auto cursor = store.cursor().value();
  auto pipeline = Pipeline<>::open(store, {}).value();
  const auto closed = [](const auto& result) { return result.code() == Errc::kClosed; };
  {
    Snapshot snapshot = store.snapshot(), of_space = space.snapshot();
    Checkpoint checkpoint = store.checkpoint().value();
    // As a pass does that another thread makes.
    const auto turn = store.core()->maintenance.hold_off();
    const Lock names(store.core()->keyspaces.mutex());
    EXPECT_TRUE(in_child([&] {
      std::string value;
      std::vector<std::byte> run(1 * MiB);
      cursor.first();
      const VerifyReport report = store.verify();
      return !report.ok() && report.defects.front().what.find("forked") != std::string::npos &&
             closed(store.get("key", value)) && closed(store.get_pinned("key")) &&
             closed(store.cursor()) && closed(store.count_prefix("")) && closed(store.mark()) &&
             closed(store.checkpoint()) && closed(store.set_clock(1)) &&
             closed(store.reserve(1000)) && closed(store.create_space("other")) &&
             closed(store.space("space")) && closed(store.drop_space("space")) &&
             closed(space.get("key", value)) && closed(space.put("key", "3")) &&
             space.count() == 0 && closed(snapshot.get("key", value)) &&
             closed(of_space.get("key", value)) && closed(checkpoint.read(0, run)) &&
             closed(cursor.status()) && closed(Pipeline<>::open(store, {})) &&
             closed(pipeline.wait(pipeline.put("key", "3"))) && store.count() == 0 &&
             store.stats().records == 0 && store.read_only();
    }));
    // So are their ends.
    EXPECT_TRUE(in_child([&] {
      {
        const Snapshot ends = std::move(snapshot);
      }
      {
        const Snapshot ends = std::move(of_space);
      }
      {
        const Checkpoint ends = std::move(checkpoint);
      }
      {
        const Cursor ends = std::move(cursor);
      }
      {
        const Pipeline<> ends = std::move(pipeline);
      }
      return store.close().code() == Errc::kClosed;
    }));
  }
  expect_contents(store, {{"key", "1"}});
  EXPECT_TRUE(space.put("key", "3"));
}

// Nobody writes to it, so a child may go on reading.
TEST_P(Fork, AChildReadsAStoreThatWasOpenedReadOnly) {
  ASSERT_TRUE(open().put("key", "value"));
  auto store = open(with_access(RegionAccess::kOpenReadOnly));
  EXPECT_TRUE(in_child([&] { return get(store, "key") == "value" && store.close(); }));
  EXPECT_EQ(get(store, "key"), "value");
}

TEST_P(Fork, AChildOpensAStoreOfItsOwn) {
  auto store = open();
  EXPECT_TRUE(in_child([&] {
    auto own = open(tiny(), "own");
    return own.put("key", "child") && own.close() &&
           Store<>::open(spec(), tiny()).code() == Errc::kBusy;
  }));
  auto own = open(tiny(), "own");
  expect_contents(own, {{"key", "child"}});
}

}  // namespace
}  // namespace holdfast::kv
