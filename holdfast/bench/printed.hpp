// printed.hpp: a short text by a format of printf.
#pragma once

#include <cstdio>
#include <string>

namespace holdfast::bench {

// At most 255 bytes; what is longer is cut off.
template <class... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[256];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

}  // namespace holdfast::bench
