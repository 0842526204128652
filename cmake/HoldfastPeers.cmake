# A library that benchmarks compare with, as a module that the command loads: holdfast-peers-NAME.so beside
# build/<preset>/holdfast, or installed in lib/holdfast. holdfast/modules/modules.hpp says how the two meet.
#
#   holdfast_peer(rocksdb PACKAGE librocksdb-dev FIND RocksDB TARGET RocksDB::rocksdb-shared SOURCES …)
#   holdfast_peer(lmdb    PACKAGE liblmdb-dev    PKG_CONFIG lmdb                             SOURCES …)
#   holdfast_peers_end(GENERATED-DIRECTORY)
#
# Where the library is not found, nothing is built, and the command says what to install. `holdfast_peers` builds all
# that were found. HOLDFAST_PEERS=OFF looks for none.
option(HOLDFAST_PEERS "Build the modules with the libraries that benchmarks compare with, where these are installed" ON)
find_package(PkgConfig QUIET)
add_custom_target(holdfast_peers)
set(holdfast_peer_list "")

macro(holdfast_peer name)
  cmake_parse_arguments(PEER "" "PACKAGE;FIND;TARGET;PKG_CONFIG" "SOURCES" ${ARGN})
  string(APPEND holdfast_peer_list "{\"${name}\", \"${PEER_PACKAGE}\"}, ")
  if(HOLDFAST_PEERS)
    if(PEER_FIND)
      find_package(${PEER_FIND} CONFIG QUIET)  # CONFIG: RocksDB brings a find module for TBB, for its own use.
    elseif(PKG_CONFIG_FOUND)
      pkg_check_modules(holdfast_${name} QUIET IMPORTED_TARGET ${PEER_PKG_CONFIG})
      set(PEER_TARGET PkgConfig::holdfast_${name})
    endif()
    if(PEER_TARGET AND TARGET ${PEER_TARGET})
      holdfast_peer_module(holdfast-peers-${name} ${PEER_TARGET} ${PEER_SOURCES})
    else()
      message(STATUS "no ${PEER_PACKAGE}: the command does without ${name}")
    endif()
  endif()
endmacro()

function(holdfast_peer_module module library)
  add_library(${module} MODULE ${ARGN} ${generated}/peer_mark.cpp)
  # Its other symbols are those of the program that loads it.
  target_include_directories(${module} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${module} PRIVATE ${library} holdfast_flags)
  # A program that has one benchmark lacks what the others' parts of a module would call.
  target_link_options(${module} PRIVATE -Wl,-z,lazy)
  set_target_properties(${module} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(${module} holdfast_module_identity)
  add_dependencies(holdfast_peers ${module})
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_PEER_MODULES ${module})  # For HoldfastInstall.
endfunction()

# The identity of this build, and what a program must give to the modules that it loads.
macro(holdfast_peers_end generated)
  include(GNUInstallDirs)
  file(RELATIVE_PATH from_bin /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR}/holdfast)
  string(SHA256 flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO} ${CMAKE_CXX_FLAGS_DEBUG} ${HOLDFAST_SANITIZE}")
  string(SUBSTRING ${flags} 0 8 flags)
  add_custom_target(holdfast_module_identity
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}
            "-DPREFIX=${PROJECT_VERSION}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE} ${flags}"
            -DOUTPUT=${generated}/module_identity.hpp -DMARK=${generated}/peer_mark.cpp "-DPEERS=${holdfast_peer_list}"
            -DFROM_BIN=${from_bin} -P ${PROJECT_SOURCE_DIR}/cmake/ModuleIdentity.cmake
    BYPRODUCTS ${generated}/module_identity.hpp ${generated}/peer_mark.cpp
    COMMENT "" VERBATIM)
  file(WRITE ${generated}/peers.exports "{ extern \"C++\" { *holdfast::*; }; };\n")
  target_link_options(holdfast_modules INTERFACE -Wl,--dynamic-list=${generated}/peers.exports)
endmacro()
