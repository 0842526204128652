// Every suite at its smallest: it runs, its answers are right, its rows say what they measured.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/bench/blocks/suites.hpp>
#include <holdfast/memory/pages.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

// libpmem2 1.12.1 itself loses 144 bytes, the map's data mover, in each pmem2_map_delete() of a map
// made by pmem2_map_from_existing(); a program of nothing else shows it, and maps made otherwise do
// not. Its frames have no names and no frame pointers, so the library is all that can be named.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libpmem2.so\n"; }

namespace holdfast::bench::blocks {
namespace {

BlocksBenchOptions smallest() {
  BlocksBenchOptions options;
  // main() sees to the environment that PMDK must have for such a region.
  options.region = "dram?granularity=line&nt_evicts=off";
  options.region_bytes = 64 * MiB;
  options.repeat = 1;
  options.seconds = 0.002;
  options.quick = true;
  return options;
}

std::vector<Suite> all_suites() {
  auto all = suites();
  all.push_back(pmdk_suite());
  return all;
}

Result<BenchResult> run_blocks_bench(const BlocksBenchOptions& options) {
  return run_suites("blocks bench", all_suites(), options);
}

// All suites in one run: its beginning, calibration and mapping, takes as long as a suite.
const Result<BenchResult>& everything() {
  static const auto result = run_blocks_bench(smallest());
  return result;
}

class BlocksBench : public testing::TestWithParam<std::string> {};

TEST_P(BlocksBench, EverySuiteRunsAndItsRowsAreValidOrSayWhatIsNotBuilt) {
  const auto& result = everything();
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->document.regions.size(), 1u);
  EXPECT_EQ(result->document.regions.front().text("spec"), smallest().region);
  std::set<std::string> identities;
  for (const auto& row : result->document.rows) {
    if (row.text("suite") != GetParam()) continue;
    EXPECT_FALSE(row.text("experiment").empty());
    EXPECT_FALSE(row.text("case").empty());
    // Compared and drawn by these: no two rows may be of the same measurement.
    const auto what = identity(row, result->document.parameters);
    EXPECT_TRUE(identities.insert(what).second) << what;
    // A row of two milliseconds may be disturbed, and a peer may be missing; it must not be wrong.
    EXPECT_EQ(row.invalid_reason().find("wrong"), std::string::npos)
        << row.subject() << " " << row.operation() << ": " << row.invalid_reason();
  }
  EXPECT_FALSE(identities.empty());
}

INSTANTIATE_TEST_SUITE_P(Suites, BlocksBench, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& suite : all_suites())
                             names.push_back(suite.name);
                           return names;
                         }()),
                         [](const auto& suite) { return suite.param; });

// What the rows of one operation are, by subject; the last of several experiments.
std::map<std::string, results::Row> rows_of(const std::vector<results::Row>& all,
                                            const std::string& operation) {
  std::map<std::string, results::Row> rows;
  for (const auto& row : all) {
    if (row.operation() == operation) rows[row.subject()] = row;
  }
  return rows;
}

TEST(BlocksBenchPmdk, RowsSayWhatWasVariedAndOursFencesOnce) {
  ASSERT_TRUE(everything()) << everything().error().message();
  std::vector<results::Row> rows_at_64;  // Of one thread.
  for (const auto& row : everything()->document.rows) {
    for (const auto* name :
         {"persist random 64 B", "memcpy random 64 B", "tx 64 B", "alloc 64 B"}) {
      if (row.text("suite") == "pmdk" && row.threads() == 1 &&
          row.text("case").find(name) != std::string::npos)
        rows_at_64.push_back(row);
    }
  }
  std::size_t checked = 0;
  for (const auto& row : rows_at_64) {
    EXPECT_EQ(row.text("baseline"), "fence");
    EXPECT_EQ(row.number("data_bytes"), 64) << row.subject() << " " << row.operation();
    if (!row.invalid_reason().starts_with("not built")) {
      EXPECT_GT(row.number("ops_per_s_median"), 0)
          << row.subject() << " " << row.operation() << ": " << row.invalid_reason();
      ++checked;
    }
  }
  EXPECT_GE(checked, 12u);  // Ours and the floors, without any of PMDK.
  for (const auto* operation : {"persist", "memcpy_persist"}) {
    const auto rows = rows_of(rows_at_64, operation);
    for (const auto* subject : {"fence", "holdfast"}) {
      ASSERT_TRUE(rows.contains(subject)) << operation;
      EXPECT_EQ(rows.at(subject).number("fences_per_op"), 1) << subject << " " << operation;
      EXPECT_EQ(rows.at(subject).number("lines_per_op"), 1) << subject << " " << operation;
      EXPECT_EQ(rows.at(subject).text("order"), "random");
    }
    for (const auto* granularity : {"byte", "line", "page"})
      EXPECT_TRUE(rows.contains(std::string("libpmem2-") + granularity) ||
                  rows.contains("libpmem2"))
          << granularity;
  }
  // No fence where nothing is promised, two where a range is replaced as a whole.
  EXPECT_EQ(rows_of(rows_at_64, "memcpy_nodrain").at("holdfast").number("fences_per_op"), 0);
  EXPECT_NEAR(rows_of(rows_at_64, "tx_add_range").at("holdfast").number("fences_per_op"), 2, 0.1);
}

