// What the benchmark says of scans: a right answer passes, each kind of wrong one is told.
#include <holdfast/bench/kv/scans.hpp>

#include <functional>
#include <map>

#include <gtest/gtest.h>

namespace holdfast::bench::kv {
namespace {

using Map = std::map<std::string, std::string>;  // char_traits<char> compares unsigned bytes.
constexpr std::uint64_t kCount = 1000;

// A store of records 0 … kCount - 1 whose scans `spoil` may change.
struct Session {
  explicit Session(const Records& records) {
    Buffers buffers(records, 1);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      buffers.make_record(0, i, 3);
      map[std::string(buffers.keys[0].view())] = std::string(buffers.values[0].view());
    }
  }
  bool scan(const Key& from, unsigned count, ScanAnswer& answer) {
    std::vector<std::pair<std::string, std::string>> found;
    auto at = map.lower_bound(std::string(from.view()));
    // One more than asked, so that one can be left out.
    for (; at != map.end() && found.size() <= count; ++at)
      found.emplace_back(*at);
    spoil(found);
    if (found.size() == count + 1) found.pop_back();
    for (const auto& [key, value] : found)
      answer(key, value);
    return true;
  }
  std::string error() const { return "none"; }

  Map map;
  std::function<void(std::vector<std::pair<std::string, std::string>>&)> spoil = [](auto&) {};
};
static_assert(ScansInOrder<Session>);

class Scans : public testing::TestWithParam<bool> {
 protected:
  // What is said of scans of 10 records from record 7 on.
  std::string verdict(Session& session, std::uint64_t newest = 3) {
    Buffers buffers(records_, 1);
    const auto& from = buffers.make_key(0, 7);
    ScanAnswer answer(records_);
    EXPECT_TRUE(session.scan(from, 10, answer));
    const char* what = answer.wrong(from, 10, greatest_rank(kCount), newest);
    return what != nullptr ? what : "right";
  }
  std::string check(Session& session) {
    const auto status = check_scans(session, records_, kCount, greatest_rank(kCount), 3);
    return status ? "right" : status.error().detail;
  }
  const Records records_{Shape{16, 200, GetParam()}};
};

TEST_P(Scans, ARightAnswerIsRight) {
  Session session(records_);
  EXPECT_EQ(verdict(session), "right");
  EXPECT_EQ(check(session), "right");
}

TEST_P(Scans, AScanFromTheGreatestKeyIsShortAndRight) {
  Session session(records_);
  Buffers buffers(records_, 1);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < kCount; ++i)
    if (rank_of(mix(i)) == greatest_rank(kCount)) last = i;
  ScanAnswer answer(records_);
  const auto& from = buffers.make_key(0, last);
  ASSERT_TRUE(session.scan(from, 10, answer));
  EXPECT_EQ(answer.count(), 1u);
  EXPECT_EQ(answer.wrong(from, 10, greatest_rank(kCount), 3), nullptr);
  EXPECT_EQ(answer.bytes(), records_.bytes(mix(last)));
}

TEST_P(Scans, WrongAnswersAreTold) {
  Session session(records_);
  const auto with = [&](auto spoil) {
    session.spoil = spoil;
    return verdict(session);
  };
  EXPECT_EQ(with([](auto& found) { found.clear(); }), "has no records or more than were asked for");
  EXPECT_EQ(with([](auto& found) { found.resize(200, found[0]); }),
            "has no records or more than were asked for");
  EXPECT_EQ(with([](auto& found) { found.resize(9); }), "ends too early");
  EXPECT_EQ(with([](auto& found) { found.erase(found.begin()); }),
            "does not begin with the key asked for");
  EXPECT_EQ(with([](auto& found) { std::swap(found[3], found[4]); }),
            "has keys that do not ascend");
  EXPECT_EQ(with([](auto& found) { found[4] = found[3]; }), "has keys that do not ascend");
  EXPECT_EQ(with([](auto& found) { std::swap(found[3].second, found[4].second); }),
            "has a record that was never written");
  EXPECT_EQ(with([](auto& found) { found[5].first.back() ^= 1; }),
            "has a record that was never written");
  EXPECT_EQ(with([](auto& found) { found[5].first.resize(4); }),
            "has a record that was never written");
  EXPECT_EQ(with([](auto& found) { found[5].second.resize(5000); }),
            "has no records or more than were asked for");
  session.spoil = [](auto&) {};
  EXPECT_EQ(verdict(session, 2), "has a record that was never written")
      << "a value from the future";
}

// A key in between that is left out shows only in the comparison with all keys.
TEST_P(Scans, AKeyThatIsLeftOutIsTold) {
  Session session(records_);
  session.spoil = [](auto& found) {
    if (found.size() > 3) found.erase(found.begin() + 2);
  };
  EXPECT_NE(check(session).find("has 100 of 101 records of its range"), std::string::npos)
      << check(session);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Scans, testing::Bool(), [](const auto& variable) {
  return variable.param ? "variable" : "fixed";
});

}  // namespace
}  // namespace holdfast::bench::kv
