// Keyspaces on every medium: what they hold, that they know nothing of each other, and what is left
// of them after a close, a death and a drop.
#include <map>

#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/store_core.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

using Content = std::map<std::string, std::string>;

Content content(const Space& space) {
  Content found;
  EXPECT_TRUE(space.for_each([&](std::string_view key, std::string_view value, Version) {
    found.emplace(key, value);
    return true;
  }));
  EXPECT_EQ(found.size(), space.count());
  return found;
}

std::string value_in(const Space& space, std::string_view key) {
  std::string value;
  const auto found = space.get(key, value);
  return found ? value : std::string(name(found.code()));
}

class InKeyspaces : public OnEveryPlace {
 protected:
  // The next open finds what a killed process leaves.
  static void die(Store<> store) { store.core()->abandon(); }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, InKeyspaces, kEveryPlace, place_name);

TEST_P(InKeyspaces, HoldKeysOfTheirOwn) {
  auto store = open();
  auto users = store.create_space("users").value();
  auto orders = store.create_space("orders").value();
  ASSERT_EQ(store.put("ada", "the store's").value(), PutOutcome::kInserted);
  ASSERT_EQ(users.put("ada", "the users'").value(), PutOutcome::kInserted);
  ASSERT_EQ(orders.put("ada", "the orders'").value(), PutOutcome::kInserted);
  ASSERT_EQ(users.put("ada", "the users' again").value(), PutOutcome::kOverwrote);
  EXPECT_EQ(get(store, "ada"), "the store's");
  EXPECT_EQ(value_in(users, "ada"), "the users' again");
  EXPECT_EQ(value_in(orders, "ada"), "the orders'");
  EXPECT_TRUE(orders.erase("ada").value());
  EXPECT_FALSE(orders.erase("ada").value());
  EXPECT_EQ(value_in(orders, "ada"), name(Errc::kNotFound));
  EXPECT_EQ(store.count(), 1u);
  EXPECT_EQ(users.count(), 1u);
  EXPECT_EQ(orders.count(), 0u);
  EXPECT_EQ(store.spaces(), (std::vector<std::string>{"orders", "users"}));
  EXPECT_EQ(users.name(), "users");
}

TEST_P(InKeyspaces, SayWhatIsWrong) {
  auto store = open();
  ASSERT_TRUE(store.create_space("users"));
  EXPECT_EQ(store.create_space("users").code(), Errc::kAlreadyExists);
  EXPECT_EQ(store.create_space("").code(), Errc::kInvalidOption);
  EXPECT_EQ(store.create_space(std::string(256, 'x')).code(), Errc::kInvalidOption);
  EXPECT_TRUE(store.create_space(std::string(255, 'x')));
  EXPECT_EQ(store.space("nobody").code(), Errc::kNotFound);
  EXPECT_EQ(store.drop_space("nobody").code(), Errc::kNotFound);
  Space nowhere;
  EXPECT_EQ(nowhere.put("key", "value").code(), Errc::kClosed);
  EXPECT_EQ(nowhere.count(), 0u);
}

