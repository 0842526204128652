#!/bin/sh
# first_build_test.sh: what ./run tour compiles on a fresh machine compiles: common headers parsed once, libraries in a few
# pieces (cmake/HoldfastPrecompiled.cmake). Not optimised, since only names can go wrong there; and the command starts.
#
#   first_build_test.sh BUILD    where BUILD was made so itself, as in CI, that is what shows it
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
if grep -q 'holdfast_verbs.dir/Unity/unity_' "$1/build.ninja" && grep -q 'cmake_pch.hxx' "$1/build.ninja"; then
  echo "$1 is in pieces, with precompiled headers"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake -S "$root" -B "$scratch" -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0 -DCMAKE_CXX_COMPILER_LAUNCHER= -DHOLDFAST_TESTS=OFF >"$scratch/log"
cmake --build "$scratch" --target holdfast >"$scratch/log" 2>&1 || {
  grep -A 12 -E '^FAILED|error:' "$scratch/log" | head -n 60
  exit 1
}
grep -q 'Unity/unity_' "$scratch/build.ninja" && grep -q 'cmake_pch.hxx' "$scratch/build.ninja" || {
  echo "the build has no pieces, or no precompiled headers"
  exit 1
}
"$scratch/holdfast" kv "$scratch/store" put ada lovelace
[ "$("$scratch/holdfast" kv "$scratch/store" get ada)" = lovelace ]
