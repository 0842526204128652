// store_adapter.hpp: what a store offers to be compared. StoreSubject<Store> (store_subject.hpp)
// puts the same loops around every adapter:
//
//   struct Store {
//     // Survives close(): then there are start-up rows and a size on the medium.
//     static constexpr bool kKeepsFiles;
//     // Has Status reclaim(): get_reclaiming and put_reclaiming exist.
//     static constexpr bool kReclaims;
//     // Its threads count fences in persist_counts().
//     static constexpr bool kCountsPersists;
//     // Records per put_many while filling.
//     static constexpr std::size_t kLoadBatch;
//
//     Store(const Context&, const Records&, std::string name);
//     bool supports(const std::string& operation) const;
//     Status open(Opening);
//     // Before a phase of writes.
//     Status reserve(std::uint64_t new_records, std::uint64_t appended);
//     // Before each phase and after filling: returns when background work has come to rest.
//     Status settle();
//     // Optional (steady.hpp): what steady-overwrite shows.
//     SpaceUse space() const;
//     Status close();
//     // Closes, and removes every file.
//     void remove();
//     // What it keeps can be opened again.
//     bool reopens() const;
//     std::uint64_t medium_bytes() const;
//     bool persist_total(PersistCounts&) const;
//     Fields facts() const;
//     // One per thread and phase, made and destroyed by that thread.
//     Session session(unsigned thread);
//   };
//   struct Session {
//     // Inserts or overwrites.
//     bool put(const Key&, ValueView);
//     // The key is there.
//     bool overwrite(const Key&, ValueView);
//     bool put_many(const Key*, const ValueView*, unsigned count);
//     // Copies the value out; returns its size or kAbsent.
//     std::uint32_t get(const Key&, std::byte* out);
//     // Copies the values to out + i * stride, or to memory of its own until the next call; size
//     // kAbsent: not there.
//     bool get_many(const Key*, unsigned count, std::byte* out, std::size_t stride,
//                   ValueView* values);
//     // Word 0 becomes stamped(word 0, stamp).
//     bool update8(const Key&, std::uint64_t stamp);
//     // The key is there.
//     bool erase(const Key&);
//     // Optional (scans.hpp): gives the key and value of up to `count` records from `from` on to
//     // `answer`, in the order of their keys. It sees every record that was put before the call.
//     bool scan(const Key& from, unsigned count, ScanAnswer& answer);
//     // Optional, both: answers come, and writes are acknowledged, with flush() only, which ends a
//     // chunk of operations.
//     void get_later(const Key&, std::byte* out, std::uint32_t& size);
//     bool flush();
//     // Of the call that returned false.
//     std::string error() const;
//   };
#pragma once

#include <cstdint>

namespace holdfast::bench::kv {

enum class Opening : std::uint8_t {
  kGrowing,   // A new store that grows as it is filled.
  kPlanned,   // A new store with room for all that the phases will write, where it can be told;
              // prefaulted.
  kExisting,  // As close() or a killed process left it.
};

// A call that returned true is not yet acknowledged: flush() does that for all before it.
template <class Session>
concept AnswersLater = requires(Session& session) { session.flush(); };

// Whether all that the session was asked for succeeded; on return it is acknowledged.
template <class Session>
bool all_done(Session& session) {
  if constexpr (AnswersLater<Session>) return session.flush();
  return true;
}

}  // namespace holdfast::bench::kv
