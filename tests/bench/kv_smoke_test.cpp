// Every store of the comparison with every operation, at a size that takes a second: the answers
// are what is tested here, never the times.
#include <holdfast/bench/kv/suite.hpp>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <gtest/gtest.h>

#include <holdfast/bench/kv/memory_limit.hpp>
#include <holdfast/bench/kv/rest.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/bench/kv/volatile_store.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/results/table.hpp>

namespace holdfast::bench::kv {
namespace {

// The modules of the other stores lie beside the command, not beside this test.
[[maybe_unused]] const int kPeersAreThere =
    ::setenv("HOLDFAST_PEERS", HF_PEER_DIRECTORY, /*overwrite=*/0);

std::string fresh_place() {
  static int number = 0;
  const std::string parent =
      std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : testing::TempDir();
  return parent + "/holdfast-bench-test-" + std::to_string(::getpid()) + "-" +
         std::to_string(++number);
}

bool keeps_order(const std::string& store) {
  return store == "holdfast-ordered" || store == "rocksdb" || store == "lmdb" || store == "leveldb";
}

std::vector<std::string> all_operations(const std::string& store) {
  std::vector<std::string> names;
  for (const auto& operation : operations()) {
    if (keeps_order(store) || !is_scan(operation.verb)) names.emplace_back(operation.name);
  }
  return names;
}

KvBenchOptions smoke(const std::string& store) {
  KvBenchOptions options;
  options.stores = {store};
  options.records = 20'000;
  options.region = fresh_place() + "?granularity=line";
  options.repeat = 1;
  options.seconds = 30;  // The operations end a phase.
  options.phase_operations = 2'000;
  options.longest = options.startup = options.latency = false;
  options.ops = all_operations(store);
  std::erase(options.ops, "steady-overwrite");  // Its time ends it: a test of its own.
  return options;
}

// Of a store whose library is not installed. A module that is there must load.
bool is_not_built(const std::string& reason) {
  EXPECT_EQ(reason.find("does not load"), std::string::npos) << reason;
  return reason.starts_with("not built");
}

class EveryStore : public testing::TestWithParam<std::string> {};

TEST_P(EveryStore, AnswersRightlyInEveryOperation) {
  auto options = smoke(GetParam());
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  unsigned rows = 0;
  for (const auto& row : result->document.rows) {
    if (is_not_built(row.invalid_reason())) GTEST_SKIP() << row.invalid_reason();
    // A busy test machine may look faster or slower than its calibration: that is no wrong answer.
    if (row.invalid_reason().starts_with("beyond this machine")) continue;
    EXPECT_TRUE(row.valid()) << row.subject() << " " << row.operation() << " " << row.threads()
                             << ": " << row.invalid_reason();
    EXPECT_EQ(row.number("repetitions"), 1) << row.operation();
    EXPECT_EQ(row.number("records"), 20'000) << row.operation();
    EXPECT_FALSE(row.text("durability").empty()) << row.operation();
    ++rows;
  }
  EXPECT_GE(rows, 24u);
  EXPECT_EQ(result->document.find(GetParam(), "scan", 1) != nullptr, keeps_order(GetParam()));
  EXPECT_EQ(result->document.find(GetParam(), "ycsb-e", 2) != nullptr, keeps_order(GetParam()));
  EXPECT_FALSE(std::filesystem::exists(parts_of(options.region).place)) << "files are left behind";
}

TEST_P(EveryStore, AnswersRightlyWithZipfianChoiceVariableSizesAndATimedPass) {
  if (GetParam() == "holdfast-typed") GTEST_SKIP() << "types have one size";
  auto options = smoke(GetParam());
  options.ops = {"get", "get_many", "overwrite", "put", "put_many", "erase", "ycsb-a"};
  if (keeps_order(GetParam())) options.ops.insert(options.ops.end(), {"scan", "ycsb-e"});
  options.distribution = Distribution::kZipfian;
  options.shape.variable = true;
  options.threads = {2};
  options.latency = true;
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  for (const auto& row : result->document.rows) {
    if (is_not_built(row.invalid_reason())) GTEST_SKIP() << row.invalid_reason();
    if (row.invalid_reason().starts_with("beyond this machine")) continue;
    EXPECT_TRUE(row.valid()) << row.operation() << ": " << row.invalid_reason();
    EXPECT_GT(row.number("p50_ns"), 0) << row.operation();
  }
}

INSTANTIATE_TEST_SUITE_P(KvBench, EveryStore,
                         testing::Values("holdfast", "holdfast-ordered", "holdfast-typed", "floor",
                                         "rocksdb", "lmdb", "leveldb", "tbb", "map"),
                         [](const auto& store) {
                           auto name = store.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(KvBench, ThePipelineAnswersRightlyAndItsRowsSayHowManyAreInFlight) {
  auto options = smoke("holdfast-pipeline");
  options.ops = {"put", "overwrite", "get", "update8", "erase", "put_many"};
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  for (const char* operation : {"put", "overwrite", "get", "update8", "erase"}) {
    for (const unsigned threads : options.threads) {
      const auto* row = result->document.find("holdfast-pipeline", operation, threads);
      ASSERT_NE(row, nullptr) << operation;
      if (row->invalid_reason().starts_with("beyond this machine")) continue;
      EXPECT_TRUE(row->valid()) << operation << ": " << row->invalid_reason();
      EXPECT_EQ(row->number("pipeline_window"), 32) << operation;
    }
  }
}

TEST(KvBench, SteadyOverwriteShowsSpaceStallsAndTheCostOfReclamation) {
  for (const std::string store : {"holdfast", "holdfast-typed", "tbb"}) {
    auto options = smoke(store);
    options.ops = {"steady-overwrite"};
    options.threads = {1, 2};
    options.seconds = 0.5;
    options.space_goal = 1.5;
    const auto result = run_kv_bench(options);
    ASSERT_TRUE(result) << store << ": " << result.error().message();
    for (const unsigned threads : {1, 2}) {
      const auto* row = result->document.find(store, "steady-overwrite", threads);
      ASSERT_NE(row, nullptr) << store;
      if (row->invalid_reason().starts_with("not built")) continue;
      EXPECT_TRUE(row->valid()) << store << ": " << row->invalid_reason();
      // The operations are not bounded by --phase-operations, and each one was timed.
      EXPECT_FALSE(row->numbers("latency_count").empty()) << store;
      EXPECT_GT(row->number("p50_ns"), 0) << store;
      EXPECT_GE(row->number("p9999_ns"), row->number("p50_ns")) << store;
      EXPECT_GT(row->number("stall_max_ns"), 0) << store;
      EXPECT_GE(row->number("background_cpu_ns_per_op"), 0) << store;
      EXPECT_EQ(row->number("space_goal"), 1.5) << store;
      if (store == "tbb") continue;  // Overwrites in place: there is no space to tell.
      EXPECT_GE(row->number("used_over_live_samples"), 1) << store;
      EXPECT_GE(row->number("used_over_live_max"), 1) << store;
      EXPECT_GE(row->number("relocated_bytes_per_written_byte"), 0) << store;
    }
  }
}

TEST(KvBench, TheFloorHasNoSteadyOverwrite) {
  auto options = smoke("floor");
  options.ops = {"steady-overwrite"};
  options.seconds = 0.1;
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(result->document.rows.empty());
}

// A thread that only waits for a CPU, and one that sleeps: the second is a stall.
TEST(StallWatch, SleepIsAStall) {
  StallWatch stalls;
  const auto begin = Clock::now();
  stalls.resume(begin);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  stalls.operation(begin, Clock::now());
  EXPECT_GE(stalls.longest_ns(), 25'000'000u);
}

TEST(StallWatch, WaitingForACpuIsNone) {
  StallWatch stalls;
  if (!stalls.knows_waiting()) GTEST_SKIP() << "the kernel counts no waiting";
  // Two busy threads on one CPU: each waits for the other, some milliseconds at a time.
  std::atomic<bool> stop{false};
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::thread other([&] {
    while (!stop) {
    }
  });
  const auto begin = Clock::now();
  const auto cpu = thread_cpu_ns();
  stalls.resume(begin);
  while (thread_cpu_ns() - cpu < 50'000'000) {
  }
  const auto end = Clock::now();
  stalls.operation(begin, end);
  stop = true;
  other.join();
  (void)::sched_setaffinity(0, sizeof all, &all);
  const auto wall = static_cast<std::uint64_t>((end - begin).count());
  if (wall < 70'000'000) GTEST_SKIP() << "the two threads did not share a CPU";
  // What is left is the time on the CPU, and what a hypervisor took.
  EXPECT_LT(stalls.longest_ns(), wall - (wall - 50'000'000) / 2);
}

TEST(AtRest, WaitsForTheCountersAndForTheCpu) {
  std::atomic<std::uint64_t> work{0};
  const auto begin = Clock::now();
  std::thread background([&] {
    for (int i = 0; i < 40; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++work;
    }
    const auto cpu = thread_cpu_ns();
    while (thread_cpu_ns() - cpu < 100'000'000) {
    }
  });
  AtRest rest;
  rest.counters = [&] { return std::vector<std::uint64_t>{work.load()}; };
  rest.nothing_left = [] { return false; };  // The longer window: test machines are busy.
  EXPECT_TRUE(wait_until_at_rest(rest));
  EXPECT_EQ(work, 40u);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(300));
  background.join();
}

TEST(AtRest, GivesUpAndSaysSo) {
  std::uint64_t work = 0;
  AtRest rest;
  rest.counters = [&] { return std::vector<std::uint64_t>{++work}; };
  rest.nothing_left = [] { return true; };
  rest.seconds_max = 0.1;
  const auto status = wait_until_at_rest(rest);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().detail.find("did not come to rest"), std::string::npos);
}

TEST(MemoryLimit, AProcessInTheGroupCannotHaveMore) {
  auto limit = MemoryLimit::make(64 * MiB);
  if (!limit) GTEST_SKIP() << limit.error().detail;
  const auto directory = limit->directory();
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // A group may be set up to let its processes wait at the limit.
    if (!limit->join()) ::_exit(1);
    std::vector<char> much(256 * MiB, 1);
    ::_exit(much[much.size() / 2] == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_GE(limit->kills(), 1u);
  {
    const auto removed = std::move(limit);
  }
  EXPECT_FALSE(std::filesystem::exists(directory)) << "the group is left behind";
}

TEST(KvBench, UnderAMemoryLimitRowsTellWhatTheyAskedOfTheDevice) {
  auto options = smoke("holdfast");
  options.region = testing::TempDir() + "/holdfast-bench-limit-" + std::to_string(::getpid());
  options.memory_limit_bytes = 1 * GiB;  // Only said to hold: the command sets it.
  options.ops = {"get", "put"};
  options.threads = {1};
  const auto result = run_kv_bench(options);
  if (result.code() == Errc::kInvalidOption) GTEST_SKIP() << result.error().message();
  ASSERT_TRUE(result) << result.error().message();
  const auto* row = result->document.find("holdfast", "put", 1);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->number("memory_limit_bytes"), 1.0 * GiB);
  EXPECT_GT(row->number("process_write_bytes_per_op"), 100);
  EXPECT_GE(row->number("process_read_bytes_per_op"), 0);
}

// With single calls, and through a pipeline, which acknowledges a window of operations at a time.
TEST(KvBench, StartUpAndGrowthAreRowsAndAcknowledgedRecordsSurviveTheKill) {
  for (const std::string store : {"holdfast", "holdfast-pipeline"}) {
    SCOPED_TRACE(store);
    auto options = smoke(store);
    options.ops = {"get"};
    options.threads = {1};
    options.startup = options.longest = true;
    const auto result = run_kv_bench(options);
    ASSERT_TRUE(result) << result.error().message();
    for (const auto* operation : {"open_clean", "open_killed", "put_longest"}) {
      const auto* row = result->document.find(store, operation, 1);
      ASSERT_NE(row, nullptr) << operation;
      EXPECT_TRUE(row->valid()) << operation << ": " << row->invalid_reason();
      EXPECT_GT(row->number("ns_per_op_median"), 0);
    }
    const auto* killed = result->document.find(store, "open_killed", 1);
    EXPECT_GT(killed->number("acknowledged_before_kill"), 0);
    const auto* get = result->document.find(store, "get", 1);
    EXPECT_GT(get->number("dram_bytes_per_record"), 0);
    EXPECT_GT(get->number("medium_bytes_per_record"), 216);
  }
}

TEST(KvBench, GroupsAndWaitersRunWithPowerDurability) {
  for (const std::string store : {"holdfast", "floor", "rocksdb", "lmdb", "leveldb"}) {
    auto options = smoke(store);
    options.region = testing::TempDir() + "/holdfast-bench-power-" + std::to_string(::getpid());
    options.records = 1'000;
    options.phase_operations = 256;
    options.ops.clear();
    options.promise = Promise::kPower;
    const auto result = run_kv_bench(options);
    ASSERT_TRUE(result) << store << ": " << result.error().message();
    for (const auto& row : result->document.rows) {
      if (row.invalid_reason().starts_with("not built")) continue;
      EXPECT_TRUE(row.valid()) << store << " " << row.operation() << ": " << row.invalid_reason();
    }
    const auto* group = result->document.find(store, "group64", 1);
    ASSERT_NE(group, nullptr) << store;
    EXPECT_EQ(group->number("batch"), 64);
    EXPECT_EQ(result->document.find(store, "waiters64", 64) != nullptr, store != "floor") << store;
  }
}

TEST(KvBench, ThePaperSuiteHasItsExperiments) {
  KvBenchOptions base;
  base.region = "/dev/shm/x?granularity=line&huge=2M";
  const auto experiments = paper_experiments(base);
  std::vector<std::string> names;
  for (const auto& experiment : experiments) {
    names.push_back(experiment.name);
    EXPECT_TRUE(experiment.options.validate())
        << experiment.name << ": " << experiment.options.validate().error().message();
  }
  for (const auto* name :
       {"operations", "size 8/8", "size 100/900", "variable sizes", "update strategy",
        "data in DRAM", "breakdown without persist", "reclaiming", "recovery with 1 threads",
        "YCSB uniform", "YCSB zipfian"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  const auto without = std::find_if(experiments.begin(), experiments.end(), [](const auto& e) {
    return e.name == "breakdown without persist";
  });
  EXPECT_EQ(without->options.region, "/dev/shm/x?huge=2M&granularity=none");
}

// A store that forgets: every 100th value comes back as that of another key.
template <class KeyBytes, class ValueBytes>
struct ForgetfulMap {
  static const char* settings() { return "wrong on purpose"; }
  std::unordered_map<std::uint64_t, ValueBytes> map;
  std::mutex mutex;
  std::uint64_t reads = 0;
  void reserve(std::uint64_t records) { map.reserve(records); }
  void put(const KeyBytes& key, ValueView value) {
    const std::lock_guard lock(mutex);
    map[hash_of(key)].assign(value.data, value.size);
  }
  template <class Body>
  bool read(const KeyBytes& key, Body&& body) {
    return change(key, body);
  }
  template <class Body>
  bool change(const KeyBytes& key, Body&& body) {
    const std::lock_guard lock(mutex);
    auto found = ++reads % 100 == 0 ? map.begin() : map.find(hash_of(key));
    if (found == map.end()) return false;
    body(found->second);
    return true;
  }
  bool erase(const KeyBytes& key) { return map.erase(hash_of(key)) == 1; }
};

// A store that acknowledges overwrites and does not do them.
template <class KeyBytes, class ValueBytes>
struct LazyMap : ForgetfulMap<KeyBytes, ValueBytes> {
  void put(const KeyBytes& key, ValueView value) {
    const std::lock_guard lock(this->mutex);
    auto [found, inserted] = this->map.try_emplace(hash_of(key));
    if (inserted) found->second.assign(value.data, value.size);
  }
  template <class Body>
  bool read(const KeyBytes& key, Body&& body) {
    const std::lock_guard lock(this->mutex);
    const auto found = this->map.find(hash_of(key));
    if (found == this->map.end()) return false;
    body(found->second);
    return true;
  }
};

template <template <class, class> class Map>
Outcome run_with(const std::string& operation) {
  using K = FixedBytes<16>;
  using V = FixedBytes<200>;
  static Context context;
  context.records = 2'000;
  context.write_bound = context.read_bound = 2'000;
  Plan plan;
  plan.subjects = {{"wrong",
                    [](unsigned repetition) {
                      return std::make_unique<StoreSubject<VolatileStore<Map<K, V>, K, V>>>(
                          context, "wrong", repetition, nullptr);
                    },
                    {}}};
  plan.operations = {{operation, {}}};
  plan.repetitions = 1;
  plan.latency = false;
  return run(plan);
}

// A store that takes its time to go, and notes whether anyone asks for its space meanwhile.
using SlowToGo =
    VolatileStore<LazyMap<FixedBytes<16>, FixedBytes<200>>, FixedBytes<16>, FixedBytes<200>>;
struct WatchedStore : SlowToGo {
  using SlowToGo::SlowToGo;
  static inline std::atomic<bool> going{false}, asked_late{false};
  SpaceUse space() const {
    if (going) asked_late = true;
    return {.records = 1, .live_bytes = 1, .used_bytes = 1, .relocated_bytes = 0};
  }
  void remove() {
    going = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    SlowToGo::remove();
  }
};

// As after a signal: after() is not called.
TEST(KvBench, TheWatchOfASteadyOverwriteThatWasInterruptedStopsBeforeTheStoreGoes) {
  Context context;
  context.records = context.write_bound = context.read_bound = 2'000;
  StoreSubject<WatchedStore> subject(context, "watched", 0, nullptr);
  ASSERT_TRUE(subject.create());
  ASSERT_TRUE(subject.before({.operation = "steady-overwrite", .threads = 1, .seconds = 0.1}));
  subject.destroy();
  EXPECT_FALSE(WatchedStore::asked_late) << "a store that is gone is read";
}

TEST(KvBench, FewerErasesThanThreadsAreOneForEachThread) {
  auto options = smoke("holdfast");
  options.ops = {"erase"};
  options.threads = {4};
  options.phase_operations = 2;
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->document.rows.size(), 1u);
  const auto reason = result->document.rows[0].invalid_reason();
  EXPECT_EQ(reason.find("erase"), std::string::npos) << reason;
}

// "x" is not what "x?b?granularity=line" names.
TEST(KvBench, ADirectoryWhoseNameIsTheBeginningOfTheRegionsUpToAQuestionMarkIsLeftAlone) {
  for (const std::string store : {"holdfast", "floor"}) {
    const auto directory = fresh_place();
    const auto file = directory + "/file";
    ASSERT_TRUE(std::filesystem::create_directories(directory));
    std::ofstream(file) << "of the user";
    auto options = smoke(store);
    options.region = directory + "?b?granularity=line";
    options.ops = {"get"};
    options.threads = {1};
    const auto result = run_kv_bench(options);
    EXPECT_TRUE(result) << result.error().message();
    EXPECT_TRUE(std::filesystem::exists(file)) << store << " has removed it";
    EXPECT_FALSE(std::filesystem::exists(directory + "?b")) << "files are left behind";
    std::filesystem::remove_all(directory);
  }
}

TEST(KvBench, AStoreThatReturnsWrongValuesHasAnInvalidRow) {
  const auto outcome = run_with<ForgetfulMap>("get");
  ASSERT_EQ(outcome.rows.size(), 1u);
  EXPECT_FALSE(outcome.trustworthy);
  EXPECT_EQ(exit_code(outcome.trustworthy, outcome.interrupted), 3);
  EXPECT_NE(outcome.rows[0].invalid_reason().find("value that was never written"),
            std::string::npos)
      << outcome.rows[0].invalid_reason();
}

TEST(KvBench, AStoreThatSkipsOverwritesHasAnInvalidRow) {
  const auto outcome = run_with<LazyMap>("overwrite");
  ASSERT_EQ(outcome.rows.size(), 1u);
  EXPECT_FALSE(outcome.trustworthy);
  EXPECT_NE(outcome.rows[0].invalid_reason().find("is as phase 0 left it"), std::string::npos)
      << outcome.rows[0].invalid_reason();
}

TEST(KvBench, BadRequestsNameTheOptionTheValueAndWhatIsAllowed) {
  const auto refused = [](auto&& change) {
    KvBenchOptions options;
    options.region = "/dev/shm/never-made";
    change(options);
    const auto status = options.validate();
    return status ? std::string("accepted") : status.error().message();
  };
  EXPECT_NE(refused([](auto& o) {
              o.stores = {"redis"};
            }).find("--stores: 'redis'; allowed are holdfast"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.records = 1; }).find("--records: '1'"), std::string::npos);
  EXPECT_NE(
      refused([](auto& o) {
        o.stores = {"holdfast", "map"};
        o.ops = {"ycsb-e"};
      }).find("'ycsb-e'; needs a store with an order of keys: give --stores one of holdfast-"),
      std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.ops = {"fly"}; }).find("allowed are"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.threads = {0}; }).find("--threads: '0'"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.threads = {1, 1}; }).find("given twice"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.shape.key_bytes = 4; }).find("--key: 4 bytes"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.region.clear(); }).find("--region"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.region = "/dev/dax0.0"; }).find("--erase-device"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.space_goal = 1; }).find("--space-goal"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.memory_limit_bytes = MiB; }).find("--memory-limit: '1048576'"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) {
              o.memory_limit_bytes = GiB;
              o.region = "dram";
            }).find("cannot give memory back"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.seconds = -1; }).find("--seconds"), std::string::npos);
}

