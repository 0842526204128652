// final_state_test.cpp: the judge of the real-crash tests accepts what is right and sees each kind
// of loss.
#include "final_state.hpp"

#include <gtest/gtest.h>

namespace holdfast::real {
namespace {

using What = Effect::What;

constexpr Stamp kOld = 1000, kOldUpdate = 1001;

RecordedOperation operation(std::uint64_t invoked, std::uint64_t acknowledged,
                            std::vector<Effect> effects) {
  return {invoked, acknowledged, std::move(effects), RecordedOperation::kNone};
}
Effect put(std::uint32_t key, Stamp stamp) { return {What::kWrite, key, stamp, 0}; }
Effect erase(std::uint32_t key) { return {What::kAbsent, key, 0, 0}; }
Effect update(std::uint32_t key, Stamp stamp, Stamp previous) {
  return {What::kUpdate, key, stamp, previous};
}
RecordState plain(Stamp writer) { return {writer, writer}; }

bool explained(const Contents& before, std::vector<RecordedOperation> operations,
               const Contents& found) {
  return contradictions(before, std::move(operations), found).empty();
}

TEST(FinalState, WithoutOperationsOnlyWhatWasThereIsRight) {
  EXPECT_TRUE(explained({{1, plain(kOld)}, {2, {kOld + 5, kOldUpdate}}}, {},
                        {{1, plain(kOld)}, {2, {kOld + 5, kOldUpdate}}}));
  EXPECT_FALSE(explained({{1, plain(kOld)}}, {}, {}));
  EXPECT_FALSE(explained({}, {}, {{1, plain(kOld)}}));
  EXPECT_FALSE(explained({{1, plain(kOld)}}, {}, {{2, plain(kOld)}}));  // Another key's record.
}

TEST(FinalState, AnAcknowledgedPutMustBeThere) {
  const Contents before = {{1, plain(kOld)}};
  const std::vector<RecordedOperation> history = {operation(10, 20, {put(1, 7)})};
  EXPECT_TRUE(explained(before, history, {{1, plain(7)}}));
  EXPECT_FALSE(explained(before, history, before));
  EXPECT_FALSE(explained(before, history, {}));
}

TEST(FinalState, APutInFlightMayBeThereOrNot) {
  const Contents before = {{1, plain(kOld)}};
  const std::vector<RecordedOperation> history = {operation(10, kNever, {put(1, 7)})};
  EXPECT_TRUE(explained(before, history, {{1, plain(7)}}));
  EXPECT_TRUE(explained(before, history, before));
  EXPECT_FALSE(explained(before, history, {}));
}

TEST(FinalState, OfTwoPutsTheLaterOneMustBeThereAndOfConcurrentOnesEither) {
  const std::vector<RecordedOperation> one_after_the_other = {operation(10, 20, {put(1, 7)}),
                                                              operation(30, 40, {put(1, 8)})};
  EXPECT_TRUE(explained({}, one_after_the_other, {{1, plain(8)}}));
  EXPECT_FALSE(explained({}, one_after_the_other, {{1, plain(7)}}));
  const std::vector<RecordedOperation> concurrent = {operation(10, 35, {put(1, 7)}),
                                                     operation(30, 40, {put(1, 8)})};
  EXPECT_TRUE(explained({}, concurrent, {{1, plain(7)}}));
  EXPECT_TRUE(explained({}, concurrent, {{1, plain(8)}}));
}

TEST(FinalState, AnErasedRecordMustNotComeBack) {
  const Contents before = {{1, plain(kOld)}};
  EXPECT_TRUE(explained(before, {operation(10, 20, {erase(1)})}, {}));
  EXPECT_FALSE(explained(before, {operation(10, 20, {erase(1)})}, before));
  EXPECT_TRUE(explained(before, {operation(10, kNever, {erase(1)})}, {}));
  EXPECT_TRUE(explained(before, {operation(10, kNever, {erase(1)})}, before));
  // Put after the erase, and lost.
  EXPECT_FALSE(
      explained(before, {operation(10, 20, {erase(1)}), operation(30, 40, {put(1, 7)})}, {}));
  // Put before the erase, and resurrected.
  EXPECT_FALSE(explained(before, {operation(10, 20, {put(1, 7)}), operation(30, 40, {erase(1)})},
                         {{1, plain(7)}}));
}

TEST(FinalState, ABatchIsThereWhollyOrNotAtAll) {
  const Contents before = {{1, plain(kOld)}, {2, plain(kOld + 5)}, {3, plain(kOld + 6)}};
  const std::vector<RecordedOperation> history = {
      operation(10, kNever, {put(1, 7), put(2, 8), erase(3)})};
  EXPECT_TRUE(explained(before, history, before));
  EXPECT_TRUE(explained(before, history, {{1, plain(7)}, {2, plain(8)}}));
  EXPECT_FALSE(explained(before, history, {{1, plain(7)}, {2, plain(8)}, {3, plain(kOld + 6)}}));
  EXPECT_FALSE(explained(before, history, {{1, plain(7)}, {2, plain(kOld + 5)}}));
  EXPECT_FALSE(
      explained(before, history, {{1, plain(kOld)}, {2, plain(kOld + 5)}}));  // Only its erase.
}

TEST(FinalState, TwoConcurrentBatchesCannotEachWinAKey) {
  const std::vector<RecordedOperation> history = {operation(10, 100, {put(1, 11), put(2, 12)}),
                                                  operation(20, 90, {put(1, 21), put(2, 22)})};
  EXPECT_TRUE(explained({}, history, {{1, plain(11)}, {2, plain(12)}}));
  EXPECT_TRUE(explained({}, history, {{1, plain(21)}, {2, plain(22)}}));
  EXPECT_FALSE(explained({}, history, {{1, plain(11)}, {2, plain(22)}}));
}

TEST(FinalState, RealTimeReachesAcrossKeysThroughABatch) {
  // The batch is last on key 1; key 2 was put after it, but the put that follows in real time is
  // gone.
  const std::vector<RecordedOperation> history = {operation(10, 20, {put(1, 11), put(2, 12)}),
                                                  operation(30, 40, {put(2, 22)}),
                                                  operation(50, 60, {put(1, 31)})};
  EXPECT_TRUE(explained({}, history, {{1, plain(31)}, {2, plain(22)}}));
  EXPECT_FALSE(explained({}, history, {{1, plain(11)}, {2, plain(22)}}));
}

TEST(FinalState, UpdatesFormAChainFromThePutToTheValueFound) {
  const Contents before = {{1, plain(kOld)}};
  const std::vector<RecordedOperation> history = {operation(10, 20, {update(1, 7, kOld)}),
                                                  operation(30, 40, {update(1, 8, 7)})};
  EXPECT_TRUE(explained(before, history, {{1, {kOld, 8}}}));
  EXPECT_FALSE(explained(before, history, {{1, {kOld, 7}}}));    // The second is lost.
  EXPECT_FALSE(explained(before, history, {{1, plain(kOld)}}));  // Both are.
  EXPECT_FALSE(explained(before, history, {{1, plain(8)}}));     // As if it had been a put.
}

TEST(FinalState, AnUpdateThatOverwroteAnotherWithoutSeeingItIsALoss) {
  const Contents before = {{1, plain(kOld)}};
  const std::vector<RecordedOperation> history = {operation(10, 50, {update(1, 7, kOld)}),
                                                  operation(20, 60, {update(1, 8, kOld)})};
  EXPECT_FALSE(explained(before, history, {{1, {kOld, 8}}}));
  EXPECT_FALSE(explained(before, history, {{1, {kOld, 7}}}));
}

TEST(FinalState, AnUpdateInFlightMayBeThereOrNot) {
  const Contents before = {{1, plain(kOld)}};
  const std::vector<RecordedOperation> history = {operation(10, kNever, {update(1, 7, kOld)})};
  EXPECT_TRUE(explained(before, history, {{1, {kOld, 7}}}));
  EXPECT_TRUE(explained(before, history, before));
}

TEST(FinalState, AnUpdateOfAnOverwrittenRecordIsNoLossButOneOfTheNewRecordIs) {
  const Contents before = {{1, plain(kOld)}};
  EXPECT_TRUE(explained(before,
                        {operation(10, 20, {update(1, 7, kOld)}), operation(30, 40, {put(1, 9)})},
                        {{1, plain(9)}}));
  EXPECT_FALSE(explained(before,
                         {operation(10, 20, {put(1, 9)}), operation(30, 40, {update(1, 7, 9)})},
                         {{1, plain(9)}}));
}

TEST(FinalState, AWordFromARecordBeforeIsWrong) {
  const Contents before = {{1, plain(kOld)}};
  const std::vector<RecordedOperation> history = {operation(10, 20, {update(1, 7, kOld)}),
                                                  operation(30, 40, {put(1, 9)})};
  EXPECT_FALSE(explained(before, history, {{1, {9, 7}}}));
}

TEST(FinalState, AnOperationThatFoundNothingNeedsAMomentWithoutARecord) {
  const Contents before = {{1, plain(kOld)}};
  EXPECT_FALSE(explained(before, {operation(10, 20, {erase(1)})}, before));
  EXPECT_FALSE(explained({}, {operation(10, 20, {put(1, 7)}), operation(30, 40, {erase(1)})},
                         {{1, plain(7)}}));
  EXPECT_TRUE(explained({}, {operation(10, 35, {put(1, 7)}), operation(30, 40, {erase(1)})},
                        {{1, plain(7)}}));
}

TEST(FinalState, OfAPutManyInFlightAPrefixIsThere) {
  std::vector<RecordedOperation> history = {operation(10, kNever, {put(1, 11)}),
                                            operation(10, kNever, {put(2, 12)}),
                                            operation(10, kNever, {put(3, 13)})};
  history[1].follows = 0;
  history[2].follows = 1;
  EXPECT_TRUE(explained({}, history, {}));
  EXPECT_TRUE(explained({}, history, {{1, plain(11)}, {2, plain(12)}}));
  EXPECT_FALSE(explained({}, history, {{1, plain(11)}, {3, plain(13)}}));
  EXPECT_FALSE(explained({}, history, {{3, plain(13)}}));
}

// Found by kill_test under load: the members of a put_many were durable, none was published yet,
// when an update of one's key read the record before it and wrote a newer one.
TEST(FinalState, OfAPutManyInFlightAMemberMayBeOvertakenByAnUpdate) {
  const auto history = [](std::uint64_t put_many_invoked) {
    std::vector<RecordedOperation> operations = {
        operation(10, 20, {put(1, 7)}), operation(put_many_invoked, kNever, {put(1, 11)}),
        operation(put_many_invoked, kNever, {put(2, 12)}), operation(40, 50, {update(1, 8, 7)})};
    operations[2].follows = 1;
    return operations;
  };
  EXPECT_TRUE(explained({}, history(30), {{1, {7, 8}}, {2, plain(12)}}));
  // After the update nothing can have overtaken it.
  EXPECT_FALSE(explained({}, history(60), {{1, {7, 8}}, {2, plain(12)}}));
}

TEST(FinalState, AValueThatNobodyWroteIsNamed) {
  const auto wrong = contradictions({}, {}, {{4, plain(make_stamp(3, 1, 17, 0))}});
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0],
            "key 4: holds [round 3, thread 1, operation 17, member 0], which nobody wrote there");
}

