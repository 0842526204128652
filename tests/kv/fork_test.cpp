// A child that fork() makes has the store's books and none of its threads. Found by trying: a child
// that left the scope of a store closed it, and what the parent put afterwards was lost with the
// parent's death, since the medium said that it was closed cleanly.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "support.hpp"

namespace holdfast::kv {
namespace {

using Fork = OnEveryPlace;
INSTANTIATE_TEST_SUITE_P(Everywhere, Fork, kEveryPlace, place_name);

// Whether `body` returns true in a child.
bool in_child(const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body() ? 0 : 1);
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
    EXPECT_TRUE(in_child([&] { return store.close().code() == Errc::kReadOnly; }));
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
    return refused.code() == Errc::kReadOnly && mentions(refused.error(), "forked") &&
           mentions(refused.error(), "open the store after the fork") &&
           store.put_if_absent("other", "child").code() == Errc::kReadOnly &&
           store.compare_and_put(key, 1, "child").code() == Errc::kReadOnly &&
           store.update(key, [](std::string&) {}).code() == Errc::kReadOnly &&
           store.update_word(key, 0, [](std::uint64_t) { return 0; }).code() == Errc::kReadOnly &&
           store.erase(key).code() == Errc::kReadOnly &&
           store.write(batch).code() == Errc::kReadOnly &&
           store.put_many({&key, 1}, {&key, 1}).code() == Errc::kReadOnly &&
           store.reclaim().code() == Errc::kReadOnly &&
           (!paged() || store.sync().code() == Errc::kReadOnly);
  }));
  expect_contents(store, {{"key", "12345678"}});
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
