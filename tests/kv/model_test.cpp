// A dull model (std::map) judges random operations: all verbs, batches, snapshots, deaths, closes,
// reclamation beside them; on every granularity and several geometries. HOLDFAST_TEST_SEED repeats
// one.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <tuple>

#include <holdfast/base/random.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

struct Shape {
  const char* name;
  std::uint32_t block_bytes;
  std::uint64_t segment_bytes;
  bool background;
  std::vector<std::uint32_t> patchable_words;
};

const Shape kShapes[] = {
    {"SmallestBlocks", 8 * KiB, 64 * KiB, false, {}},
    {"SmallestBlocksBackgroundWords", 8 * KiB, 64 * KiB, true, {0, 8, 24}},
    {"MiddleBlocksBackground", 32 * KiB, 1 * MiB, true, {}},
    {"MiddleBlocksWords", 32 * KiB, 256 * KiB, false, {16}},
};

std::uint64_t base_seed() {
  const char* given = std::getenv("HOLDFAST_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

class Model : public testing::TestWithParam<std::tuple<Where, Shape>> {
 protected:
  std::string key() { return "key" + std::to_string(random_.below(kKeys)); }
  std::string value() {
    const auto kind = random_.below(1000);
    const std::size_t bytes = kind < 3    ? random_.below(60'000)
                              : kind < 30 ? random_.below(5'000)
                                          : random_.below(300);
    return text_of(random_.next(), bytes);
  }
  void open() {
    const auto& [place, shape] = GetParam();
    StoreOptions options = tiny();
    options.block_bytes = shape.block_bytes;
    options.segment_bytes = options.initial_bytes = shape.segment_bytes;
    options.background = shape.background;
    options.sync_interval_ms = 1;
    options.patchable_words = shape.patchable_words;
    auto opened = Store<>::open(scratch_.path(directory_) + place.suffix, options);
    ASSERT_TRUE(opened) << opened.error().message();
    store_.emplace(std::move(*opened));
  }
  void reopen_clean() {
    ASSERT_TRUE(store_->close());
    open();
    ASSERT_TRUE(store_->recovery().clean);
  }
  // The files as they are at this moment, under another name; what is open goes on no longer.
  void reopen_dead() {
    const std::string next = directory_ + "'";
    // Nothing grows or shrinks the files while they are copied only if there is no background.
    if (std::get<1>(GetParam()).background) return reopen_clean();
    std::filesystem::copy(scratch_.path(directory_), scratch_.path(next),
                          std::filesystem::copy_options::recursive);
    store_.reset();
    std::filesystem::remove_all(scratch_.path(directory_));
    directory_ = next;
    open();
  }
  void one_operation();
  void batch();
  void put_many();
  void get_many();
  void word();

  static constexpr std::uint64_t kKeys = 400;
  const std::uint64_t seed_ = base_seed();
  Random random_{seed_};
  Scratch scratch_ = Scratch::tmpfs();
  std::string directory_ = "store";
  std::optional<Store<>> store_;
  Contents model_;
};

void Model::batch() {
  WriteBatch batch;
  const auto operations = random_.below(20) == 0 ? random_.below(200) : random_.below(8);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::string k = key();
    if (random_.below(3) == 0) {
      batch.erase(k);
      model_.erase(k);
    } else {
      const std::string v = text_of(random_.next(), random_.below(300));
      batch.put(k, v);
      model_[k] = v;
    }
  }
  const auto written = store_->write(batch);
  ASSERT_TRUE(written) << written.error().message();
}

void Model::put_many() {
  std::vector<std::string> keys, values;
  for (std::uint64_t i = random_.below(100); i > 0; --i) {
    keys.push_back(key());
    values.push_back(value());
    model_[keys.back()] = values.back();
  }
  ASSERT_TRUE(store_->put_many(std::vector<std::string_view>(keys.begin(), keys.end()),
                               std::vector<std::string_view>(values.begin(), values.end())));
}

void Model::get_many() {
  std::vector<std::string> keys;
  for (std::uint64_t i = random_.below(50); i > 0; --i)
    keys.push_back(key());
  std::vector<std::string> values(keys.size());
  std::vector<Errc> outcomes(keys.size(), Errc::kIo);
  ASSERT_TRUE(
      store_->get_many(std::vector<std::string_view>(keys.begin(), keys.end()), values, outcomes));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = model_.find(keys[i]);
    ASSERT_EQ(outcomes[i], found == model_.end() ? Errc::kNotFound : Errc::kOk);
    if (found != model_.end()) {
      ASSERT_TRUE(values[i] == found->second);
    }
  }
}

void Model::word() {
  const std::string k = key();
  const auto offset = static_cast<std::uint32_t>(random_.below(5) * 8);
  const auto found = model_.find(k);
  const auto old = store_->update_word(k, offset, [](std::uint64_t word) { return word * 3 + 1; });
  if (found == model_.end()) {
    ASSERT_EQ(old.code(), Errc::kNotFound);
  } else if (found->second.size() < offset + 8) {
    ASSERT_EQ(old.code(), Errc::kInvalidOption);
  } else {
    std::uint64_t expected;
    std::memcpy(&expected, found->second.data() + offset, 8);
    ASSERT_EQ(old.value(), expected);
    expected = expected * 3 + 1;
    std::memcpy(found->second.data() + offset, &expected, 8);
  }
}

void Model::one_operation() {
  const std::string k = key();
  const auto found = model_.find(k);
  const bool there = found != model_.end();
  const auto choice = random_.below(1000);
  if (choice < 300) {
    const std::string v = value();
    ASSERT_EQ(store_->put(k, v).value(), there ? PutOutcome::kOverwrote : PutOutcome::kInserted);
    model_[k] = v;
  } else if (choice < 500) {
    ASSERT_EQ(store_->erase(k).value(), there);
    model_.erase(k);
  } else if (choice < 600) {
    std::string v;
    const auto got = store_->get(k, v);
    ASSERT_EQ(got.has_value(), there);
    if (there) {
      ASSERT_TRUE(v == found->second);
    }
  } else if (choice < 700) {
    ASSERT_NO_FATAL_FAILURE(word());
  } else if (choice < 750) {
    const std::string v = value();
    const auto put = store_->put_if_absent(k, v);
    ASSERT_EQ(put.code(), there ? Errc::kAlreadyExists : Errc::kOk);
    if (!there) model_[k] = v;
  } else if (choice < 800) {
    std::string v;
    const auto got = store_->get(k, v);
    const Version version = got ? *got : 0;
    v = value();
    const bool stale = random_.below(4) == 0;
    ASSERT_EQ(store_->compare_and_put(k, version + stale, v).code(),
              stale ? Errc::kVersionMismatch : Errc::kOk);
    if (!stale) model_[k] = v;
  } else if (choice < 810) {
    ASSERT_EQ(store_->update(k, [](std::string& v) { v += "+"; }).has_value(), there);
    if (there) found->second += "+";
  } else if (choice < 850) {
    // A few keys grow long.
    const std::string grows = random_.below(3) == 0 ? k : "key" + std::to_string(random_.below(4));
    const std::string v = text_of(random_.next(), random_.below(700));
    ASSERT_TRUE(store_->append(grows, v));
    model_[grows] += v;
  } else if (choice < 920) {
    ASSERT_NO_FATAL_FAILURE(batch());
  } else if (choice < 950) {
    ASSERT_NO_FATAL_FAILURE(get_many());
  } else if (choice < 960) {
    ASSERT_NO_FATAL_FAILURE(put_many());
  } else if (choice < 990) {
    const auto pinned = store_->get_pinned(k);
    ASSERT_EQ(pinned.has_value(), there);
    if (there) {
      ASSERT_TRUE(pinned->value() == found->second);
    }
  } else {
    ASSERT_TRUE(store_->reclaim());
  }
}

TEST_P(Model, AgreesWithTheStore) {
  SCOPED_TRACE("HOLDFAST_TEST_SEED=" + std::to_string(seed_));
  struct Held {
    Snapshot snapshot;
    Contents contents;
  };
  std::deque<Held> held;
  struct HeldPin {
    Pinned pin;
    std::string value;
  };
  std::deque<HeldPin> pins;
  ASSERT_NO_FATAL_FAILURE(open());
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 800; ++i) {
      ASSERT_NO_FATAL_FAILURE(one_operation()) << "round " << round << " operation " << i;
      if (random_.below(400) == 0) held.push_back({store_->snapshot(), model_});
      if (!held.empty() && random_.below(200) == 0) {
        const auto which = held.begin() + static_cast<std::ptrdiff_t>(random_.below(held.size()));
        ASSERT_TRUE(contents_of(which->snapshot) == which->contents)
            << "a snapshot changed, round " << round;
        held.erase(which);
      }
      if (random_.below(100) == 0 && !model_.empty()) {
        const auto found = model_.lower_bound(key());
        if (found != model_.end())
          pins.push_back({store_->get_pinned(found->first).value(), found->second});
      }
      if (pins.size() > 5) {
        ASSERT_TRUE(pins.front().pin.value() == pins.front().value)
            << "a pinned value changed, round " << round;
        pins.pop_front();
      }
      ASSERT_EQ(store_->count(), model_.size()) << "round " << round << " operation " << i;
    }
    for (const Held& one : held)
      ASSERT_TRUE(contents_of(one.snapshot) == one.contents);
    for (const HeldPin& one : pins)
      ASSERT_TRUE(one.pin.value() == one.value);
    held.clear();
    pins.clear();
    ASSERT_NO_FATAL_FAILURE(expect_contents(*store_, model_)) << "round " << round;
    if (round % 2 == 0) {
      ASSERT_NO_FATAL_FAILURE(reopen_dead());
    } else {
      ASSERT_NO_FATAL_FAILURE(reopen_clean());
    }
    ASSERT_NO_FATAL_FAILURE(expect_contents(*store_, model_)) << "after opening in round " << round;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Model,
                         testing::Combine(kEveryPlace, testing::ValuesIn(kShapes)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  std::get<1>(test.param).name;
                         });

}  // namespace
}  // namespace holdfast::kv
