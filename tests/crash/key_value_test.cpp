// The key-value oracle: which maps may be found after a crash.
#include <gtest/gtest.h>

#include <holdfast/crash/key_value.hpp>

namespace holdfast::crash {
namespace {

using State = KeyValueModel::State;

// Operations by hand: begun and acknowledged at these times, 0 for never.
class KeyValueOracle : public ::testing::Test {
 protected:
  void operation(std::uint64_t id, std::uint64_t begun_at, std::uint64_t acknowledged_at) {
    Operation operation;
    operation.id = id;
    operation.begun_at = begun_at;
    operation.acknowledged_at = acknowledged_at;
    operations_.push_back(operation);
  }
  bool allows(const State& observed) {
    return model_.check(Past<State>{base_, operations_}, observed).empty();
  }
  State base_;
  KeyValueModel model_;
  std::vector<Operation> operations_;
};

TEST_F(KeyValueOracle, AcknowledgedIsThereAndInFlightIsThereOrNot) {
  model_.put(1, "a", "1");
  model_.put(2, "a", "2");
  operation(1, 1, 2);
  operation(2, 3, 0);
  EXPECT_TRUE(allows({{"a", "1"}}));
  EXPECT_TRUE(allows({{"a", "2"}}));
  EXPECT_FALSE(allows({}));
  EXPECT_FALSE(allows({{"a", "3"}}));
  EXPECT_FALSE(allows({{"a", "1"}, {"b", "1"}}));
}

TEST_F(KeyValueOracle, ABatchIsThereAsAWholeOrNotAtAll) {
  base_ = {{"a", "0"}, {"c", "0"}};
  model_.batch(1, {{"a", "1"}, {"b", "1"}, {"c", std::nullopt}});
  operation(1, 1, 0);
  EXPECT_TRUE(allows({{"a", "0"}, {"c", "0"}}));
  EXPECT_TRUE(allows({{"a", "1"}, {"b", "1"}}));
  EXPECT_FALSE(allows({{"a", "1"}, {"c", "0"}}));
  EXPECT_FALSE(allows({{"a", "1"}, {"b", "1"}, {"c", "0"}}));
}

TEST_F(KeyValueOracle, ConcurrentOperationsMayBeOrderedEitherWay) {
  model_.put(1, "a", "1");
  model_.put(2, "a", "2");
  operation(1, 1, 3);
  operation(2, 2, 4);
  EXPECT_TRUE(allows({{"a", "1"}}));
  EXPECT_TRUE(allows({{"a", "2"}}));
}

TEST_F(KeyValueOracle, RealTimeOrderHolds) {
  model_.put(1, "a", "1");
  model_.put(2, "a", "2");
  operation(1, 1, 2);
  operation(2, 3, 4);
  EXPECT_FALSE(allows({{"a", "1"}}));
  EXPECT_TRUE(allows({{"a", "2"}}));
}

TEST_F(KeyValueOracle, OneOrderMustServeAllKeys) {
  // 1: a=1 b=1, 2: a=2 b=2, both at once: the results may not be mixed.
  model_.batch(1, {{"a", "1"}, {"b", "1"}});
  model_.batch(2, {{"a", "2"}, {"b", "2"}});
  operation(1, 1, 3);
  operation(2, 2, 4);
  EXPECT_TRUE(allows({{"a", "1"}, {"b", "1"}}));
  EXPECT_TRUE(allows({{"a", "2"}, {"b", "2"}}));
  EXPECT_FALSE(allows({{"a", "1"}, {"b", "2"}}));
}

TEST_F(KeyValueOracle, WhatAnAcknowledgedReadReturnedMustSurvive) {
  model_.put(1, "a", "1");
  model_.batch(2, {});
  model_.returned(2, "a", "1");
  operation(1, 1, 0);  // In flight, but read by 2, whose caller knows it.
  operation(2, 2, 3);
  EXPECT_TRUE(allows({{"a", "1"}}));
  EXPECT_FALSE(allows({}));
}

TEST_F(KeyValueOracle, AReadOfAnAbsentKeyComesBeforeTheWrite) {
  model_.put(1, "a", "1");
  model_.batch(2, {});
  model_.returned(2, "a", std::nullopt);
  operation(1, 1, 2);
  operation(2, 3, 4);  // After 1 was acknowledged: it may not miss it.
  EXPECT_FALSE(allows({{"a", "1"}}));
}

TEST_F(KeyValueOracle, AnInFlightOperationMayTakePlaceBeforeALaterAcknowledgedOne) {
  model_.put(1, "a", "1");
  model_.put(2, "a", "2");
  operation(1, 1, 0);
  operation(2, 2, 3);
  EXPECT_TRUE(allows({{"a", "2"}}));
  EXPECT_TRUE(allows({{"a", "1"}}));  // Or after it.
  EXPECT_FALSE(allows({}));
}

TEST_F(KeyValueOracle, ALongHistoryOfOneSessionIsJudgedInATwinkling) {
  State last;
  for (std::uint64_t id = 1; id <= 3000; ++id) {
    const std::string key = "k" + std::to_string(id % 50);
    model_.put(id, key, std::to_string(id));
    operation(id, 2 * id, 2 * id + 1);
    last[key] = std::to_string(id);
  }
  EXPECT_TRUE(allows(last));
  last["k3"] = "0";
  EXPECT_FALSE(allows(last));
}

TEST_F(KeyValueOracle, AMismatchIsToldByKey) {
  model_.put(1, "apple", "1");
  operation(1, 1, 2);
  const std::string text = model_.check(Past<State>{base_, operations_}, {{"pear", "2"}});
  EXPECT_NE(text.find("\"apple\" is missing"), std::string::npos) << text;
  EXPECT_NE(text.find("\"pear\" is there"), std::string::npos) << text;
}

}  // namespace
}  // namespace holdfast::crash
