// operations.hpp: what can be measured, and what the loops around the stores are made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

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
  kYcsbF,
  kYcsbW90,
  kUpdateCopy,
  kGetReclaiming,
  kPutReclaiming,
};

struct Operation {
  const char* name;
  Verb verb;
  bool inserts;     // Takes record numbers that were not there.
  double appended;  // Records written per operation, for the room they need.
  const char* what;
};

// In the order in which they run within a store's life: what leaves the records alone comes first.
// All operations, or null for a name that is none. "group64" is put_many with its own batch size
// and "waiters64" is put with its own thread count.
const std::vector<Operation>& operations();
const Operation* find_operation(const std::string& name);

// The keys and values of a thread's current batch.
class Buffers {
 public:
  Buffers(const Records& records, unsigned batch)
      : records_(records),
        batch_(batch),
        key_stride_(records.key_stride()),
        value_stride_(records.value_stride()),
        key_bytes_(allocate(records.key_stride() * batch)),
        value_bytes_(allocate(records.value_stride() * batch)),
        keys(batch),
        values(batch) {}

  [[gnu::always_inline]] Key key(unsigned at, std::uint64_t index) {
    return records_.key(index, key_bytes_.get() + at * key_stride_);
  }
  std::byte* value(unsigned at = 0) { return value_bytes_.get() + at * value_stride_; }
  ValueView make_value(unsigned at, const Key& key, std::uint64_t version) {
    return records_.value(key, version, value(at));
  }
  unsigned batch() const { return batch_; }

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
  unsigned batch_;
  std::size_t key_stride_, value_stride_;
  Bytes key_bytes_, value_bytes_;

 public:
  std::vector<Key> keys;
  std::vector<ValueView> values;
};

// Runs body(i) for i = 0, step, 2 * step, … in chunks until the phase ends; returns how many
// operations were done. In a latency pass each call's time goes into the histogram, with one
// reading of the clock.
template <class Body>
std::uint64_t drive(PhaseThread& thread, unsigned step, std::uint64_t chunk, Body&& body) {
  const auto quota = std::max<std::uint64_t>(thread.quota() / step, 1) * step;
  const bool timed = thread.phase().latency;
  std::uint64_t done = 0;
  thread.begin();
  while (done < quota && thread.more(done)) {
    const auto end = std::min(quota, done + chunk);
    auto last = Clock::now();
    for (; done < end; done += step) {
      body(done);
      if (!timed) [[likely]]
        continue;  // Always the same way within a phase: costs nothing.
      const auto now = Clock::now();
      thread.latency.record(static_cast<std::uint64_t>((now - last).count()));
      last = now;
    }
  }
  thread.end();
  thread.operations = done;
  return done;
}

// Which operations of a mix write: those whose place in a pattern of 20 is set. A pattern instead
// of a random draw, so that no store is charged for a branch that only the benchmark makes
// unpredictable.
inline constexpr std::uint32_t kEveryOther = 0xaaaaa, kOneOf20 = 0x80000, kNineOf10 = 0xffbfe,
                               kAllOf20 = 0xfffff;
inline bool in_pattern(std::uint32_t pattern, std::uint64_t i) {
  return (pattern >> (i % 20) & 1) != 0;
}

}  // namespace holdfast::bench::kv
