// The cost goals of checkpoints and backups. Not a test: run it on a quiet machine.
//
//   checkpoint_bench [records = 4000000] [directory = /dev/shm] [seconds]
//
// With `seconds` it does one thing: two writers at full speed for so long, and one checkpoint after
// the other beside them, each restored and compared with snapshots from right before and right
// behind it.
//
// Records have 16 bytes of key and 200 of value. Every figure is checked: a writer counts in its
// values what was acknowledged, and the restored store is read and compared record by record.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/backup.hpp>
#include <holdfast/kv/checkpoint.hpp>

namespace {

using namespace holdfast;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kValueBytes = 200;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "checkpoint_bench: %s\n", what);
  std::exit(1);
}

std::string key_of(std::uint64_t i) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(i * 0x9E3779B97F4A7C15u));
  return {text.data(), 16};
}
std::string value_of(std::uint64_t i, std::uint64_t count) {
  std::string value(kValueBytes, static_cast<char>('a' + i % 26));
  std::memcpy(value.data(), &count, sizeof count);
  return value;
}

class Run {
 public:
  Run(std::uint64_t records, std::string directory)
      : directory_(std::move(directory)),
        count_of_(records, 0),
        store_((remove_all(), kv::Store<>::open(spec("checkpoint_bench")).value())) {}
  ~Run() { remove_all(); }

  void load() {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < count_of_.size(); ++i)
      put(i);
    std::printf("load            %.2f s\n", since(start));
  }
  void back_up(const char* what) {
    const auto report = kv::backup(store_, path("checkpoint_bench_backup")).value();
    std::printf("%-15s checkpoint() %.2f ms, copied %.1f of %.1f MB in %.2f s\n", what,
                report.checkpoint_seconds * 1e3, static_cast<double>(report.copied_bytes) / 1e6,
                static_cast<double>(report.bytes) / 1e6, report.seconds);
  }
  void change_one_percent(std::uint64_t round) {
    for (std::uint64_t i = 0; i < count_of_.size() / 100; ++i)
      put(mix64(round << 40 | i) % count_of_.size());
  }
  // The writer takes random records for a second, then while everything is copied anew, in turn.
  void beside_a_writer() {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> done{0};
    std::thread writer([&] {
      for (std::uint64_t i = 0; !stop; ++i, done.store(i, std::memory_order_relaxed))
        put(mix64(i) % count_of_.size());
    });
    const auto rate = [&](auto&& until) {
      const std::uint64_t before = done;
      const auto start = Clock::now();
      until();
      return static_cast<double>(done - before) / since(start);
    };
    const auto a_second = [] { std::this_thread::sleep_for(std::chrono::seconds(1)); };
    a_second();
    for (int round = 0; round < 3; ++round) {
      const double alone = rate(a_second);
      std::filesystem::remove_all(path("checkpoint_bench_backup"));
      const double copying = rate([&] { back_up("beside a writer"); });
      std::printf("                the writer: %.0f/s alone, %.0f/s meanwhile: %.2f\n", alone,
                  copying, copying / alone);
    }
    stop = true;
    writer.join();
  }
  void beside_two_writers(double seconds);
  void restore(int rounds) {
    back_up("the last");
    for (int round = 0; round < rounds; ++round) {
      std::filesystem::remove_all(path("checkpoint_bench_copy"));
      auto start = Clock::now();
      const auto info =
          kv::restore_backup(path("checkpoint_bench_backup"), spec("checkpoint_bench_copy"))
              .value();
      const double restored = since(start);
      start = Clock::now();
      auto copy = kv::Store<>::open(spec("checkpoint_bench_copy")).value();
      const double opened = since(start);
      compare(copy);
      std::printf("restore         %.2f s, %.0f MB/s; open %.2f s; all records are right\n",
                  restored, static_cast<double>(info.bytes) / 1e6 / restored, opened);
    }
  }

 private:
  std::string path(const char* name) const { return directory_ + "/" + name; }
  std::string spec(const char* name) const { return path(name) + "?granularity=line"; }
  void remove_all() const {
    for (const char* name :
         {"checkpoint_bench", "checkpoint_bench_backup", "checkpoint_bench_copy"})
      std::filesystem::remove_all(path(name));
  }
  struct Writers;
  // How often each record had been written.
  std::vector<std::uint32_t> counts_in(const kv::Snapshot& snapshot) const {
    std::vector<std::uint32_t> counts;
    std::string value;
    for (std::uint64_t i = 0; i < count_of_.size(); ++i) {
      snapshot.get(key_of(i), value).value();
      counts.push_back(count_in(value));
    }
    return counts;
  }
  static std::uint32_t count_in(std::string_view value) {
    std::uint64_t count;
    std::memcpy(&count, value.data(), sizeof count);
    return static_cast<std::uint32_t>(count);
  }
  void restore_beside(const kv::Checkpoint& checkpoint, std::uint64_t& bytes);
  void compare_with(const kv::Store<>& copy, const std::vector<std::uint32_t>& before,
                    const std::vector<std::uint32_t>& after) const;
  void put(std::uint64_t i) { store_.put(key_of(i), value_of(i, ++count_of_[i])).value(); }
  void compare(const kv::Store<>& copy) const {
    expect(copy.count() == count_of_.size(), "the restored store has another number of records");
    std::string value;
    for (std::uint64_t i = 0; i < count_of_.size(); ++i) {
      copy.get(key_of(i), value).value();
      expect(value == value_of(i, count_of_[i]), "a restored record is not what was written last");
    }
  }

  const std::string directory_;
  std::vector<std::uint32_t> count_of_;  // How often each record was written.
  kv::Store<> store_;
};

