#include <holdfast/bench/engine/samples.hpp>
#include <holdfast/bench/runner.hpp>

#include <cmath>
#include <mutex>

#include <gtest/gtest.h>

namespace holdfast::bench {
namespace {

// Keeps a diary instead of records.
struct Diary {
  std::mutex mutex;
  std::vector<std::string> lines;
  unsigned alive = 0, alive_most = 0;
  void note(const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  }
};

struct Behaviour {
  bool wrong_answers = false;
  std::string fail_at;  // "create", "prefill", "run", "after", "extras".
  bool interrupts = false;
};

class FakeSubject final : public Subject {
 public:
  FakeSubject(Diary& diary, std::string name, Behaviour behaviour)
      : diary_(diary), name_(std::move(name)), behaviour_(behaviour) {}

  Status create() override {
    diary_.note(name_ + " create");
    diary_.alive_most = std::max(diary_.alive_most, ++diary_.alive);
    return outcome("create");
  }
  Status prefill() override { return outcome("prefill"); }
  bool supports(const std::string& operation) const override { return operation != "impossible"; }
  std::uint64_t operations_bound(const std::string&) const override { return 100; }
  Status run(PhaseThread& thread) override {
    HF_RETURN_IF_ERROR(outcome("run"));
    thread.begin();
    std::uint64_t done = 0;
    while (thread.more(done)) {
      ++done;
      if (thread.phase().latency) thread.latency.record(done);
      ++persist_counts().fences;
    }
    thread.end();
    thread.operations = done;
    thread.bytes = done * 8;
    if (behaviour_.wrong_answers) thread.wrong("record 7 has a value that was never written");
    if (behaviour_.interrupts) interrupted().store(true);
    return {};
  }
  Status after(const Phase& phase) override {
    diary_.note(name_ + " " + phase.operation + (phase.latency ? " latency" : ""));
    return outcome("after");
  }
  bool counts_persists() const override { return true; }
  results::Fields facts() const override {
    results::Fields facts;
    facts.set("key_bytes", 16);
    facts.set("dram_bytes_per_record", 10.0 * static_cast<double>(++lives_));
    return facts;
  }
  Result<std::vector<ExtraSample>> extras() override {
    HF_RETURN_IF_ERROR(outcome("extras"));
    ExtraSample sample;
    sample.operation = "open";
    sample.seconds = 0.5;
    return std::vector<ExtraSample>{sample};
  }
  void destroy() override {
    if (diary_.alive > 0) --diary_.alive;
    diary_.note(name_ + " destroy");
  }

  static inline std::atomic<unsigned> lives_ = 0;

 private:
  Status outcome(const std::string& where) const {
    return behaviour_.fail_at == where ? Status(Error{Errc::kIo, where + " failed"}) : Status();
  }
  Diary& diary_;
  const std::string name_;
  const Behaviour behaviour_;
};

class Runner : public testing::Test {
 protected:
  Runner() { interrupted().store(false), FakeSubject::lives_ = 0; }
  ~Runner() override { interrupted().store(false); }

