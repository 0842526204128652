// The normal build contains nothing of a mutant: the macro leaves the plain expression.
#include <holdfast/base/mutant.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

#define TEXT_OF_INNER(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT_OF_INNER(__VA_ARGS__)

TEST(Mutant, IsThePlainExpressionInTheNormalBuild) {
  EXPECT_STREQ(TEXT_OF(HF_MUTANT("T01", a + f(b, c), no_such_name(a))), "(a + f(b, c))");
}

TEST(Mutant, KeepsTypeAndCategoryOfItsExpression) {
  int number = 1;
  HF_MUTANT("T01", number, other) = 2;
  EXPECT_EQ(number, 2);
  static_assert(HF_MUTANT("T01", 3, 4) == 3);
}

}  // namespace
}  // namespace holdfast
