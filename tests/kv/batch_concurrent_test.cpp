// Verbs beside a batch that is becoming visible: a reader that sees one of its members sees all of
// them.
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <holdfast/kv/pipeline.hpp>

#include "for_tests.hpp"
#include "support.hpp"

namespace holdfast::kv {
namespace {

class BatchConcurrent : public OnEveryPlace {};
INSTANTIATE_TEST_SUITE_P(Everywhere, BatchConcurrent, kEveryPlace, place_name);

// Each says whether "ada" is there, once the batch is over.
using Finds = bool (*)(Store<>&);
const std::pair<const char*, Finds> kBatchWriters[] = {
    {"update_word",
     [](Store<>& store) {
       return store.update_word("ada", 0, [](std::uint64_t word) { return word + 1; }).has_value();
     }},
    {"update_word_many",
     [](Store<>& store) {
       const std::string_view keys[] = {"ada"};
       Errc outcomes[1] = {};
       (void)store.update_word_many(
           keys, 0, [](std::uint64_t, std::uint64_t word) { return word + 1; }, outcomes);
       return outcomes[0] == Errc::kOk;
     }},
    {"update",
     [](Store<>& store) {
       return store.update("ada", [](std::string& value) { value[0] ^= 1; }).has_value();
     }},
    {"a pipeline's update_word",
     [](Store<>& store) {
       auto pipeline = Pipeline<>::open(store).value();
       return pipeline
           .wait(pipeline.update_word("ada", 0, [](std::uint64_t word) { return word + 1; }))
           .has_value();
     }},
};

// update_word() found the batch's tombstone of a key, and said that there is none while readers
// were still shown what was there before the batch: of two calls, one behind the other, the first
// saw the batch and the second did not.
TEST_P(BatchConcurrent, AWordThatABatchErasesIsAbsentOnlyWithTheBatch) {
  StoreOptions options = tiny();
  options.patchable_words = {0};
  auto store = open(options);
  for (const auto& [verb, finds_it] : kBatchWriters) {
    ASSERT_TRUE(store.put("ada", std::string(16, 'v')));
    std::future<bool> found;
    ForTests::publish_slowly(store, "ada", std::nullopt, [&, finds = finds_it] {
      found = std::async(std::launch::async, finds, std::ref(store));
      EXPECT_EQ(found.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout)
          << verb << " has an answer before the batch is there";
      std::thread([&] {
        std::string value;
        EXPECT_TRUE(store.get("ada", value)) << "a reader sees what was there before";
      }).join();
    });
    EXPECT_FALSE(found.get()) << verb;
  }
}

}  // namespace
}  // namespace holdfast::kv
