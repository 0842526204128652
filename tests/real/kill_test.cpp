// kill_test.cpp: kills a process that works on a store, again and again, and compares what is left.
//
//   kill_test [--rounds N] [--seed S] [--directory DIR]
//
// Per round a child process (this program anew) opens the store and writes with several threads
// (put, put_many, a Pipeline, overwrite, update_word, erase, atomic batches over private and shared
// keys, reclamation running); SIGKILL hits it while it writes, or while it closes. In every third
// round one or two more children are killed while they recover. Then the parent opens the store, every
// second time read-only, and final_state.hpp decides whether what is there follows from what was
// acknowledged; verify() must find nothing; count(), get() and a snapshot must agree. The next
// round goes on from there.
//
// Scenarios  "file": a directory of the file system of DIR (default /tmp), durability process;
//            "line": tmpfs with granularity=line, the code path of persistent memory.
// Shows not  missing flushes and fences: a killed process loses no executed store.
// Exit       0 all held, 1 something was lost or wrong (the store is kept), 2 usage.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "final_state.hpp"
#include "shared_log.hpp"
#include "workload.hpp"

namespace holdfast::real {
namespace {

constexpr unsigned kThreads = 3;
constexpr std::size_t kEntriesPerThread = 400'000;  // More than a thread does in the longest round.
constexpr std::uint64_t kMillisecond = 1'000'000;

struct Arguments {
  std::uint64_t rounds = 20;  // Per scenario; at most 4,000: a stamp has 12 bits for the round.
  std::uint64_t seed = 0;     // 0: drawn.
  std::string directory = "/tmp";
  // Of a child.
  int log_descriptor = -1;
  std::uint32_t round = 0;
  std::string spec;
};

Workload workload_of(std::uint64_t seed, std::uint32_t round) {
  return {
      .seed = seed * 4096 + round, .threads = kThreads, .private_keys = 2000, .shared_keys = 600};
}

kv::StoreOptions store_options() {
  kv::StoreOptions options;
  options.block_bytes = 16 * KiB;  // Small: blocks are sealed, patched and reclaimed all the time.
  options.segment_bytes = 1 * MiB;
  options.initial_bytes = 1 * MiB;
  options.patchable_words = {0};
  return options;
}

// ---- The child ----

[[noreturn]] void fail_child(const SharedLog& log, const std::string& error) {
  std::snprintf(log.header().error, sizeof log.header().error, "%s", error.c_str());
  log.header().phase.store(Phase::kFailed);
  std::_Exit(1);
}

void write_until_told(const SharedLog& log, kv::Store<>& store, const Workload& workload,
                      std::uint32_t round, unsigned thread) {
  for (std::uint64_t number = 0; number < log.entries_per_thread() && log.header().stop.load() == 0;
       ++number) {
    const Operation operation = workload.operation(thread, number);
    LogEntry& entry = log.entry(thread, number);
    entry.invoked_ns.store(now_ns(), std::memory_order_release);
    const Performed performed = perform(store, operation, round, thread, number, entry.previous);
    if (performed.code == Errc::kNotFound) {
      entry.found_nothing.store(1, std::memory_order_release);
    } else if (performed.code != Errc::kOk) {
      fail_child(log, "operation " + std::to_string(number) + " of thread " +
                          std::to_string(thread) + ": " + performed.detail);
    }
    entry.acknowledged_ns.store(now_ns(), std::memory_order_release);
  }
}

int run_child(const Arguments& arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const SharedLog log = SharedLog::attach(arguments.log_descriptor, kThreads, kEntriesPerThread);
  LogHeader& header = log.header();
  header.phase.store(Phase::kOpening);
  const std::uint64_t before = now_ns();
  auto store = kv::Store<>::open(arguments.spec, store_options());
  if (!store) fail_child(log, "open: " + store.error().message());
  header.open_ns.store(now_ns() - before);
  header.phase.store(Phase::kWriting);
  const Workload workload = workload_of(arguments.seed, arguments.round);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back(
        [&, thread] { write_until_told(log, *store, workload, arguments.round, thread); });
  }
  while (header.stop.load() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    header.reclaimed_blocks.store(store->stats().reclaimed_blocks);
  }
  for (std::thread& thread : threads)
    thread.join();
  header.phase.store(Phase::kClosing);
  if (const Status closed = store->close(); !closed)
    fail_child(log, "close: " + closed.error().message());
  header.phase.store(Phase::kClosed);
  return 0;
}

// ---- The parent ----

struct Totals {
  std::uint64_t acknowledged = 0, in_flight = 0, reclaimed_blocks = 0, records = 0;
  std::uint64_t killed_writing = 0, killed_closing = 0, killed_recovering = 0, read_only_checks = 0;
};

class Scenario {
 public:
  Scenario(const Arguments& arguments, std::string name, std::string path, std::string suffix)
      : arguments_(arguments),
        name_(std::move(name)),
        path_(std::move(path)),
        spec_(path_ + suffix),
        random_(arguments.seed ^ std::hash<std::string>{}(name_)) {}

