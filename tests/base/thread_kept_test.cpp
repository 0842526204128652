#include <holdfast/base/thread_kept.hpp>

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

std::atomic<int> kept_alive{0}, kept_made{0};

struct KeptText {
  KeptText() { ++kept_alive, ++kept_made; }
  ~KeptText() { --kept_alive; }
  std::string text;
};

void use_kept_text() {
  auto& kept = ThreadKept<KeptText>::get();
  kept.text = "a text that is too long to lie in the string itself";
  EXPECT_EQ(ThreadKept<KeptText>::peek(), &kept);
}

TEST(ThreadKept, IsTheSameFromCallToCallAndFreedWithItsThread) {
  kept_made = 0;
  std::thread([] {
    EXPECT_EQ(ThreadKept<KeptText>::peek(), nullptr);
    use_kept_text();
    use_kept_text();
    EXPECT_EQ(kept_made, 1);
    EXPECT_EQ(kept_alive, 1);
  }).join();
  EXPECT_EQ(kept_alive, 0);
}

// Of a thread-local object, and of a key that was made later: it comes behind that of the object.
TEST(ThreadKept, MayBeUsedByDestructorsAtTheEndOfAThread) {
  use_kept_text();  // Its own key comes first.
  pthread_key_t later;
  ASSERT_EQ(pthread_key_create(&later, [](void*) { use_kept_text(); }), 0);
  kept_made = 0;
  const int before = kept_alive;
  std::thread([&] {
    struct AtEnd {
      ~AtEnd() { use_kept_text(); }
    };
    thread_local AtEnd at_end;
    (void)at_end;
    use_kept_text();
    pthread_setspecific(later, &later);
  }).join();
  EXPECT_EQ(kept_made, 2);
  EXPECT_EQ(kept_alive, before);
  pthread_key_delete(later);
}

}  // namespace
}  // namespace holdfast
