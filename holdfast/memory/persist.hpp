// persist.hpp: the one header through which every persistent byte passes.
// Public header.
//
// It holds the only write-back and fence instructions of the project. Everything above stores to a
// medium with these verbs and with nothing else:
//
//   store       one aligned 8-byte word; never torn
//   copy        bytes, with ordinary stores; each aligned 8-byte word inside is never torn
//   fill        the same by a kernel of the caller's
//   fill_lines  whole lines that a kernel of the caller's makes, stored, written back or streamed
//   stream      whole lines that this thread has not read: non-temporal stores where they leave the
//               cache (`nt_evicts`), else copy + write_back
//   write_back  starts writing the lines of a range to the medium; does not wait
//   write       bytes to the medium the shortest way, any alignment: stream where that can be had,
//               else copy + write_back; does not wait
//   fence       waits until everything this thread has written back or streamed is durable
//   persist     write_back + fence
//   load        one aligned word, as recovery and readers beside a writer read it
//
// In the normal build each is a few inlined instructions. With HF_TRACED the same sources are
// built a second time and every call is also reported to the TraceSink (memory/trace.hpp), from
// which crash/ derives the states that a power failure may leave. The two builds differ in an
// inline namespace, so a program that mixes them fails to link.
//
// Ordering   Ordinary stores to one line become durable in program order, lines independently; a
//            dirty line may become durable at any time, also without write_back. Streamed words
//            have no order until the next fence. After write_back + fence a range is durable.
// Threads    Any. A fence covers the calling thread's write-backs only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <holdfast/base/check.hpp>
#include <holdfast/base/few_steps.hpp>
#include <holdfast/base/units.hpp>

#ifdef HF_TRACED
#include <holdfast/memory/trace.hpp>
#include <source_location>
#else
#include <holdfast/memory/x86_64.hpp>
#endif

namespace holdfast {

// What survives a power failure without a system call. docs/durability.md has the table.
enum class Granularity : std::uint8_t {
  kNone = 0,  // DRAM, tmpfs: nothing.
  kPage = 1,  // A plain file: what was written and synced.
  kLine = 2,  // ADR: lines written back and fenced.
  kByte = 3,  // eADR, CXL Global Persistent Flush: every executed store.
};

// Whether the mapping of a region may be stored to, or why not.
enum class Mapping : std::uint8_t {
  kWritable = 0,
  kPageMedium = 1,  // Region::write() is the way in.
  kReadOnly = 2,    // The region was opened so.
};

enum class WriteBackInstruction : std::uint8_t {
  kNone = 0,
  kClflush = 1,
  kClflushopt = 2,
  kClwb = 3
};

// How whole lines that are made in registers get to a medium. Fixed when the medium is opened, so
// code that writes many lines can be instantiated for it.
enum class LineWay : std::uint8_t {
  kStore = 0,      // Nothing to write back: none() and byte().
  kWriteBack = 1,  // Ordinary stores, then the lines are written back.
  kStream = 2      // Non-temporal stores, where they leave the cache.
};

// What this thread has asked of the medium since it started.
struct PersistCounts {
  std::uint64_t fences = 0;
  std::uint64_t lines_written_back = 0;
};
inline PersistCounts& persist_counts() {
  // Found by a load, not by a call, also in code that may become part of a shared library.
  [[gnu::tls_model("initial-exec")]] thread_local PersistCounts counts;
  PersistCounts* mine = &counts;
  // Its address in a general register: linkers reject other loads of what it is made of.
  asm("" : "+r"(mine));
  return *mine;
}

// Copies with ordinary stores, whole aligned words (no word is torn, no byte outside the range is
// touched); widest vectors this CPU has. copy.cpp.
void copy_words(void* to, const void* from, std::size_t bytes);
// Copies from a range in which other threads may be storing aligned words meanwhile: each aligned
// word is loaded by one instruction, so none is seen torn. `from` is 8-byte aligned.
void read_words(void* to, const void* from, std::size_t bytes);
// The same as copy_words with non-temporal stores; `to` and `bytes` are multiples of a line.
void stream_lines(void* to, const void* from, std::size_t bytes);

#ifdef HF_TRACED
inline namespace traced {
using Site = std::source_location;
#define HF_SITE ::std::source_location site = ::std::source_location::current()
#else
inline namespace direct {
struct Site {};
#define HF_SITE [[maybe_unused]] ::holdfast::Site site = {}
#endif

// How to persist on one region: a small value, obtained from Region::persist().
class Persist {
 public:
  // `nt_evicts`: non-temporal stores leave the cache, so stream + fence is durable
  // (memory/cpu.hpp).
  constexpr Persist(WriteBackInstruction instruction, bool nt_evicts)
      : instruction_(instruction),
        nt_evicts_(nt_evicts),
        fences_(instruction != WriteBackInstruction::kNone) {}
  // Nothing to do: a medium that does not survive power loss, or one that only sync() makes
  // durable.
  static constexpr Persist none() { return {WriteBackInstruction::kNone, false}; }
  // Byte granularity: nothing to write back, but a store is safe only once it has left the store
  // buffer, so a fence stays a fence.
  static constexpr Persist byte() {
    Persist persist = none();
    persist.fences_ = true;
    return persist;
  }

  // The same for a mapping that must not be stored to: for callers that ask before they store.
  constexpr Persist on(Mapping mapping) const {
    Persist persist = *this;
    persist.mapping_ = mapping;
    return persist;
  }

  Mapping mapping() const { return mapping_; }
  WriteBackInstruction instruction() const { return instruction_; }
  bool nt_evicts() const { return nt_evicts_; }
  bool fences() const { return fences_; }  // False where fence() does nothing: none().
  LineWay line_way() const {
    if (instruction_ == WriteBackInstruction::kNone) return LineWay::kStore;
    return nt_evicts_ ? LineWay::kStream : LineWay::kWriteBack;
  }

  // `word` is 8-byte aligned. Release order towards other threads.
  void store(std::uint64_t* word, std::uint64_t value, HF_SITE) const {
    std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_release);
#ifdef HF_TRACED
    trace_sink().on_store(word, sizeof value, site);
#endif
  }

  static std::uint64_t load(const std::uint64_t* word) {
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word))
        .load(std::memory_order_acquire);
  }

