// operations.hpp: what can be measured, and what the loops around the stores are made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/bench/kv/thread_times.hpp>
#include <holdfast/bench/kv/workload.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {

enum class Verb : std::uint8_t {
  kPut,
  kPutMany,
  kOverwrite,
  kGet,
  kGetMany,
  kUpdate8,
  kErase,
  kYcsbA,
  kYcsbB,
  kYcsbC,
  kYcsbD,
  kYcsbE,
  kYcsbF,
  kYcsbW90,
  kUpdateCopy,
  kGetReclaiming,
  kPutReclaiming,
  kSteadyOverwrite,
  kScan,
};

// Which operations of a mix write: those whose place in a pattern of 20 is set. A pattern instead
// of a random draw, so that no store is charged for a branch that only the benchmark makes
// unpredictable.
enum class Writes : std::uint32_t {
  kNone = 0,
  kOneOf20 = 0x80000,
  kEveryOther = 0xaaaaa,
  kNineOf10 = 0xffbfe,
  kAll = 0xfffff,
};
inline bool is_write(Writes pattern, std::uint64_t i) {
  return (static_cast<std::uint32_t>(pattern) >> (i % 20) & 1) != 0;
}

struct Operation {
  const char* name;
  Verb verb;
  Writes writes;
  bool inserts;     // Takes record numbers that were not there.
  double appended;  // Records written per operation, for the room they need.
  const char* what;
};

// In the order in which they run within a store's life: what leaves the records alone comes first.
// All operations, or null for a name that is none. "group64" is put_many with its own batch size
// and "waiters64" is put with its own thread count.
const std::vector<Operation>& operations();
const Operation* find_operation(const std::string& name);

// The keys and values of a thread's current chunk of operations, each at its place.
class Buffers {
 public:
  Buffers(const Records& records, unsigned places)
      : records_(records),
        key_stride_(records.key_stride()),
        value_stride_(records.value_stride()),
        key_bytes_(allocate(records.key_stride() * places)),
        value_bytes_(allocate(records.value_stride() * places)),
        keys(places),
        values(places) {}

  unsigned places() const { return static_cast<unsigned>(keys.size()); }
  // Room for the value at place `at`.
  std::byte* value(unsigned at = 0) { return value_bytes_.get() + at * value_stride_; }
  std::byte* key_bytes(unsigned at) { return key_bytes_.get() + at * key_stride_; }
  const Key& make_key(unsigned at, std::uint64_t index) {
    return keys[at] = records_.key(index, key_bytes_.get() + at * key_stride_);
  }
  void make_record(unsigned at, std::uint64_t index, std::uint64_t version) {
    values[at] = records_.value(make_key(at, index), version, value(at));
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  using Bytes = std::unique_ptr<std::byte, Free>;
  static Bytes allocate(std::size_t bytes) {
    const auto rounded = round_up(bytes, kCacheLineBytes);
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kCacheLineBytes, rounded));
    HF_CHECK(memory != nullptr);
    std::memset(memory, 0, rounded);
    return Bytes(memory);
  }
  const Records& records_;
  std::size_t key_stride_, value_stride_;
  Bytes key_bytes_, value_bytes_;

 public:
  std::vector<Key> keys;
  std::vector<ValueView> values;  // What is written, or what was read.
};

// Operations whose keys and values are made before and whose answers are checked after they all
// ran: so the instructions between two operations are the store's own, and the processor's window
// of some hundred instructions overlaps their cache misses as it would in an application. Small
// enough that keys and values stay in the first-level cache.
inline constexpr unsigned kChunk = 64;

// A function of its own, so that registers hold what the operations need and nothing else.
template <class Run>
[[gnu::noinline]] void run_chunk(unsigned step, unsigned count, Run& run) {
  for (unsigned j = 0; j < count; j += step)
    run(j);
}

template <class Run>
[[gnu::noinline]] void run_timed(PhaseThread& thread, unsigned step, unsigned count, Run& run,
                                 StallWatch* stalls) {
  auto last = Clock::now();
  if (stalls != nullptr) stalls->resume(last);
  for (unsigned j = 0; j < count; j += step) {
    run(j);
    const auto now = Clock::now();
    thread.latency.record(static_cast<std::uint64_t>((now - last).count()));
    if (stalls != nullptr) stalls->operation(last, now);
    last = now;
  }
}

// Operations 0, 1, 2, … in chunks of at most `chunk` (a multiple of `step`), until the phase ends:
// for each chunk make(i, j) for all, then run(j) for every step-th, then check(j) for all, where i
// is the number of the operation and j its place in the chunk; finish() stands between run and
// check, for answers that come later. Returns how many were done. In a
// latency pass, and with `stalls`, the time of each run(j) goes into the histogram, with one
// reading of the clock.
template <class Make, class Run, class Finish, class Check>
std::uint64_t drive(PhaseThread& thread, unsigned step, unsigned chunk,
                    bool look_at_clock_each_chunk, Make&& make, Run&& run, Finish&& finish,
                    Check&& check, StallWatch* stalls = nullptr) {
  const auto quota = std::max<std::uint64_t>(thread.quota() / step, 1) * step;
  const bool timed = thread.phase().latency || stalls != nullptr;
  const std::uint64_t round = look_at_clock_each_chunk ? chunk : std::max(1u, 256 / chunk) * chunk;
  std::uint64_t done = 0;
  thread.begin();
  while (done < quota && thread.more(done)) {
    const auto end = std::min(quota, done + round);
    while (done < end) {
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(chunk, end - done));
      for (unsigned j = 0; j < count; ++j)
        make(done + j, j);
      if (timed)
        run_timed(thread, step, count, run, stalls);
      else
        run_chunk(step, count, run);
      finish();
      for (unsigned j = 0; j < count; ++j)
        check(j);
      done += count;
    }
  }
  thread.end();
  thread.operations = done;
  return done;
}

}  // namespace holdfast::bench::kv
