// mark.hpp: what an entry of the state begins with, and what memory knows of an entry that a store
// keeps.
//
//   a plain entry   the byte 1
//   a timed entry   the byte 2, then when it changed (append_ordered): state that ends when it is
//                   idle; or until when the watermark lets it live
//
// So no entry is without bytes: an entry without bytes removes a key.
#pragma once

#include <cstdint>
#include <string>

#include <holdfast/stream/compile/runtime/bytes.hpp>

namespace holdfast::query {

// What the source says of the run that it is for (query_source.hpp): `kStored`, `kForgets`. One
// that does not say is for any run.
template <class Definition>
constexpr bool may_store() {
  if constexpr (requires { Definition::kStored; })
    return Definition::kStored;
  else
    return true;
}
template <class Definition>
constexpr bool may_forget() {
  if constexpr (requires { Definition::kForgets; })
    return Definition::kForgets;
  else
    return true;
}

struct Mark {
  std::uint64_t version = 0;       // Of what the store has; 0: nothing.
  bool changed : 1 = false;        // Since.
  std::uint64_t used_ms : 63 = 0;  // When it changed, of a timed entry.

  void use_at(std::int64_t ms) { used_ms = static_cast<std::uint64_t>(ms) & (~0ull >> 1); }
  // The entry has what another has, too, which came later.
  void change_with(const Mark& later) {
    changed = changed || later.changed;
    used_ms = later.used_ms;
  }
};

// Instead of one where nothing is kept, and nothing ends when it is idle.
struct NoMark {
  NoMark() = default;
  NoMark(std::uint64_t /*version*/, bool /*changed*/) {}

  static constexpr std::uint64_t version = 0, used_ms = 0;
  static constexpr bool changed = false;
  void use_at(std::int64_t) {}
  void change_with(NoMark) {}
};

inline constexpr char kPlainEntry = 1, kTimedEntry = 2;

// What an entry begins with. `time`: null, of a plain one.
void append_begin(const std::int64_t* time, std::string& bytes);
// Takes it off. `time` stays as it is where the entry is plain. False: it is no entry.
bool take_begin(Text& state, std::int64_t& time);

#ifndef HOLDFAST_APART

HF_APART void append_begin(const std::int64_t* time, std::string& bytes) {
  append_raw(time == nullptr ? kPlainEntry : kTimedEntry, bytes);
  if (time != nullptr) append_ordered(*time, bytes);
}
HF_APART bool take_begin(Text& state, std::int64_t& time) {
  char form = 0;
  if (!take_raw(state, form)) return false;
  return form == kPlainEntry || (form == kTimedEntry && take_ordered(state, time));
}

#endif

}  // namespace holdfast::query
