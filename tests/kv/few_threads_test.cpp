// A system that has no room for another thread: stores open and work, more slowly.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/events.hpp>
#include <holdfast/kv/workers.hpp>

#include "support.hpp"

namespace {

std::atomic<bool> no_more_threads{false};

}  // namespace

// In place of the system's, for this program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  if (no_more_threads) return EAGAIN;
  static const auto system_s =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return system_s(thread, attributes, run, argument);
}

namespace holdfast::kv {
namespace {

class FewThreads : public testing::Test {
 protected:
  ~FewThreads() override { no_more_threads = false; }
  Scratch scratch_ = Scratch::tmpfs();
};

TEST_F(FewThreads, WorkIsDoneByThoseThatThereAre) {
  std::atomic<int> workers{0};
  side_by_side(4, [&] { ++workers; });
  EXPECT_EQ(workers, 4);
  no_more_threads = true;
  side_by_side(4, [&] { ++workers; });
  EXPECT_EQ(workers, 5);
}

// What was started behind the listener was ended without having been begun.
TEST_F(FewThreads, AListenerThatFindsNoThreadIsAnError) {
  StoreOptions options = tiny();
  options.listener = std::make_shared<EventListener>();
  no_more_threads = true;
  for (const bool background : {false, true}) {
    options.background = background;
    const auto refused = Store<>::open(scratch_.path("store"), options);
    ASSERT_EQ(refused.code(), Errc::kNoSpace);
    const std::string_view who = background ? "thread" : "listener";
    EXPECT_TRUE(mentions(refused.error(), who)) << refused.error().detail;
  }
  no_more_threads = false;
  auto store = Store<>::open(scratch_.path("store"), options).value();
  EXPECT_TRUE(store.put("k", "v"));
}

TEST_F(FewThreads, AStoreRecoversAndItsKeysAreInOrder) {
  StoreOptions options = tiny();
  options.recovery_threads = 4;
  Contents contents;
  {
    auto store = Store<>::open(scratch_.path("store"), options).value();
    for (int i = 0; i < 500; ++i)
      store.put("key" + std::to_string(i), contents["key" + std::to_string(i)] = "value").value();
    std::filesystem::copy(scratch_.path("store"), scratch_.path("died"),
                          std::filesystem::copy_options::recursive);
  }
  options.order = true;
  no_more_threads = true;
  auto store = Store<>::open(scratch_.path("died"), options).value();
  EXPECT_FALSE(store.recovery().clean);
  auto cursor = store.cursor().value();
  auto expected = contents.begin();
  for (cursor.first(); cursor; cursor.next(), ++expected)
    ASSERT_EQ(cursor.key(), expected->first);
  EXPECT_EQ(expected, contents.end());
  expect_contents(store, contents);
}

// The threads of its background belong to all stores of a process: this is the first here.
TEST_F(FewThreads, AStoreWithBackgroundWorkSaysThatThereIsNoThread) {
  StoreOptions options = tiny();
  options.background = options.order = true;
  no_more_threads = true;
  const auto refused = Store<>::open(scratch_.path("store"), options);
  ASSERT_EQ(refused.code(), Errc::kNoSpace);
  EXPECT_TRUE(mentions(refused.error(), "thread")) << refused.error().message();
  no_more_threads = false;
  EXPECT_TRUE(Store<>::open(scratch_.path("store"), options));
}

}  // namespace
}  // namespace holdfast::kv
