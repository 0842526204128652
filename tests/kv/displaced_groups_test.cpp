// Groups of operations over records that nobody read: pipelines, update_many, erase_many. What an
// update is given runs in the middle of its group, so that another thread comes in between for
// certain.
#include <functional>
#include <memory>
#include <thread>

#include <holdfast/base/random.hpp>
#include <holdfast/kv/pipeline.hpp>

#include "displacing.hpp"

namespace holdfast::kv {
namespace {

class DisplacingGroups : public Displacing {
 protected:
  void SetUp() override {
    open();
    const auto twins_of_store = twins(1).front();
    one_ = twins_of_store[0];
    other_ = twins_of_store[1];
    between_ = key_elsewhere();
  }
  // While it is being updated its home is latched, and the update waits for a thread that latches
  // the home of the others.
  std::string key_elsewhere() {
    const KeyIndex& index = ForTests::rooms(*store_).index;
    const auto partition_of = [&](const std::string& key) {
      return index.map().partition(index.hash(ForTests::bytes(key)));
    };
    std::string key = "between";
    while (partition_of(key) == partition_of(one_))
      key += "+";
    return key;
  }
  void displace_one() {
    put(one_, "12345678", PutOutcome::kInserted);
    put(other_, "2", PutOutcome::kWritten);
    ASSERT_EQ(waiting(), 1u);
  }
  // A put of `key` is appended; then `work` is done by another thread; then the put is published.
  void put_around(const std::string& key, const std::string& value,
                  const std::function<void()>& work) {
    auto pipeline = Pipeline<>::open(*store_).value();
    pipeline.update(between_, [&](std::string&) { std::thread(work).join(); });
    pipeline.put(key, value);
    ASSERT_TRUE(pipeline.flush());
  }
  void expect(const Contents& expected) {
    for (const auto& key : {one_, other_}) {
      const auto found = expected.find(key);
      EXPECT_EQ(value(key), found == expected.end() ? "<kNotFound>" : found->second);
    }
    EXPECT_EQ(contents_of(*store_), expected);
    EXPECT_EQ(store_->count(), expected.size());
    EXPECT_TRUE(store_->verify().ok());
  }

