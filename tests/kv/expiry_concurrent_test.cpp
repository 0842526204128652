// Expiry beside writers, readers, snapshots and reclamation.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

#ifdef HF_TSAN
constexpr int kSteps = 3'000;
#else
constexpr int kSteps = 30'000;
#endif
constexpr std::uint64_t kKeys = 400;

// When it ends, and how often its key was written before.
struct Stamped {
  std::uint64_t end = 0, count = 0;
  bool operator==(const Stamped&) const = default;
};

std::string text_of(Stamped value) {
  std::string text(200, 'x');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}
Stamped stamped_of(std::string_view text) {
  Stamped value;
  std::memcpy(&value, text.data(), sizeof value);
  return value;
}
std::string key_of(std::uint64_t i) {
  return "key-of-16-bytes" + std::string(1, '!') + std::to_string(i);
}

// What every key had in a snapshot.
std::vector<Stamped> all_of(const Snapshot& snapshot) {
  std::vector<Stamped> all(kKeys);
  std::string value;
  for (std::uint64_t i = 0; i < kKeys; ++i)
    if (snapshot.get(key_of(i), value)) all[i] = stamped_of(value);
  return all;
}

class ExpiryConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, ExpiryConcurrent, kEveryPlace, place_name);

// Each key has one writer, which counts. A reader must find nothing that had expired when the read
// began, and no lower count than was found before: nothing comes back.
TEST_P(ExpiryConcurrent, NothingThatHasExpiredIsSeenNorAnythingOlder) {
  StoreOptions options = tiny();
  options.background = true;
  auto store = open(options);
  ASSERT_TRUE(store.expire({}));
  constexpr std::uint64_t kWriters = 2;
  std::atomic<std::uint64_t> clock{1};
  std::atomic<int> writing{kWriters}, wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      Random random(w);
      for (int step = 0; step < kSteps; ++step) {
        const std::uint64_t i = random.below(kKeys / kWriters) * kWriters + w;
        const auto count = static_cast<std::uint64_t>(step) + 1;
        // Some live on, which the expired ones supersede.
        const std::uint64_t end =
            random.below(4) == 0 ? ~std::uint64_t{0} : clock + random.below(3);
        wrong += !store.put(key_of(i), text_of({end, count}));
      }
      --writing;
    });
  }
  threads.emplace_back([&] {
    while (writing != 0) {
      wrong += !store.set_clock(clock + 1);
      ++clock;
      if (clock % 8 == 0) {
        const std::uint64_t before = clock;
        const Snapshot snapshot = store.snapshot();
        const auto first = all_of(snapshot);
        wrong += !store.set_clock(clock + 1);
        ++clock;
        wrong += all_of(snapshot) != first;
        wrong += !snapshot.for_each([&](std::string_view, std::string_view value, Version) {
          wrong += stamped_of(value).end <= before;
          return true;
        });
      }
    }
  });
  threads.emplace_back([&] {
    while (writing != 0)
      wrong += !store.reclaim();
  });
  std::array<std::uint64_t, kKeys> seen{};
  Random random(9);
  std::string value;
  while (writing != 0) {
    const std::uint64_t i = random.below(kKeys), began = store.clock();
    const auto found = store.get(key_of(i), value);
    if (!found) {
      wrong += found.code() != Errc::kNotFound;
      continue;
    }
    const Stamped stamped = stamped_of(value);
    wrong += stamped.end <= began;
    wrong += stamped.count < seen[i];
    seen[i] = stamped.count;
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  ASSERT_TRUE(store.set_clock(clock + 10));
  ASSERT_TRUE(store.reclaim());
  EXPECT_GT(store.stats().expired_records, 0u);
  EXPECT_TRUE(store.verify().ok());
  ASSERT_TRUE(store.close());
  store = open(with_access(RegionAccess::kOpen));
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    if (!store.get(key_of(i), value)) continue;
    EXPECT_EQ(stamped_of(value).end, ~std::uint64_t{0});
    EXPECT_GE(stamped_of(value).count, seen[i]);
  }
}

// Half of an old stamp and half of a new one would be one that has expired.
TEST_P(ExpiryConcurrent, AStampOfFourBytesIsReadWholeBesideUpdatesInPlace) {
  auto store = open(with_words({0}));
  ASSERT_TRUE(store.expire({.prefix = "", .offset_bytes = 2, .width_bytes = 4, .ttl = 1}));
  ASSERT_TRUE(store.set_clock(0xff));
  const auto word_of = [](std::uint64_t stamp) { return stamp << 16; };
  std::uint64_t word = word_of(0xff);
  ASSERT_TRUE(store.put("k", {reinterpret_cast<const char*>(&word), sizeof word}));
  ASSERT_TRUE(ForTests::seal(store));
  std::atomic<bool> reading{true};
  std::thread writer([&] {
    for (std::uint64_t i = 0; reading; ++i)
      store.update_word("k", 0, [&](std::uint64_t) { return word_of(i % 2 == 0 ? 0x100 : 0xff); })
          .value();
  });
  int absent = 0;
  std::string value;
  for (int i = 0; i < kSteps; ++i)
    absent += !store.get("k", value);
  reading = false;
  writer.join();
  EXPECT_EQ(absent, 0);
}

}  // namespace
}  // namespace holdfast::kv
