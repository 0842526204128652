#!/bin/sh
# install_test.sh BUILD-DIRECTORY: what is installed is enough to build with, and no more.
#
# Installs to a scratch prefix, moves it (an installed tree must not know where it was), and builds
# programs outside the tree, by find_package(holdfast) and by pkg-config: those of examples/ and a user
# of typed_store.hpp. The installed command works on their stores, finds its modules, its workload files
# and says what bash completes. The headers that are not marked internal are those of
# cmake/HoldfastPublicHeaders.cmake. The crash checker judges a structure outside of this tree.
set -eu
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "$*"
  exit 1
}

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
cd "$scratch"
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH

# Headers: public ones are those of the list, others are there only as far as public ones need them.
lists="HOLDFAST_PUBLIC_HEADERS;HOLDFAST_PUBLIC_CRASH_HEADERS"
cat >list.cmake <<'TEXT'
include(${ROOT}/cmake/HoldfastPublicHeaders.cmake)
foreach(list IN LISTS LISTS_TO_SHOW)
  foreach(header IN LISTS ${list})
    message(${header})
  endforeach()
endforeach()
TEXT
cmake -DROOT="$root" -DLISTS_TO_SHOW="$lists" -P list.cmake 2>&1 | sort >wanted
(cd prefix/include/holdfast && grep -rL '^// Internal to Holdfast' . | sed 's|^\./||' | sort) >installed
cmp -s wanted installed || fail "the public headers that are installed are not those of the list: $(diff wanted installed)"
for header in base/format.hpp base/random.hpp memory/files.hpp kv/reclaim.hpp blocks/interleave/fp_leaves.hpp; do
  [ ! -e "prefix/include/holdfast/$header" ] || fail "$header is installed, and no public header includes it"
done
# In two files: the checker's headers are for the traced build. Each alone: tests/layers/headers_alone_test.py.
grep -v '^crash/' wanted | sed 's|.*|#include <holdfast/&>|' >all.cpp
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Iprefix/include all.cpp || fail "the public headers, as installed, do not compile"
grep '^crash/' wanted | sed 's|.*|#include <holdfast/&>|' >all.cpp
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DHF_TRACED=1 -Iprefix/include all.cpp ||
  fail "the headers of the crash checker, as installed, do not compile"

# Programs by CMake and by pkg-config.
mkdir by_cmake
cp "$root"/examples/*.?pp "$root"/examples/*.c "$root"/tests/install/*.cpp by_cmake/
cat >by_cmake/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C CXX)
find_package(holdfast 0.1 REQUIRED)
foreach(name first_store typed_user)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE holdfast::kv)
endforeach()
add_executable(log_guide log_guide.cpp)
target_link_libraries(log_guide PRIVATE holdfast::blocks)
add_executable(c_guide c_guide.c)
target_link_libraries(c_guide PRIVATE holdfast::c)
add_executable(crash_test crash_test.cpp)
target_link_libraries(crash_test PRIVATE holdfast::crash_traced)
TEXT
cmake -S by_cmake -B by_cmake/build -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build by_cmake/build

compile() { # NAME PACKAGE
  # shellcheck disable=SC2046  # Flags are to be split.
  g++ -std=c++20 "by_cmake/$1.cpp" -o "$1" $(pkg-config --cflags --libs "$2")
}
for name in first_store typed_user log_guide; do
  compile $name holdfast
done
compile crash_test holdfast-crash
# shellcheck disable=SC2046
gcc -std=c99 -pedantic -Wall -Wextra -Werror by_cmake/c_guide.c -o c_guide $(pkg-config --cflags --libs holdfast-c)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir holdfast-c)
export LD_LIBRARY_PATH

[ "$(./by_cmake/build/first_store)" = "run number 1" ]
[ "$(./first_store)" = "run number 2" ]
[ "$(prefix/bin/holdfast kv ./first.store get runs)" = 2 ]
for way in . by_cmake/build; do
  [ "$($way/typed_user typed.store)" = "ada is 36" ] || fail "$way: the program with a typed store failed"
  $way/log_guide >/dev/null
  $way/c_guide "c$(basename $way).store" | grep -q 'user:grace = hopper' || fail "$way: the program in C failed"
  $way/crash_test >/dev/null || fail "$way: a correct structure is found wrong"
  ! $way/crash_test --without-fence >found || fail "$way: the missing fence is not found"
  grep -q 'checkpoint.hpp:' found || fail "$way: the line of the structure is not named"
done
[ "$(prefix/bin/holdfast kv ./typed.store count)" = 1 ]

prefix/bin/holdfast bench run workloads --list --dram --scale auto >/dev/null
prefix/bin/holdfast --version | grep -q '^peers '
modules=$(find prefix -name 'holdfast-peers-*.so' | wc -l)
# All of them, and of this build: --version names those that it would load.
[ "$(prefix/bin/holdfast --version | sed -n 's/^peers *//p' | tr ',' '\n' | grep -vc 'none is installed')" = "$modules" ]
for file in bash-completion/completions/holdfast holdfast/workloads holdfast/data/prices; do
  [ -s "prefix/share/$file" ] || [ -d "prefix/share/$file" ] || fail "no share/$file"
done
[ -s prefix/share/doc/holdfast/LICENSE ] && [ -s prefix/share/doc/holdfast/docs/kv.md ]
echo "installed, moved, five programs built by CMake and by pkg-config"
