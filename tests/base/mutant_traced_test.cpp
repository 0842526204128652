// In the traced build the environment switches one mutant on, and the ids reached are noted.
#include <holdfast/base/mutant.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace holdfast {
namespace {

int plain_or_mutated(int& plain, int& mutated) {
  HF_MUTANT("T01", ++plain, ++mutated);
  return HF_MUTANT("T02", plain, mutated);
}

// In a process of its own: the environment is read once.
int outcome(const char* on, const std::string& reached) {
  ::setenv("HOLDFAST_MUTANT", on, 1);
  ::setenv("HOLDFAST_MUTANTS_OUT", reached.c_str(), 1);
  int plain = 0, mutated = 10;
  plain_or_mutated(plain, mutated);
  return plain_or_mutated(plain, mutated) + 20 * plain;
}

class Mutants : public testing::Test {
 protected:
  ~Mutants() override { std::remove(reached_.c_str()); }
  std::string reached_ = testing::TempDir() + "/holdfast-mutants-" + std::to_string(::getpid());
};

TEST_F(Mutants, AreOffUnlessNamed) {
  EXPECT_EXIT(std::exit(outcome("T03", reached_)), testing::ExitedWithCode(42), "");
}

TEST_F(Mutants, AreOnWhereverTheirIdStands) {
  EXPECT_EXIT(std::exit(outcome("T01", reached_)), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(outcome("T02", reached_)), testing::ExitedWithCode(50), "");
}

TEST_F(Mutants, AreNotedWhenReached) {
  EXPECT_EXIT(std::exit(outcome("", reached_)), testing::ExitedWithCode(42), "");
  std::ifstream file(reached_);
  std::multiset<std::string> ids;
  for (std::string id; file >> id;)
    ids.insert(id);
  EXPECT_EQ(ids, (std::multiset<std::string>{"T01", "T02"}));
}

}  // namespace
}  // namespace holdfast
