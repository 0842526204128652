// merge.hpp: changes of a value that need not be read first: append() and merge().
// Public header.
//
//   store.append("log:7", "one more line\n").value();          // Absent: the line alone.
//   store.merge("visits", MergeFunction::kAdd, std::string_view(eight_bytes, 8)).value();
//
// Guarantee  Atomic and durable as a put; the key's operations have one order, and each sees the
//            result of the one before. An absent or expired key gets the operand as its value.
// append     O(bytes added), up to a constant: a value of more than 1 KiB that grows is kept in
//            pieces (docs/pieces.md), and read as one value by every verb. A value that was put
//            whole is copied once, when it is appended to for the first time. One fence; two where
//            a piece is full. Keys of more than 65,000 bytes, and values whose stamp of expiry lies
//            beyond their first 64 bytes, are rewritten whole.
// merge      of numbers: little-endian, of 8 bytes each, as std::memcpy gives them on x86-64.
//            O(value bytes), one fence.
// Expiry     A value that grows keeps its stamp.
#pragma once

#include <cstdint>

namespace holdfast::kv {

enum class MergeFunction : std::uint8_t {
  kAppend,  // Appends the operand to the value.
  kAdd,     // Integers, signed or not, that wrap.
  kAddDouble,
  kMin,  // Signed integers.
  kMax,
  kMinUnsigned,
  kMaxUnsigned,
  kOr,  // Bit by bit; of any size, which both must have.
};

}  // namespace holdfast::kv
