// memory_kernel_lines.cpp: counts the accesses to memory that each measured loop really makes.
//
// The memory is protected, so each instruction that touches it is stopped by the CPU; the place is
// noted, the instruction let through alone (trap flag), the memory protected again. What comes out
// is the list of places that machine code touches, whatever the compiler has made of the source: a
// load that was optimised away, made twice, or goes to the wrong line is seen. Then the checksum
// and the lines written are compared, too. Writing loops run once more instruction by instruction,
// and the fences among these are counted.
//
// A program of its own, without GoogleTest, so that memory_kernel_lines.py can build it with every
// compiler and optimisation in seconds. Exit code 0, or 1 with the loops that are wrong.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <holdfast/bench/memory/content.hpp>
#include <holdfast/bench/memory/floor_set.hpp>
#include <holdfast/bench/memory/kernels.hpp>

using namespace holdfast::bench::memory;

namespace {

constexpr std::size_t kArenaBytes = 64 * 1024;
constexpr std::size_t kTouchesMax = 100'000;
constexpr long long kTrapFlag = 0x100;

std::byte* arena = nullptr;
std::uintptr_t touches[kTouchesMax];
volatile std::size_t touch_count = 0;

// What kind of instruction made a touch.
enum Kind : unsigned char {
  kOrdinary,
  kStreamedLoad,
  kStreamedStore,
  kWriteBack,
  kFlushOpt,
  kFlush
};
Kind kinds[kTouchesMax];

// Decodes as much of an instruction as tells those apart: prefixes, then map and opcode, in the
// encodings before and after VEX and EVEX.
Kind kind_of(const unsigned char* at) {
  bool prefix_66 = false;
  for (;; ++at) {
    if (*at == 0x66)
      prefix_66 = true;
    else if (*at != 0xF0 && *at != 0xF2 && *at != 0xF3 && *at != 0x2E && *at != 0x3E &&
             (*at & 0xF0) != 0x40)
      break;
  }
  unsigned map = 0, opcode = *at, next = 1;
  if (at[0] == 0xC5) {
    map = 1, opcode = at[2], next = 3;
  } else if (at[0] == 0xC4) {
    map = at[1] & 0x1F, opcode = at[3], next = 4;
  } else if (at[0] == 0x62) {
    map = at[1] & 7, opcode = at[4], next = 5;
  } else if (at[0] == 0x0F) {
    const bool longer = at[1] == 0x38;
    map = longer ? 2 : 1, opcode = at[longer ? 2 : 1], next = longer ? 3 : 2;
  }
  const auto reg = at[next] >> 3 & 7;
  if (map == 2 && opcode == 0x2A) return kStreamedLoad;
  if (map == 1 && opcode == 0xE7) return kStreamedStore;
  if (map == 1 && opcode == 0xC3) return kStreamedStore;  // movnti
  if (map == 1 && opcode == 0xAE && reg == 6 && prefix_66) return kWriteBack;
  if (map == 1 && opcode == 0xAE && reg == 7) return prefix_66 ? kFlushOpt : kFlush;
  return kOrdinary;
}

void protect(bool on) {
  if (mprotect(arena, kArenaBytes, on ? PROT_NONE : PROT_READ | PROT_WRITE) != 0) _exit(3);
}

void on_fault(int, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto begin = reinterpret_cast<std::uintptr_t>(arena);
  if (at < begin || at >= begin + kArenaBytes || touch_count == kTouchesMax) {
    std::fprintf(stderr, "a fault outside of the memory, or too many\n");
    _exit(3);
  }
  touches[touch_count] = at - begin;
  kinds[touch_count] = kind_of(reinterpret_cast<const unsigned char*>(
      static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
  touch_count = touch_count + 1;
  protect(false);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
}

// Where every instruction is let through alone: whether it is an sfence.
volatile bool counting_fences = false;
volatile std::size_t fence_count = 0;

void on_step(int, siginfo_t*, void* context) {
  if (counting_fences) {
    const auto* at = reinterpret_cast<const unsigned char*>(
        static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
    fence_count = fence_count + (at[0] == 0x0F && at[1] == 0xAE && at[2] == 0xF8);
    return;  // The flag stays.
  }
  protect(true);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
}

using Touches = std::map<std::uintptr_t, unsigned>;  // How often, by first byte.

template <class Body>
Touches touched_by(const Body& body) {
  touch_count = 0;
  protect(true);
  body();
  protect(false);
  Touches result;
  for (std::size_t i = 0; i < touch_count; ++i)
    ++result[touches[i]];
  return result;
}

// The fences that the CPU executes in body(), step by step.
template <class Body>
std::size_t fences_in(const Body& body) {
  fence_count = 0;
  counting_fences = true;
  // Below the red zone of this function.
  asm volatile(
      "leaq -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  body();
  asm volatile(
      "leaq -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; leaq 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  counting_fences = false;
  return fence_count;
}

int failures = 0;
int checked = 0;

void fail(const std::string& name, const std::string& what) {
  ++failures;
  std::printf("WRONG %s: %s\n", name.c_str(), what.c_str());
}

void fill() {
  for (std::size_t word = 0; word < kArenaBytes / 8; ++word) {
    const auto value = content_of_word(word);
    std::memcpy(arena + word * 8, &value, 8);
  }
}

std::uint64_t word_at(std::uint64_t byte) {
  std::uint64_t value;
  std::memcpy(&value, arena + byte, 8);
  return value;
}

void expect(const std::string& name, const Touches& seen, const Touches& wanted) {
  ++checked;
  for (const auto& [byte, times] : wanted) {
    const auto found = seen.find(byte);
    const auto really = found == seen.end() ? 0 : found->second;
    if (really != times)
      return fail(name, "byte " + std::to_string(byte) + " is touched " + std::to_string(really) +
                            " times, must be " + std::to_string(times));
  }
  for (const auto& [byte, times] : seen) {
    if (wanted.count(byte) == 0)
      return fail(name, "byte " + std::to_string(byte) + " is touched, and should not be");
  }
}

// Of the last touched_by(): `flushes` touches by the instruction that belongs to `flush`, the
// others by loads or stores of the kind that belongs to it.
void expect_kinds(const std::string& name, Kind accesses, Kind flush, std::size_t flushes) {
  std::size_t flushed = 0;
  for (std::size_t i = 0; i < touch_count; ++i) {
    if (flushes > 0 && kinds[i] == flush)
      ++flushed;
    else if (kinds[i] != accesses)
      return fail(name, "touch " + std::to_string(i) + " is by an instruction of kind " +
                            std::to_string(kinds[i]) + ", must be " + std::to_string(accesses));
  }
  if (flushed != flushes)
    fail(name, std::to_string(flushed) + " lines are flushed by the instruction, must be " +
                   std::to_string(flushes));
}

Kind flush_kind(Flush flush) {
  switch (flush) {
    case Flush::kClwb: return kWriteBack;
    case Flush::kClflushopt: return kFlushOpt;
    case Flush::kClflush: return kFlush;
    default: return kOrdinary;
  }
}

void expect_fences(const std::string& name, std::size_t seen, std::size_t wanted) {
  ++checked;
  if (seen != wanted)
    fail(name, std::to_string(seen) + " fences are executed, must be " + std::to_string(wanted));
}

// Each line in as many pieces as it has vectors; a flush touches its first byte once more.
Touches lines_wanted(const std::vector<std::uint64_t>& accesses, std::uint64_t lines,
                     std::size_t vector_bytes, bool flushed) {
  Touches wanted;
  for (const auto access : accesses) {
    for (std::uint64_t byte = access; byte < access + lines * 64; byte += vector_bytes)
      ++wanted[byte];
    for (std::uint64_t byte = access; flushed && byte < access + lines * 64; byte += 64)
      ++wanted[byte];
  }
  return wanted;
}

void expect_sums(const std::string& name, const Lanes& lanes,
                 const std::vector<std::uint64_t>& accesses, std::uint64_t lines) {
  LinesRead read;
  for (const auto access : accesses)
    read.add(access / 64, lines);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (lanes.sum[lane] != read.lane(lane))
      return fail(name, "the checksum of lane " + std::to_string(lane) + " is wrong");
  }
}

void expect_written(const std::string& name, const std::vector<std::uint64_t>& accesses,
                    std::uint64_t lines, std::uint64_t tag) {
  for (const auto access : accesses) {
    for (std::uint64_t byte = access; byte < access + lines * 64; byte += 8) {
      const auto wanted = content_of_word(byte / 8) + (byte % 64 == 56 ? tag : 0);
      if (word_at(byte) != wanted)
        return fail(name, "byte " + std::to_string(byte) + " does not hold what was written");
    }
  }
}

constexpr std::uint64_t kTag = 0x1234567;
constexpr bool flushes(std::size_t flush) {
  const auto kind = static_cast<Flush>(flush);
  return kind == Flush::kClwb || kind == Flush::kClflushopt || kind == Flush::kClflush;
}

bool cpu_has(std::size_t flush) {
  const auto kind = static_cast<Flush>(flush);
  unsigned a = 7, b = 0, c = 0, d = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (kind == Flush::kClwb) return b & (1u << 24);
  if (kind == Flush::kClflushopt) return b & (1u << 23);
  return true;
}

// A block of accesses that are not in order, or 3 ascending or descending ones.
struct Block {
  std::vector<std::uint32_t> slots;
  std::vector<std::uint64_t> bytes;
  Accesses accesses;
};

Block block_of(bool slots, std::uint64_t access_bytes, bool descending) {
  Block block;
  block.accesses.base = arena;
  block.accesses.step_bytes = static_cast<std::int64_t>(access_bytes);
  if (slots) {
    block.slots = {5, 0, 3, 1};
    for (const auto slot : block.slots)
      block.bytes.push_back(slot * access_bytes);
    block.accesses.count = block.slots.size();
  } else {
    block.accesses.first_byte = descending ? 4 * access_bytes : access_bytes;
    if (descending) block.accesses.step_bytes = -block.accesses.step_bytes;
    for (std::uint64_t i = 0; i < 3; ++i)
      block.bytes.push_back(block.accesses.first_byte +
                            i * static_cast<std::uint64_t>(block.accesses.step_bytes));
    block.accesses.count = 3;
  }
  block.accesses.tag = kTag;
  return block;
}

void check_lines(const KernelSet& set, std::size_t vector_bytes) {
  const std::uint64_t kLines[] = {1, 2, 4, 8, 3, 12};
  for (const auto lines : kLines) {
    const auto size = size_class(lines);
    for (int shape = 0; shape < 3; ++shape) {
      const bool slots = shape == 2;
      auto block = block_of(slots, lines * 64, shape == 1);
      block.accesses.slots = slots ? block.slots.data() : nullptr;
      block.accesses.lines = lines;
      const auto base_name = std::string(set.name) + (slots ? " random " : " strided ") +
                             std::to_string(lines) + " lines ";
      for (const bool streamed : {false, true}) {
        fill();
        Lanes lanes;
        block.accesses.lanes = &lanes;
        const auto kernel = (streamed ? set.stream_read : set.read)[slots][size];
        const auto seen = touched_by([&] { kernel(block.accesses); });
        const auto name = base_name + (streamed ? "stream-read" : "read");
        expect(name, seen, lines_wanted(block.bytes, lines, vector_bytes, false));
        // SSE2 has no such load.
        expect_kinds(name, streamed && vector_bytes > 16 ? kStreamedLoad : kOrdinary, kOrdinary, 0);
        expect_sums(name, lanes, block.bytes, lines);
      }
      for (std::size_t flush = 0; flush < kFlushCount; ++flush) {
        if (!cpu_has(flush)) continue;
        for (const bool fenced : {false, true}) {
          fill();
          const auto kernel = set.write[slots][size][flush][fenced];
          const auto seen = touched_by([&] { kernel(block.accesses); });
          const auto name = base_name + "write, flush " + std::to_string(flush);
          expect(name, seen, lines_wanted(block.bytes, lines, vector_bytes, flushes(flush)));
          const auto kind = static_cast<Flush>(flush);
          expect_kinds(name, kind == Flush::kNonTemporal ? kStreamedStore : kOrdinary,
                       flush_kind(kind), flushes(flush) ? block.bytes.size() * lines : 0);
          expect_written(name, block.bytes, lines, kTag);
          // Of each function once: it takes a trap for each instruction.
          if (shape == 1 || lines == 12) continue;
          expect_fences(name, fences_in([&] { kernel(block.accesses); }),
                        fenced ? block.bytes.size() : 0);
        }
      }
    }
  }
}

// A read, a read that depends on it, and a write beside that, two runs.
void check_chain(const KernelSet& set, std::size_t vector_bytes) {
  for (const std::uint64_t lines : {1, 2, 4, 8, 3}) {
    for (std::size_t flush = 0; flush < kFlushCount; ++flush) {
      if (!cpu_has(flush)) continue;
      fill();
      Lanes lanes;
      ChainStep first, second, write;
      first.run = set.chain_first_read[size_class(lines)];
      second.run = set.chain_read[size_class(lines)];
      write.run = set.chain_write[0][flush];
      for (auto* step : {&first, &second}) {
        step->base = arena;
        step->slots = 16;
        step->slot_bytes = lines * 64;
        step->lines = lines;
        step->salt = 7;
        step->lanes = &lanes;
      }
      write.base = arena;
      write.offset = static_cast<std::int64_t>((lines - 1) * 64);
      write.tag = kTag;
      const ChainStep steps[] = {first, second, write};
      const std::uint32_t slots[] = {9, 2};
      ChainState state;
      const auto seen = touched_by([&] { set.run_chain(steps, 3, slots, 2, state); });
      std::vector<std::uint64_t> reads, writes;
      for (std::uint64_t number = 0; number < 2; ++number) {
        const auto at = slots[number] * lines * 64;
        const auto next =
            chain_slot(content_of_lane(at / 64, lines, 0), number, 7, 16) * lines * 64;
        reads.insert(reads.end(), {at, next});
        writes.push_back(next + (lines - 1) * 64);
      }
      auto wanted = lines_wanted(reads, lines, vector_bytes, false);
      for (const auto& [byte, times] : lines_wanted(writes, 1, vector_bytes, flushes(flush)))
        wanted[byte] += times;
      const auto name = std::string(set.name) + " chain of " + std::to_string(lines) +
                        " lines, flush " + std::to_string(flush);
      expect(name, seen, wanted);
      expect_written(name, writes, 1, kTag);
      expect_sums(name, lanes, reads, lines);

      fill();
      lanes = Lanes();
      ChainState same_state;
      const auto run_same = set.run_same[size_class(lines)][flush];
      const auto same = touched_by([&] { run_same(steps, 2, 3, slots, 2, same_state); });
      expect(name + ", all the same", same, wanted);
      expect_written(name + ", all the same", writes, 1, kTag);
      expect_sums(name + ", all the same", lanes, reads, lines);
      // One after the write of each of the two runs, where it persists.
      const std::size_t fences = static_cast<Flush>(flush) == Flush::kNone ? 0 : 2;
      expect_fences(name, fences_in([&] { set.run_chain(steps, 3, slots, 2, state); }), fences);
      expect_fences(name + ", all the same",
                    fences_in([&] { run_same(steps, 2, 3, slots, 2, same_state); }), fences);
    }
  }
}

// The loops for one and three reads and the one for any number; check_chain has the one for two.
void check_run_same(const KernelSet& set, std::size_t vector_bytes) {
  for (const std::uint64_t lines : {1, 2, 4, 8, 3}) {
    for (const auto flush : {Flush::kNone, Flush::kClwb}) {
      if (!cpu_has(static_cast<std::size_t>(flush))) continue;
      for (const std::size_t reads : {1, 3, 4}) {
        fill();
        Lanes lanes;
        ChainStep steps[5];
        for (std::size_t i = 0; i <= reads; ++i) {
          steps[i].base = arena;
          steps[i].slots = 16;
          steps[i].slot_bytes = lines * 64;
          steps[i].lines = lines;
          steps[i].salt = i;
          steps[i].lanes = &lanes;
          steps[i].tag = kTag;
        }
        // Behind what is read: a tag that the first run wrote would be in what the second reads.
        steps[reads].offset = static_cast<std::int64_t>(16 * lines * 64);
        const std::uint32_t slots[] = {9, 2};
        std::vector<std::uint64_t> read_at, written_at;
        for (std::uint64_t number = 0; number < 2; ++number) {
          std::uint64_t slot = slots[number];
          for (std::size_t i = 0; i < reads; ++i) {
            if (i > 0) slot = chain_slot(content_of_lane(slot * lines, lines, 0), number, i, 16);
            read_at.push_back(slot * lines * 64);
          }
          written_at.push_back((16 + slot) * lines * 64);
        }
        auto wanted = lines_wanted(read_at, lines, vector_bytes, false);
        const bool flushed = flushes(static_cast<std::size_t>(flush));
        for (const auto& [byte, times] : lines_wanted(written_at, 1, vector_bytes, flushed))
          wanted[byte] += times;
        const auto run = set.run_same[size_class(lines)][static_cast<std::size_t>(flush)];
        ChainState state;
        const auto name = std::string(set.name) + " " + std::to_string(reads) + " reads of " +
                          std::to_string(lines) + " lines";
        expect(name, touched_by([&] { run(steps, reads, reads + 1, slots, 2, state); }), wanted);
        expect_written(name, written_at, 1, kTag);
        expect_sums(name, lanes, read_at, lines);
      }
    }
  }
}

void check_words() {
  for (const std::uint64_t words : {1, 2, 4}) {
    for (const bool slots : {false, true}) {
      auto block = block_of(slots, words * 8, false);
      block.accesses.slots = slots ? block.slots.data() : nullptr;
      block.accesses.lines = words;
      Touches each_word, last_words;
      WordsRead read;
      for (const auto byte : block.bytes) {
        for (std::uint64_t word = 0; word < words; ++word)
          ++each_word[byte + word * 8];
        ++last_words[byte + (words - 1) * 8];
        read.add(byte / 8, words);
      }
      const auto name = std::to_string(words) + " words";
      fill();
      Lanes lanes;
      block.accesses.lanes = &lanes;
      expect(name + " read", touched_by([&] { kReadWords[slots](block.accesses); }), each_word);
      if (lanes.sum[0] != read.content()) fail(name + " read", "the checksum is wrong");
      for (std::size_t flush = 0; flush < kFlushCount; ++flush) {
        if (!cpu_has(flush)) continue;
        auto wanted = each_word;
        for (const auto byte : block.bytes)
          wanted[byte] += flushes(flush);
        for (const bool fenced : {false, true}) {
          fill();
          const auto kernel = kWriteWords[slots][flush][fenced];
          const auto write_name = name + " write, flush " + std::to_string(flush);
          expect(write_name, touched_by([&] { kernel(block.accesses); }), wanted);
          const auto kind = static_cast<Flush>(flush);
          expect_kinds(write_name, kind == Flush::kNonTemporal ? kStreamedStore : kOrdinary,
                       flush_kind(kind), flushes(flush) ? block.bytes.size() : 0);
          for (const auto& [byte, times] : each_word) {
            if (word_at(byte) != content_of_word(byte / 8) + kTag)
              fail(write_name, "byte " + std::to_string(byte) + " was not written");
          }
          expect_fences(write_name, fences_in([&] { kernel(block.accesses); }),
                        fenced ? block.bytes.size() : 0);
        }
      }
      // A load and a locked exchange; one locked addition.
      fill();
      auto twice = last_words;
      for (auto& [byte, times] : twice)
        times = 2;
      expect(name + " compare-and-swap",
             touched_by([&] { kCompareAndSwap[slots](block.accesses); }), twice);
      expect(name + " fetch-and-add", touched_by([&] { kFetchAndAdd[slots](block.accesses); }),
             last_words);
      for (const auto& [byte, times] : last_words) {
        if (word_at(byte) != content_of_word(byte / 8) + 2)
          fail(name + " atomics", "byte " + std::to_string(byte) + " has not grown by 2");
      }
    }
  }
}

void check_chase() {
  const std::uint64_t order[] = {0, 640, 64, 4096, 128};
  for (std::size_t i = 0; i < 5; ++i)
    std::memcpy(arena + order[i], &order[(i + 1) % 5], 8);
  std::uint64_t reached = 0;
  const auto seen = touched_by([&] { reached = chase(arena, 0, 7); });
  expect("chase", seen, {{0, 2}, {640, 2}, {64, 1}, {4096, 1}, {128, 1}});
  if (reached != 64) fail("chase", "ended at the wrong place");
}

void check_floor(const FloorSet& set, const std::string& vectors, std::size_t vector_bytes) {
  FloorJob job;
  job.base = arena;
  job.begin = arena + 512;
  job.bytes = 1024;
  job.access_bytes = 512;
  job.tag = kTag;
  Lanes lanes;
  job.lanes = &lanes;
  fill();
  expect(vectors + " floor, sequential read", touched_by([&] { set.read_sequential(job); }),
         lines_wanted({512}, 16, vector_bytes, false));
  expect_sums(vectors + " floor, sequential read", lanes, {512}, 16);
  expect(vectors + " floor, sequential write", touched_by([&] { set.write_sequential(job); }),
         lines_wanted({512}, 16, vector_bytes, false));
  expect_written(vectors + " floor, sequential write", {512}, 16, kTag);
  std::byte* const pointers[] = {arena + 2048, arena + 512};
  job.pointers = pointers;
  job.count = 2;
  const auto random = [&](const char* name, FloorLoop loop, std::uint64_t lines) {
    fill();
    lanes = Lanes();
    expect(vectors + " floor, " + name, touched_by([&] { loop(job); }),
           lines_wanted({2048, 512}, lines, vector_bytes, false));
    expect_sums(vectors + " floor, " + name, lanes, {2048, 512}, lines);
  };
  random("random 64", set.read_64, 1);
  random("random 256", set.read_256, 4);
  random("random 512", set.read_512, 8);
}

}  // namespace

int main() {
  arena = static_cast<std::byte*>(
      mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (arena == MAP_FAILED) return 3;
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = &on_fault;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = &on_step;
  sigaction(SIGTRAP, &action, nullptr);

  std::string sets = "portable";
  check_lines(kPortableKernels, 16);
  check_chain(kPortableKernels, 16);
  check_run_same(kPortableKernels, 16);
  check_floor(kPortableFloor, "portable", 16);
  if (__builtin_cpu_supports("avx2")) {
    sets += ", AVX2";
    check_lines(kAvx2Kernels, 32);
    check_chain(kAvx2Kernels, 32);
    check_run_same(kAvx2Kernels, 32);
    check_floor(kAvx2Floor, "AVX2", 32);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    sets += ", AVX-512";
    check_lines(kAvx512Kernels, 64);
    check_chain(kAvx512Kernels, 64);
    check_run_same(kAvx512Kernels, 64);
    check_floor(kAvx512Floor, "AVX-512", 64);
  }
  check_words();
  check_chase();
  std::printf("%d loops (%s), %d wrong\n", checked, sets.c_str(), failures);
  return failures == 0 && checked > 100 ? 0 : 1;
}
