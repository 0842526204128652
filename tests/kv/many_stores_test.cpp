// Many small stores in one process: what an empty one takes, and that they share their background
// work. Times are printed and not judged: a busy machine has others.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include <holdfast/base/sanitizer.hpp>
#include <holdfast/kv/background_pool.hpp>
#include <holdfast/kv/space.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

constexpr int kStores = 200;
#ifdef HF_SANITIZED
constexpr std::uint64_t kMostBytesEach = 20'000'000;  // With what the sanitizer keeps of them.
#else
constexpr std::uint64_t kMostBytesEach = 10'000'000;
#endif

// A field of /proc/self/status, in its own unit (kB, or a count).
std::uint64_t status(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoull(line.substr(field.size() + 1));
  }
  ADD_FAILURE() << field << " is not in /proc/self/status";
  return 0;
}
// Mapped pages of stores on tmpfs included: those count twice, as memory and as medium.
std::uint64_t resident_bytes() { return status("VmRSS") * 1024; }

// By all system calls that read, of files in /proc and /sys too. 0: the kernel does not say.
std::uint64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string field;
  std::uint64_t bytes = 0;
  file >> field >> bytes;
  return field == "rchar:" ? bytes : 0;
}

std::uint64_t bytes_of_files(const std::string& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

std::uint64_t descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd"), end;
  return static_cast<std::uint64_t>(std::distance(begin, end));
}
std::uint64_t mappings() {
  std::ifstream file("/proc/self/maps");
  std::uint64_t count = 0;
  for (std::string line; std::getline(file, line);)
    ++count;
  return count;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

class ManyStores : public testing::TestWithParam<Where> {
 protected:
  ManyStores() : scratch_(on_disk() ? Scratch::disk() : Scratch::tmpfs()) {}
  static bool on_disk() { return GetParam().name == std::string_view("Disk"); }

  // Opens so many more, with default options. Prints the median time.
  void open_all(const char* what, int count = kStores) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      auto store = Store<>::open(scratch_.path(std::to_string(stores_.size())) + GetParam().suffix);
      times.push_back(milliseconds_since(start));
      ASSERT_TRUE(store) << i << ": " << store.error().message();
      stores_.push_back(std::move(*store));
    }
    std::sort(times.begin(), times.end());
    std::cout << what << ": median " << times[times.size() / 2] << " ms, greatest " << times.back()
              << " ms\n";
  }
  // What they take, with all rounds of background work that may follow.
  void expect_small(std::uint64_t resident_before) {
    ::usleep(300'000);
    const std::uint64_t resident = resident_bytes() - resident_before;
    const std::uint64_t medium = bytes_of_files(scratch_.directory());
    std::cout << "each: " << resident / kStores << " bytes resident, " << medium / kStores
              << " of medium\n";
    EXPECT_LT((resident + medium) / kStores, kMostBytesEach);
  }

  Scratch scratch_;
  std::vector<Store<>> stores_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, ManyStores,
                         testing::Values(kNonePlace, kLinePlace, Where{"Disk", ""}), place_name);

TEST_P(ManyStores, EachIsSmallAndWorksAndThreadsStayFew) {
  {
    auto warm = Store<>::open(scratch_.path("warm")).value();
  }  // Libraries, the heap.
  std::filesystem::remove_all(scratch_.path("warm"));
  const std::uint64_t resident_before = resident_bytes();
  const std::uint64_t threads_before = status("Threads");
  const std::uint64_t descriptors_before = descriptors();
  [[maybe_unused]] const std::uint64_t mappings_before = mappings();
  const auto most_threads =
      threads_before + std::max(1u, std::thread::hardware_concurrency()) + (on_disk() ? 4 : 0);
  open_all("created");
  expect_small(resident_before);
  EXPECT_LE(status("Threads"), most_threads);

  for (int i = 0; i < kStores; ++i)
    ASSERT_TRUE(stores_[i].put("key", "of " + std::to_string(i)));
  EXPECT_LE(status("Threads"), most_threads);
  for (int i = 0; i < kStores; ++i) {
    EXPECT_EQ(get(stores_[i], "key"), "of " + std::to_string(i));
    ASSERT_TRUE(stores_[i].erase("key"));
    ASSERT_TRUE(stores_[i].close());
  }
  stores_.clear();
  EXPECT_EQ(status("Threads"), threads_before) << "The pool outlived its last store.";

  open_all("opened");
  expect_small(resident_before);
  for (Store<>& store : stores_)
    EXPECT_TRUE(store.recovery().clean && store.count() == 0);
  EXPECT_GT(descriptors(), descriptors_before);
  stores_.clear();
  EXPECT_EQ(descriptors(), descriptors_before);
#ifndef HF_SANITIZED  // Its shadow memory has mappings of its own.
  EXPECT_LE(mappings(), mappings_before + kStores / 2) << "The heap takes some.";
#endif
  EXPECT_EQ(status("Threads"), threads_before);
}

// It read /proc/self/smaps for the kind of its region: the page tables of all that the process has
// mapped, which took 1 ms in a small process and more in a JVM.
TEST_P(ManyStores, OpeningReadsLittleWhateverTheProcessHasMapped) {
  open_all("created", 2);
  const std::uint64_t before = bytes_read();
  if (before == 0) GTEST_SKIP() << "no rchar in /proc/self/io";
  open_all("created");
  const std::uint64_t each = (bytes_read() - before) / kStores;
  std::cout << "each: " << each << " bytes read\n";
  EXPECT_LT(each, 16 * KiB);
}