// Whether a file in /dev/shm, where the peers' pools lie, can have 2 MiB pages here.
bool tmpfs_has_large_pages() {
  using namespace memory_detail;
  constexpr std::uint64_t kBytes = 4 * MiB;
  const int file = ::memfd_create("pages", 0);
  const auto range = AddressRange::reserve(kBytes, kBytes, kHugePageBytes).value();
  const bool can = file >= 0 && ::ftruncate(file, kBytes) == 0 &&
                   map_file(range.data(), kBytes, file, 0, true, false) == 0 &&
                   populate(range.data(), kBytes, true) == 0 && collapse(range.data(), kBytes) == 0;
  if (file >= 0) ::close(file);
  return can;
}

// MEM-11: the region had 2 MiB pages, PMDK's pools beside it 4 KiB ones, and no row said so.
TEST(BlocksBenchPmdk, MEM11PoolsHaveTheRegionsPages) {
  ASSERT_TRUE(everything()) << everything().error().message();
  const bool large = tmpfs_has_large_pages() &&
                     everything()->document.regions.front().number("page_bytes") == 2 * MiB;
  std::size_t pools = 0, with_large = 0;
  for (const auto& row : everything()->document.rows) {
    if (row.number("ops_per_s_median") <= 0) continue;
    const auto subject = row.subject();
    if (subject != "libpmemlog" && subject != "libpmemblk" && !subject.starts_with("libpmemobj") &&
        subject != "libpmem2-page")
      continue;
    ++pools;
    EXPECT_TRUE(row.number("pool_page_bytes") == 4 * KiB ||
                row.number("pool_page_bytes") == 2 * MiB)
        << subject << " " << row.operation();
    with_large += row.number("pool_page_bytes") == 2 * MiB;
    if (subject == "libpmemlog") {
      EXPECT_EQ(row.text("peer_locks"), "one for all threads");
    }
  }
  // Memory in pieces may refuse some of them; then their rows say so.
  if (large) {
    EXPECT_GE(2 * with_large, pools);
  }
  std::printf("%zu rows of pools, %zu with large pages\n", pools, with_large);
}

// MEM-11: poplog zeroes each segment within its appends, and no row said so.
TEST(BlocksBenchLog, MEM11RowsSayWhatAFormatDoesToASegmentFirst) {
  ASSERT_TRUE(everything()) << everything().error().message();
  std::map<std::string, std::string> said;
  for (const auto& row : everything()->document.rows) {
    if (row.text("suite") == "log") said[row.subject()] = row.text("before_each_segment");
  }
  EXPECT_EQ(said["poplog"], "zeroes it");
  EXPECT_EQ(said["rawl"], "flips the words that a lap left");
  EXPECT_EQ(said["header"], "zeroes its sizes");
  EXPECT_EQ(said["holdfast"], "");
}

TEST(BlocksBenchOptions, RefusesWhatItCannotMeanAndNamesTheOption) {
  const auto refused = [](auto change, const std::string& says) {
    auto options = smallest();
    change(options);
    const auto result = run_blocks_bench(options);
    ASSERT_FALSE(result) << says;
    EXPECT_NE(result.error().detail.find(says), std::string::npos) << result.error().detail;
  };
  using O = BlocksBenchOptions;
  refused([](O& o) { o.suites = {"logs"}; }, "--suite 'logs': allowed are access");
  refused([](O& o) { o.region.clear(); }, "--region ''");
  refused([](O& o) { o.region = "/dev/dax0.0"; }, "--erase-device");
  refused([](O& o) { o.threads = {0}; }, "--threads '0'");
  refused([](O& o) { o.threads = {1, 1}; }, "given twice");
  refused([](O& o) { o.repeat = 0; }, "--repeat '0'");
  refused([](O& o) { o.seconds = 0; }, "--seconds");
  refused([](O& o) { o.region_bytes = 1; }, "--region-bytes '1'");
  refused([](O& o) { o.only = {"no such"}; }, "--only 'no such'");
}

}  // namespace
}  // namespace holdfast::bench::blocks

// PMDK reads its environment when it is loaded, which is when a suite first asks for it.
int main(int argc, char** argv) {
  for (const auto& assignment : holdfast::bench::blocks::pmdk_environment(/*nt_evicts=*/false)) {
    const auto at = assignment.find('=');
    ::setenv(assignment.substr(0, at).c_str(), assignment.substr(at + 1).c_str(), 1);
  }
  ::setenv("HOLDFAST_PEERS", HF_PEER_DIRECTORY, 0);  // The modules lie beside the command.
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
