#include <holdfast/base/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "allocations.hpp"

namespace holdfast {
namespace {

// Longer than what a std::string keeps without an allocation.
constexpr const char* kText = "a text that is too long to be kept within the string object itself";

Result<int> half(int value) {
  if (value % 2 != 0) return Error{Errc::kInvalidOption, "value=" + std::to_string(value)};
  return value / 2;
}

Result<int> quarter(int value) {
  HF_ASSIGN_OR_RETURN(const int once, half(value));
  HF_ASSIGN_OR_RETURN(const int twice, half(once));
  return twice;
}

Status is_even(int value) {
  HF_RETURN_IF_ERROR([&]() -> Status {
    if (const auto result = half(value); !result) return result.error();
    return {};
  }());
  return {};
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(half(4).value(), 2);
  EXPECT_EQ(half(4).code(), Errc::kOk);
  EXPECT_EQ(half(3).code(), Errc::kInvalidOption);
  EXPECT_EQ(half(3).value_or(-1), -1);
  EXPECT_EQ(half(3).error().message(), "kInvalidOption: value=3");
}

TEST(Result, MacrosPassErrorsOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().detail, "value=3");
  EXPECT_TRUE(is_even(2));
  EXPECT_EQ(is_even(5).code(), Errc::kInvalidOption);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const auto taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

// API-1: it said "internal error" and a line 0.
TEST(ResultDeathTest, AskingAnErrorForItsValueSaysWhichErrorAndWhere) {
  EXPECT_DEATH(static_cast<void>(half(3).value()),
               "value of a failed Result.*result_test.cpp:[1-9].*kInvalidOption: value=3");
  EXPECT_DEATH(Status(Error{Errc::kIo, "x"}).value(), "result_test.cpp:[1-9].*kIo: x");
  EXPECT_DEATH(static_cast<void>(*half(3)), "value of a failed Result.*kInvalidOption: value=3");
  const Result<std::string> failed(Error{Errc::kIo, "x"});
  EXPECT_DEATH(static_cast<void>(failed->size()), "kIo: x");
}

TEST(ResultDeathTest, AskingAValueForItsErrorSaysWhere) {
  EXPECT_DEATH(static_cast<void>(half(4).error()), "successful Result.*result_test.cpp:[1-9]");
  EXPECT_DEATH(static_cast<void>(Status().error()), "successful Result.*result_test.cpp:[1-9]");
  EXPECT_DEATH(static_cast<void>(half(4).pass_on()), "successful Result.*result_test.cpp:[1-9]");
}

// API-3: a move copied the text, in a function that must not throw.
TEST(Result, MovingAnErrorNeitherAllocatesNorCopiesItsText) {
  Result<std::string> first(Error{Errc::kIo, kText});
  const char* const text = first.error().detail.data();
  EXPECT_EQ(allocations_of([&] {
              Result<std::string> second(std::move(first));
              Result<std::string> third(std::string{});
              third = std::move(second);
              EXPECT_EQ(third.error().detail.data(), text);
              first = std::move(third);
            }),
            0u);
  EXPECT_EQ(first.error().detail.data(), text);
  Status status(Error{Errc::kIo, kText});
  EXPECT_EQ(allocations_of([&] { const Status other(std::move(status)); }), 0u);
}

TEST(Result, WhatAnErrorWasMovedFromIsStillAnError) {
  Result<std::string> failed(Error{Errc::kIo, kText});
  const auto taken = std::move(failed);
  EXPECT_EQ(taken.error().message(), std::string("kIo: ") + kText);
  EXPECT_FALSE(failed.has_value());            // NOLINT: this is what is tested.
  EXPECT_EQ(failed.error().message(), "kIo");  // NOLINT
  Status status(Error{Errc::kBusy, kText});
  EXPECT_EQ(std::move(status).error().detail, kText);
  EXPECT_EQ(status.code(), Errc::kBusy);  // NOLINT
}

Result<int> fail_with_text() { return Error{Errc::kIo, kText}; }
Result<std::string> fail_one_level_up() {
  HF_ASSIGN_OR_RETURN(const int value, fail_with_text());
  return std::to_string(value);
}
Status fail_two_levels_up() {
  HF_RETURN_IF_ERROR(fail_one_level_up());
  return {};
}
Status fail_three_levels_up() {
  HF_RETURN_IF_ERROR(fail_two_levels_up());
  return {};
}

TEST(Result, TheMacrosPassAnErrorOnWithoutAnAllocation) {
  const auto one_level = allocations_of([] { EXPECT_EQ(fail_with_text().code(), Errc::kIo); });
  EXPECT_EQ(one_level, 2u);  // The text and the Error that holds it.
  EXPECT_EQ(allocations_of([] { EXPECT_EQ(fail_three_levels_up().code(), Errc::kIo); }), one_level);
  EXPECT_EQ(fail_three_levels_up().error().detail, kText);
}

TEST(Result, AnErrorWithoutATextNeverAllocates) {
  EXPECT_EQ(allocations_of([] {
              const Result<int> absent(Error{Errc::kNotFound, {}});
              const Result<int> copy(absent);  // NOLINT: the copy is what is tested.
              EXPECT_EQ(copy.error().code, Errc::kNotFound);
            }),
            0u);
}

TEST(Result, AndThenGoesOnWithTheValueOrKeepsTheError) {
  EXPECT_EQ(half(8).and_then(half).value(), 2);
  EXPECT_EQ(half(6).and_then(half).error().detail, "value=3");
  EXPECT_EQ(is_even(4).and_then([] { return half(4); }).value(), 2);
  EXPECT_EQ(is_even(3).and_then([] { return half(4); }).code(), Errc::kInvalidOption);
  EXPECT_EQ(half(8).and_then([](int) -> Status { return {}; }).code(), Errc::kOk);
  const auto failed = fail_with_text();
  EXPECT_EQ(failed.and_then(half).error().detail, kText);
  EXPECT_EQ(failed.error().detail, kText);  // Of an lvalue the text is copied.
}

TEST(Result, TransformChangesTheValueOrKeepsTheError) {
  EXPECT_EQ(half(8).transform([](int value) { return std::to_string(value); }).value(), "4");
  EXPECT_EQ(half(7).transform([](int value) { return value + 1; }).error().detail, "value=7");
  EXPECT_EQ(is_even(4).transform([] { return 5; }).value(), 5);
  int seen = 0;
  const Status done = half(8).transform([&](int value) { seen = value; });
  EXPECT_TRUE(done);
  EXPECT_EQ(seen, 4);
  Result<std::unique_ptr<int>> pointer(std::make_unique<int>(7));
  EXPECT_EQ(std::move(pointer).transform([](std::unique_ptr<int> p) { return *p; }).value(), 7);
  EXPECT_EQ(allocations_of([] {
              auto failed = fail_with_text().transform([](int) { return std::string("x"); });
              EXPECT_EQ(failed.code(), Errc::kIo);
            }),
            2u);
}

TEST(Result, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(Errc::kClosed); ++code) {
    EXPECT_NE(name(static_cast<Errc>(code)), "kUnknown") << code;
  }
}

}  // namespace
}  // namespace holdfast
