// crash_writer.cpp: writes to a store until its machine is killed, and checks afterwards what is
// there.
//
//   crash_writer write SPEC --seed S [--threads N]
//     Every thread does the operations of Workload on its own keys, one after the other, and prints
//     "ACK thread number ." after each one that the store acknowledged. Ends only by being killed,
//     or with exit code 1 and "FAIL …" when an operation fails.
//   crash_writer check SPEC --seed S --acknowledged T:N,T:N… [--threads N]
//     Each thread's keys must be exactly what its operations 0 … m leave, for one m that is at
//     least the last acknowledged N: all of m's predecessors, nothing of its successors, no part of
//     a batch. (m may be larger: an acknowledgement can be lost on its way to the killing process.)
// Exit  0 held, 1 did not, 2 usage.
// Used  by tests/qemu, where the printed lines leave the guest over a serial port.
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "final_state.hpp"
#include "workload.hpp"

namespace holdfast::real {
namespace {

// How many operations behind the last acknowledgement that arrived may have been done: far more
// than a serial line and its buffers hold.
constexpr std::uint64_t kLookAhead = 20'000;

struct Arguments {
  bool check = false;
  std::string spec;
  std::uint64_t seed = 0;
  unsigned threads = 2;
  std::map<unsigned, std::uint64_t> acknowledged;
};

Workload workload_of(const Arguments& arguments) {
  return {
      .seed = arguments.seed, .threads = arguments.threads, .private_keys = 300, .shared_keys = 0};
}

int fail(const std::string& text) {
  std::printf("FAIL %s\n", text.c_str());
  std::fflush(stdout);
  return 1;
}

// ---- write ----

void write_for_ever(kv::Store<>& store, const Workload& workload, unsigned thread) {
  std::atomic<std::uint64_t> previous{0};
  for (std::uint64_t number = 0;; ++number) {
    const Performed performed =
        perform(store, workload.operation(thread, number), 0, thread, number, previous);
    if (performed.code != Errc::kOk && performed.code != Errc::kNotFound) {
      std::_Exit(fail("operation " + std::to_string(number) + " of thread " +
                      std::to_string(thread) + ": " + performed.detail));
    }
    // One write per line, so that lines of two threads do not mix. The point makes a cut line
    // visible.
    const std::string line =
        "ACK " + std::to_string(thread) + " " + std::to_string(number) + " .\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      std::_Exit(1);
  }
}

int run_write(const Arguments& arguments) {
  auto store = kv::Store<>::open(arguments.spec);
  if (!store) return fail("open: " + store.error().message());
  const Workload workload = workload_of(arguments);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < arguments.threads; ++thread) {
    threads.emplace_back([&, thread] { write_for_ever(*store, workload, thread); });
  }
  for (std::thread& thread : threads)
    thread.join();
  return 1;
}

// ---- check ----

// What one thread's operations leave when they are done one after the other. Operations of other
// threads do not matter: there are no shared keys. `member` counts the effects of put_many, of
// which a crash may keep a prefix; of all others it is 0 and they are done whole.
void apply(const Operation& operation, unsigned thread, std::uint64_t number, std::size_t member,
           Contents& contents) {
  const bool single = operation.kind == Kind::kPutMany;
  for (std::size_t i = single ? member : 0; i < (single ? member + 1 : operation.members.size());
       ++i) {
    const std::uint32_t key = operation.members[i].key;
    const Stamp stamp = make_stamp(0, thread, number, i);
    if (operation.members[i].erase) {
      contents.erase(key);
    } else if (operation.kind != Kind::kUpdateWord) {
      contents[key] = {stamp, stamp};
    } else if (const auto record = contents.find(key); record != contents.end()) {
      record->second.updater = stamp;
    }
  }
}

bool read_contents(const kv::Store<>& store, std::uint32_t first_key, std::uint32_t keys,
                   Contents& found) {
  std::string value;
  for (std::uint32_t key = first_key; key < first_key + keys; ++key) {
    const auto got = store.get(key_name(key), value);
    if (got.code() == Errc::kNotFound) continue;
    if (!got) return fail("get: " + got.error().message()), false;
    const auto state = decode_value(value);
    if (!state) return fail("key " + std::to_string(key) + " holds bytes that nobody wrote"), false;
    found.emplace(key, *state);
  }
  return true;
}

// For the message: the first key that differs from what the acknowledged operations leave.
std::string first_difference(const Contents& expected, const Contents& found) {
  const auto text = [](const Contents& contents, std::uint32_t key) {
    const auto at = contents.find(key);
    return at == contents.end() ? std::string{"no record"}
                                : "[" + describe(at->second.writer) + "], word 0 [" +
                                      describe(at->second.updater) + "]";
  };
  for (const auto* contents : {&expected, &found}) {
    for (const auto& [key, state] : *contents) {
      const std::string is = text(found, key), was = text(expected, key);
      if (is != was)
        return "key " + std::to_string(key) + " holds " + is + ", acknowledged was " + was;
    }
  }
  return "no difference";
}

int check_thread(const kv::Store<>& store, const Workload& workload, unsigned thread,
                 std::uint64_t acknowledged, std::uint64_t& done) {
  Contents found, expected;
  if (!read_contents(store, thread * workload.private_keys, workload.private_keys, found)) return 1;
  std::string difference;
  for (std::uint64_t number = 0; number <= acknowledged + kLookAhead; ++number) {
    const Operation operation = workload.operation(thread, number);
    const std::size_t steps = operation.kind == Kind::kPutMany ? operation.members.size() : 1;
    for (std::size_t step = 0; step < steps; ++step) {
      apply(operation, thread, number, step, expected);
      // The last acknowledged one must be there whole, a later one may be in part if it is a
      // put_many.
      const bool may_end_here =
          number > acknowledged || (number == acknowledged && step + 1 == steps);
      if (may_end_here && expected == found) {
        done = number;
        return 0;
      }
    }
    if (number == acknowledged) difference = first_difference(expected, found);
  }
  return fail("thread " + std::to_string(thread) + " was acknowledged operation " +
              std::to_string(acknowledged) +
              "; what is there is the result of no number of operations from there on. " +
              difference);
}

int run_check(const Arguments& arguments) {
  kv::StoreOptions options;
  options.access = RegionAccess::kOpen;
  auto store = kv::Store<>::open(arguments.spec, options);
  if (!store) return fail("open: " + store.error().message());
  const Workload workload = workload_of(arguments);
  std::uint64_t operations = 0, unreported = 0;
  for (unsigned thread = 0; thread < arguments.threads; ++thread) {
    const auto last = arguments.acknowledged.find(thread);
    if (last == arguments.acknowledged.end())
      return fail("no acknowledgement of thread " + std::to_string(thread));
    std::uint64_t done = 0;
    if (check_thread(*store, workload, thread, last->second, done) != 0) return 1;
    operations += last->second + 1;
    unreported += done - last->second;
  }
  if (const kv::VerifyReport report = store->verify(); !report.ok()) {
    return fail("verify: " + report.defects[0].what);
  }
  if (const Status closed = store->close(); !closed)
    return fail("close: " + closed.error().message());
  std::printf("all %llu acknowledged operations are there; %llu more had been done\n",
              static_cast<unsigned long long>(operations),
              static_cast<unsigned long long>(unreported));
  return 0;
}

// ---- Arguments ----

bool parse(std::string_view text, std::uint64_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

bool parse_acknowledged(std::string_view text, std::map<unsigned, std::uint64_t>& acknowledged) {
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    const std::size_t colon = entry.find(':');
    std::uint64_t thread = 0, number = 0;
    if (colon == entry.npos || !parse(entry.substr(0, colon), thread) ||
        !parse(entry.substr(colon + 1), number)) {
      return false;
    }
    acknowledged[static_cast<unsigned>(thread)] = number;
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
  }
  return !acknowledged.empty();
}

int usage(const std::string& what) {
  std::fprintf(
      stderr,
      "crash_writer: %s; usage: crash_writer write SPEC --seed S [--threads 1..16]\n"
      "              crash_writer check SPEC --seed S --acknowledged T:N,T:N [--threads 1..16]\n",
      what.c_str());
  return 2;
}

int run(int argc, char** argv) {
  Arguments arguments;
  if (argc < 3) return usage("too few arguments");
  const std::string verb = argv[1];
  if (verb != "write" && verb != "check") return usage("unknown verb '" + verb + "'");
  arguments.check = verb == "check";
  arguments.spec = argv[2];
  for (int i = 3; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return usage(name + " lacks its value");
    const std::string value = argv[i + 1];
    std::uint64_t number = 0;
    if (name == "--acknowledged" && parse_acknowledged(value, arguments.acknowledged)) continue;
    if (name == "--seed" && parse(value, number)) {
      arguments.seed = number;
    } else if (name == "--threads" && parse(value, number) && number >= 1 && number <= 16) {
      arguments.threads = static_cast<unsigned>(number);
    } else {
      return usage("cannot use '" + name + " " + value + "'");
    }
  }
  return arguments.check ? run_check(arguments) : run_write(arguments);
}

}  // namespace
}  // namespace holdfast::real

int main(int argc, char** argv) { return holdfast::real::run(argc, argv); }
