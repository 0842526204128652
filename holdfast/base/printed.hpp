// printed.hpp: short texts: by a format of printf, and of several in a row.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// At most 255 bytes; what is longer is cut off.
template <class... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

// "a, b, c"
template <class Texts>
std::string joined(const Texts& texts, std::string_view separator) {
  std::string all;
  bool first = true;
  for (const auto& text : texts) {
    if (!std::exchange(first, false)) all += separator;
    all += text;
  }
  return all;
}

}  // namespace holdfast
