#!/bin/sh
# install_test.sh BUILD-DIRECTORY: what is installed is enough to build with.
#
# Installs to a scratch prefix, moves it (an installed tree must not know where it was), and builds programs
# outside the tree: examples/first_store.cpp by find_package(holdfast) and by pkg-config, and one user each of
# typed_store.hpp, of log.hpp and of the crash checker, both ways. The installed command works on their stores,
# finds its modules, its workload files and says what bash completes.
set -eu
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
cd "$scratch"

mkdir by_cmake
cp "$root/examples/first_store.cpp" "$root"/tests/install/*.cpp by_cmake/
cat >by_cmake/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(holdfast 0.1 REQUIRED)
foreach(name first_store typed_user)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE holdfast::kv)
endforeach()
add_executable(log_user log_user.cpp)
target_link_libraries(log_user PRIVATE holdfast::blocks)
add_executable(crash_user crash_user.cpp)
target_link_libraries(crash_user PRIVATE holdfast::crash_traced)
TEXT
cmake -S by_cmake -B by_cmake/build -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build by_cmake/build

PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # Flags are to be split.
for name in first_store typed_user log_user; do
  g++ -std=c++20 by_cmake/$name.cpp -o $name $(pkg-config --cflags --libs holdfast)
done
# shellcheck disable=SC2046
g++ -std=c++20 by_cmake/crash_user.cpp -o crash_user $(pkg-config --cflags --libs holdfast-crash)

[ "$(./by_cmake/build/first_store)" = "run number 1" ]
[ "$(./first_store)" = "run number 2" ]
[ "$(prefix/bin/holdfast kv ./first.store get runs)" = 2 ]
for way in . by_cmake/build; do
  [ "$($way/typed_user typed.store)" = "ada is 36" ]
  [ "$($way/log_user log)" = "one two three" ]
  [ "$($way/crash_user)" = "sound, and a missing fence is found" ]
done
[ "$(prefix/bin/holdfast kv ./typed.store count)" = 1 ]

prefix/bin/holdfast bench run workloads --list --dram --scale auto >/dev/null
prefix/bin/holdfast --version | grep -q '^peers '
modules=$(find prefix -name 'holdfast-peers-*.so' | wc -l)
# All of them, and of this build: --version names those that it would load.
[ "$(prefix/bin/holdfast --version | sed -n 's/^peers *//p' | tr ',' '\n' | grep -vc 'none is installed')" = "$modules" ]
for file in bash-completion/completions/holdfast holdfast/workloads holdfast/data/prices; do
  [ -s "prefix/share/$file" ] || [ -d "prefix/share/$file" ] || { echo "no share/$file" && exit 1; }
done
[ -s prefix/share/doc/holdfast/LICENSE ] && [ -s prefix/share/doc/holdfast/docs/kv.md ]
echo "installed, moved, four programs built by CMake and by pkg-config"
