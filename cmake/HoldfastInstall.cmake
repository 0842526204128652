# What `cmake --install` (./run install PREFIX) lays down, for two kinds of users:
#
#   CMake        find_package(holdfast) and target_link_libraries(… holdfast::kv)
#   pkg-config   g++ -std=c++20 … $(pkg-config --cflags --libs holdfast)
#
#   pkg-config   gcc -std=c99 … $(pkg-config --cflags --libs holdfast-c): the store from C (docs/c_api.md), one shared
#                library; by CMake holdfast::c
#
#   pkg-config   … $(pkg-config --cflags --libs holdfast-crash): a test of a structure of one's own under the crash
#                checker (docs/test_your_structure.md); by CMake holdfast::crash_traced, and the layers below it
#                as their traced twins
#
# and the command itself, its modules, the workload files, documents and examples. tests/install builds
# programs each way.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(HoldfastPublicHeaders)

set(layers base memory blocks index kv)
set(extra_libraries "")
set(holdfast_dependencies "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n")
foreach(layer IN LISTS layers)
  install(TARGETS holdfast_${layer} EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  get_property(libraries GLOBAL PROPERTY HOLDFAST_LIBRARIES_${layer})
  list(APPEND extra_libraries ${libraries})
endforeach()
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(HEADERS \"${HOLDFAST_PUBLIC_HEADERS};${HOLDFAST_PUBLIC_CRASH_HEADERS}\")
set(SCRATCH \"${PROJECT_BINARY_DIR}/installed_headers\")
set(DESTINATION \"${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake\")")

# The crash checker, and the layers that it can be used with, as the checker needs them.
set(traced base memory blocks)
foreach(layer IN LISTS traced ITEMS crash)
  install(TARGETS holdfast_${layer}_traced EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

# The private libraries of the layers: names for the linker, or packages that CMake must find first.
list(REMOVE_DUPLICATES extra_libraries)
set(pkgconfig_libraries "-pthread")
foreach(library IN LISTS extra_libraries)
  if(library STREQUAL "Threads::Threads")
    continue()
  elseif(library STREQUAL "fmt::fmt")
    string(APPEND holdfast_dependencies "find_dependency(fmt)\n")
    string(PREPEND pkgconfig_libraries "-lfmt ")
  elseif(library MATCHES "::|/|\\$")
    message(FATAL_ERROR "HoldfastInstall: say here how an installed Holdfast finds ${library}")
  else()
    string(PREPEND pkgconfig_libraries "-l${library} ")
  endif()
endforeach()

# The library for C: one file, and one header that includes none of the others.
install(TARGETS holdfast_c EXPORT holdfast-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/holdfast/c/holdfast.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT holdfast-targets NAMESPACE holdfast:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
file(WRITE ${PROJECT_BINARY_DIR}/holdfast-config.cmake
  "${holdfast_dependencies}include(\"\${CMAKE_CURRENT_LIST_DIR}/holdfast-targets.cmake\")\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)

# Where the file lies tells the prefix, so that what was installed can be moved.
file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
file(WRITE ${PROJECT_BINARY_DIR}/holdfast.pc
"prefix=\${pcfiledir}/${prefix_from_pkgconfig}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: holdfast
Description: Durable state at memory speed
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -lholdfast_kv -lholdfast_index -lholdfast_blocks -lholdfast_memory -lholdfast_base ${pkgconfig_libraries}
")
file(WRITE ${PROJECT_BINARY_DIR}/holdfast-crash.pc
"prefix=\${pcfiledir}/${prefix_from_pkgconfig}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: holdfast-crash
Description: What a crash may leave behind of a structure on persistent memory; for tests, never beside holdfast.pc
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir} -DHF_TRACED=1
Libs: -L\${libdir} -lholdfast_crash_traced -lholdfast_blocks_traced -lholdfast_memory_traced -lholdfast_base_traced ${pkgconfig_libraries}
")
file(WRITE ${PROJECT_BINARY_DIR}/holdfast-c.pc
"prefix=\${pcfiledir}/${prefix_from_pkgconfig}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}

Name: holdfast-c
Description: Durable state at memory speed, for C
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
Libs: -L\${libdir} -lholdfast
")
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc ${PROJECT_BINARY_DIR}/holdfast-c.pc ${PROJECT_BINARY_DIR}/holdfast-crash.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# What the documents speak of: `holdfast bench run workloads` finds them here (tools/bench_run_command.cpp).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/workloads ${PROJECT_SOURCE_DIR}/data DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The command, the program that it starts to measure, and what bash offers at Tab, which that writes itself.
if(HOLDFAST_TOOLS)
  install(TARGETS holdfast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS holdfast-bench RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/holdfast)  # `holdfast` starts it.
  install(CODE "execute_process(COMMAND $<TARGET_FILE:holdfast-bench> completion bash
    OUTPUT_FILE ${PROJECT_BINARY_DIR}/holdfast.bash COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${PROJECT_BINARY_DIR}/holdfast.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME holdfast)
  # The modules with the peers of benchmarks, those that were found (HoldfastPeers.cmake).
  get_property(modules GLOBAL PROPERTY HOLDFAST_PEER_MODULES)
  if(modules)
    install(TARGETS ${modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/holdfast)
  endif()
endif()

# All that is installed and nothing else: no tests.
add_custom_target(holdfast_install DEPENDS holdfast_c holdfast_crash_traced)
if(HOLDFAST_TOOLS)
  add_dependencies(holdfast_install holdfast holdfast-bench holdfast_peers)
endif()
foreach(layer IN LISTS layers)
  add_dependencies(holdfast_install holdfast_${layer})
endforeach()
foreach(layer IN LISTS traced)
  add_dependencies(holdfast_install holdfast_${layer}_traced)
endforeach()
