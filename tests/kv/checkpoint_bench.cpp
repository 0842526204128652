// The cost goals of checkpoints and backups. Not a test: run it on a quiet machine.
//
//   checkpoint_bench [records = 4000000] [directory = /dev/shm]
//
// Records have 16 bytes of key and 200 of value. Every figure is checked: a writer counts in its
// values what was acknowledged, and the restored store is read and compared record by record.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/kv/backup.hpp>

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

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  expect(records >= 1000, "records: at least 1000");
  Run run(records, argc > 2 ? argv[2] : "/dev/shm");
  run.load();
  run.back_up("full");
  for (std::uint64_t round = 0; round < 3; ++round) {
    run.change_one_percent(round);
    run.back_up("1 % changed");
  }
  run.beside_a_writer();
  run.restore(3);
}
