# Headers that nearly every source reads, parsed once: a first build takes half the time.
#
#   holdfast_precompiled(NAME LIBRARY HEADERS <fmt/format.h> LIBRARIES fmt::fmt)   parses the standard headers and these
#   holdfast_precompile(TARGET NAME)                                              the sources of TARGET begin with them
#
# Both must be compiled alike: LIBRARY for what becomes part of a library (-fPIC), PROGRAM for sources of an executable
# (-fPIE), the definitions of LIBRARIES, the options of the folder that the first call stands in. A source with options
# of its own says SKIP_PRECOMPILE_HEADERS.
#
# ccache keeps nothing that was made so. A build with a launcher goes without: it finds the include that is missing in
# a source, too.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(default OFF)
else()
  set(default ON)
endif()
option(HOLDFAST_PRECOMPILE "Parse common headers once" ${default})

add_custom_target(holdfast_headers)  # All of them: what reads compile_commands.json needs them.

function(holdfast_precompiled name kind)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  if(NOT HOLDFAST_PRECOMPILE)
    return()
  endif()
  set(nothing ${PROJECT_BINARY_DIR}/precompiled.cpp)
  if(NOT EXISTS ${nothing})
    file(WRITE ${nothing} "// Of no use but to carry headers.\n")
  endif()
  add_library(${name} OBJECT ${nothing})
  add_dependencies(holdfast_headers ${name})
  if(kind STREQUAL PROGRAM)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
  target_link_libraries(${name} PRIVATE holdfast_flags ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <atomic> <bit> <charconv> <chrono> <condition_variable> <cstddef> <cstdint> <cstring> <deque>
    <functional> <map> <memory> <mutex> <optional> <shared_mutex> <span> <string> <string_view> <thread> <unordered_map>
    <utility> <variant> <vector> <immintrin.h> ${ARG_HEADERS})
endfunction()

function(holdfast_precompile target headers)
  if(TARGET ${headers})
    target_precompile_headers(${target} REUSE_FROM ${headers})
    # The pragmas by which a standard header silences its own warnings are lost there.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
  endif()
endfunction()