TEST_P(InKeyspaces, HaveAllVerbs) {
  auto store = open();
  auto space = store.create_space("all").value();
  const Version first = space.put_if_absent("key", "1").value();
  EXPECT_EQ(space.put_if_absent("key", "2").code(), Errc::kAlreadyExists);
  EXPECT_EQ(space.compare_and_put("key", first + 1, "2").code(), Errc::kVersionMismatch);
  EXPECT_TRUE(space.compare_and_put("key", first, "2"));
  EXPECT_TRUE(space.update("key", [](std::string& value) { value += "+"; }));
  EXPECT_EQ(value_in(space, "key"), "2+");
  {
    const auto pinned = space.get_pinned("key").value();
    EXPECT_EQ(pinned.value(), "2+");
  }
  const std::string large(100'000, 'l');
  EXPECT_TRUE(space.put("large", large));
  EXPECT_EQ(value_in(space, "large"), large);
  EXPECT_TRUE(space.verify().ok());
  EXPECT_TRUE(store.verify().ok());
}

TEST_P(InKeyspaces, OutliveACloseAndADeath) {
  Content users, orders;
  for (const bool clean : {true, false, true}) {
    auto store = open();
    if (users.empty()) {
      ASSERT_TRUE(store.create_space("users"));
      ASSERT_TRUE(store.create_space("orders"));
    }
    auto in_users = store.space("users").value();
    auto in_orders = store.space("orders").value();
    EXPECT_EQ(content(in_users), users);
    EXPECT_EQ(content(in_orders), orders);
    EXPECT_EQ(store.count(), users.size());
    for (int i = 0; i < 300; ++i) {
      const std::string key = std::to_string(users.size()), value = text_of(i, 100);
      users[key] = value;
      ASSERT_TRUE(in_users.put(key, value));
      ASSERT_TRUE(store.put(key, "other"));
      if (i % 3 == 0) {
        orders[key] = value;
        ASSERT_TRUE(in_orders.put(key, value));
      }
      if (i % 9 == 0) {
        orders.erase(key);
        ASSERT_TRUE(in_orders.erase(key).value());
      }
    }
    EXPECT_TRUE(store.verify().ok());
    if (clean)
      ASSERT_TRUE(store.close());
    else
      die(std::move(store));
  }
  auto store = open();
  EXPECT_EQ(content(store.space("users").value()), users);
  EXPECT_EQ(content(store.space("orders").value()), orders);
  const VerifyReport report = store.verify();
  EXPECT_TRUE(report.ok()) << report.defects.front().what;
}

TEST_P(InKeyspaces, AreReclaimedLikeTheRest) {
  auto store = open();
  auto space = store.create_space("churn").value();
  Content expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = std::to_string(i % 200);
    expected[key] = text_of(i, 100);
    ASSERT_TRUE(space.put(key, expected[key]));
    if (i % 10 == 0) {
      ASSERT_TRUE(store.put(key, "the store's"));
    }
  }
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(content(space), expected);
  EXPECT_LT(store.stats().used_bytes, 64 * 8 * KiB);
  EXPECT_TRUE(store.verify().ok());
  die(std::move(store));
  store = open();
  EXPECT_EQ(content(store.space("churn").value()), expected);
  EXPECT_EQ(store.count(), 200u / 10);
}

