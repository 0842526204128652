// verb_table.hpp: the verbs of a store that are hot, as they were compiled for its CPU and medium.
// Included by the public header; for the library.
//
// Chosen once, when the store opens (verbs.hpp). A call is one indirect call with nothing around
// it: what a Result consists of comes back in registers, a closed store has a table of its own, and
// nobody asks first whether it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/base/result.hpp>

namespace holdfast::kv {

enum class PutOutcome : std::uint8_t;

// Each takes the table that it is called from: it is part of the store. With the durability of the
// store, so that the arguments fit into registers.
struct HotVerbs {
  using Change = FunctionRef<std::uint64_t(std::uint64_t)>;
  using Word = RawResult<std::uint64_t>;

  RawResult<PutOutcome> (*put)(HotVerbs&, std::string_view key, std::string_view value);
  RawResult<bool> (*erase)(HotVerbs&, std::string_view key);
  Word (*update_word)(HotVerbs&, std::string_view key, std::uint32_t offset_bytes, Change change);
  // These copy as much as fits. The first returns the version, the second the length of the whole
  // value.
  Word (*get)(HotVerbs&, std::string_view key, std::span<std::byte> buffer);
  Word (*get_length)(HotVerbs&, std::string_view key, std::span<std::byte> buffer);
  Word (*get_text)(HotVerbs&, std::string_view key, std::string& value);  // Returns the version.
};

// Of a store that was closed, or moved from: each returns kClosed.
extern HotVerbs closed_verbs;

}  // namespace holdfast::kv
