# What `cmake --install` (./run install PREFIX) lays down, for two kinds of users:
#
#   CMake        find_package(holdfast) and target_link_libraries(… holdfast::kv)
#   pkg-config   g++ -std=c++20 … $(pkg-config --cflags --libs holdfast)
#
# and the command itself. Where tests are built (HOLDFAST_TESTS), the crash checker as well, for tests of
# structures of one's own (docs/test_your_structure.md): holdfast::crash_traced, or pkg-config
# holdfast-crash. tests/install builds programs each way.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(HoldfastPublicHeaders)

set(layers base memory blocks index kv)
set(extra_libraries "")
set(holdfast_dependencies "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n")
set(public_headers ${HOLDFAST_PUBLIC_HEADERS})
foreach(layer IN LISTS layers)
  install(TARGETS holdfast_${layer} EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  get_property(libraries GLOBAL PROPERTY HOLDFAST_LIBRARIES_${layer})
  list(APPEND extra_libraries ${libraries})
endforeach()
if(TARGET holdfast_crash_traced)
  list(APPEND public_headers ${HOLDFAST_PUBLIC_CRASH_HEADERS})
  foreach(layer IN LISTS layers ITEMS crash)
    install(TARGETS holdfast_${layer}_traced EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endif()
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(HEADERS \"${public_headers}\")
set(SCRATCH \"${PROJECT_BINARY_DIR}/installed_headers\")
set(DESTINATION \"${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake\")")

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
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET holdfast_crash_traced)
  file(READ ${PROJECT_BINARY_DIR}/holdfast.pc text)
  string(REPLACE "Name: holdfast\n" "Name: holdfast-crash\n" text "${text}")
  string(REPLACE "Durable state at memory speed" "Crash checker of Holdfast, for tests; instead of holdfast, never beside it" text "${text}")
  string(REPLACE "Cflags: " "Cflags: -DHF_TRACED=1 " text "${text}")
  string(REGEX REPLACE "-lholdfast_([a-z]+)" "-lholdfast_\\1_traced" text "${text}")
  string(REPLACE "Libs: -L\${libdir} " "Libs: -L\${libdir} -lholdfast_crash_traced " text "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/holdfast-crash.pc "${text}")
  install(FILES ${PROJECT_BINARY_DIR}/holdfast-crash.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(TARGETS holdfast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
