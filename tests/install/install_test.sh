#!/bin/sh
# install_test.sh BUILD-DIRECTORY: what is installed is enough to build with.
#
# Installs to a scratch prefix, moves it (an installed tree must not know where it was), and builds
# examples/first_store.cpp outside the tree: by find_package(holdfast) and by pkg-config. Both programs
# and the installed command work on one store.
set -eu
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
cd "$scratch"

mkdir by_cmake
cp "$root/examples/first_store.cpp" by_cmake/
cat >by_cmake/CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(holdfast 0.1 REQUIRED)
add_executable(user first_store.cpp)
target_link_libraries(user PRIVATE holdfast::kv)
TEXT
cmake -S by_cmake -B by_cmake/build -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build by_cmake/build

PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # Flags are to be split.
g++ -std=c++20 "$root/examples/first_store.cpp" -o by_pkgconfig $(pkg-config --cflags --libs holdfast)

[ "$(./by_cmake/build/user)" = "run number 1" ]
[ "$(./by_pkgconfig)" = "run number 2" ]
[ "$(prefix/bin/holdfast kv ./first.store get runs)" = 2 ]
echo "installed, moved, built by CMake and by pkg-config"