TEST_P(ManyStores, OneOfThemGrowsBesideTheOthers) {
  open_all("created", 10);
  const std::string value(1 * MiB, 'v');
  Store<>& one = stores_[5];
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(one.put(std::to_string(i), value)) << i;
  EXPECT_GT(one.stats().medium_bytes, 100 * MiB);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(one.erase(std::to_string(i)));
  // The pool gives the space back, as a thread of its own would.
  for (int waited_ms = 0; one.stats().medium_bytes > 100 * MiB && waited_ms < 20'000;
       waited_ms += 20)
    ::usleep(20'000);
  EXPECT_LT(one.stats().medium_bytes, 100 * MiB);
}

// ---- The pool ----

TEST(BackgroundPool, IsSharedByStoresAndEndsWithTheLast) {
  const Scratch scratch = Scratch::tmpfs();
  std::weak_ptr<BackgroundPool> pool;
  {
    auto one = Store<>::open(scratch.path("one")).value();
    pool = BackgroundPool::of_process();
    EXPECT_EQ(pool.lock()->threads(), 1u);
    auto two = Store<>::open(scratch.path("two")).value();
    EXPECT_EQ(BackgroundPool::of_process(), pool.lock());
    ASSERT_TRUE(one.close());
    EXPECT_FALSE(pool.expired());
  }
  EXPECT_TRUE(pool.expired());
}

TEST(BackgroundPool, OfTheCallerIsUsedInstead) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options;
  options.background_pool = std::make_shared<BackgroundPool>(2);
  EXPECT_EQ(options.background_pool->threads(), 0u);
  {
    std::vector<Store<>> stores;
    for (int i = 0; i < 5; ++i) {
      const std::string page = i == 4 ? "?granularity=page" : "";
      stores.push_back(Store<>::open(scratch.path(std::to_string(i)) + page, options).value());
    }
    EXPECT_EQ(options.background_pool->threads(), 3u);          // And one for syncs.
    EXPECT_EQ(options.background_pool.use_count(), 1 + 2 * 5);  // A store holds its options, too.
  }
  EXPECT_EQ(options.background_pool.use_count(), 1);
}

TEST(BackgroundPool, SyncsWhileAllOtherThreadsAreBusy) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options;
  options.background_pool = std::make_shared<BackgroundPool>(1);
  options.block_bytes = 8 * KiB;
  options.segment_bytes = options.initial_bytes = 64 * KiB;
  options.reclaim.bytes_per_second = 1'000;  // A block every eight seconds.
  auto slow = Store<>::open(scratch.path("slow"), options).value();
  auto paged = Store<>::open(scratch.path("paged?granularity=page"), options).value();
  for (int i = 0; i < 2'000; ++i)
    ASSERT_TRUE(slow.put(std::to_string(i % 100), text_of(i, 200)));
  ::usleep(200'000);  // The only thread moves records now.
  const Version version = [&] {
    EXPECT_TRUE(paged.put("key", "value"));
    std::string value;
    return paged.get("key", value).value();
  }();
  for (int waited_ms = 0; paged.durable_up_to() < version && waited_ms < 5'000; waited_ms += 10)
    ::usleep(10'000);
  EXPECT_GE(paged.durable_up_to(), version);
}

TEST(BackgroundPool, AForkedChildGetsOneOfItsOwn) {
#ifdef HF_TSAN
  GTEST_SKIP() << "ThreadSanitizer starts no threads in a forked child";
#endif
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions given;
  given.background_pool = std::make_shared<BackgroundPool>(1);
  const auto parents = Store<>::open(scratch.path("parents")).value();
  const auto parents_too = Store<>::open(scratch.path("parents-too"), given).value();
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto store = Store<>::open(scratch.path("child"));
    bool right = store && BackgroundPool::of_process()->threads() == 1 && store->put("key", "1") &&
                 store->close();
    const auto refused = Store<>::open(scratch.path("refused"), given);
    right = right && refused.code() == Errc::kInvalidOption && mentions(refused.error(), "fork()");
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(BackgroundPool::of_process()->threads(), 1u);
}

// Each keyspace's index, of 250 KiB, stayed until the store closed. So did its sessions, which a
// wait for threads asks one by one.
class KeyspacesMadeAndDropped : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(InOrderOrNot, KeyspacesMadeAndDropped, testing::Bool());

TEST_P(KeyspacesMadeAndDropped, TakeNoMoreMemoryNorTime) {
  const Scratch scratch = Scratch::tmpfs();
  StoreOptions options;
  options.order = GetParam();
  auto store = Store<>::open(scratch.path("store") + "?granularity=line", options).value();
  const auto make_and_drop = [&](int rounds) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) {
      const std::string name = "space" + std::to_string(i);
      auto space = store.create_space(name).value();
      EXPECT_TRUE(space.put("key", "value"));
      EXPECT_TRUE(store.drop_space(name));
    }
    return milliseconds_since(start);
  };
#ifdef HF_TSAN
  constexpr int kRounds = 200;
#else
  constexpr int kRounds = 1'000;
#endif
  make_and_drop(kRounds);
  const std::uint64_t before = resident_bytes();
  const double first = make_and_drop(kRounds);
  make_and_drop(7 * kRounds);
  const double last = make_and_drop(kRounds);
  const std::uint64_t grown = std::max(resident_bytes(), before) - before;
  std::cout << grown / 1024 << " KiB more after " << 9 * kRounds << "; " << first / kRounds
            << " ms each at first, " << last / kRounds << " at last\n";
#ifndef HF_SANITIZED  // Its own memory grows with what it has seen, or keeps what is freed.
  EXPECT_LT(grown, 10 * MiB);  // Names, on the medium and in its index.
#endif
  EXPECT_LT(last, 5 * first);  // A busy machine has others; it was more than twentyfold.
}

}  // namespace
}  // namespace holdfast::kv
