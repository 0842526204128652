# The store under the crash checker: a quick set for every run, and the same tests with 50 times the
# crash states and many more schedules, labelled slow.
add_library(kv_crash_support STATIC kv_crash.cpp)
target_link_libraries(kv_crash_support PUBLIC holdfast::kv_traced holdfast::crash_traced GTest::gtest PRIVATE holdfast_flags)

add_executable(kv_tests_traced checkpoint_crash_test.cpp displaced_crash_test.cpp expiry_crash_test.cpp failure_crash_test.cpp fences_test.cpp hot_paths_crash_test.cpp keyspaces_crash_test.cpp life_crash_test.cpp mark_crash_test.cpp merge_crash_test.cpp order_crash_test.cpp pipeline_crash_test.cpp reclaim_crash_test.cpp sessions_crash_test.cpp
  upgrade_crash_test.cpp verbs_crash_test.cpp weakness_crash_test.cpp)
holdfast_in_few_pieces(kv_tests_traced 6)
target_compile_definitions(kv_tests_traced PRIVATE HOLDFAST_GOLDEN_DIRECTORY="${CMAKE_CURRENT_SOURCE_DIR}/golden")
target_link_libraries(kv_tests_traced PRIVATE kv_crash_support holdfast_flags GTest::gtest_main)
add_test(NAME kv_crash COMMAND kv_tests_traced)
set_tests_properties(kv_crash PROPERTIES TIMEOUT 1800)  # Ten minutes on a slow day.
add_test(NAME kv_crash_thorough COMMAND kv_tests_traced)
set_tests_properties(kv_crash_thorough PROPERTIES ENVIRONMENT HOLDFAST_THOROUGH=1 LABELS slow TIMEOUT 7200)

add_executable(kv_weakness_test weakness_test.cpp)
target_link_libraries(kv_weakness_test PRIVATE holdfast::kv holdfast_flags GTest::gtest_main)
add_test(NAME kv_weakness COMMAND kv_weakness_test)
set_tests_properties(kv_weakness PROPERTIES LABELS unit)
add_dependencies(unit_tests kv_weakness_test)

# They have names that others of them have, too.
set_source_files_properties(expiry_crash_test.cpp pipeline_crash_test.cpp verbs_crash_test.cpp
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