  void copy(void* to, const void* from, std::size_t bytes, HF_SITE) const {
    copy_words(to, from, bytes);
#ifdef HF_TRACED
    trace_sink().on_store(to, bytes, site);
#endif
  }

  // Ordinary stores made by `write()`, in whole aligned words, to all of [to, to + bytes): for
  // kernels that compute what they store in vector registers.
  template <class Write>
  void fill(void* to, [[maybe_unused]] std::size_t bytes, Write&& write, HF_SITE) const {
    write(to);
#ifdef HF_TRACED
    trace_sink().on_store(to, bytes, site);
#endif
  }

  // Whole lines, all of [to, to + bytes), made by `write()`, which stores each of them once by
  // LineStore<kWay> (memory/line_store.hpp). kWay is line_way(). Like stream() otherwise: not
  // readable as durable before the next fence.
  template <LineWay kWay, class Write>
  void fill_lines(void* to, std::size_t bytes, Write&& write, HF_SITE) const {
    HF_DCHECK(reinterpret_cast<std::uintptr_t>(to) % kCacheLineBytes == 0 &&
              bytes % kCacheLineBytes == 0 && kWay == line_way());
    if constexpr (kWay == LineWay::kStream) {
      write(to);
      persist_counts().lines_written_back += bytes / kCacheLineBytes;
#ifdef HF_TRACED
      trace_sink().on_stream(to, bytes, site);
#endif
    } else {
      fill(to, bytes, write, site);
      if constexpr (kWay == LineWay::kWriteBack) write_back_lines(to, bytes, site);
    }
  }

  // Not durable before the next fence. `to` and `bytes` are multiples of a line.
  void stream(void* to, const void* from, std::size_t bytes, HF_SITE) const {
    HF_DCHECK(reinterpret_cast<std::uintptr_t>(to) % kCacheLineBytes == 0 &&
              bytes % kCacheLineBytes == 0);
    if (nt_evicts_ && instruction_ != WriteBackInstruction::kNone) {
      stream_lines(to, from, bytes);
      persist_counts().lines_written_back += bytes / kCacheLineBytes;
#ifdef HF_TRACED
      trace_sink().on_stream(to, bytes, site);
#endif
    } else {
      write(to, from, bytes, site);
    }
  }

  // As stream(), of one line that was put together by words just now. A vector load of what smaller
  // stores wrote waits until they have left the store buffer, behind all that was streamed before;
  // a load of a word that one store wrote does not.
  void stream_line(void* to, const std::uint64_t (&words)[8], HF_SITE) const {
    if (!nt_evicts_ || instruction_ == WriteBackInstruction::kNone)
      return write(to, words, sizeof words, site);
    HF_DCHECK(reinterpret_cast<std::uintptr_t>(to) % kCacheLineBytes == 0);
    for (unsigned i = 0; i < 8; ++i)
      stream_word(static_cast<std::uint64_t*>(to) + i, words[i]);
    ++persist_counts().lines_written_back;
#ifdef HF_TRACED
    trace_sink().on_stream(to, sizeof words, site);
#endif
  }

