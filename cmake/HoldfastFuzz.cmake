# holdfast_fuzz_target(name SOURCES x_fuzz.cpp LIBRARIES holdfast::kv): a libFuzzer program in
# build/asan/fuzz_targets/, which `./run check fuzz` runs one after the other. Its seeds, if any, are the
# files of tests/fuzz/corpus/<name>/. NOT_IN_CI: of a library that takes CI too long to compile.
add_custom_target(fuzz_targets)
add_custom_target(fuzz_targets_of_ci)

function(holdfast_fuzz_target name)
  cmake_parse_arguments(ARG "NOT_IN_CI" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} holdfast_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz_targets)
  add_dependencies(fuzz_targets ${name})
  if(NOT ARG_NOT_IN_CI)
    add_dependencies(fuzz_targets_of_ci ${name})
  endif()
endfunction()