  SubjectEntry subject(const std::string& name, Behaviour behaviour = {}) {
    return {name,
            [this, name, behaviour](unsigned) {
              return std::make_unique<FakeSubject>(diary_, name, behaviour);
            },
            {}};
  }
  Plan plan(std::vector<SubjectEntry> subjects) {
    Plan plan;
    plan.subjects = std::move(subjects);
    plan.operations = {{"get", {}}, {"put", {}}};
    plan.repetitions = 3;
    plan.latency = false;
    plan.baseline = "a";
    return plan;
  }
  static const results::Row* find(const Outcome& outcome, const std::string& subject,
                                  const std::string& operation, unsigned threads = 1) {
    for (const auto& row : outcome.rows) {
      if (row.subject() == subject && row.operation() == operation && row.threads() == threads)
        return &row;
    }
    return nullptr;
  }
  Diary diary_;
};

TEST_F(Runner, RotationMovesEachSubjectThroughEachPlace) {
  EXPECT_EQ(rotated(3, 0), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(rotated(3, 1), (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_EQ(rotated(3, 5), (std::vector<std::size_t>{2, 0, 1}));
  EXPECT_TRUE(rotated(0, 1).empty());
}

TEST_F(Runner, SubjectsLiveOneAtATimeInRotatedOrder) {
  const auto outcome = run(plan({subject("a"), subject("b")}));
  EXPECT_EQ(diary_.alive_most, 1u);
  std::vector<std::string> created;
  for (const auto& line : diary_.lines) {
    if (line.ends_with(" create")) created.push_back(line.substr(0, 1));
  }
  EXPECT_EQ(created, (std::vector<std::string>{"a", "b", "b", "a", "a", "b"}));
  EXPECT_TRUE(outcome.trustworthy);
}

TEST_F(Runner, ARowHasItsRepetitionsRatesFactsAndRatio) {
  const auto outcome = run(plan({subject("a"), subject("b")}));
  const auto* row = find(outcome, "b", "get");
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->valid()) << row->invalid_reason();
  EXPECT_EQ(row->number("repetitions"), 3);
  EXPECT_EQ(row->numbers("ops_per_s_samples").size(), 3u);
  EXPECT_GT(row->number("ops_per_s_median"), 0);
  EXPECT_LE(row->number("ops_per_s_low"), row->number("ops_per_s_median"));
  EXPECT_GE(row->number("ops_per_s_high"), row->number("ops_per_s_median"));
  EXPECT_DOUBLE_EQ(row->number("ns_per_op_median"), 1e9 / row->number("ops_per_s_median"));
  EXPECT_EQ(row->number("key_bytes"), 16);
  EXPECT_EQ(row->number("fences_per_op"), 1);
  EXPECT_GT(row->number("bytes_per_s_median"), 0);
  EXPECT_GT(row->number("time_x_a_median"), 0);
  EXPECT_TRUE(std::isnan(find(outcome, "a", "get")->number("time_x_a_median")));
}

TEST_F(Runner, FactsThatVaryAreGivenAsTheirMedian) {
  const auto outcome = run(plan({subject("a")}));
  EXPECT_EQ(find(outcome, "a", "get")->number("dram_bytes_per_record"), 20);  // 10, 20, 30.
}

TEST_F(Runner, ThreadsShareTheOperationsOfAPhase) {
  auto with_threads = plan({subject("a")});
  with_threads.threads = {1, 4};
  const auto outcome = run(with_threads);
  const auto* row = find(outcome, "a", "put", 4);
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->valid()) << row->invalid_reason();
  EXPECT_NEAR(row->number("ns_per_op_median"), 4e9 / row->number("ops_per_s_median"), 1e-6);
}

TEST_F(Runner, WrongAnswersMakeARowInvalidAndTheOutcomeUntrustworthy) {
  const auto outcome =
      run(plan({subject("a"), subject("b", {.wrong_answers = true, .fail_at = {}})}));
  EXPECT_FALSE(outcome.trustworthy);
  EXPECT_TRUE(find(outcome, "a", "get")->valid());
  const auto* row = find(outcome, "b", "get");
  EXPECT_FALSE(row->valid());
  EXPECT_NE(row->invalid_reason().find("record 7 has a value that was never written"),
            std::string::npos);
  EXPECT_EQ(row->number("repetitions"), 0);
}

TEST_F(Runner, AFailureAnywhereInvalidatesWithItsReasonAndDestroysTheSubject) {
  for (const std::string where : {"create", "prefill", "run", "after"}) {
    diary_.lines.clear();
    const auto outcome = run(plan({subject("a", {.fail_at = where})}));
    ASSERT_NE(find(outcome, "a", "put"), nullptr) << where;
    EXPECT_NE(find(outcome, "a", "put")->invalid_reason().find(where + " failed"),
              std::string::npos)
        << where;
    EXPECT_EQ(diary_.lines.back(), "a destroy") << where;
    EXPECT_FALSE(outcome.trustworthy);
  }
  const auto outcome = run(plan({subject("a", {.fail_at = "extras"})}));
  EXPECT_TRUE(find(outcome, "a", "put")->valid());
  EXPECT_FALSE(find(outcome, "a", "extras")->valid());
}

TEST_F(Runner, ASubjectThatIsNotBuiltHasRowsThatSaySo) {
  const auto outcome = run(plan({subject("a"), {"rocksdb", {}, "librocksdb-dev was not found"}}));
  EXPECT_EQ(find(outcome, "rocksdb", "get")->invalid_reason(),
            "not built: librocksdb-dev was not found");
  EXPECT_FALSE(outcome.trustworthy);
}

TEST_F(Runner, AnOperationASubjectCannotHaveIsNoRow) {
  auto impossible = plan({subject("a")});
  impossible.operations.push_back({"impossible", {}});
  const auto outcome = run(impossible);
  EXPECT_EQ(find(outcome, "a", "impossible"), nullptr);
  EXPECT_TRUE(outcome.trustworthy);
}

TEST_F(Runner, LatenciesComeFromAPassOfTheirOwnInTheFirstRepetition) {
  auto with_latency = plan({subject("a")});
  with_latency.latency = true;
  const auto outcome = run(with_latency);
  EXPECT_EQ(std::count(diary_.lines.begin(), diary_.lines.end(), "a get latency"), 1);
  EXPECT_EQ(std::count(diary_.lines.begin(), diary_.lines.end(), "a get"), 3);
  const auto* row = find(outcome, "a", "get");
  EXPECT_EQ(row->number("p50_ns"), 50);
  EXPECT_EQ(row->number("max_ns"), 100);
}

TEST_F(Runner, ExtrasBecomeRowsOfTheirOwn) {
  const auto outcome = run(plan({subject("a")}));
  const auto* row = find(outcome, "a", "open");
  ASSERT_NE(row, nullptr);
  EXPECT_NEAR(row->number("ns_per_op_median"), 5e8, 1);
  EXPECT_EQ(row->number("repetitions"), 3);
}

TEST_F(Runner, AnInterruptDestroysTheSubjectAndKeepsWhatIsComplete) {
  const auto outcome = run(plan({subject("a", {.fail_at = {}, .interrupts = true}), subject("b")}));
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(diary_.lines.back(), "a destroy");
  EXPECT_EQ(find(outcome, "b", "get"), nullptr);
}

// BEN-10: nothing said how long a comparison takes.
TEST(Ahead, IsAllPhasesOfAllSubjectsThatAreBuilt) {
  Plan plan;
  plan.subjects = {{"one", [](unsigned) { return nullptr; }, ""}, {"none", {}, "not installed"}};
  plan.operations = {{"get", {}}, {"put", {4}}};
  plan.threads = {1, 2};
  plan.repetitions = 5;
  plan.seconds = 3;
  plan.latency_seconds = 0.5;
  // Get on one and two threads, put on four: each five times, and once more for its latencies.
  EXPECT_DOUBLE_EQ(seconds_at_most(plan), 3 * (5 * 3 + 0.5));
  plan.latency = false;
  EXPECT_DOUBLE_EQ(seconds_at_most(plan), 3 * 5 * 3);
  testing::internal::CaptureStderr();
  announce({&plan, 1});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "1 comparison, at most 45 s in phases; filling and checks come on top\n");
}

}  // namespace
}  // namespace holdfast::bench
