#include <holdfast/base/crew.hpp>

#include <algorithm>
#include <array>
#include <atomic>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

// The system has room for two more.
class RareThread {
 public:
  template <class Work>
  explicit RareThread(Work&& work) : thread_(start(work)) {}
  void join() { thread_.join(); }

  static inline unsigned started = 0;

 private:
  template <class Work>
  static std::thread start(Work& work) {
    if (started == 2)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    ++started;
    return std::thread(work);
  }
  std::thread thread_;
};

template <class Thread>
unsigned do_parts(unsigned threads) {
  std::array<std::atomic<unsigned>, 100> parts{};
  std::atomic<std::size_t> next{0};
  const auto there = side_by_side<Thread>(threads, [&] {
    for (std::size_t i; (i = next++) < parts.size();)
      ++parts[i];
  });
  for (const auto& part : parts)
    EXPECT_EQ(part.load(), 1u);
  return there;
}

TEST(Crew, AllPartsAreDoneOnceByHoweverManyThreads) {
  for (const unsigned threads : {0u, 1u, 2u, 7u})
    EXPECT_EQ(do_parts<std::thread>(threads), std::max(threads, 1u));
}

TEST(Crew, ThreadsThatCannotBeStartedAreDoneWithout) {
  EXPECT_EQ(do_parts<RareThread>(8), 3u);
  EXPECT_EQ(do_parts<RareThread>(8), 1u);
}

}  // namespace
}  // namespace holdfast
