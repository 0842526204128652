// Keyspaces of a store of which nothing is in memory: they read what they supersede, and what the
// store's own keys left unread is not lost in batches and runs that they share.
#include <holdfast/kv/space.hpp>

#include "displacing.hpp"

namespace holdfast::kv {
namespace {

class DisplacingBesideKeyspaces : public Displacing {
 protected:
  Space space() {
    auto opened = store_->space("space");
    return opened ? *opened : store_->create_space("space").value();
  }
  static std::string value_in(const Space& space, std::string_view key) {
    std::string value;
    const auto found = space.get(key, value);
    return found ? value : "<" + std::string(name(found.code())) + ">";
  }
};

TEST_F(DisplacingBesideKeyspaces, APutThereKnowsWhatItSupersedes) {
  open();
  Space users = space();
  for (const auto& keys : twins(2)) {
    const std::string &one = keys[0], &other = keys[1];
    EXPECT_EQ(users.put(one, "1").value(), PutOutcome::kInserted);
    EXPECT_EQ(users.put(one, "2").value(), PutOutcome::kOverwrote);
    EXPECT_EQ(users.put(other, "3").value(), PutOutcome::kInserted);
    EXPECT_EQ(value_in(users, one), "2");
    EXPECT_EQ(value_in(users, other), "3");
    EXPECT_EQ(users.put_if_absent(one, "x").code(), Errc::kAlreadyExists);
    EXPECT_TRUE(users.update(one, [](std::string& text) { text += "!"; }));
    EXPECT_TRUE(users.erase(other).value());
    EXPECT_FALSE(users.erase(other).value());
    EXPECT_EQ(value_in(users, one), "2!");
    EXPECT_TRUE(users.erase(one).value());
    EXPECT_EQ(value_in(users, one), "<kNotFound>");
  }
  EXPECT_EQ(waiting(), 0u);
  EXPECT_EQ(users.count(), 0u);
}

TEST_F(DisplacingBesideKeyspaces, ABatchOverThemFindsTheKeyThatStandsApart) {
  open();
  Space users = space();
  const auto keys = twins(1).front();
  const std::string &one = keys[0], &other = keys[1];
  for (const bool erase : {true, false}) {
    put(one, "1", PutOutcome::kInserted);
    put(other, "2", PutOutcome::kWritten);
    ASSERT_EQ(waiting(), 1u) << "`one` is there, and not in the index";
    ASSERT_TRUE(users.put(one, "the users'"));
    WriteBatch batch;
    batch.put(users, one, "3");
    if (erase)
      batch.erase(one);
    else
      batch.put(one, "4");
    ASSERT_TRUE(store_->write(batch));
    EXPECT_EQ(waiting(), 0u);
    EXPECT_EQ(value(one), erase ? "<kNotFound>" : "4");
    EXPECT_EQ(value(other), "2");
    EXPECT_EQ(value_in(users, one), "3");
    EXPECT_EQ(store_->count(), erase ? 1u : 2u);
    EXPECT_EQ(store_->erase(one).value(), !erase);
    EXPECT_TRUE(store_->erase(other).value());
    EXPECT_EQ(value(one), "<kNotFound>");
  }
  EXPECT_TRUE(store_->verify().ok());
}

TEST_F(DisplacingBesideKeyspaces, RunsThatTheyShareAreReclaimedAndDroppedWithoutLoss) {
  open();
  const auto keys = twins(8);
  const std::string old(700, '0'), fresh(700, '1');
  for (const auto& pair : keys) {
    put(pair[0], old, PutOutcome::kInserted);
    ASSERT_TRUE(space().put(pair[0], old));
  }
  ForTests::seal(*store_).value();
  ASSERT_TRUE(store_->sync());
  const auto displace = [&] {
    for (const auto& pair : keys) {
      put(pair[1], fresh, PutOutcome::kWritten);
      ASSERT_TRUE(space().put(pair[1], fresh));
    }
    EXPECT_EQ(waiting(), keys.size());
  };
  const auto check = [&](bool spaces) {
    for (const auto& pair : keys) {
      EXPECT_EQ(value(pair[0]), old);
      EXPECT_EQ(value(pair[1]), fresh);
      if (!spaces) continue;
      EXPECT_EQ(value_in(space(), pair[0]), old);
      EXPECT_EQ(value_in(space(), pair[1]), fresh);
    }
    EXPECT_EQ(store_->count(), 2 * keys.size());
    EXPECT_TRUE(store_->verify().ok());
  };
  ASSERT_NO_FATAL_FAILURE(displace());
  ASSERT_TRUE(ForTests::seal(*store_));
  ASSERT_TRUE(store_->sync());
  ForTests::pass(*store_, 0).value();  // Everything that is sealed moves.
  check(true);
  for (const auto& pair : keys)
    ASSERT_TRUE(store_->erase(pair[1]).value());
  ASSERT_NO_FATAL_FAILURE(displace());
  ASSERT_TRUE(store_->drop_space("space"));
  EXPECT_EQ(waiting(), keys.size()) << "the store's own are nobody else's business";
  die_and_open();
  check(false);
}

}  // namespace
}  // namespace holdfast::kv
