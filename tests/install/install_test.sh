#!/bin/sh
# install_test.sh BUILD-DIRECTORY: what is installed is enough to build with, and no more.
#
# Installs to a scratch prefix, moves it (an installed tree must not know where it was), and builds
# programs of examples/ outside the tree: by find_package(holdfast) and by pkg-config. Both stores and
# the installed command work on one store. The headers that are not marked internal are those of
# cmake/HoldfastPublicHeaders.cmake. The crash checker, where it was built, judges a structure outside of
# this tree.
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
has_crash_checker=no
[ ! -e "$PKG_CONFIG_PATH/holdfast-crash.pc" ] || has_crash_checker=yes

# Headers: public ones are those of the list, others are there only as far as public ones need them.
lists=HOLDFAST_PUBLIC_HEADERS
[ $has_crash_checker = no ] || lists="$lists;HOLDFAST_PUBLIC_CRASH_HEADERS"
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
if [ $has_crash_checker = yes ]; then
  grep '^crash/' wanted | sed 's|.*|#include <holdfast/&>|' >all.cpp
  g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DHF_TRACED=1 -Iprefix/include all.cpp ||
    fail "the headers of the crash checker, as installed, do not compile"
fi

# Programs by CMake and by pkg-config.
mkdir by_cmake
cp "$root"/examples/*.?pp by_cmake/
cat >by_cmake/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(holdfast 0.1 REQUIRED)
add_executable(user first_store.cpp)
target_link_libraries(user PRIVATE holdfast::kv)
if(TARGET holdfast::crash_traced)
  add_executable(crash_test crash_test.cpp)
  target_link_libraries(crash_test PRIVATE holdfast::crash_traced)
endif()
TEXT
cmake -S by_cmake -B by_cmake/build -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build by_cmake/build

compile() { # NAME PACKAGE
  # shellcheck disable=SC2046  # Flags are to be split.
  g++ -std=c++20 "$root/examples/$1.cpp" -o "$1" $(pkg-config --cflags --libs "$2")
}
compile first_store holdfast
compile log_guide holdfast
cat >typed.cpp <<'TEXT'
#include <holdfast/kv/typed_store.hpp>
int main() {
  auto store = holdfast::kv::Store<int, long>::open("./typed.store").value();
  store.put(1, 2).value();
  long value = 0;
  store.get(1, value).value();
  return value == 2 ? 0 : 1;
}
TEXT
# shellcheck disable=SC2046
g++ -std=c++20 typed.cpp -o typed $(pkg-config --cflags --libs holdfast)

[ "$(./by_cmake/build/user)" = "run number 1" ]
[ "$(./first_store)" = "run number 2" ]
[ "$(prefix/bin/holdfast kv ./first.store get runs)" = 2 ]
./log_guide >/dev/null
./typed || fail "the program with a typed store failed"

if [ $has_crash_checker = yes ]; then
  compile crash_test holdfast-crash
  for program in ./crash_test ./by_cmake/build/crash_test; do
    $program >/dev/null || fail "$program: a correct structure is found wrong"
    ! $program --without-fence >found || fail "$program does not find the missing fence"
    grep -q 'checkpoint.hpp:' found || fail "$program does not name the line of the structure"
  done
fi
echo "installed, moved, built by CMake and by pkg-config; crash checker: $has_crash_checker"
