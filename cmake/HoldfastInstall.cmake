# What `cmake --install` (./run install PREFIX) lays down, for two kinds of users:
#
#   CMake        find_package(holdfast) and target_link_libraries(… holdfast::kv)
#   pkg-config   g++ -std=c++20 … $(pkg-config --cflags --libs holdfast)
#
# and the command itself. tests/install builds a program each way.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(layers base memory blocks index kv)
set(extra_libraries "")
set(holdfast_dependencies "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n")
foreach(layer IN LISTS layers)
  install(TARGETS holdfast_${layer} EXPORT holdfast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/holdfast/${layer}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/holdfast FILES_MATCHING PATTERN "*.hpp")
  get_property(libraries GLOBAL PROPERTY HOLDFAST_LIBRARIES_${layer})
  list(APPEND extra_libraries ${libraries})
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
install(TARGETS holdfast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The modules with the peers of benchmarks, those that were found (HoldfastPeers.cmake).
get_property(modules GLOBAL PROPERTY HOLDFAST_PEER_MODULES)
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/holdfast)
endif()
