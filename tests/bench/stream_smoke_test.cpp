// `holdfast stream bench` at its smallest: its subjects run, and a wrong answer is noticed.
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/bench/stream/nexmark_events.hpp>
#include <holdfast/bench/stream/query_state.hpp>
#include <holdfast/bench/stream/stream_suite.hpp>
#include <holdfast/bench/stream/window_loop.hpp>
#include <holdfast/peers/stream/stream_peers.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/workers/parallel_operators.hpp>

namespace holdfast::bench::stream {
namespace {

// The module of RocksDB lies beside the command, not beside this test.
[[maybe_unused]] const int kPeersAreThere =
    ::setenv("HOLDFAST_PEERS", HF_PEER_DIRECTORY, /*overwrite=*/0);

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
  options.states = {"floor",          "dram",    "dram-interpreted",   "kv",
                    "kv-interpreted", "rocksdb", "rocksdb-interpreted"};
  options.region = directory + "/state?granularity=line";
  options.checkpoint_seconds = 0.001;
  const auto result = run_stream_bench(options, *stream_peers());
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->document.rows.size(), 7u);
  for (const auto& row : result->document.rows) {
    const auto& reason = row.invalid_reason();
    // Without a compiler there are interpreted rows only, without the library none of RocksDB.
    const bool missing = reason.find("compiler") != std::string::npos ||
                         reason.find("install librocksdb-dev") != std::string::npos;
    EXPECT_TRUE(row.valid() || missing) << row.subject() << ": " << reason;
    const bool kept = row.subject() == "kv-interpreted" || row.subject() == "rocksdb-interpreted";
    if (row.valid() && kept) {
      EXPECT_GT(row.number("checkpoints"), 1) << row.subject();
    }
  }
  EXPECT_FALSE(std::filesystem::exists(directory + "/state")) << "it is removed";
  std::filesystem::remove_all(directory);
}

TEST(StreamBench, TwoWorkersAnswerAsOneAndAQueryThatCannotBeSplitSaysSo) {
  auto options = smallest();
  options.queries = {"window-sum", "nexmark-q3"};
  options.events = 20'000;
  char path[] = "/dev/shm/holdfast_stream_XXXXXX";
  const std::string directory = ::mkdtemp(path);
  ::setenv("XDG_CACHE_HOME", directory.c_str(), 1);
  options.states = {"floor", "dram", "dram-interpreted", "kv-interpreted"};
  options.region = "dram";
  options.threads = {1, 2};
  const auto result = run_stream_bench(options, *stream_peers());
  ASSERT_TRUE(result) << result.error().message();
  const auto& document = result->document;
  const auto rows = [&](const char* query, std::uint64_t threads) {
    return std::count_if(document.rows.begin(), document.rows.end(), [&](const auto& row) {
      const bool not_compiled = row.invalid_reason().find("compiler") != std::string::npos;
      EXPECT_TRUE(row.valid() || not_compiled) << row.subject() << ": " << row.invalid_reason();
      return row.operation() == query && row.threads() == threads;
    });
  };
  EXPECT_EQ(rows("window-sum", 1), 4);
  EXPECT_EQ(rows("window-sum", 2), 3) << "a loop by hand has one thread";
  EXPECT_EQ(rows("nexmark-q3", 1), 4);
  EXPECT_EQ(rows("nexmark-q3", 2), 0);
  EXPECT_EQ(std::count(document.warnings.begin(), document.warnings.end(),
                       "nexmark-q3, dram-interpreted: one worker only: it is more than one chain "
                       "of conditions and one group"),
            1);
  std::filesystem::remove_all(directory);
}