// System calls of this process that write, so far.
std::uint64_t write_calls() {
  std::ifstream io("/proc/self/io");
  for (std::string line; std::getline(io, line);)
    if (line.starts_with("syscw: ")) return std::stoull(line.substr(7));
  return 0;
}

// MEM-12: on a file the floor wrote each record by a call of its own, and the store's "time /
// floor" was 0.25.
TEST(KvBench, MEM12AGroupOfTheFloorIsOneWriteToAFile) {
  if (write_calls() == 0) GTEST_SKIP() << "no /proc/self/io here";
  auto options = smoke("floor");
  options.region = fresh_place() + "?granularity=page";
  options.ops = {"put_many"};
  options.threads = {1};
  options.batch = 16;
  options.phase_operations = 16'000;
  const auto before = write_calls();
  const auto result = run_kv_bench(options);
  const auto calls = write_calls() - before;
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->document.regions.front().text("granularity"), "page");
  // 20,000 records by 64 and 16,000 by 16 are 1,313; zeros in pieces of 64 KiB beforehand some 200.
  EXPECT_LT(calls, 5'000u);
  // There are no fences on a file: the table does not show zeros of them.
  const auto text = table(result->document, {});
  EXPECT_EQ(text.find("fences/op"), std::string::npos) << text;
  EXPECT_EQ(text.find("lines/op"), std::string::npos) << text;
}

TEST(KvBench, ARegionThatHoldsSomethingIsLeftAlone) {
  const auto place = fresh_place();
  std::filesystem::create_directories(place + "/precious");
  auto options = smoke("floor");
  options.region = place;
  EXPECT_EQ(run_kv_bench(options).code(), Errc::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(place + "/precious"));
  std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace holdfast::bench::kv