  std::string one_, other_, between_;
};

TEST_F(DisplacingGroups, PutsOfKeysThatTheIndexCannotTellApartKeepBoth) {
  put(one_, "0", PutOutcome::kInserted);
  auto pipeline = Pipeline<>::open(*store_).value();
  for (const char* value : {"1", "2", "3"}) {
    pipeline.put(other_, value);
    pipeline.put(one_, value);
  }
  ASSERT_TRUE(pipeline.flush());
  expect({{one_, "3"}, {other_, "3"}});
}

TEST_F(DisplacingGroups, AnEraseBehindThePutThatDisplacedItsKeyErasesIt) {
  put(one_, "0", PutOutcome::kInserted);
  auto pipeline = Pipeline<>::open(*store_).value();
  pipeline.put(other_, "1");
  const auto erased = pipeline.erase(one_);
  EXPECT_TRUE(pipeline.wait(erased).value());
  expect({{other_, "1"}});
}

TEST_F(DisplacingGroups, AnEraseWithoutATombstoneLooksAtWhatStandsApart) {
  put(between_, "", PutOutcome::kInserted);
  auto pipeline = Pipeline<>::open(*store_).value();
  pipeline.update(between_, [&](std::string&) { std::thread([&] { displace_one(); }).join(); });
  const auto erased = pipeline.erase(one_);  // Absent, as it seems, when the group begins.
  EXPECT_TRUE(pipeline.wait(erased).value());
  expect({{between_, ""}, {other_, "2"}});
}

TEST_F(DisplacingGroups, ManyFindTheKeyThatStandsApart) {
  const std::vector<std::string_view> keys{one_, other_};
  std::vector<Errc> outcomes(2);
  const std::vector<Errc> both{Errc::kOk, Errc::kOk};
  displace_one();
  ASSERT_TRUE(store_->update_many(
      keys, [](std::size_t i, std::string& value) { value += std::to_string(i); }, outcomes));
  EXPECT_EQ(outcomes, both);
  expect({{one_, "123456780"}, {other_, "21"}});
  ASSERT_TRUE(store_->erase_many(keys, outcomes));
  EXPECT_EQ(outcomes, both);
  expect({});
  displace_one();
  ASSERT_TRUE(store_->update_word_many(
      std::span(keys).first(1), 0, [](std::size_t, std::uint64_t word) { return word + 1; },
      std::span(outcomes).first(1)));
  expect({{one_, "22345678"}, {other_, "2"}});
  ASSERT_TRUE(store_->erase_many(keys, outcomes));
  displace_one();
  ASSERT_TRUE(store_->erase_many(keys, outcomes));
  EXPECT_EQ(outcomes, both);
  expect({});
}

TEST_F(DisplacingGroups, APutWhosePlaceChangedMeanwhileReads) {
  put(between_, "", PutOutcome::kInserted);
  put(one_, "0", PutOutcome::kInserted);
  put_around(one_, "new", [&] { put(other_, "1", PutOutcome::kWritten); });
  expect({{between_, ""}, {one_, "new"}, {other_, "1"}});
  // A second entry at the place, while the first stays as it is.
  ASSERT_TRUE(store_->erase(other_).value());
  ASSERT_EQ(waiting(), 0u);
  put_around(one_, "newer", [&] { store_->put_if_absent(other_, "2").value(); });
  expect({{between_, ""}, {one_, "newer"}, {other_, "2"}});
}

// The tombstone of an erase that found nothing would erase the put when the store is opened again.
TEST_F(DisplacingGroups, APutThatAnEraseOvertookIsAppendedAgain) {
  put(between_, "", PutOutcome::kInserted);
  put(other_, "1", PutOutcome::kInserted);
  put_around(one_, "new", [&] { EXPECT_FALSE(store_->erase(one_).value()); });
  EXPECT_EQ(value(one_), "new");
  die_and_open();
  expect({{between_, ""}, {one_, "new"}, {other_, "1"}});
}

TEST_F(DisplacingGroups, ASnapshotThatBeganMeanwhileSeesWhatWasThere) {
  put(between_, "", PutOutcome::kInserted);
  put(one_, "0", PutOutcome::kInserted);
  const Snapshot snapshot = store_->snapshot();
  auto pipeline = Pipeline<>::open(*store_).value();
  pipeline.put(one_, "1");
  ASSERT_TRUE(pipeline.flush());
  put(one_, "2", PutOutcome::kOverwrote);
  EXPECT_EQ(waiting(), 0u);
  EXPECT_EQ(contents_of(snapshot), (Contents{{between_, ""}, {one_, "0"}}));
}

// What is displaced while reclamation settles its victims must not lie in one of them.
TEST_F(DisplacingGroups, APutBesideReclamationThatSettlesLosesNothing) {
  const auto second = twins(2).back();
  put(one_, "1", PutOutcome::kInserted);
  put(second[0], "2", PutOutcome::kInserted);
  ForTests::seal(*store_).value();
  ASSERT_TRUE(ForTests::rooms(*store_).group.finish_sealing());
  put(other_, "3", PutOutcome::kWritten);
  absence_.at_next_fetch = [&] {
    std::thread([&] { store_->put(second[1], "4").value(); }).join();
  };
  ForTests::pass(*store_, 0).value();
  EXPECT_FALSE(absence_.at_next_fetch);
  for (int i = 0; i < 100; ++i)  // What was freed is written again.
    put("filling" + std::to_string(i), std::string(300, 'f'), PutOutcome::kInserted);
  EXPECT_EQ(value(second[0]), "2");
  EXPECT_EQ(value(second[1]), "4");
  EXPECT_EQ(store_->count(), 104u);
}

// What was submitted is in the model; callbacks compare.
TEST_F(DisplacingGroups, ARandomHistoryIsThatOfAMap) {
  displaced().set_limit(6);
  Random random(11);
  std::vector<std::string> keys;
  for (const auto& pair : twins(4))
    keys.insert(keys.end(), pair.begin(), pair.end());
  Contents model;
  std::uint64_t displaced_ever = 0;
  for (int round = 0; round < 300; ++round) {
    auto pipeline = Pipeline<>::open(*store_, {.window = 24}).value();
    for (int i = 0; i < 60; ++i) {
      const std::string& key = keys[random.below(keys.size())];
      const bool there = model.contains(key);
      const auto judge = [there](const auto& outcome) { EXPECT_EQ(outcome.has_value(), there); };
      const auto choice = random.below(10);
      if (choice < 5) {
        pipeline.put(key, model[key] = std::to_string(round) + "/" + std::to_string(i),
                     [&displaced_ever, there](Result<PutOutcome> put) {
                       displaced_ever += put.value() == PutOutcome::kWritten;
                       EXPECT_TRUE(put.value() == PutOutcome::kWritten ||
                                   (put.value() == PutOutcome::kOverwrote) == there);
                     });
      } else if (choice < 7) {
        model.erase(key);
        pipeline.erase(key, [there](Result<bool> erased) { EXPECT_EQ(erased.value(), there); });
      } else if (choice < 8) {
        if (there) model[key] += "+";
        pipeline.update(key, [](std::string& value) { value += "+"; }, judge);
      } else {
        auto text = std::make_shared<std::string>();
        const std::string expected = there ? model[key] : "";
        pipeline.get(key, *text, [text, there, expected](Result<Version> got) {
          EXPECT_EQ(got.has_value(), there);
          EXPECT_TRUE(!there || *text == expected);
        });
      }
    }
    ASSERT_TRUE(pipeline.flush());
    if (round % 10 == 3) {
      ASSERT_TRUE(ForTests::seal(*store_));
      ASSERT_TRUE(store_->sync());
      ForTests::pass(*store_, 0.05).value();
    }
    if (round % 20 == 7) {
      ASSERT_EQ(contents_of(*store_), model) << "round " << round;
    }
  }
  EXPECT_GT(displaced_ever, 500u);
  EXPECT_EQ(contents_of(*store_), model);
}

}  // namespace
}  // namespace holdfast::kv
