// Several workers give what one gives, row for row: with late rows, rows exactly on the watermark,
// both ways to share rows out, checkpoints between any two rounds, and rows that fail.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/base/random.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/workers/cpu_demand.hpp>
#include <holdfast/stream/workers/parallel_operators.hpp>
#include <holdfast/stream/workers/worker_places.hpp>

namespace holdfast::stream {
namespace {

using std::chrono::milliseconds;

std::string query(const std::string& windows) {
  return "CREATE TABLE events (ts TIMESTAMP(3), k BIGINT, v BIGINT, WATERMARK FOR ts AS ts - "
         "INTERVAL '1' SECOND) WITH ('connector' = 'memory');\n"
         "SELECT window_end, k, COUNT(*), SUM(100 / v) FROM TABLE(" +
         windows + ") GROUP BY window_start, window_end, k";
}
const std::string kTumble = "TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '2' SECOND)";
const std::string kHop =
    "HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '5' SECOND)";

std::vector<sql::Row> random_rows(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<sql::Row> rows;
  std::int64_t now = 1'000'000, newest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    now += static_cast<std::int64_t>(random.below(8));
    std::int64_t ms =
        now - static_cast<std::int64_t>(random.below(random.below(10) == 0 ? 9'000 : 900));
    if (random.below(20) == 0) ms = newest - 1'000 + static_cast<std::int64_t>(random.below(3)) - 1;
    newest = std::max(newest, ms);
    rows.push_back({random.below(50) == 0 ? sql::Value() : sql::Value::of(ms),
                    sql::Value::of(static_cast<std::int64_t>(random.below(30))),
                    sql::Value::of(static_cast<std::int64_t>(1 + random.below(50)))});
  }
  return rows;
}

class VectorSource final : public Source {
 public:
  explicit VectorSource(const std::vector<sql::Row>& rows) : rows_(rows) {}
  Result<bool> next(sql::Row& row) override {
    if (at_ == rows_.size()) return false;
    row = rows_[at_++];
    return true;
  }
  std::size_t at() const { return at_; }
  std::string position() const override { return std::to_string(at_); }
  Status seek(std::string_view position) override {
    at_ = std::stoul(std::string(position));
    return {};
  }
  std::string place() const override { return "row " + std::to_string(at_); }

 private:
  const std::vector<sql::Row>& rows_;
  std::size_t at_ = 0;
};

class VectorSink final : public Sink {
 public:
  VectorSink(std::vector<std::string>& rows, bool full) : rows_(rows), full_(full) {}
  Status begin(std::uint64_t, std::string_view) override { return {}; }
  Status write(const sql::Row& row) override {
    std::string text;
    for (const auto& value : row)
      text += std::to_string(static_cast<std::int64_t>(value.number)) + " ";
    rows_.push_back(std::move(text));
    return {};
  }
  Status prepare(std::uint64_t) override { return {}; }
  Status commit(std::uint64_t) override { return {}; }
  bool full() const override { return full_; }

 private:
  std::vector<std::string>& rows_;
  const bool full_;
};

// A store in memory; a sink that is full wants a checkpoint behind each round. Keeping: as KvStateStore, in which an entry is a delta.
class MemoryStore final : public StateStore {
 public:
  // `room`: bytes of state that may be in memory; 0: as many as there are.
  explicit MemoryStore(bool keeps, std::uint64_t room = 0) : keeps_(keeps), room_(room) {}
  Result<std::optional<Checkpoint>> open() override { return last_; }
  Result<std::vector<std::int64_t>> slices() override {
    std::vector<std::int64_t> slices;
    for (const auto& [slice, entries] : entries_)
      slices.push_back(slice);
    return slices;
  }
  Status for_each(std::int64_t slice, Visit visit) override {
    for (const auto& [key, state] : entries_[slice])
      HF_RETURN_IF_ERROR(visit(key, state));
    return {};
  }
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override {
    auto& entries = (keeps_ ? entries_ : next_)[slice];
    EXPECT_TRUE(seen_.emplace(std::to_string(slice) + std::string(key), 0).second)
        << "a key twice in a checkpoint: in a store that keeps entries one would go";
    entries.emplace_back(key, state);
    return {};
  }
  Status put_copy(std::int64_t, std::string_view, std::string_view, std::uint64_t) override {
    return {};
  }
  Status replace(std::int64_t, std::string_view, std::string_view, std::uint64_t&) override {
    return {};
  }
  Status for_each_version(std::int64_t, VisitVersion) override { return {}; }
  void remove_version(std::int64_t, std::string_view, std::uint64_t) override {}
  void drop(std::int64_t slice) override { entries_.erase(slice); }
  Status complete(const Checkpoint& checkpoint) override {
    if (!keeps_) entries_ = std::exchange(next_, {});
    seen_.clear();
    last_ = checkpoint;
    return {};
  }
  bool keeps_entries() const override { return keeps_; }
  bool takes_blocks(std::uint64_t& memory_bytes) const override {
    memory_bytes = room_;
    return room_ != 0;
  }
  std::uint64_t room() const { return room_; }

 private:
  using Entries = std::map<std::int64_t, std::vector<std::pair<std::string, std::string>>>;
  const bool keeps_;
  const std::uint64_t room_;
  Entries entries_, next_;
  std::map<std::string, int> seen_;
  std::optional<Checkpoint> last_;
};

struct Outcome {
  std::vector<std::string> rows;
  std::uint64_t late = 0, without_time = 0, checkpoints = 0;
  std::string error;
  bool operator==(const Outcome& other) const {
    return rows == other.rows && late == other.late && without_time == other.without_time &&
           error == other.error;
  }
};

Outcome run(const Script& script, const std::vector<sql::Row>& rows, unsigned workers,
            Sharing sharing, MemoryStore* store = nullptr,
            milliseconds round = ParallelOperators::kRound) {
  Outcome outcome;
  const auto& plan = script.plans().front();
  auto sink = std::make_unique<VectorSink>(outcome.rows, store != nullptr && store->room() == 0);
  auto interpreter = std::make_unique<InterpretedOperators>(plan, *sink, store);
  std::unique_ptr<Operators> operators = std::move(interpreter);
  if (workers > 1) {
    std::unique_ptr<MergingOperators> merging(static_cast<MergingOperators*>(operators.release()));
    operators =
        ParallelOperators::start(std::move(merging), workers, sharing, round, {.measured = false})
            .value();
  }
  Pipeline pipeline(plan, std::make_unique<VectorSource>(rows), std::move(sink), store,
                    std::move(operators));
  pipeline.resume(store == nullptr ? std::nullopt : store->open().value()).value();
  const std::atomic<bool> stop{false};
  const Status status = pipeline.run(milliseconds(0), stop);
  if (!status) outcome.error = status.error().detail;
  outcome.late = pipeline.report().late_rows;
  outcome.without_time = pipeline.report().rows_without_time;
  outcome.checkpoints = pipeline.report().checkpoints;
  return outcome;
}

TEST(ParallelOperators, SeveralWorkersGiveWhatOneGives) {
  for (const auto& windows : {kTumble, kHop}) {
    const auto script = Script::prepare(query(windows)).value();
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto rows = random_rows(seed, 20'000);
      const auto one = run(script, rows, 1, Sharing::kLateMerge);
      EXPECT_GT(one.rows.size(), 500u);
      EXPECT_GT(one.late, 100u);
      EXPECT_GT(one.without_time, 100u);
      for (const unsigned workers : {2u, 4u}) {
        for (const auto sharing : {Sharing::kLateMerge, Sharing::kByKey, Sharing::kMeasured})
          EXPECT_EQ(run(script, rows, workers, sharing), one)
              << windows << " seed=" << seed << " workers=" << workers;
      }
    }
  }
}

// State was in memory until the next checkpoint, however much came before it: a process with a limit of
// 256 MiB was killed, though its state was to have a quarter.
TEST(ParallelOperators, ACheckpointComesEarlyWhereStateHasNoRoom) {
  const auto script = Script::prepare(query(kTumble)).value();
  const auto rows = random_rows(7, 20'000);
  const auto one = run(script, rows, 1, Sharing::kLateMerge);
  MemoryStore roomy(true, GiB), narrow(true, 1);
  const auto with_room = run(script, rows, 1, Sharing::kLateMerge, &roomy);
  const auto without = run(script, rows, 1, Sharing::kLateMerge, &narrow);
  EXPECT_EQ(with_room, one);
  EXPECT_EQ(without, one);
  EXPECT_LE(with_room.checkpoints, 2u);  // At either end.
  EXPECT_GT(without.checkpoints, with_room.checkpoints);
}

TEST(ParallelOperators, CheckpointsHaveEachGroupOnce) {
  const auto script = Script::prepare(query(kHop)).value();
  const auto rows = random_rows(7, 60'000);
  const auto one = run(script, rows, 1, Sharing::kLateMerge);
  for (const bool keeps : {false, true}) {
    for (const auto sharing : {Sharing::kLateMerge, Sharing::kByKey}) {
      // Behind each batch; and behind as many as come in a millisecond.
      for (const int round : {0, 1}) {
        MemoryStore store(keeps);
        const auto several = run(script, rows, 3, sharing, &store, milliseconds(round));
        EXPECT_EQ(several, one) << "round=" << round;
        if (round == 0) {
          EXPECT_GT(several.checkpoints, rows.size() / 256);
        }
      }
    }
  }
}

TEST(ParallelOperators, TheFirstRowThatFailsIsNamed) {
  const auto script = Script::prepare(query(kTumble)).value();
  auto rows = random_rows(9, 20'000);
  for (const std::size_t bad : {19'000u, 7'001u, 7'002u, 15'000u})
    rows[bad] = {sql::Value::of(20'000'000), sql::Value::of(1), sql::Value::of(0)};
  const auto one = run(script, rows, 1, Sharing::kLateMerge);
  EXPECT_NE(one.error.find("(at row 7002)"), std::string::npos) << one.error;
  for (const auto sharing : {Sharing::kLateMerge, Sharing::kByKey})
    EXPECT_EQ(run(script, rows, 4, sharing).error, one.error);
}

// Has no rows at some places until its workers are fewer, or more: it sleeps, or takes all of a CPU.
class ChangingSource final : public Source {
 public:
  ChangingSource(const std::vector<sql::Row>& rows, const Operators& operators)
      : rows_(rows), operators_(operators) {}
  Result<bool> next(sql::Row& row) override {
    pausing_ = must_pause();
    return pausing_ ? Result<bool>(false) : rows_.next(row);
  }
  bool ended() const override { return !pausing_; }
  std::string position() const override { return rows_.position(); }
  Status seek(std::string_view position) override { return rows_.seek(position); }
  std::string place() const override { return rows_.place(); }
  unsigned turns() const { return turns_; }

 private:
  bool must_pause() {
    if (rows_.at() < (turns_ + 1) * 4'000) return false;
    const bool fewer = turns_ % 2 == 0;
    if (fewer == (operators_.workers() == 1)) {
      ++turns_;
      return false;
    }
    if (std::chrono::steady_clock::now() > patient_until_) return false;
    const auto until = std::chrono::steady_clock::now() + milliseconds(5);
    if (fewer) std::this_thread::sleep_until(until);
    while (std::chrono::steady_clock::now() < until) {
    }
    return true;
  }

  VectorSource rows_;
  const Operators& operators_;
  const std::chrono::steady_clock::time_point patient_until_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool pausing_ = false;
  unsigned turns_ = 0;
};

TEST(ParallelOperators, WorkersRestWhereThereIsLittleToDoAndComeBack) {
  const auto script = Script::prepare(query(kHop)).value();
  const auto rows = random_rows(11, 20'000);
  const auto one = run(script, rows, 1, Sharing::kLateMerge);
  for (const bool stores : {false, true}) {
    for (const auto sharing : {Sharing::kLateMerge, Sharing::kByKey}) {
      std::vector<std::string> shown;
      MemoryStore store(true);
      StateStore* const state = stores ? &store : nullptr;
      auto sink = std::make_unique<VectorSink>(shown, stores);
      const auto& plan = script.plans().front();
      auto parallel = ParallelOperators::start(
                          std::make_unique<InterpretedOperators>(plan, *sink, state), 3, sharing,
                          milliseconds(1), {.look_seconds = 0.01, .keep_seconds = 0})
                          .value();
      auto source = std::make_unique<ChangingSource>(rows, *parallel);
      const auto& turns = *source;
      Pipeline pipeline(plan, std::move(source), std::move(sink), state, std::move(parallel));
      const std::atomic<bool> stop{false};
      pipeline.resume(stores ? store.open().value() : std::nullopt).value();
      pipeline.run(milliseconds(0), stop).value();
      EXPECT_EQ(shown, one.rows);
      EXPECT_EQ(pipeline.report().late_rows, one.late);
      EXPECT_EQ(turns.turns(), 5u) << "to one, to several, to one, to several, to one";
    }
  }
}

void note_rounds(ActiveWorkers& active, double seconds, double rows_per_second, double busy) {
  for (double done = 0; done < seconds; done += 0.125)
    active.note(static_cast<std::uint64_t>(rows_per_second / 8), 0.125, busy);
}
constexpr double kLook = 0.25;  // Two of these rounds.

TEST(ActiveWorkers, RestWhereOthersHaveTimeForTheirRows) {
  ActiveWorkers active(8, 8);
  note_rounds(active, 1, 1'000, 7.9);
  EXPECT_EQ(active.number(), 8u);
  note_rounds(active, 4 * kLook, 1'000, 2.2);
  EXPECT_EQ(active.number(), 8u) << "not yet";
  note_rounds(active, kLook, 1'000, 2.7);
  EXPECT_EQ(active.number(), 4u);
  note_rounds(active, 20 * kLook, 900, 2.7);
  EXPECT_EQ(active.number(), 4u) << "three would have 0.9 each";
  note_rounds(active, 6 * kLook, 0, 0);
  EXPECT_EQ(active.number(), 1u);
}

// One merges groups while the others wait: that is no reason to do the rest with fewer.
TEST(ActiveWorkers, DoNotRestForAMoment) {
  ActiveWorkers active(8, 8);
  for (int i = 0; i < 20; ++i) {
    note_rounds(active, 4 * kLook, 1'000, 1);
    ASSERT_EQ(active.number(), 8u);
    note_rounds(active, kLook, 1'000, 6);
  }
}

// They wait for a disk, all at once: with fewer there is less of that.
TEST(ActiveWorkers, DoNotRestWhereRowsComeSlowerThen) {
  ActiveWorkers active(2, 2);
  note_rounds(active, 5 * kLook, 1'000, 0.4);
  EXPECT_EQ(active.number(), 1u) << "a trial";
  note_rounds(active, kLook, 700, 0.3);
  EXPECT_EQ(active.number(), 2u);
  note_rounds(active, 59, 1'000, 0.4);
  EXPECT_EQ(active.number(), 2u);
  note_rounds(active, 6 * kLook, 1'000, 0.4);
  EXPECT_EQ(active.number(), 1u) << "anew";
}

TEST(ActiveWorkers, ComeBackWhereTheOthersHaveNoRest) {
  ActiveWorkers active(8, 8);
  note_rounds(active, 6 * kLook, 0, 0);
  ASSERT_EQ(active.number(), 1u);
  note_rounds(active, kLook, 1'000, 1);
  EXPECT_EQ(active.number(), 2u);
  note_rounds(active, kLook, 1'900, 2);
  EXPECT_EQ(active.number(), 2u) << "kept: faster";
  note_rounds(active, kLook, 1'900, 2);
  EXPECT_EQ(active.number(), 4u);
  note_rounds(active, kLook, 1'900, 3);
  EXPECT_EQ(active.number(), 4u) << "kept: with some rest";
  note_rounds(active, kLook, 1'900, 4);
  EXPECT_EQ(active.number(), 8u);
  note_rounds(active, kLook, 1'400, 6);
  EXPECT_EQ(active.number(), 4u) << "with some rest, but slower: they wait for one another";
}

TEST(ActiveWorkers, ThoseThatShareACoreAreKeptOnlyIfTheyAreWorthIt) {
  for (const bool worth : {false, true}) {
    ActiveWorkers active(4, 2);
    note_rounds(active, 4 * kLook, 1'000, 4);
    EXPECT_EQ(active.number(), 2u) << "a trial";
    note_rounds(active, kLook, worth ? 900 : 1'000, 2);
    EXPECT_EQ(active.number(), worth ? 4u : 2u);
    note_rounds(active, 59, 1'000, worth ? 4 : 2);
    EXPECT_EQ(active.number(), worth ? 4u : 2u);
    note_rounds(active, 4 * kLook, 1'000, worth ? 4 : 2);
    EXPECT_EQ(active.number(), worth ? 2u : 4u) << "anew";
    note_rounds(active, kLook, worth ? 900 : 1'040, worth ? 2 : 4);
    EXPECT_EQ(active.number(), worth ? 4u : 2u);
  }
}

TEST(ActiveWorkers, StayAllWhereThatIsWanted) {
  ActiveWorkers active(4, 2, {.measured = false});
  note_rounds(active, 100, 1'000, 4);
  note_rounds(active, 100, 0, 0);
  EXPECT_EQ(active.number(), 4u);
}

Topology machine(std::vector<std::string> node_cpus, std::vector<std::string> core_cpus) {
  Topology topology;
  for (auto& cpus : node_cpus)
    topology.nodes.emplace_back().cpus = std::move(cpus);
  topology.core_cpus = std::move(core_cpus);
  return topology;
}

// "0,1|0,1|8": by thread, the CPUs that it may use.
std::string text_of(const WorkerPlaces& places) {
  std::string text;
  for (const auto& set : places.cpus) {
    if (!text.empty()) text += '|';
    std::string one;
    for (int cpu = 0; cpu < 64; ++cpu) {
      if (CPU_ISSET(cpu, &set)) one += (one.empty() ? "" : ",") + std::to_string(cpu);
    }
    text += one;
  }
  return text;
}

TEST(WorkerPlaces, CoresOfEachNodeComeBeforeCpusThatShareThem) {
  cpu_set_t all, some;
  CPU_ZERO(&all);
  CPU_ZERO(&some);
  for (int cpu = 0; cpu < 64; ++cpu)
    CPU_SET(cpu, &all);
  for (const int cpu : {1, 2, 4, 5})
    CPU_SET(cpu, &some);
  const auto threaded = machine({"0-1,4-5", "2,6"}, {"0,4", "1,5", "2,6"});
  const auto places = places_of(threaded, all, 7);
  EXPECT_EQ(places.cores, 3u);
  EXPECT_EQ(text_of(places), "0,1,4,5|0,1,4,5|2,6|0,1,4,5|0,1,4,5|2,6|0,1,4,5");
  const auto of_some = places_of(threaded, some, 4);
  EXPECT_EQ(of_some.cores, 3u) << "of the core 0,4 the process has the second CPU only";
  EXPECT_EQ(text_of(of_some), "1,4,5|1,4,5|2|1,4,5");
  const auto alike = places_of(machine({"0-3"}, {"0,2", "1,3"}), all, 2);
  EXPECT_EQ(alike.cores, 2u);
  EXPECT_EQ(text_of(alike), "") << "the system places them";
  EXPECT_EQ(text_of(places_of(machine({"0", "1"}, {}), all, 3)), "0|1|0");
  EXPECT_EQ(places_of(machine({}, {}), all, 3).cores, 0u) << "not known";
}

TEST(CpuDemand, ATimeOfSleepIsNone) {
  if (!std::filesystem::exists("/proc/thread-self/schedstat"))
    GTEST_SKIP() << "the kernel does not tell how long a thread waits for a CPU";
  const auto seconds_of = [&](auto pass) {
    const double before = cpu_demand();
    pass(std::chrono::steady_clock::now() + milliseconds(400));
    return cpu_demand() - before;
  };
  const double burnt = seconds_of([](auto until) {
    while (std::chrono::steady_clock::now() < until) {
    }
  });
  const double slept = seconds_of([](auto until) { std::this_thread::sleep_until(until); });
  EXPECT_GT(burnt, 0.2) << "also where others have the CPU meanwhile";
  EXPECT_LT(slept, 0.2);
}

void note_seconds(SharingChoice& choice, double seconds, double rows_per_second, double merging) {
  for (double done = 0; done < seconds; done += 0.25)
    choice.note(static_cast<std::uint64_t>(rows_per_second / 4), 0.25, merging * 0.25);
}

TEST(SharingChoice, TheOtherWayIsTriedWhereMergingTakesLongAndKeptWhereItIsFaster) {
  for (const double other : {150.0, 105.0}) {
    SharingChoice choice(Sharing::kMeasured);
    note_seconds(choice, 0.75, 100, 0.5);
    EXPECT_FALSE(choice.by_key());
    note_seconds(choice, 0.25, 100, 0.5);
    EXPECT_TRUE(choice.by_key()) << "a trial";
    note_seconds(choice, 1, other, 0);
    EXPECT_EQ(choice.by_key(), other == 150) << "by a tenth at least";
    note_seconds(choice, 59.5, other, 0);
    EXPECT_EQ(choice.by_key(), other == 150);
    note_seconds(choice, 0.5, other, 0);
    EXPECT_FALSE(choice.by_key()) << "anew";
  }
}

TEST(SharingChoice, NothingIsTriedWhereMergingIsCheapOrOneWayIsWanted) {
  for (const auto wanted : {Sharing::kMeasured, Sharing::kLateMerge, Sharing::kByKey}) {
    SharingChoice choice(wanted);
    for (int i = 0; i < 1'000; ++i) {
      choice.note(0, 10, 10);
      choice.note(100, 0.25, wanted == Sharing::kMeasured ? 0.02 : 0.2);
      ASSERT_EQ(choice.by_key(), wanted == Sharing::kByKey);
    }
  }
}

}  // namespace
}  // namespace holdfast::stream