// Records that workers read beside one another, in the middle of a round, with each way of sharing.
TEST(StreamBench, CompiledWorkersTakeRecordsOfOneSource) {
  const WindowSum query(1'000, 2, 2, 1);
  const auto script = holdfast::stream::Script::prepare(WindowSum::sql());
  const auto& plan = script->plans().front();
  QueryCode code(plan, /*stored=*/false);
  const auto loaded = code.load();
  if (loaded.code() == Errc::kNotFound) GTEST_SKIP() << loaded.error().detail;
  ASSERT_TRUE(loaded) << loaded.error().detail;
  for (const auto sharing :
       {holdfast::stream::Sharing::kLateMerge, holdfast::stream::Sharing::kByKey}) {
    EventReader reader(query, [rounds = 0]() mutable { return ++rounds < 5; });
    std::vector<WindowAnswer> answers;
    auto sink = std::make_unique<AnswerSink>(answers);
    auto interpreter =
        std::make_unique<holdfast::stream::InterpretedOperators>(plan, *sink, nullptr);
    holdfast::stream::Pipeline pipeline(plan, std::make_unique<EventSource>(reader),
                                        std::move(sink), nullptr, std::move(interpreter));
    ASSERT_TRUE(pipeline.resume());
    pipeline.set_successor(holdfast::stream::parallel_successor(code.successor(), 2, sharing));
    ASSERT_TRUE(pipeline.run(std::chrono::milliseconds(0), std::atomic<bool>(false)));
    EXPECT_TRUE(pipeline.report().taken_over);
    const auto status = query.check(answers, 5);
    EXPECT_TRUE(status) << status.error().detail;
  }
}

TEST(StreamBench, TheLoopsByHandAnswerNexmarkAsTheInterpreterDoes) {
  auto options = smallest();
  options.queries.clear();
  for (const auto* number : {"0", "1", "2", "3", "4", "5", "7", "8"})
    options.queries.push_back(std::string("nexmark-q") + number);
  options.events = 120'000;  // Twelve seconds: windows of ten end on the way.
  options.states = {"floor", "dram-interpreted"};
  const auto result = run_stream_bench(options, *stream_peers());
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
    const auto result = run_stream_bench(options, *stream_peers());
    ASSERT_EQ(result.code(), Errc::kInvalidOption);
    EXPECT_NE(result.error().detail.find(words), std::string::npos) << result.error().detail;
  };
  refused([](auto& options) { options.queries = {"q5"}; }, "--query 'q5'");
  refused([](auto& options) { options.queries = {"nexmark-q23"}; }, "--query 'nexmark-q23'");
  refused([](auto& options) { options.events = 10; }, "--events '10'");
  refused([](auto& options) { options.states = {"forst"}; }, "--state 'forst'");
  refused([](auto& options) { options.states = {"rocksdb"}, options.region = "dram"; },
          "--region 'dram': RocksDB wants a path");
  refused([](auto& options) { options.region = "/dev/dax0.0"; }, "--region '/dev/dax0.0'");
  refused([](auto& options) { options.threads = {1, 257}; }, "--threads '257'");
  refused([](auto& options) { options.threads = {2, 2}; }, "--threads '2'");
  refused([](auto& options) { options.compare = {"oracle"}; }, "--compare 'oracle'");
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

// Claims of any size, between rows and blocks that are read, hold the events that a source without
// claims gives.
TEST(StreamBench, ClaimsGoOnWhereRowsAndBlocksEndedAndStopWithTheRound) {
  const WindowSum query(100, 1, 1, 1);
  const auto all = [&] {
    EventReader events(query, [rounds = 0]() mutable { return ++rounds < 2; });
    std::vector<Event> rows;
    for (auto block = events.next(); !block.empty(); block = events.next())
      rows.insert(rows.end(), block.begin(), block.end());
    return rows;
  }();
  ASSERT_EQ(all.size(), 120'000u);

  EventReader events(query, [rounds = 0]() mutable { return ++rounds < 2; });
  EventSource source(events);
  std::vector<Event> taken;
  sql::Row row(3);
  for (std::size_t turn = 0; taken.size() < all.size(); ++turn) {
    if (turn % 3 == 0) {
      ASSERT_TRUE(source.next(row).value());
      taken.push_back({0, static_cast<std::int64_t>(row[0].number),
                       static_cast<std::int64_t>(row[1].number),
                       static_cast<std::int64_t>(row[2].number)});
    } else if (turn % 3 == 1) {
      const auto block = events.next(turn % 7);
      taken.insert(taken.end(), block.begin(), block.end());
    } else {
      const auto before = source.position();
      const auto claim = source.claim(1 + turn * 37 % 3000);
      taken.resize(taken.size() + claim.count);
      source.read(claim, reinterpret_cast<std::byte*>(taken.data() + taken.size() - claim.count));
      const auto behind = source.place();
      ASSERT_TRUE(source.seek(before));
      EXPECT_EQ(source.claim(claim.count).first, claim.first);
      EXPECT_EQ(source.place(), behind);
    }
  }
  EXPECT_EQ(source.claim(10).count, 0u);
  ASSERT_EQ(taken.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(taken[i].ts == all[i].ts && taken[i].sensor == all[i].sensor &&
                taken[i].value == all[i].value)
        << "event " << i;
  }
}

}  // namespace
}  // namespace holdfast::bench::stream
