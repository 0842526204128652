# Headers that nearly every source of the command reads, parsed once, so that who has just cloned waits less for it.
#
#   holdfast_precompiled(NAME HEADERS <fmt/format.h> LIBRARIES fmt::fmt)   parses the standard headers and these
#   holdfast_precompile(TARGET NAME)                                      the sources of TARGET begin with them
#
# TARGET is a library with the options of NAME: those of the folder, and the definitions of LIBRARIES. A source with
# options of its own says SKIP_PRECOMPILE_HEADERS.
#
# ccache keeps nothing that was made so: a build with a launcher goes without, and finds the include that is missing in
# a source, too. So do builds with tests, which are for those who build again, and clang, with which only tests are built.
if(CMAKE_CXX_COMPILER_LAUNCHER OR HOLDFAST_TESTS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(HOLDFAST_PRECOMPILE OFF)
else()
  set(HOLDFAST_PRECOMPILE ON)
endif()

function(holdfast_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  if(NOT HOLDFAST_PRECOMPILE)
    return()
  endif()
  set(nothing ${PROJECT_BINARY_DIR}/precompiled.cpp)
  if(NOT EXISTS ${nothing})
    file(WRITE ${nothing} "// Of no use but to carry headers.\n")
  endif()
  add_library(${name} OBJECT ${nothing})
  target_link_libraries(${name} PRIVATE holdfast_flags ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <atomic> <bit> <charconv> <chrono> <condition_variable> <cstddef> <cstdint> <cstring> <deque>
    <functional> <map> <memory> <mutex> <optional> <shared_mutex> <span> <string> <string_view> <thread> <unordered_map>
    <utility> <variant> <vector> <immintrin.h> ${ARG_HEADERS})
endfunction()

function(holdfast_precompile target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