// Each writes its half of the records at random, as fast as it can.
struct Run::Writers {
  explicit Writers(Run& of) : run(of) {
    for (std::uint64_t w = 0; w < done.size(); ++w)
      threads.emplace_back([this, w] { write(w); });
  }
  ~Writers() {
    stop = true;
    for (std::thread& thread : threads)
      thread.join();
  }
  void write(std::uint64_t w) {
    const std::uint64_t half = run.count_of_.size() / 2;
    auto last = Clock::now();
    for (std::uint64_t i = 0; !stop; ++i) {
      run.put(w * half + mix64(w << 60 | i) % half);
      done[w].fetch_add(1, std::memory_order_relaxed);
      const auto now = Clock::now();
      const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now - last).count();
      if (us > longest_us[w].load(std::memory_order_relaxed)) longest_us[w] = us;
      last = now;
    }
  }
  std::uint64_t all() const { return done[0] + done[1]; }
  double take_longest_ms() {
    const std::int64_t first = longest_us[0].exchange(0), second = longest_us[1].exchange(0);
    return static_cast<double>(std::max(first, second)) / 1e3;
  }

  Run& run;
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, 2> done{};
  std::array<std::atomic<std::int64_t>, 2> longest_us{};
  std::vector<std::thread> threads;
};

void Run::restore_beside(const kv::Checkpoint& checkpoint, std::uint64_t& bytes) {
  std::map<kv::RunName, std::size_t> numbers;
  for (std::size_t i = 0; i < checkpoint.runs().size(); ++i) {
    numbers[checkpoint.runs()[i].name] = i;
    bytes += checkpoint.runs()[i].bytes;
  }
  const auto read = [&](const kv::CheckpointRun& run, std::span<std::byte> to) {
    return checkpoint.read(numbers.at(run.name), to);
  };
  std::filesystem::remove_all(path("checkpoint_bench_copy"));
  kv::restore(spec("checkpoint_bench_copy"), checkpoint.private_part().value(), read).value();
}

void Run::compare_with(const kv::Store<>& copy, const std::vector<std::uint32_t>& before,
                       const std::vector<std::uint32_t>& after) const {
  expect(copy.count() == before.size(), "the restored store has another number of records");
  std::string value;
  for (std::uint64_t i = 0; i < before.size(); ++i) {
    copy.get(key_of(i), value).value();
    const std::uint32_t count = count_in(value);
    expect(value == value_of(i, count), "a restored record is not whole");
    expect(before[i] <= count && count <= after[i],
           "a restored record is not between the snapshots");
  }
}

void Run::beside_two_writers(double seconds) {
  Writers writers(*this);
  const auto start = Clock::now();
  const auto rate_until = [&](auto&& until) {
    const auto begin = Clock::now();
    const std::uint64_t before = writers.all();
    until();
    return static_cast<double>(writers.all() - before) / since(begin);
  };
  std::printf("%12s %10s %9s %9s %9s %11s %11s %11s %9s\n", "checkpoint()", "MB", "held s",
              "alone/s", "beside", "put max ms", "(alone)", "used/live", "changed");
  while (since(start) < seconds) {
    writers.take_longest_ms();
    const double alone = rate_until([] { std::this_thread::sleep_for(std::chrono::seconds(4)); });
    const double longest_alone = writers.take_longest_ms();
    std::optional<kv::Snapshot> first = store_.snapshot();
    const auto begin = Clock::now();
    std::optional<kv::Checkpoint> checkpoint = store_.checkpoint().value();
    const double took = since(begin);
    std::optional<kv::Snapshot> second = store_.snapshot();
    const auto before = counts_in(*first), after = counts_in(*second);
    first.reset(), second.reset();
    std::uint64_t bytes = 0;
    writers.take_longest_ms();
    const double beside = rate_until([&] {
      restore_beside(*checkpoint, bytes);
      std::this_thread::sleep_for(std::chrono::seconds(4));
    });
    const double longest = writers.take_longest_ms(), held = since(begin);
    const kv::StoreStats stats = store_.stats();
    checkpoint.reset();
    auto copy = kv::Store<>::open(spec("checkpoint_bench_copy")).value();
    compare_with(copy, before, after);
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      changed += before[i] != after[i];
    std::printf("%9.2f ms %10.0f %9.1f %9.0f %9.2f %11.1f %11.1f %11.2f %9lu\n", took * 1e3,
                static_cast<double>(bytes) / 1e6, held, alone, beside / alone, longest,
                longest_alone,
                static_cast<double>(stats.used_bytes) / static_cast<double>(stats.live_bytes),
                static_cast<unsigned long>(changed));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  expect(records >= 1000, "records: at least 1000");
  Run run(records, argc > 2 ? argv[2] : "/dev/shm");
  run.load();
  if (argc > 3) {
    run.beside_two_writers(std::strtod(argv[3], nullptr));
    return 0;
  }
  run.back_up("full");
  for (std::uint64_t round = 0; round < 3; ++round) {
    run.change_one_percent(round);
    run.back_up("1 % changed");
  }
  run.beside_a_writer();
  run.restore(3);
}
