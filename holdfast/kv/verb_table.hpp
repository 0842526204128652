// verb_table.hpp: the verbs of a store that are hot, as they were compiled for its CPU and medium.
// Included by the public header; for the library.
//
// Chosen when the store opens (verbs.hpp); exchanged when latencies are sampled. A call is one
// indirect call with nothing around it. A Result comes back in registers. A closed store has a
// table of its own, so no verb asks first whether the store is closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::kv {

enum class PutOutcome : std::uint8_t;

// A function that may be exchanged for another while threads call it.
template <class Function>
class Exchangeable;
template <class Returned, class... Arguments>
class Exchangeable<Returned(Arguments...)> {
 public:
  using Pointer = Returned (*)(Arguments...);
  constexpr Exchangeable(Pointer function) : pointer_(function) {}
  Exchangeable(const Exchangeable& other) : pointer_(other.pointer()) {}
  Exchangeable& operator=(const Exchangeable& other) {
    pointer_.store(other.pointer(), std::memory_order_relaxed);
    return *this;
  }
  Returned operator()(Arguments... arguments) const { return pointer()(arguments...); }

 private:
  Pointer pointer() const { return pointer_.load(std::memory_order_relaxed); }
  std::atomic<Pointer> pointer_;
};

// Each takes the table that it is called from, which is part of the store. Each has the durability
// of the store, so the arguments fit into registers.
struct HotVerbs {
  using Change = FunctionRef<std::uint64_t(std::uint64_t)>;
  using Word = RawResult<std::uint64_t>;

  Exchangeable<RawResult<PutOutcome>(HotVerbs&, std::string_view key, std::string_view value)> put;
  Exchangeable<RawResult<bool>(HotVerbs&, std::string_view key)> erase;
  Exchangeable<Word(HotVerbs&, std::string_view key, std::uint32_t offset_bytes, Change change)>
      update_word;
  // Both copy as much as fits. get returns the version, get_length the length of the whole value.
  using Get = Word(HotVerbs&, std::string_view key, std::span<std::byte> buffer);
  Exchangeable<Get> get, get_length;
  // Returns the version.
  Exchangeable<Word(HotVerbs&, std::string_view key, std::string& value)> get_text;
};

// Of a store that was closed, or moved from: each returns kClosed.
extern HotVerbs closed_verbs;
// Of a store that was left to the parent of a fork(): each returns kClosed.
extern HotVerbs parents_verbs;

}  // namespace holdfast::kv
