// A dull model (std::map) judges random operations through pipelines of several windows, several of
// a key in flight; on every granularity, with snapshots and reclamation beside them.
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/pipeline.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

struct Expected {
  bool there = false;
  std::string value;
};

class PipelineModel : public testing::TestWithParam<std::tuple<Where, std::uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(Everywhere, PipelineModel,
                         testing::Combine(kEveryPlace, testing::Values(1u, 3u, 16u, 200u)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  std::to_string(std::get<1>(test.param));
                         });

// The model applies an operation when it is submitted, and its callback compares.
class Judge {
 public:
  Judge(Store<>& store, std::uint32_t window, Contents& model, std::uint64_t seed)
      : random_(seed),
        model_(model),
        pipeline_(Pipeline<>::open(store, {.window = window}).value()) {}

  void one_operation() {
    const std::string key = "key" + std::to_string(random_.below(40));
    const auto found = model_.find(key);
    const Expected before{found != model_.end(), found == model_.end() ? "" : found->second};
    switch (random_.below(7)) {
      case 0:
      case 1: {
        const std::size_t bytes =
            random_.below(100) == 0 ? random_.below(80'000) : random_.below(200);
        pipeline_.put(key, model_[key] = text_of(random_.next(), bytes),
                      [there = before.there](Result<PutOutcome> put) {
                        EXPECT_EQ(put.value(),
                                  there ? PutOutcome::kOverwrote : PutOutcome::kInserted);
                      });
        break;
      }
      case 2:
        model_.erase(key);
        pipeline_.erase(
            key, [there = before.there](Result<bool> erased) { EXPECT_EQ(erased.value(), there); });
        break;
      case 3: update(key, before); break;
      case 4: update_word(key, before); break;
      default: get(key, before); break;
    }
    if (random_.below(50) == 0) flush();
  }
  void flush() { ASSERT_TRUE(pipeline_.flush()); }

 private:
  void get(const std::string& key, const Expected& before) {
    auto value = std::make_shared<std::string>();
    pipeline_.get(key, *value, [value, before](Result<Version> got) {
      EXPECT_EQ(got.has_value(), before.there);
      EXPECT_TRUE(!before.there || *value == before.value);
    });
  }
  void update(const std::string& key, const Expected& before) {
    if (before.there) model_[key] += "+";
    pipeline_.update(
        key,
        [before](std::string& value) {
          EXPECT_TRUE(value == before.value);
          value += "+";
        },
        [before](Result<Version> updated) { EXPECT_EQ(updated.has_value(), before.there); });
  }
  void update_word(const std::string& key, const Expected& before) {
    const auto at = static_cast<std::uint32_t>(8 * random_.below(4));
    const bool fits = before.there && before.value.size() >= at + 8u;
    std::uint64_t old = 0;
    if (fits) {
      std::memcpy(&old, before.value.data() + at, 8);
      const std::uint64_t word = old * 3 + 1;
      std::memcpy(model_[key].data() + at, &word, 8);
    }
    pipeline_.update_word(
        key, at, [](std::uint64_t word) { return word * 3 + 1; },
        [before, fits, old](Result<std::uint64_t> got) {
          EXPECT_EQ(got.code(), fits           ? Errc::kOk
                                : before.there ? Errc::kInvalidOption
                                               : Errc::kNotFound);
          EXPECT_TRUE(!fits || *got == old);
        });
  }

  Random random_;
  Contents& model_;
  Pipeline<> pipeline_;
};

TEST_P(PipelineModel, AgreesWithTheStore) {
  const auto& [place, window] = GetParam();
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options = with_words({0, 16});
  options.max_bytes = 8 * MiB;
  auto store = Store<>::open(scratch.path("store") + place.suffix, options).value();
  Contents model;
  Judge judge(store, window, model, window);
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 500; ++i)
      ASSERT_NO_FATAL_FAILURE(judge.one_operation());
    judge.flush();
    std::optional<Snapshot> snapshot;
    const Contents then = model;
    if (round % 2 == 1) snapshot = store.snapshot();
    for (int i = 0; i < 100; ++i)
      ASSERT_NO_FATAL_FAILURE(judge.one_operation());
    judge.flush();
    if (snapshot) {
      ASSERT_TRUE(contents_of(*snapshot) == then);
    }
    snapshot.reset();
    ASSERT_NO_FATAL_FAILURE(expect_contents(store, model)) << "round " << round;
    if (round % 3 == 2) {
      ASSERT_TRUE(store.reclaim());
    }
  }
}

}  // namespace
}  // namespace holdfast::kv