  bool run() {
    for (std::uint32_t round = 0; round < arguments_.rounds; ++round) {
      if (!run_round(round)) {
        std::printf(
            "FAIL kill_test %s: round %u, seed %llu; the store is kept at %s, as the kill left it "
            "at %s\n",
            name_.c_str(), round, static_cast<unsigned long long>(arguments_.seed), path_.c_str(),
            as_killed().c_str());
        return false;
      }
    }
    // A run that killed nothing in the middle would pass for the wrong reason.
    const bool meant_something = totals_.acknowledged > 100 * arguments_.rounds &&
                                 totals_.in_flight > 0 && totals_.reclaimed_blocks > 0;
    std::printf(
        "%s kill_test %s: %llu rounds (%llu killed writing, %llu closing; %llu recoveries killed; "
        "%llu read-only "
        "checks), %llu operations acknowledged, %llu in flight, %llu blocks reclaimed, %llu "
        "records at the end\n",
        meant_something ? "PASS" : "FAIL", name_.c_str(), count(arguments_.rounds),
        count(totals_.killed_writing), count(totals_.killed_closing),
        count(totals_.killed_recovering), count(totals_.read_only_checks),
        count(totals_.acknowledged), count(totals_.in_flight), count(totals_.reclaimed_blocks),
        count(totals_.records));
    if (!meant_something)
      std::printf("FAIL too little happened before the kills for them to show anything\n");
    std::filesystem::remove_all(path_);
    std::filesystem::remove_all(as_killed());
    return meant_something;
  }

 private:
  static unsigned long long count(std::uint64_t n) { return n; }

  std::uint64_t draw(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>{low, high}(random_);
  }

  bool complain(const std::string& text) {
    std::printf("FAIL kill_test %s: %s\n", name_.c_str(), text.c_str());
    return false;
  }

  pid_t spawn(const SharedLog& log, std::uint32_t round) const {
    const std::vector<std::string> words = {"kill_test",
                                            "--child",
                                            std::to_string(log.descriptor()),
                                            "--seed",
                                            std::to_string(arguments_.seed),
                                            "--round",
                                            std::to_string(round),
                                            "--spec",
                                            spec_};
    std::vector<char*> argv;
    for (const std::string& word : words)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
      execv("/proc/self/exe", argv.data());
      std::_Exit(127);
    }
    return pid;
  }

  std::string as_killed() const { return path_ + "-as-killed"; }

