// Every store of the comparison with every operation, at a size that takes a second: the answers
// are what is tested here, never the times.
#include <holdfast/bench/kv/suite.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <unordered_map>

#include <gtest/gtest.h>

#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/bench/kv/volatile_store.hpp>

namespace holdfast::bench::kv {
namespace {

// The modules of the other stores lie beside the command, not beside this test.
[[maybe_unused]] const int kPeersAreThere =
    ::setenv("HOLDFAST_PEERS", HOLDFAST_PEER_DIRECTORY, /*overwrite=*/0);

std::string fresh_place() {
  static int number = 0;
  const std::string parent =
      std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : testing::TempDir();
  return parent + "/holdfast-bench-test-" + std::to_string(::getpid()) + "-" +
         std::to_string(++number);
}

std::vector<std::string> all_operations() {
  std::vector<std::string> names;
  for (const auto& operation : operations())
    names.emplace_back(operation.name);
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
  options.ops = all_operations();
  return options;
}

class EveryStore : public testing::TestWithParam<std::string> {};

TEST_P(EveryStore, AnswersRightlyInEveryOperation) {
  auto options = smoke(GetParam());
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  unsigned rows = 0;
  for (const auto& row : result->document.rows) {
    if (row.invalid_reason().starts_with("not built")) GTEST_SKIP() << row.invalid_reason();
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
  EXPECT_FALSE(std::filesystem::exists(options.region.substr(0, options.region.find('?'))))
      << "files are left behind";
}

TEST_P(EveryStore, AnswersRightlyWithZipfianChoiceVariableSizesAndATimedPass) {
  if (GetParam() == "holdfast-typed") GTEST_SKIP() << "types have one size";
  auto options = smoke(GetParam());
  options.ops = {"get", "get_many", "overwrite", "put", "put_many", "erase", "ycsb-a"};
  options.distribution = Distribution::kZipfian;
  options.shape.variable = true;
  options.threads = {2};
  options.latency = true;
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  for (const auto& row : result->document.rows) {
    if (row.invalid_reason().starts_with("not built")) GTEST_SKIP() << row.invalid_reason();
    if (row.invalid_reason().starts_with("beyond this machine")) continue;
    EXPECT_TRUE(row.valid()) << row.operation() << ": " << row.invalid_reason();
    EXPECT_GT(row.number("p50_ns"), 0) << row.operation();
  }
}

INSTANTIATE_TEST_SUITE_P(KvBench, EveryStore,
                         testing::Values("holdfast", "holdfast-typed", "floor", "rocksdb", "lmdb",
                                         "leveldb", "tbb", "map"),
                         [](const auto& store) {
                           auto name = store.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(KvBench, StartUpAndGrowthAreRowsAndAcknowledgedRecordsSurviveTheKill) {
  auto options = smoke("holdfast");
  options.ops = {"get"};
  options.threads = {1};
  options.startup = options.longest = true;
  const auto result = run_kv_bench(options);
  ASSERT_TRUE(result) << result.error().message();
  for (const auto* operation : {"open_clean", "open_killed", "put_longest"}) {
    const auto* row = result->document.find("holdfast", operation, 1);
    ASSERT_NE(row, nullptr) << operation;
    EXPECT_TRUE(row->valid()) << operation << ": " << row->invalid_reason();
    EXPECT_GT(row->number("ns_per_op_median"), 0);
  }
  EXPECT_GT(result->document.find("holdfast", "open_killed", 1)->number("acknowledged_before_kill"),
            0);
  EXPECT_GT(result->document.find("holdfast", "get", 1)->number("dram_bytes_per_record"), 0);
  EXPECT_GT(result->document.find("holdfast", "get", 1)->number("medium_bytes_per_record"), 216);
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
  EXPECT_NE(refused([](auto& o) { o.ops = {"ycsb-e"}; }).find("order of keys"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.ops = {"fly"}; }).find("allowed are"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.threads = {0}; }).find("--threads: '0'"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.threads = {1, 1}; }).find("given twice"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.shape.key_bytes = 4; }).find("--key: 4 bytes"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.region.clear(); }).find("--region"), std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.region = "/dev/dax0.0"; }).find("--erase-device"),
            std::string::npos);
  EXPECT_NE(refused([](auto& o) { o.seconds = -1; }).find("--seconds"), std::string::npos);
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
