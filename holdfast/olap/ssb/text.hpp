// text.hpp: fields of .tbl files: each is followed by '|'.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::olap::ssb {

inline void add(std::string& text, std::string_view field) {
  text.append(field);
  text += '|';
}
inline void add(std::string& text, std::uint64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
  text += '|';
}
inline void add(std::string& text, unsigned number) { add(text, std::uint64_t{number}); }

}  // namespace holdfast::olap::ssb
