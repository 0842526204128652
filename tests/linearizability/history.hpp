// history.hpp: one operation as a client saw it, in memory that outlives the process, and as a JSON
// line.
//
// A history is what a few clients did to kKeys keys that no other history touches; it may span
// processes: the first was killed, the next went on after recovery. checker/ decides whether it is
// linearizable. An operation whose process was killed before it returned is pending.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

namespace holdfast::linearizability {

inline constexpr std::uint32_t kKeys = 3;

enum class Kind : std::uint32_t {
  kGet,       // Reads one key: get() or get_pinned().
  kGetMany,   // Reads several, each for itself.
  kSnapshot,  // Reads all at one moment.
  kRange,     // The same by a scan of their range, in order.
  kPut,
  kPutIfAbsent,
  kCompareAndPut,  // Of the version that this client saw last.
  kUpdate,         // Reads and replaces the value.
  kUpdateWord,     // Reads and replaces word 0 of the value.
  kErase,
  kBatch,  // Puts and erases several keys at one moment.
  // By the client's pipeline: it goes on with other operations before they return.
  kPipelinedGet,
  kPipelinedPut,
  kPipelinedUpdateWord,
  kPipelinedErase,
  kCount,
};
const char* name(Kind kind);

// A value is named by the id of the operation that put it (word 1) and of the update_word() that
// changed its word 0 since.
struct Seen {
  std::uint32_t present = 0;
  std::uint64_t word = 0, base = 0;
  std::uint64_t version = 0;  // 0: not told.
};

// Written by the client's thread: the input before `called`, the output before `returned`.
struct Entry {
  std::atomic<std::uint64_t> called_ns;    // CLOCK_MONOTONIC; 0: never called.
  std::atomic<std::uint64_t> returned_ns;  // 0: pending when its process died.
  Kind kind;
  std::uint32_t key_count;
  std::array<std::uint32_t, kKeys> keys;
  std::array<std::uint32_t, kKeys> erases;  // kBatch: this member erases.
  std::array<std::uint64_t, kKeys> ids;     // What it writes, per key.
  std::uint64_t expected;                   // kCompareAndPut.
  // Output.
  std::uint32_t succeeded;  // Inserted or overwrote, put, swapped, found and updated, erased.
  std::uint32_t overwrote;  // kPut.
  std::uint64_t version;    // What a write returned; 0: none.
  std::array<Seen, kKeys> seen;
};

// `pending_until_ns`: for an entry that never returned, when its process was certainly dead.
void print_json_line(std::FILE* out, std::uint64_t history, std::uint32_t client,
                     const Entry& entry, std::uint64_t pending_until_ns);

}  // namespace holdfast::linearizability
