# One layer of the house is one folder and one target; the traced twin is the same sources compiled
# with HF_TRACED, so that memory/persist.hpp records every store for the crash checker.
#
#   holdfast_layer(kv SOURCES store.cpp … DEPENDS index memory base [LIBRARIES fmt::fmt])
#
# makes holdfast_kv (alias holdfast::kv) and holdfast_kv_traced (alias holdfast::kv_traced). A binary links one of the two
# kinds, never both. DIRECT_ONLY leaves the twin out, for layers that the checker has no business in. SAME_TWIN: the twin
# is the same objects, since nothing there asks for HF_TRACED (tests/layers looks). PRECOMPILED: ./run tour builds it
# first (HoldfastPrecompiled.cmake).
find_package(Threads REQUIRED)

add_library(holdfast_flags INTERFACE)
target_compile_options(holdfast_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<CXX_COMPILER_ID:GNU>:-Wno-interference-size>
  # Warnings about locks are errors: base/thread_annotations.hpp.
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Werror=thread-safety>)
if(HOLDFAST_SANITIZE)
  target_compile_options(holdfast_flags INTERFACE -fsanitize=${HOLDFAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(holdfast_flags INTERFACE -fsanitize=${HOLDFAST_SANITIZE})
endif()
if(HOLDFAST_FUZZ)
  target_compile_options(holdfast_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(holdfast_layer name)
  cmake_parse_arguments(ARG "DIRECT_ONLY;SAME_TWIN;PRECOMPILED" "" "SOURCES;DEPENDS;LIBRARIES;TRACED_ONLY_DEPENDS" ${ARGN})
  set_property(GLOBAL PROPERTY HOLDFAST_LIBRARIES_${name} ${ARG_LIBRARIES})  # For HoldfastInstall.
  set(variants direct)
  if(NOT ARG_DIRECT_ONLY)
    list(APPEND variants traced)
  endif()
  foreach(variant IN LISTS variants)
    if(variant STREQUAL traced)
      set(suffix _traced)
    else()
      set(suffix "")
    endif()
    set(target holdfast_${name}${suffix})
    if(ARG_SOURCES)
      if(ARG_SAME_TWIN AND variant STREQUAL traced)
        add_library(${target} STATIC $<TARGET_OBJECTS:holdfast_${name}>)
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
      else()
        add_library(${target} STATIC ${ARG_SOURCES})
        holdfast_in_few_pieces(${target} 16)
      endif()
      if(ARG_PRECOMPILED AND variant STREQUAL direct)
        holdfast_precompile(${target} holdfast_library_headers)
      endif()
      set(scope PUBLIC)
      target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:holdfast_flags>)
    else()
      add_library(${target} INTERFACE)
      set(scope INTERFACE)
    endif()
    add_library(holdfast::${name}${suffix} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}${suffix})
    target_compile_features(${target} ${scope} cxx_std_20)
    target_include_directories(${target} ${scope}
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
    if(variant STREQUAL traced AND NOT HOLDFAST_TESTS AND NOT name MATCHES "^(base|memory|blocks)$")
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)  # Those three are installed, with the checker.
    endif()
    if(variant STREQUAL traced)
      target_compile_definitions(${target} ${scope} HF_TRACED=1)
    endif()
    foreach(dependency IN LISTS ARG_DEPENDS)
      target_link_libraries(${target} ${scope} holdfast_${dependency}${suffix})
    endforeach()
    if(ARG_LIBRARIES AND ARG_SOURCES)
      target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES})
    endif()
  endforeach()
endfunction()
