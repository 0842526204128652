// `holdfast stream bench` at its smallest: its subjects run, and a wrong answer is noticed.
#include <stdlib.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/stream/nexmark_events.hpp>
#include <holdfast/bench/stream/stream_suite.hpp>
#include <holdfast/bench/stream/window_loop.hpp>

namespace holdfast::bench::stream {
namespace {

StreamBenchOptions smallest() {
  StreamBenchOptions options;
  options.keys = 100;
  options.events_per_ms = 1;
  options.windows = 2;
  options.repeat = 1;
  options.seconds = 0.001;
  return options;
}

TEST(StreamBench, EverySubjectAnswersRight) {
  char path[] = "/dev/shm/holdfast_stream_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  ::setenv("XDG_CACHE_HOME", directory.c_str(), 1);
  auto options = smallest();
  options.states = {"floor", "dram", "dram-interpreted", "kv", "kv-interpreted"};
  options.region = directory + "/state?granularity=line";
  options.checkpoint_seconds = 0.001;
  const auto result = run_stream_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->document.rows.size(), 5u);
  for (const auto& row : result->document.rows) {
    // Without a compiler there are interpreted rows only.
    const bool not_compiled = row.invalid_reason().find("compiler") != std::string::npos;
    EXPECT_TRUE(row.valid() || not_compiled) << row.subject() << ": " << row.invalid_reason();
    if (row.subject() == "kv-interpreted") {
      EXPECT_GT(row.number("checkpoints"), 1);
    }
  }
  EXPECT_FALSE(std::filesystem::exists(directory + "/state")) << "it is removed";
  std::filesystem::remove_all(directory);
}

TEST(StreamBench, TheLoopsByHandAnswerNexmarkAsTheInterpreterDoes) {
  auto options = smallest();
  options.queries.clear();
  for (const auto* number : {"0", "1", "2", "3", "4", "5", "7", "8"})
    options.queries.push_back(std::string("nexmark-q") + number);
  options.events = 120'000;  // Twelve seconds: windows of ten end on the way.
  options.states = {"floor", "dram-interpreted"};
  const auto result = run_stream_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->document.rows.size(), 16u);
  for (const auto& row : result->document.rows)
    EXPECT_TRUE(row.valid()) << row.subject() << ": " << row.invalid_reason();
}

TEST(StreamBench, AWrongAnswerOfNexmarkIsNoticed) {
  Answer answer, other;
  answer.add(1, RecordText{"abc", 3});
  other.add(1, RecordText{"abcd", 4});
  EXPECT_FALSE(answer == other);
  answer.change(-1, 1, RecordText{"abc", 3});
  EXPECT_EQ(answer.text(), "0 rows, sums 0 0");
}

TEST(StreamBench, WrongOptionsAreRefusedByName) {
  const auto refused = [](auto change, const char* words) {
    auto options = smallest();
    change(options);
    const auto result = run_stream_bench(options);
    ASSERT_EQ(result.code(), Errc::kInvalidOption);
    EXPECT_NE(result.error().detail.find(words), std::string::npos) << result.error().detail;
  };
  refused([](auto& options) { options.queries = {"q5"}; }, "--query 'q5'");
  refused([](auto& options) { options.queries = {"nexmark-q23"}; }, "--query 'nexmark-q23'");
  refused([](auto& options) { options.events = 10; }, "--events '10'");
  refused([](auto& options) { options.states = {"rocksdb"}; }, "--state 'rocksdb'");
  refused([](auto& options) { options.region = "/dev/dax0.0"; }, "--region '/dev/dax0.0'");
  refused([](auto& options) { options.threads = 2; }, "--threads '2'");
  refused([](auto& options) { options.keys = 0; }, "--keys '0'");
}

// A table that forgets one event.
class Forgetful {
 public:
  explicit Forgetful(std::uint64_t keys) : sums_(keys) {}
  void add(std::int64_t sensor, std::int64_t value) {
    if (++events_ != 70'000) sums_[static_cast<std::size_t>(sensor)] += value;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < sums_.size(); ++i)
      visit(static_cast<std::int64_t>(i), sums_[i]);
  }
  void clear() { std::fill(sums_.begin(), sums_.end(), 0); }

 private:
  std::vector<std::int64_t> sums_;
  std::uint64_t events_ = 0;
};

TEST(StreamBench, AWrongSumIsNoticed) {
  const WindowSum query(100, 1, 2, 1);
  EventReader reader(query, [] { return false; });
  Forgetful table(100);
  std::vector<WindowAnswer> answers;
  sum_windows(reader, table, answers);
  const auto status = query.check(answers, 1);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().detail.find("window 1"), std::string::npos) << status.error().detail;
  answers.pop_back();
  EXPECT_NE(query.check(answers, 1).error().detail.find("1 windows; 2"), std::string::npos);
}

TEST(StreamBench, ASourceThatSeeksGivesTheRowsBehindItsPosition) {
  const WindowSum query(100, 1, 1, 1);
  unsigned rounds = 0;
  EventReader events(query, [&] { return ++rounds < 2; });
  EventSource source(events);
  sql::Row row(3), other(3);
  for (int i = 0; i < 60'500; ++i)
    ASSERT_TRUE(source.next(row).value());
  EventReader others(query, [] { return false; });
  EventSource again(others);
  ASSERT_TRUE(again.seek(source.position()));
  EXPECT_EQ(again.place(), "event 500 of round 2");
  ASSERT_TRUE(source.next(row).value() && again.next(other).value());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(static_cast<std::int64_t>(row[i].number), static_cast<std::int64_t>(other[i].number));
  EXPECT_FALSE(again.seek("short"));
}

}  // namespace
}  // namespace holdfast::bench::stream
