// peer_python.hpp: which Python has the packages of other engines, and pyarrow.
#pragma once

#include <cstdlib>
#include <string>

namespace holdfast::tools {

// `given` by an option; else what HOLDFAST_PEER_PYTHON names; else python3.
inline std::string peer_python(const std::string& given) {
  if (!given.empty()) return given;
  const char* named = std::getenv("HOLDFAST_PEER_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

}  // namespace holdfast::tools
