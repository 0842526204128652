# cmake -DROOT=… -DPREFIX="0.1.0, GNU 12.2.0" -DOUTPUT=….hpp -DMARK=….cpp -P ModuleIdentity.cmake: writes what the command
# and its modules must have in common, if it changed. All headers of the library go into it: a module that was
# compiled from others may see other layouts of the types that both use.
cmake_policy(VERSION 3.22)
file(GLOB_RECURSE headers ${ROOT}/holdfast/*.hpp)
list(SORT headers)
set(sums "")
foreach(header IN LISTS headers)
  file(SHA256 ${header} sum)
  file(RELATIVE_PATH name ${ROOT} ${header})
  string(APPEND sums "${name} ${sum}\n")
endforeach()
string(SHA256 sum "${sums}")
string(SUBSTRING ${sum} 0 16 sum)
set(identity "${PREFIX}, headers ${sum}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"// Written by cmake/ModuleIdentity.cmake.
#pragma once
namespace holdfast::modules {
inline constexpr char kIdentity[] = \"@identity@\";
inline constexpr char kFromBin[] = \"@FROM_BIN@\";
inline constexpr Module kModules[] = {@PEERS@};
}
" @ONLY)
file(CONFIGURE OUTPUT ${MARK} CONTENT
"// Written by cmake/ModuleIdentity.cmake: the identity of a module, for modules.cpp to find in its file.
extern \"C\" __attribute__((visibility(\"default\"))) const char holdfast_peer_build[];
__attribute__((used)) const char holdfast_peer_build[] = \"holdfast-peer-build: @identity@\\n\";
" @ONLY)
