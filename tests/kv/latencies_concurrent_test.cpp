// The clock of the verbs is switched while threads use them.
#include <atomic>
#include <thread>

#include <holdfast/kv/store.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

TEST(LatenciesConcurrent, SwitchingDisturbsNoVerb) {
  const auto scratch = Scratch::tmpfs();
  auto store = Store<>::open(scratch.path("store") + "?granularity=line", tiny()).value();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 2; ++t) {
    users.emplace_back([&, t] {
      const auto key = "key" + std::to_string(t);
      std::string value;
      for (std::uint64_t i = 0; !stop; ++i) {
        wrong += !store.put(key, std::to_string(i));
        wrong += !store.get(key, value) || value != std::to_string(i);
        if (i % 8 == 7) wrong += !store.erase(key);
      }
    });
  }
  for (std::uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(store.sample_latencies(i % 3));
    (void)store.latencies();
    std::this_thread::yield();
  }
  ASSERT_TRUE(store.sample_latencies(1));
  while (store.latencies().of(TimedVerb::kGet).calls < 100)
    std::this_thread::yield();
  stop = true;
  for (auto& user : users)
    user.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace holdfast::kv