  static void sleep_ns(std::uint64_t ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds{ns});
  }

  // Waits until the child has reached `phase`; false if it failed or did not get there in time.
  static bool wait_for(const SharedLog& log, Phase phase,
                       std::uint64_t limit_ns = 30'000 * kMillisecond) {
    const std::uint64_t deadline = now_ns() + limit_ns;
    while (now_ns() < deadline) {
      const Phase now = log.header().phase.load();
      if (now == Phase::kFailed) return false;
      if (now >= phase) return true;
      sleep_ns(20'000);
    }
    return false;
  }

  // Kills and reaps. False where the child had ended by itself in another way than by a finished
  // close.
  bool kill_child(pid_t pid, const SharedLog& log) {
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    if (log.header().phase.load() == Phase::kFailed)
      return complain(std::string{"the child: "} + log.header().error);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!killed && !finished)
      return complain("the child ended by itself, wait status " + std::to_string(status));
    return true;
  }

  bool run_round(std::uint32_t round) {
    const SharedLog log = SharedLog::create(kThreads, kEntriesPerThread);
    const bool at_close = round % 5 == 4;
    const pid_t pid = spawn(log, round);
    if (!wait_for(log, Phase::kWriting)) {
      return kill_child(pid, log) && complain("the child did not open the store within 30 s");
    }
    sleep_ns(draw(5 * kMillisecond, 250 * kMillisecond));
    if (at_close) {
      log.header().stop.store(1);
      wait_for(log, Phase::kClosing);
      sleep_ns(draw(0, 3 * kMillisecond));
      ++totals_.killed_closing;
    } else {
      ++totals_.killed_writing;
    }
    if (!kill_child(pid, log)) return false;
    open_ns_ = std::max(log.header().open_ns.load(), kMillisecond);
    totals_.reclaimed_blocks += log.header().reclaimed_blocks.load();

    if (round % 3 == 2) {
      for (std::uint64_t attempt = draw(1, 2); attempt > 0; --attempt) {
        if (!interrupt_recovery(round)) return false;
      }
    }
    return check(log, round, /*read_only=*/round % 2 == 1);
  }

  // One more child, killed while it opens the store that the last one left. It writes no record: it
  // is told to stop before it begins.
  bool interrupt_recovery(std::uint32_t round) {
    const SharedLog log = SharedLog::create(kThreads, 1);
    log.header().stop.store(1);
    const pid_t pid = spawn(log, round);
    if (!wait_for(log, Phase::kOpening))
      return kill_child(pid, log) && complain("the child did not start");
    sleep_ns(draw(0, open_ns_));
    ++totals_.killed_recovering;
    return kill_child(pid, log);
  }

  // The log of a dead child as operations for the judge.
  std::vector<RecordedOperation> operations_of(const SharedLog& log, std::uint32_t round) {
    std::vector<RecordedOperation> operations;
    const Workload workload = workload_of(arguments_.seed, round);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      for (std::uint64_t number = 0; number < log.entries_per_thread(); ++number) {
        const LogEntry& entry = log.entry(thread, number);
        if (entry.invoked_ns.load() == 0) break;
        add_operation(
            operations, entry, workload.operation(thread, number),
            [&](std::size_t member) { return make_stamp(round, thread, number, member); });
      }
    }
    return operations;
  }

  template <class StampOf>
  void add_operation(std::vector<RecordedOperation>& operations, const LogEntry& entry,
                     const Operation& operation, const StampOf& stamp_of) {
    const std::uint64_t acknowledged = entry.acknowledged_ns.load();
    ++(acknowledged != 0 ? totals_.acknowledged : totals_.in_flight);
    RecordedOperation recorded;
    recorded.invoked_ns = entry.invoked_ns.load();
    recorded.acknowledged_ns = acknowledged != 0 ? acknowledged : kNever;
    const bool found_nothing = entry.found_nothing.load() != 0;
    for (std::size_t i = 0; i < operation.members.size(); ++i) {
      const Member& member = operation.members[i];
      Effect effect{Effect::What::kWrite, member.key, stamp_of(i), 0};
      if (member.erase || found_nothing) {
        effect.what = Effect::What::kAbsent;
      } else if (operation.kind == Kind::kUpdateWord) {
        effect.what = Effect::What::kUpdate;
        effect.previous = entry.previous.load();
        if (effect.previous == 0)
          return;  // In flight and had not seen the record: it changed nothing.
      }
      recorded.effects.push_back(effect);
      if (operation.kind == Kind::kPutMany) {  // Each put for itself, in order.
        operations.push_back(recorded);
        recorded.effects.clear();
        recorded.follows = operations.size() - 1;
      }
    }
    if (!recorded.effects.empty()) operations.push_back(std::move(recorded));
  }

  bool check(const SharedLog& log, std::uint32_t round, bool read_only) {
    // For the search for the reason: opening changes what the kill left.
    std::filesystem::remove_all(as_killed());
    std::filesystem::copy(path_, as_killed(), std::filesystem::copy_options::recursive);
    kv::StoreOptions options = store_options();
    options.access = read_only ? RegionAccess::kOpenReadOnly : RegionAccess::kOpen;
    auto opened = kv::Store<>::open(spec_, options);
    if (!opened) return complain("open after the kill: " + opened.error().message());
    kv::Store<>& store = *opened;
    totals_.read_only_checks += read_only;

    Contents found;
    if (!read_contents(store, workload_of(arguments_.seed, round).keys(), found)) return false;
    const std::vector<std::string> wrong =
        contradictions(contents_, operations_of(log, round), found);
    for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 10); ++i)
      complain(wrong[i]);
    if (!wrong.empty()) return false;
    const kv::VerifyReport report = store.verify();
    if (!report.ok()) {
      return complain("verify: " + std::to_string(report.defects_total) +
                      " defects, the first at offset " + std::to_string(report.defects[0].offset) +
                      ": " + report.defects[0].what);
    }
    // What the next round must not see again is thrown away, whether or not the child got to it.
    if (!read_only) {
      if (const Status reclaimed = store.reclaim(); !reclaimed) {
        return complain("reclaim: " + reclaimed.error().message());
      }
      totals_.reclaimed_blocks += store.stats().reclaimed_blocks;
    }
    if (const Status closed = store.close(); !closed)
      return complain("close: " + closed.error().message());
    contents_ = std::move(found);
    totals_.records = contents_.size();
    return true;
  }

  // Everything in the store, by snapshot, by get() and by count(): the three must agree.
  bool read_contents(kv::Store<>& store, std::uint32_t keys, Contents& found) {
    std::map<std::string, RecordState, std::less<>> by_name;
    std::string foreign;
    const kv::Snapshot snapshot = store.snapshot();
    const Status status =
        snapshot.for_each([&](std::string_view key, std::string_view value, kv::Version) {
          const auto state = decode_value(value);
          const bool is_new = state && by_name.emplace(key, *state).second;
          if (!is_new)
            foreign = std::string{key} +
                      (state ? ": twice in the snapshot" : ": a value that nobody wrote");
          return is_new;
        });
    if (!status) return complain("snapshot: " + status.error().message());
    if (!foreign.empty()) return complain(foreign);
    std::string value;
    for (std::uint32_t key = 0; key < keys; ++key) {
      const auto got = store.get(key_name(key), value);
      if (!got && got.code() != Errc::kNotFound) return complain("get: " + got.error().message());
      const auto in_snapshot = by_name.find(key_name(key));
      if (got.has_value() != (in_snapshot != by_name.end()))
        return complain(key_name(key) + ": get and snapshot differ");
      if (!got) continue;
      const auto state = decode_value(value);
      if (!state || *state != in_snapshot->second)
        return complain(key_name(key) + ": get and snapshot differ");
      found.emplace(key, *state);
    }
    if (found.size() != by_name.size())
      return complain("the snapshot holds keys that nobody wrote");
    if (store.count() != found.size()) {
      return complain("count() is " + std::to_string(store.count()) + ", there are " +
                      std::to_string(found.size()));
    }
    return true;
  }

  const Arguments& arguments_;
  std::string name_, path_, spec_;
  std::mt19937_64 random_;
  std::uint64_t open_ns_ = kMillisecond;
  Contents contents_;
  Totals totals_;
};

