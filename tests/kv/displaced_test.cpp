// Puts that supersede a record without having read it: keys that the index cannot tell apart never
// lose each other, whatever happens between the put and the comparison of keys.
#include <holdfast/base/random.hpp>
#include <holdfast/kv/cursor.hpp>

#include "displacing.hpp"

namespace holdfast::kv {
namespace {

TEST_F(Displacing, APutSaysThatItDoesNotKnowAndCountsLater) {
  open();
  put("a", "1", PutOutcome::kInserted);
  put("b", "1", PutOutcome::kInserted);
  put("a", "2", PutOutcome::kWritten);
  put("a", "3", PutOutcome::kWritten);
  EXPECT_EQ(waiting(), 2u);
  EXPECT_EQ(value("a"), "3");
  EXPECT_EQ(value("b"), "1");
  const std::uint64_t live = store_->stats().live_bytes;
  EXPECT_EQ(store_->count(), 2u);
  EXPECT_EQ(waiting(), 0u) << "count() settles";
  EXPECT_EQ(store_->stats().live_bytes, live - 2 * 64) << "what was superseded is dead now";
  EXPECT_TRUE(store_->verify().ok());
}

TEST_F(Displacing, OneThatIsInMemoryIsReadAtOnce) {
  RegionOptions region;
  region.unit_bytes = region.size_bytes = tiny().segment_bytes;
  region.reserve_bytes = tiny().max_bytes;
  store_.emplace(Store<>::open(Region::open(path_, region).value(), tiny()).value());
  put("a", "1", PutOutcome::kInserted);
  put("a", "2", PutOutcome::kOverwrote);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(Displacing, AKeyThatThePutTookForItsOwnStaysFound) {
  open();
  for (const auto& keys : twins(2)) {
    const std::string &one = keys[0], &other = keys[1];
    put(one, "1", PutOutcome::kInserted);
    put(other, "2", PutOutcome::kWritten);
    EXPECT_EQ(value(one), "1");
    EXPECT_EQ(value(other), "2");
    put(one, "3", PutOutcome::kWritten);  // Displaces `other`, while its own old record waits.
    EXPECT_EQ(value(one), "3");
    EXPECT_EQ(value(other), "2");
    std::vector<std::string> values(2);
    std::vector<Errc> outcomes(2);
    ASSERT_TRUE(store_->get_many(std::vector<std::string_view>{one, other}, values, outcomes));
    EXPECT_EQ(values, (std::vector<std::string>{"3", "2"}));
    EXPECT_EQ(store_->get_pinned(other).value().value(), "2");
    EXPECT_EQ(waiting(), 2u);
    EXPECT_EQ(store_->count(), 2u) << "one of the two came back into the index, the other is dead";
    EXPECT_EQ(value(one), "3");
    EXPECT_EQ(value(other), "2");
    put(one, "4", PutOutcome::kOverwrote);  // Two entries of one place: it has to read.
    EXPECT_TRUE(store_->erase(one).value());
    EXPECT_TRUE(store_->erase(other).value());
  }
  EXPECT_EQ(store_->count(), 0u);
}

// Whether a key is new is not known where the record that it supersedes was not read.
TEST_F(Displacing, TheOrderHasKeysThatStandApart) {
  StoreOptions options = tiny();
  options.order = true;
  open(options);
  const auto keys = [&] {
    std::vector<std::string> found;
    auto cursor = store_->cursor().value();
    for (cursor.first(); cursor; cursor.next())
      found.push_back(std::string(cursor.key()) + "=" + std::string(cursor.value()));
    EXPECT_TRUE(cursor.status());
    return found;
  };
  const auto pair = twins(1).front();
  const std::string &one = std::min(pair[0], pair[1]), &other = std::max(pair[0], pair[1]);
  put(one, "1", PutOutcome::kInserted);
  put(other, "2", PutOutcome::kWritten);  // Takes the place of `one`.
  ASSERT_EQ(waiting(), 1u);
  EXPECT_EQ(keys(), (std::vector<std::string>{one + "=1", other + "=2"}));
  EXPECT_TRUE(store_->erase(one).value());
  EXPECT_EQ(keys(), std::vector<std::string>{other + "=2"});
  put(one, "3", PutOutcome::kWritten);
  EXPECT_EQ(store_->count(), 2u);  // Settles.
  EXPECT_EQ(keys(), (std::vector<std::string>{one + "=3", other + "=2"}));
  EXPECT_EQ(ForTests::rooms(*store_).index.order()->keys().count(), 2u);
}

TEST_F(Displacing, EveryVerbFindsTheKeyThatStandsApart) {
  open();
  const auto keys = twins(1).front();
  const std::string &one = keys[0], &other = keys[1];
  const auto displace = [&] {  // `one` is there, and not in the index.
    put(one, "12345678", PutOutcome::kInserted);
    put(other, "2", PutOutcome::kWritten);
    ASSERT_EQ(waiting(), 1u);
  };
  const auto clear = [&] {
    EXPECT_EQ(store_->erase(one).value(), true);
    EXPECT_EQ(store_->erase(other).value(), true);
    EXPECT_EQ(store_->count(), 0u);
  };
  displace();
  EXPECT_EQ(store_->put_if_absent(one, "x").code(), Errc::kAlreadyExists);
  clear();
  displace();
  EXPECT_TRUE(store_->update(one, [](std::string& text) { text += "!"; }));
  EXPECT_EQ(value(one), "12345678!");
  clear();
  displace();
  EXPECT_TRUE(store_->update_word(one, 0, [](std::uint64_t word) { return word + 1; }));
  EXPECT_EQ(value(one), "22345678");
  clear();
  displace();
  WriteBatch batch;
  batch.erase(one);
  batch.put(other, "3");
  ASSERT_TRUE(store_->write(batch));
  EXPECT_EQ(value(one), "<kNotFound>");
  put(one, "4", PutOutcome::kWritten);
  clear();
  displace();
  {
    const Snapshot snapshot = store_->snapshot();
    std::string text;
    EXPECT_TRUE(snapshot.get(one, text));
    EXPECT_EQ(contents_of(snapshot), (Contents{{one, "12345678"}, {other, "2"}}));
    put(one, "5", PutOutcome::kOverwrote);
    EXPECT_EQ(contents_of(snapshot), (Contents{{one, "12345678"}, {other, "2"}}));
  }
  clear();
}

TEST_F(Displacing, APutOfAKeyThatStandsApartKnowsThatItWasThere) {
  open();
  const auto keys = twins(1).front();
  put(keys[0], "0", PutOutcome::kInserted);
  put(keys[1], "1", PutOutcome::kWritten);
  bring_into_memory();
  put(keys[0], "2", PutOutcome::kOverwrote);
  EXPECT_EQ(waiting(), 0u);
  EXPECT_EQ(contents_of(*store_), (Contents{{keys[0], "2"}, {keys[1], "1"}}));
}

TEST_F(Displacing, WhatIsBeingMovedIsRead) {
  open();
  put("a", "1", PutOutcome::kInserted);
  Rooms& rooms = ForTests::rooms(*store_);
  const Place place = rooms.index.place(rooms.index.hash(ForTests::bytes("a")));
  BlockMeta& run = rooms.table.run_of(offset_of(rooms.index.map().candidate(place)));
  run.set_moving(true);
  put("a", "2", PutOutcome::kOverwrote);
  run.set_moving(false);
  put("a", "3", PutOutcome::kWritten);
}

TEST_F(Displacing, ReclamationComparesKeysBeforeItMovesOrDrops) {
  open();
  const auto keys = twins(8);
  for (const auto& pair : keys)
    put(pair[0], std::string(700, '0'), PutOutcome::kInserted);
  ForTests::seal(*store_).value();
  ASSERT_TRUE(store_->sync());
  for (const auto& pair : keys)
    put(pair[1], std::string(700, '1'), PutOutcome::kWritten);
  EXPECT_EQ(waiting(), keys.size());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store_->reclaim());
    ASSERT_TRUE(ForTests::seal(*store_));
    ASSERT_TRUE(store_->sync());
    ForTests::pass(*store_, 0).value();  // Everything that is sealed moves.
    for (const auto& pair : keys) {
      ASSERT_EQ(value(pair[0]), std::string(700, '0'));
      ASSERT_EQ(value(pair[1]), std::string(700, '1'));
    }
  }
  EXPECT_EQ(store_->count(), 2 * keys.size());
  EXPECT_TRUE(store_->verify().ok());
}

TEST_F(Displacing, NeitherAKillNorACloseLosesWhatStandsApart) {
  for (const bool kill : {true, false}) {
    open();
    const auto keys = twins(4);
    for (const auto& pair : keys) {
      put(pair[0], "0", PutOutcome::kInserted);
      put(pair[1], "1", PutOutcome::kWritten);
      put(pair[1], "2", PutOutcome::kWritten);
    }
    EXPECT_EQ(waiting(), 8u);
    kill ? die_and_open() : close_and_open();
    EXPECT_EQ(store_->recovery().clean, !kill);
    EXPECT_EQ(waiting(), 0u);
    EXPECT_EQ(store_->count(), 8u);
    for (const auto& pair : keys) {
      EXPECT_EQ(value(pair[0]), "0");
      EXPECT_EQ(value(pair[1]), "2");
      store_->erase(pair[0]).value();
      store_->erase(pair[1]).value();
    }
    ASSERT_TRUE(store_->close());
    store_.reset();
  }
}

TEST_F(Displacing, AFullTableIsSettledByThosePutsThatFindItSo) {
  open();
  displaced().set_limit(8);
  for (int i = 0; i < 100; ++i)
    store_->put("k" + std::to_string(i), "0").value();
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) {
      store_->put("k" + std::to_string(i), std::to_string(round)).value();
      ASSERT_LE(waiting(), 8u);
    }
  }
  EXPECT_EQ(store_->count(), 100u);
  EXPECT_EQ(value("k77"), "4");
}

