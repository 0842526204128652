# Headers that nearly every source of the command reads, parsed once, so that who has just cloned waits less for it.
#
#   holdfast_precompiled(NAME HEADERS <fmt/format.h> LIBRARIES fmt::fmt)   parses the standard headers and these
#   holdfast_precompile(TARGET NAME)                                      the sources of TARGET begin with them
#
# TARGET is a library with the options of NAME: those of the folder, and the definitions of LIBRARIES. With PROGRAMS it
# is an executable instead. A source with options of its own says SKIP_PRECOMPILE_HEADERS.
#
# ccache keeps nothing that was made so: a build with a launcher goes without, and finds the include that is missing in
# a source, too. With tests or sanitizers nearly everything begins with such headers (holdfast_precompile_below); without
# them, what `./run tour` waits for.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(HOLDFAST_PRECOMPILE OFF)
elseif(NOT HOLDFAST_SANITIZE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(HOLDFAST_PRECOMPILE OFF)
else()
  set(HOLDFAST_PRECOMPILE ON)
endif()
# One set of headers is for libraries and programs: clang refuses headers made with -fPIC where it says -fPIE.
if(HOLDFAST_SANITIZE)
  add_compile_options(-fPIC)
endif()

function(holdfast_precompiled name)
  cmake_parse_arguments(ARG "PROGRAMS" "" "HEADERS;LIBRARIES" ${ARGN})
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
  if(ARG_PROGRAMS AND NOT HOLDFAST_SANITIZE)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
endfunction()

function(holdfast_precompile target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# HOLDFAST_PIECES, for who does not build again: the sources of TARGET as few pieces of so many each, which takes half the
# time. Each is still a source by itself; tests/layers refuses names that two of them share.
if(NOT DEFINED HOLDFAST_PIECES AND HOLDFAST_PRECOMPILE AND NOT HOLDFAST_SANITIZE AND NOT HOLDFAST_TESTS)
  set(HOLDFAST_PIECES ON)
endif()
function(holdfast_in_few_pieces target sources)
  if(HOLDFAST_PIECES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${sources})
  endif()
endfunction()

# All targets of a folder and those below it, with tests or sanitizers only; a target that has headers of its own keeps
# them. With GTEST the tests, which link GoogleTest, begin with the headers of that name. Without sanitizers a library and
# a program differ by an option that headers are bound to, so that other programs than tests go without.
function(holdfast_precompile_below folder name)
  cmake_parse_arguments(ARG "" "GTEST" "" ${ARGN})
  if(NOT HOLDFAST_PRECOMPILE OR NOT (HOLDFAST_SANITIZE OR HOLDFAST_TESTS))
    return()
  endif()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    get_target_property(linked ${target} LINK_LIBRARIES)
    if(own OR reused OR NOT type MATCHES "EXECUTABLE|STATIC|OBJECT|MODULE")
      continue()
    elseif(type STREQUAL MODULE_LIBRARY AND HOLDFAST_SANITIZE)
      # A module has the options of its library (-pthread of RE2's), and clang wants those of the headers.
      continue()
    elseif(ARG_GTEST AND linked MATCHES "GTest|kv_crash_support" AND (HOLDFAST_SANITIZE OR type STREQUAL EXECUTABLE))
      holdfast_precompile(${target} ${ARG_GTEST})
    elseif(linked MATCHES holdfast_flags AND (HOLDFAST_SANITIZE OR NOT type STREQUAL EXECUTABLE))
      holdfast_precompile(${target} ${name})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    holdfast_precompile_below(${below} ${name} ${ARGN})
  endforeach()
endfunction()
