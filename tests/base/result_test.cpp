#include <holdfast/base/result.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace holdfast {
namespace {

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

TEST(ResultDeathTest, AskingAnErrorForItsValueStops) {
  EXPECT_DEATH(static_cast<void>(half(3).value()), "value=3");
  EXPECT_DEATH(Status(Error{Errc::kIo, "x"}).value(), "kIo: x");
}

TEST(Result, EveryCodeHasAName) {
  for (int code = 0; code <= static_cast<int>(Errc::kClosed); ++code) {
    EXPECT_NE(name(static_cast<Errc>(code)), "kUnknown") << code;
  }
}

}  // namespace
}  // namespace holdfast