  // The shortest way of bytes to the medium: whole lines are streamed where non-temporal stores
  // leave the cache, all else is copied and written back. Any alignment. Before the next fence it
  // is not durable and has no order.
  void write(void* to, const void* from, std::size_t bytes, HF_SITE) const {
    if (nt_evicts_ || bytes > kWritePieceBytes) return write_in_parts(to, from, bytes, site);
    copy(to, from, bytes, site);
    write_back(to, bytes, site);
  }

  // Any alignment: every line that holds a byte of the range.
  void write_back(const void* begin, std::size_t bytes, HF_SITE) const {
    if (instruction_ == WriteBackInstruction::kNone || bytes == 0) return;
#ifdef HF_TRACED
    if (trace_sink().drops(TraceSink::kWriteBack, site)) return;
#endif
    const auto first = reinterpret_cast<std::uintptr_t>(begin) & ~(kCacheLineBytes - 1);
    const auto end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
    persist_counts().lines_written_back += (end - first + kCacheLineBytes - 1) / kCacheLineBytes;
    switch (instruction_) {
      case WriteBackInstruction::kClwb:
        for (auto line = first; line < end; line += kCacheLineBytes)
          clwb(line);
        break;
      case WriteBackInstruction::kClflushopt:
        for (auto line = first; line < end; line += kCacheLineBytes)
          clflushopt(line);
        break;
      default:
        for (auto line = first; line < end; line += kCacheLineBytes)
          clflush(line);
        break;
    }
#ifdef HF_TRACED
    trace_sink().on_write_back(reinterpret_cast<const void*>(first), end - first, site);
#endif
  }

  // Whole lines, few of them.
  void write_back_lines(const void* begin, std::size_t bytes, HF_SITE) const {
    if (instruction_ != WriteBackInstruction::kClwb) [[unlikely]]
      return write_back(begin, bytes, site);
#ifdef HF_TRACED
    if (trace_sink().drops(TraceSink::kWriteBack, site)) return;
#endif
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    persist_counts().lines_written_back += bytes / kCacheLineBytes;
    for_few(bytes / kCacheLineBytes,
            [first](std::uint64_t i) { clwb(first + i * kCacheLineBytes); });
#ifdef HF_TRACED
    trace_sink().on_write_back(begin, bytes, site);
#endif
  }

  // The line of one aligned word.
  void write_back_word(const std::uint64_t* word, HF_SITE) const {
    if (instruction_ != WriteBackInstruction::kClwb) [[unlikely]]
      return write_back(word, sizeof *word, site);
#ifdef HF_TRACED
    if (trace_sink().drops(TraceSink::kWriteBack, site)) return;
#endif
    const auto line = reinterpret_cast<std::uintptr_t>(word) & ~(kCacheLineBytes - 1);
    ++persist_counts().lines_written_back;
    clwb(line);
#ifdef HF_TRACED
    trace_sink().on_write_back(reinterpret_cast<const void*>(line),
                               sizeof *word + reinterpret_cast<std::uintptr_t>(word) - line, site);
#endif
  }

  void fence(HF_SITE) const {
    if (fences_) fence_lines(site);
  }
  // The same where lines are written back or streamed: there it is one in any case.
  void fence_lines(HF_SITE) const {
#ifdef HF_TRACED
    if (trace_sink().drops(TraceSink::kFence, site)) return;
#endif
    ++persist_counts().fences;
#ifdef HF_TRACED
    trace_sink().on_fence(site);
#else
    x86_64::store_fence();
#endif
  }

  void persist(const void* begin, std::size_t bytes, HF_SITE) const {
    write_back(begin, bytes, site);
    fence(site);
  }

 private:
  // What is copied before it is written back. Between 256 and 1024 no difference was seen; in one
  // piece 8 KiB take 10 to 30 % longer. Re-measure: holdfast blocks bench --suite pmdk --only copy
  static constexpr std::size_t kWritePieceBytes = 512;
  // persist.cpp.
  void write_in_parts(void* to, const void* from, std::size_t bytes, HF_SITE) const;

#ifdef HF_TRACED
  static void clwb(std::uintptr_t) {}
  static void clflushopt(std::uintptr_t) {}
  static void clflush(std::uintptr_t) {}
  static void stream_word(std::uint64_t* to, std::uint64_t value) { *to = value; }
#else
  static void clwb(std::uintptr_t line) { x86_64::clwb(line); }
  static void clflushopt(std::uintptr_t line) { x86_64::clflushopt(line); }
  static void clflush(std::uintptr_t line) { x86_64::clflush(line); }
  static void stream_word(std::uint64_t* to, std::uint64_t value) {
    x86_64::stream_word(to, value);
  }
#endif

  WriteBackInstruction instruction_;
  bool nt_evicts_;
  bool fences_;
  Mapping mapping_ = Mapping::kWritable;
};

}  // namespace direct / traced
}  // namespace holdfast
