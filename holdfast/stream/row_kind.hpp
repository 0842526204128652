// row_kind.hpp: what a row of a changelog does to the rows before it.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::stream {

// An update is a kUpdateBefore and then a kUpdateAfter; what is after it may also be inserted.
enum class RowKind : std::uint8_t { kInsert, kUpdateBefore, kUpdateAfter, kDelete };

inline bool adds(RowKind kind) { return kind == RowKind::kInsert || kind == RowKind::kUpdateAfter; }

// As Flink shows it.
inline std::string_view text_of(RowKind kind) {
  switch (kind) {
    case RowKind::kInsert: return "+I";
    case RowKind::kUpdateBefore: return "-U";
    case RowKind::kUpdateAfter: return "+U";
    case RowKind::kDelete: return "-D";
  }
  return "?";
}

}  // namespace holdfast::stream