TEST_P(InKeyspaces, ADroppedOneIsGoneAndItsMediumIsFree) {
  auto store = open();
  auto space = store.create_space("gone").value();
  ASSERT_TRUE(store.put("key", "stays"));
  const std::uint64_t before = store.stats().used_bytes;
  for (int i = 0; i < 2'000; ++i)
    ASSERT_TRUE(space.put(std::to_string(i), text_of(i, 100)));
  EXPECT_GT(store.stats().used_bytes, before + 20 * 8 * KiB);
  ASSERT_TRUE(store.drop_space("gone"));
  if (!store.core()->rooms.medium.paged()) {
    EXPECT_LE(store.stats().used_bytes, before + 2 * 8 * KiB);
  }
  EXPECT_EQ(space.put("key", "value").code(), Errc::kClosed);
  EXPECT_EQ(store.space("gone").code(), Errc::kNotFound);
  EXPECT_TRUE(store.spaces().empty());
  EXPECT_TRUE(store.verify().ok());
  // One of the same name is another one.
  auto again = store.create_space("gone").value();
  EXPECT_EQ(again.count(), 0u);
  EXPECT_EQ(space.put("key", "value").code(), Errc::kClosed);
  ASSERT_TRUE(again.put("key", "new"));
  die(std::move(store));
  store = open();
  EXPECT_EQ(content(store.space("gone").value()), (Content{{"key", "new"}}));
  EXPECT_EQ(get(store, "key"), "stays");
  ASSERT_TRUE(store.drop_space("gone"));
  ASSERT_TRUE(store.close());
  store = open();
  EXPECT_TRUE(store.spaces().empty());
  EXPECT_TRUE(store.verify().ok());
}

// A pinned value keeps its run, so the process dies with runs of a space that was dropped.
// Another space takes its rooms: with no key of it, no horizon, no order, and under another number.
TEST_P(InKeyspaces, OneThatTakesThePlaceOfADroppedOneIsNew) {
  StoreOptions options = tiny();
  options.order = true;
  auto store = open(options);
  for (int round = 0; round < 4; ++round) {
    auto old = store.create_space("old").value();
    ASSERT_TRUE(store.expire(old, {.prefix = "s", .ttl = 1}));
    for (int i = 0; i < 300; ++i)
      ASSERT_TRUE(old.put("key" + std::to_string(i), text_of(static_cast<std::uint64_t>(i), 200)));
    ASSERT_TRUE(old.erase("key7").value());
    {
      const auto snapshot = old.snapshot();
    }
    auto cursor = old.cursor().value();
    ASSERT_TRUE(cursor.first(""));
    ASSERT_TRUE(store.drop_space("old"));
    auto fresh = store.create_space("fresh").value();
    EXPECT_EQ(fresh.count(), 0u);
    EXPECT_EQ(content(fresh), Content());
    EXPECT_EQ(value_in(fresh, "key8"), name(Errc::kNotFound));
    EXPECT_FALSE(fresh.cursor().value().first(""));
    EXPECT_TRUE(store.expiry_rules(fresh).value().empty());
    EXPECT_EQ(old.put("key8", "value").code(), Errc::kClosed);
    EXPECT_FALSE(cursor.next());
    EXPECT_EQ(cursor.status().code(), Errc::kClosed);
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(fresh.put("key" + std::to_string(i), "fresh"));
    EXPECT_EQ(value_in(fresh, "key7"), "fresh");
    EXPECT_EQ(store.count(), 0u);
    EXPECT_TRUE(store.verify().ok());
    ASSERT_TRUE(store.drop_space("fresh"));
  }
  EXPECT_TRUE(store.close());
  store = open(options);
  EXPECT_TRUE(store.spaces().empty());
  EXPECT_EQ(store.stats().records, 0u);
}

TEST_P(InKeyspaces, WhatADropLeftBehindIsFreedByTheNextOpen) {
  auto store = open();
  auto space = store.create_space("gone").value();
  ASSERT_TRUE(store.put("key", "stays"));
  for (int i = 0; i < 2'000; ++i)
    ASSERT_TRUE(space.put(std::to_string(i), text_of(i, 100)));
  const std::uint64_t full = store.stats().used_bytes;
  {
    std::vector<Pinned> pinned;
    for (int i = 0; i < 2'000; ++i)
      pinned.push_back(space.get_pinned(std::to_string(i)).value());
    ASSERT_TRUE(store.drop_space("gone"));
    EXPECT_GT(store.stats().used_bytes, full / 2);
    EXPECT_EQ(pinned.back().value(), text_of(1'999, 100));
    ASSERT_TRUE(store.sync());
    copy_files("died");
  }
  auto again = open(tiny(), "died");
  EXPECT_LT(again.stats().used_bytes, full / 4);
  EXPECT_TRUE(again.spaces().empty());
  EXPECT_EQ(get(again, "key"), "stays");
  EXPECT_TRUE(again.verify().ok());
}

TEST_P(InKeyspaces, AHandleThatOutlivesItsStoreIsClosed) {
  Space space;
  {
    auto store = open();
    space = store.create_space("users").value();
    ASSERT_TRUE(space.put("key", "value"));
  }
  EXPECT_EQ(space.put("key", "value").code(), Errc::kClosed);
  EXPECT_EQ(space.name(), "");
}

TEST_P(InKeyspaces, AreReadThroughAReadOnlyOpen) {
  {
    auto store = open();
    ASSERT_TRUE(store.create_space("users").value().put("ada", "lovelace"));
    die(std::move(store));
  }
  StoreOptions options = tiny();
  options.access = RegionAccess::kOpenReadOnly;
  auto store = open(options);
  auto users = store.space("users").value();
  EXPECT_EQ(value_in(users, "ada"), "lovelace");
  EXPECT_EQ(users.put("ada", "1815").code(), Errc::kReadOnly);
  EXPECT_EQ(store.create_space("more").code(), Errc::kReadOnly);
  EXPECT_EQ(store.drop_space("users").code(), Errc::kReadOnly);
}

TEST_P(InKeyspaces, AVerbThatIsUnderWayIsNotDroppedUnderIt) {
  auto store = open();
  auto space = store.create_space("busy").value();
  ASSERT_TRUE(space.put("key", "value"));
  Errc outcome = Errc::kOk;
  ASSERT_TRUE(space.update("key", [&](std::string& value) {
    outcome = store.drop_space("busy").code();
    value = "new";
  }));
  EXPECT_EQ(outcome, Errc::kBusy);
  EXPECT_EQ(value_in(space, "key"), "new");
}

TEST_P(InKeyspaces, ABatchSpansThem) {
  auto store = open();
  auto one = store.create_space("one").value(), two = store.create_space("two").value();
  ASSERT_TRUE(one.put("erased", "1"));
  ASSERT_TRUE(two.put("key", "old"));
  WriteBatch batch;
  batch.put("key", "the store's");
  batch.put(one, "key", "first");
  batch.put(one, "key", "of one");
  batch.erase(one, "erased");
  batch.put(two, "key", "of two");
  batch.erase(two, "absent");
  for (int i = 0; i < 100; ++i)
    batch.put(two, std::to_string(i), text_of(i, 30));
  ASSERT_TRUE(store.write(batch));
  EXPECT_EQ(get(store, "key"), "the store's");
  EXPECT_EQ(content(one), (Content{{"key", "of one"}}));
  EXPECT_EQ(value_in(two, "key"), "of two");
  EXPECT_EQ(two.count(), 101u);
  EXPECT_TRUE(store.verify().ok());
  // As a death and a close leave it, with the run of the batch open and sealed.
  for (const bool clean : {false, true}) {
    if (clean)
      ASSERT_TRUE(store.close());
    else
      die(std::move(store));
    store = open();
    one = store.space("one").value(), two = store.space("two").value();
    EXPECT_EQ(content(one), (Content{{"key", "of one"}}));
    EXPECT_EQ(two.count(), 101u);
    EXPECT_EQ(store.count(), 1u);
    EXPECT_TRUE(store.verify().ok());
  }
  // Records of a space that was dropped, in a run of several, are gone, too.
  ASSERT_TRUE(store.drop_space("two"));
  EXPECT_TRUE(store.verify().ok());
  die(std::move(store));
  store = open();
  EXPECT_EQ(store.spaces(), std::vector<std::string>{"one"});
  ASSERT_TRUE(store.create_space("two"));
  EXPECT_EQ(store.space("two").value().count(), 0u);
  ASSERT_TRUE(store.reclaim());
  EXPECT_EQ(content(store.space("one").value()), (Content{{"key", "of one"}}));
  EXPECT_EQ(get(store, "key"), "the store's");
  EXPECT_TRUE(store.verify().ok());
}

// The store's own sessions note what a batch over spaces superseded.
TEST_P(InKeyspaces, ADropCountsOnceWhatABatchSuperseded) {
  auto store = open();
  auto space = store.create_space("gone").value();
  for (int i = 0; i < 5; ++i) {
    WriteBatch batch;
    batch.put("key", text_of(i, 1'000));
    batch.put(space, "key", text_of(i, 1'000));
    ASSERT_TRUE(store.write(batch));
  }
  ASSERT_TRUE(store.drop_space("gone"));
  const std::uint64_t live = store.stats().live_bytes;
  EXPECT_EQ(get(store, "key"), text_of(4, 1'000));
  ASSERT_TRUE(store.close());
  store = open();
  EXPECT_EQ(store.stats().live_bytes, live);
}

TEST_P(InKeyspaces, ABatchSaysWhatIsWrong) {
  auto store = open(), other = open(tiny(), "other");
  auto here = store.create_space("here").value(), there = other.create_space("there").value();
  WriteBatch batch;
  batch.put("key", "value");
  batch.put(there, "key", "value");
  EXPECT_EQ(store.write(batch).code(), Errc::kInvalidOption);
  batch.clear();
  batch.put("key", "value");
  batch.put(here, "key", "value");
  ASSERT_TRUE(store.drop_space("here"));
  EXPECT_EQ(store.write(batch).code(), Errc::kClosed);
  batch.clear();
  batch.put(Space(), "key", "value");
  EXPECT_EQ(store.write(batch).code(), Errc::kClosed);
  EXPECT_EQ(store.count(), 0u);
}

// A drop waits for all verbs of spaces, and so for the walk that called it.
TEST_P(InKeyspaces, AreNeitherCreatedNorDroppedWithinAWalk) {
  auto store = open();
  auto walked = store.create_space("walked").value();
  ASSERT_TRUE(store.create_space("other"));
  ASSERT_TRUE(walked.put("key", "value"));
  int visits = 0;
  EXPECT_TRUE(walked.for_each([&](std::string_view, std::string_view, Version) {
    EXPECT_EQ(store.drop_space("other").code(), Errc::kBusy);
    EXPECT_EQ(store.create_space("more").code(), Errc::kBusy);
    EXPECT_EQ(store.checkpoint().code(), Errc::kBusy);
    EXPECT_EQ(store.mark().code(), Errc::kBusy);
    EXPECT_EQ(store.set_clock(1).code(), Errc::kBusy);
    EXPECT_TRUE(store.space("other"));
    return ++visits, true;
  }));
  EXPECT_EQ(visits, 1);
  EXPECT_TRUE(store.drop_space("other"));
}

// Passes of reclamation wait for the change.
TEST_P(InKeyspaces, ReclaimAndReserveWithinAChangeAreRefused) {
  auto store = open();
  ASSERT_TRUE(store.put("key", "value"));
  EXPECT_TRUE(store.update("key", [&](std::string&) {
    EXPECT_EQ(store.reclaim().code(), Errc::kBusy);
    EXPECT_EQ(store.reserve(1'000).code(), Errc::kBusy);
  }));
}

}  // namespace
}  // namespace holdfast::kv
