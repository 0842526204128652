// Puts that supersede a record unread, by several threads at once. Also run under TSan.
#include <atomic>
#include <thread>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>
#include <holdfast/kv/pipeline.hpp>

#include "displacing.hpp"

namespace holdfast::kv {
namespace {

#ifdef HF_SANITIZED
constexpr int kScale = 1;
#else
constexpr int kScale = 5;
#endif

class DisplacingConcurrent : public Displacing {};

// Each thread has a key of its own, and knows what it holds; the index cannot tell some of them
// apart. Another thread settles and reclaims.
TEST_F(DisplacingConcurrent, ThreadsDoNotLoseWhatIsTheirs) {
  open();
  displaced().set_limit(16);
  const auto pairs = twins(2);
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, key = pairs[i / 2][i % 2], random = Random(i)]() mutable {
      std::optional<std::string> mine;
      for (int step = 0; step < 4000 * kScale; ++step) {
        const auto choice = random.below(10);
        if (choice < 5) {
          mine = std::to_string(step);
          ASSERT_TRUE(store_->put(key, *mine));
        } else if (choice < 7) {
          ASSERT_EQ(store_->erase(key).value(), mine.has_value());
          mine.reset();
        } else {
          ASSERT_EQ(value(key), mine.value_or("<kNotFound>"));
        }
      }
    });
  }
  std::thread other([&] {
    while (!ended) {
      ASSERT_TRUE(displaced().settle_some(ForTests::rooms(*store_).sessions.of_this_thread(), 2));
      ASSERT_TRUE(store_->sync());
      ForTests::pass(*store_, 0.05).value();
    }
  });
  for (auto& thread : threads)
    thread.join();
  ended = true;
  other.join();
  EXPECT_TRUE(store_->verify().ok());
}

// The same by pipelines, whose groups append all before they publish any.
TEST_F(DisplacingConcurrent, PipelinesDoNotLoseWhatIsTheirs) {
  open();
  displaced().set_limit(16);
  const auto pairs = twins(2);
  std::atomic<bool> ended{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i, key = pairs[i / 2][i % 2], random = Random(i)]() mutable {
      bool there = false;
      auto pipeline =
          Pipeline<>::open(*store_, {.window = static_cast<std::uint32_t>(2 + i)}).value();
      for (int step = 0; step < 2000 * kScale; ++step) {
        const auto choice = random.below(10);
        if (choice < 5) {
          pipeline.put(key, std::to_string(step));
          there = true;
        } else if (choice < 7) {
          pipeline.erase(key, [&wrong, there](Result<bool> got) { wrong += *got != there; });
          there = false;
        } else {
          pipeline.update(
              key, [](std::string& value) { value = "u"; },
              [&wrong, there](Result<Version> got) { wrong += got.has_value() != there; });
        }
      }
      wrong += !pipeline.flush();
    });
  }
  std::thread other([&] {
    while (!ended) {
      ASSERT_TRUE(displaced().settle_some(ForTests::rooms(*store_).sessions.of_this_thread(), 2));
      ASSERT_TRUE(store_->sync());
      ForTests::pass(*store_, 0.05).value();
    }
  });
  for (auto& thread : threads)
    thread.join();
  ended = true;
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(store_->verify().ok());
}

}  // namespace
}  // namespace holdfast::kv