int usage(const std::string& what) {
  std::fprintf(stderr,
               "kill_test: %s; usage: kill_test [--rounds 1..4000] [--seed N] [--directory DIR]\n",
               what.c_str());
  return 2;
}

int run(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return usage(name + " lacks its value");
    const std::string value = argv[i + 1];
    if (name == "--directory") {
      arguments.directory = value;
    } else if (name == "--spec") {
      arguments.spec = value;
    } else {
      std::uint64_t number = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
      if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size()) {
        return usage(name + " takes a number, not '" + value + "'");
      }
      if (name == "--rounds") {
        arguments.rounds = number;
      } else if (name == "--seed") {
        arguments.seed = number;
      } else if (name == "--child") {
        arguments.log_descriptor = static_cast<int>(number);
      } else if (name == "--round") {
        arguments.round = static_cast<std::uint32_t>(number);
      } else {
        return usage("unknown argument '" + name + "'");
      }
    }
  }
  if (arguments.log_descriptor >= 0) return run_child(arguments);
  if (arguments.rounds < 1 || arguments.rounds > 4000) return usage("--rounds is out of range");
  if (arguments.seed == 0) arguments.seed = std::random_device{}();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("kill_test: %llu rounds per scenario, seed %llu\n",
              static_cast<unsigned long long>(arguments.rounds),
              static_cast<unsigned long long>(arguments.seed));
  const std::string tail = "/holdfast-kill-test-" + std::to_string(getpid());
  const bool file = Scenario{arguments, "file", arguments.directory + tail, ""}.run();
  const bool line = Scenario{arguments, "line", "/dev/shm" + tail, "?granularity=line"}.run();
  return file && line ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::real

int main(int argc, char** argv) { return holdfast::real::run(argc, argv); }
