// Pipelines of several threads at once, with reclamation, snapshots and single verbs beside them.
// Also run under TSan.
#include <atomic>
#include <cstring>
#include <thread>

#include <holdfast/base/random.hpp>
#include <holdfast/base/sanitizer.hpp>
#include <holdfast/kv/pipeline.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

#ifdef HF_SANITIZED
constexpr int kScale = 1;
#else
constexpr int kScale = 5;
#endif

StoreOptions busy() {
  StoreOptions options = with_words({0});
  options.background = true;
  options.sync_interval_ms = 1;
  return options;
}

class PipelinesAtOnce : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, PipelinesAtOnce, kEveryPlace, place_name);

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back(body, t);
  for (auto& thread : threads)
    thread.join();
}

TEST_P(PipelinesAtOnce, WithKeysOfTheirOwnAgreeWithTheirModels) {
  auto store = open(busy());
  constexpr int kThreads = 4;
  std::vector<Contents> models(kThreads);
  std::atomic<int> wrong{0};
  run_threads(kThreads, [&](int t) {
    Random random(static_cast<std::uint64_t>(t) + 1);
    Contents& model = models[static_cast<std::size_t>(t)];
    auto pipe = Pipeline<>::open(store, {.window = static_cast<std::uint32_t>(1 + 10 * t)}).value();
    for (int i = 0; i < 1000 * kScale; ++i) {
      const std::string key = std::to_string(t) + "/" + std::to_string(random.below(50));
      const auto found = model.find(key);
      const bool there = found != model.end();
      const std::string before = there ? found->second : "";
      switch (random.below(5)) {
        case 0:
        case 1:
          pipe.put(key, model[key] = text_of(random.next(), 8 + random.below(300)),
                   [&wrong, there](Result<PutOutcome> put) {
                     wrong +=
                         put.value() != (there ? PutOutcome::kOverwrote : PutOutcome::kInserted);
                   });
          break;
        case 2:
          model.erase(key);
          pipe.erase(key, [&wrong, there](Result<bool> got) { wrong += got.value() != there; });
          break;
        case 3: {
          std::uint64_t word = 0;
          if (there) {
            std::memcpy(&word, before.data(), 8);
            const std::uint64_t next = word + 1;
            std::memcpy(model[key].data(), &next, 8);
          }
          pipe.update_word(
              key, 0, [](std::uint64_t old) { return old + 1; },
              [&wrong, there, word](Result<std::uint64_t> old) {
                wrong += old.has_value() != there || (there && *old != word);
              });
          break;
        }
        default: {
          auto value = std::make_shared<std::string>();
          pipe.get(key, *value, [&wrong, value, before, there](Result<Version> got) {
            wrong += got.has_value() != there || (there && *value != before);
          });
        }
      }
    }
    wrong += !pipe.flush();
  });
  EXPECT_EQ(wrong.load(), 0);
  Contents all;
  for (const Contents& model : models)
    all.insert(model.begin(), model.end());
  expect_contents(store, all);
}

// Every update counts, whether words change in place or by new records, and single verbs beside.
TEST_P(PipelinesAtOnce, NoUpdateOfASharedKeyIsLost) {
  auto store = open(busy());
  constexpr std::uint64_t kKeys = 20;
  for (std::uint64_t k = 0; k < kKeys; ++k)
    store.put("key" + std::to_string(k), std::string(16, '\0')).value();
  seal_blocks(store);
  std::atomic<std::uint64_t> expected{0};
  std::atomic<bool> done{false};
  std::thread snapshots([&] {
    while (!done.load()) {
      const Snapshot snapshot = store.snapshot();
      std::this_thread::yield();
    }
  });
  run_threads(4, [&](int t) {
    Random random(static_cast<std::uint64_t>(t) + 1);
    const auto add = [](std::uint64_t word) { return word + 1; };
    const auto count = [&](Result<std::uint64_t> before) { expected += before.has_value(); };
    auto pipe = Pipeline<>::open(store, {.window = 24}).value();
    for (int i = 0; i < 500 * kScale; ++i) {
      const std::string key = "key" + std::to_string(random.below(kKeys));
      switch (random.below(4)) {
        case 0: pipe.update_word(key, 0, add, count); break;
        case 1: pipe.update_word(key, 8, add, count); break;  // Never in place.
        case 2:
          pipe.update(
              key,
              [](std::string& value) {
                std::uint64_t word;
                std::memcpy(&word, value.data(), 8);
                ++word;
                std::memcpy(value.data(), &word, 8);
              },
              [&](Result<Version> version) { expected += version.has_value(); });
          break;
        default: count(store.update_word(key, 0, add)); break;
      }
    }
    pipe.flush().value();
  });
  done = true;
  snapshots.join();
  std::uint64_t sum = 0;
  for (std::uint64_t k = 0; k < kKeys; ++k) {
    const std::string value = get(store, "key" + std::to_string(k));
    std::uint64_t words[2];
    ASSERT_EQ(value.size(), sizeof words);
    std::memcpy(words, value.data(), sizeof words);
    sum += words[0] + words[1];
  }
  EXPECT_EQ(sum, expected.load());
  EXPECT_EQ(sum, 4u * 500u * kScale);
}

// A writer puts a number under every key in turn. A reader that goes through the keys backwards
// never sees a key lag behind one that is written later.
TEST_P(PipelinesAtOnce, OthersSeeOperationsInTheOrderOfSubmission) {
  auto store = open(busy());
  constexpr std::uint64_t kKeys = 6;
  for (std::uint64_t k = 0; k < kKeys; ++k)
    store.put("key" + std::to_string(k), std::string(8, '\0')).value();
  seal_blocks(store);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  const auto number_at = [&](std::uint64_t k) {
    std::string value;
    store.get("key" + std::to_string(k), value).value();
    std::uint64_t number;
    std::memcpy(&number, value.data(), 8);
    return number;
  };
  std::thread reader([&] {
    while (!done.load()) {
      std::uint64_t least = 0;
      for (std::uint64_t k = kKeys; k-- > 0;) {
        const std::uint64_t number = number_at(k);
        wrong += number < least;
        least = std::max(least, number);
      }
    }
  });
  {
    auto pipe = Pipeline<>::open(store, {.window = 16}).value();
    Random random(1);
    for (std::uint64_t number = 1; number < 1000u * kScale; ++number) {
      for (std::uint64_t k = 0; k < kKeys; ++k) {
        const std::string key = "key" + std::to_string(k);
        const std::string value(reinterpret_cast<const char*>(&number), 8);
        switch (random.below(3)) {
          case 0: pipe.put(key, value); break;
          case 1: pipe.update_word(key, 0, [number](std::uint64_t) { return number; }); break;
          default: pipe.update(key, [value](std::string& text) { text = value; }); break;
        }
      }
    }
    EXPECT_TRUE(pipe.flush());
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace holdfast::kv