// As many keys as fill half of the medium, and no end of puts over them.
TEST_F(Displacing, AMediumFullOfWhatNobodyReadHasRoom) {
  StoreOptions options = tiny();
  // One segment: where there are several, emptying the last settles what lies in it.
  options.segment_bytes = options.initial_bytes = options.max_bytes = 512 * KiB;
  open(options);
  const std::string value(1000, 'v');
  const std::uint64_t keys = options.max_bytes / 2 / 1100;
  std::uint64_t displaced_ever = 0;
  for (std::uint64_t i = 0; i < 10 * keys; ++i) {
    const auto put = store_->put("key" + std::to_string(i % keys), value);
    ASSERT_TRUE(put) << i << ": " << put.error().message();
    displaced_ever += *put == PutOutcome::kWritten;
  }
  EXPECT_GT(displaced_ever, 3 * keys);
  EXPECT_EQ(store_->count(), keys);
}

// It went on until nothing was displaced, which is never while others write.
TEST_F(Displacing, ACountDoesNotWaitForWhatIsDisplacedMeanwhile) {
  open();
  const auto key = [](int i) { return "key" + std::to_string(i % 50); };
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(store_->put(key(i), "value"));
  ASSERT_NE(waiting(), 0u);
  int fetches = 0;
  std::function<void()> write = [&] {
    std::thread([&] { EXPECT_TRUE(store_->put(key(fetches), "newer")); }).join();
    if (++fetches < 1'000) absence_.at_next_fetch = write;
  };
  absence_.at_next_fetch = write;
  EXPECT_EQ(store_->count(), 50u);
  EXPECT_GT(fetches, 0);
  EXPECT_LT(fetches, 500);
  absence_.at_next_fetch = nullptr;
}

TEST_F(Displacing, ARandomHistoryIsThatOfAMap) {
  open();
  displaced().set_limit(6);
  Random random(7);
  std::vector<std::string> keys;
  for (const auto& pair : twins(5))
    keys.insert(keys.end(), pair.begin(), pair.end());
  for (int i = 0; i < 6; ++i)
    keys.push_back("other" + std::to_string(i));
  Contents model;
  std::uint64_t displaced_ever = 0;
  for (int step = 0; step < 30'000; ++step) {
    const std::string& key = keys[random.below(keys.size())];
    const bool there = model.contains(key);
    const std::string text(random.below(250), static_cast<char>('a' + step % 26));
    const auto choice = random.below(1000);
    if (choice < 450) {
      const PutOutcome outcome = store_->put(key, text).value();
      displaced_ever += outcome == PutOutcome::kWritten;
      ASSERT_TRUE(outcome == PutOutcome::kWritten ||
                  outcome == (there ? PutOutcome::kOverwrote : PutOutcome::kInserted));
      model[key] = text;
    } else if (choice < 550) {
      ASSERT_EQ(store_->erase(key).value(), there);
      model.erase(key);
    } else if (choice < 600) {
      ASSERT_EQ(store_->put_if_absent(key, text).has_value(), !there);
      model.emplace(key, text);
    } else if (choice < 640) {
      ASSERT_EQ(store_->update(key, [](std::string& old) { old += "+"; }).has_value(), there);
      if (there) model[key] += "+";
    } else if (choice < 680) {
      const std::string& second = keys[random.below(keys.size())];
      WriteBatch batch;
      batch.erase(second);
      batch.put(key, text);
      ASSERT_TRUE(store_->write(batch));
      model.erase(second);
      model[key] = text;
    } else if (choice < 720) {
      ASSERT_TRUE(store_->put_many(std::vector<std::string_view>{key, keys[0], key},
                                   std::vector<std::string_view>{"gone", text, text}));
      model[keys[0]] = text;
      model[key] = text;
    } else if (choice < 900) {
      const auto found = model.find(key);
      ASSERT_EQ(value(key), found == model.end() ? "<kNotFound>" : found->second);
    } else if (choice < 940) {
      ASSERT_TRUE(displaced().settle_some(ForTests::rooms(*store_).sessions.of_this_thread(),
                                          random.below(4)));
    } else if (choice < 970) {
      ASSERT_TRUE(ForTests::seal(*store_));
      ASSERT_TRUE(store_->sync());
      ForTests::pass(*store_, 0.05).value();
    } else if (choice < 980) {
      ASSERT_EQ(contents_of(store_->snapshot()), model);
    } else if (choice < 990) {
      ASSERT_EQ(store_->count(), model.size());
      ASSERT_TRUE(store_->verify().ok());
    } else if (choice < 995) {
      ASSERT_NO_FATAL_FAILURE(close_and_open());
      displaced().set_limit(6);
    } else {
      ASSERT_NO_FATAL_FAILURE(die_and_open());
      displaced().set_limit(6);
    }
  }
  EXPECT_GT(displaced_ever, 1000u);
  EXPECT_EQ(contents_of(store_->snapshot()), model);
}

}  // namespace
}  // namespace holdfast::kv