TEST(Workload, ValuesDecodeToTheirStampsAndNoChangedByteDoes) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const Stamp writer = make_stamp(1, 2, number, 3);
    std::string value = value_of(writer);
    ASSERT_EQ(decode_value(value), (RecordState{writer, writer}));
    for (std::size_t at = 8; at < value.size(); at += 1 + value.size() / 20) {
      value[at] = static_cast<char>(value[at] ^ 1);
      ASSERT_NE(decode_value(value), (RecordState{writer, writer})) << "byte " << at;
      value[at] = static_cast<char>(value[at] ^ 1);
    }
    EXPECT_FALSE(decode_value(value + "x") == (RecordState{writer, writer}));
  }
}

TEST(Workload, OperationsAreAFunctionOfSeedThreadAndNumberAndCoverEveryKind) {
  const Workload workload{.seed = 9, .threads = 3, .private_keys = 20, .shared_keys = 10};
  std::map<Kind, int> seen;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const Operation operation = workload.operation(1, number),
                    again = workload.operation(1, number);
    ++seen[operation.kind];
    ASSERT_FALSE(operation.members.empty());
    for (std::size_t i = 0; i < operation.members.size(); ++i) {
      const Member member = operation.members[i];
      ASSERT_EQ(member.key, again.members[i].key);
      const bool is_own = member.key >= 20 && member.key < 40,
                 is_shared = member.key >= 60 && member.key < 70;
      ASSERT_TRUE(is_own || is_shared) << member.key;
      ASSERT_TRUE(is_own || operation.kind != Kind::kBatch || !member.erase);
    }
  }
  EXPECT_EQ(seen.size(), 5u);
}

}  // namespace
}  // namespace holdfast::real
