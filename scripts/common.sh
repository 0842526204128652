# common.sh: what ./run and scripts/check.sh share. Sourced by sh, from the root of the checkout.
# shellcheck shell=sh
# shellcheck disable=SC2034  # The package lists are for those who source this.

LOGS=$PWD/build/logs
JOBS=${HOLDFAST_JOBS:-$(nproc)}
mkdir -p "$LOGS"

BUILD_PACKAGES="cmake ninja-build g++ pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev
  libxxhash-dev libyaml-cpp-dev zlib1g-dev"
# What benchmarks compare with (other stores, PMDK); Kafka's client, regular expressions and a web server for streams. Each makes a module
# that the command loads (holdfast/modules/modules.hpp); nothing else needs them.
PEER_PACKAGES="librocksdb-dev liblmdb-dev libleveldb-dev libtbb-dev libabsl-dev librdkafka-dev libcpp-httplib-dev
  libre2-dev libpmem-dev libpmem2-dev libpmemlog-dev libpmemblk-dev libpmemobj-dev"
TEST_PACKAGES="libgtest-dev python3 python3-venv strace tzdata"
BROWSER_PACKAGES="chromium fonts-dejavu-core"
JAVA_PACKAGES="openjdk-17-jdk-headless maven"
CHECK_PACKAGES="clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev llvm-19 git golang-go"

say() { printf '== %s\n' "$*" >&2; }
refuse() {
  printf 'run: %s\n' "$*" >&2
  exit 2
}

# seconds_now: for durations of whole seconds.
seconds_now() { date +%s; }

# logged NAME COMMAND…: output goes to build/logs/NAME.log; its end is shown if the command fails.
logged() {
  log=$LOGS/$1.log
  shift
  "$@" >"$log" 2>&1 || {
    code=$?
    tail -n 40 "$log" >&2
    say "failed (exit $code): $1; all of it: $log"
    exit "$code"
  }
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    refuse "root is needed for: $* (there is no sudo; run it as root, then ./run again)"
  fi
}

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"; }

# missing_of PACKAGE…: those that are not installed.
missing_of() {
  have=$(dpkg-query -W -f='${Package}=${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    case "
$have
" in *"
$package=installed
"*) ;; *) printf ' %s' "$package" ;; esac
  done
}

# Why nothing can be installed here; nothing where it can.
install_obstacle() {
  if ! command -v apt-get >/dev/null; then
    echo "there is no apt-get here; install what these Debian packages hold"
  elif [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "there is neither root nor sudo; an administrator can run"
  elif [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then
    echo "sudo asks for a password, and there is no terminal to ask on; run"
  fi
}

install_packages() {
  say "installing $*"
  begin=$(seconds_now)
  # An index that is missing or too old shows in a failed install: then, and only then, it is fetched.
  apt_get install -y --no-install-recommends "$@" >"$LOGS/apt.log" 2>&1 || {
    logged apt-update apt_get update
    logged apt apt_get install -y --no-install-recommends "$@"
  }
  # What is built already did without them: it is configured anew.
  rm -f build/*/.run-options
  say "installed in $(($(seconds_now) - begin)) s"
}

# need PACKAGE…: installs those that are missing. Asks nobody when all are there.
need() {
  missing=$(missing_of "$@")
  [ -n "$missing" ] || return 0
  obstacle=$(install_obstacle)
  [ -z "$obstacle" ] || refuse "packages are missing, and $obstacle:
  apt-get install -y --no-install-recommends$missing"
  install_packages $missing
}

# want PACKAGE…: the same, for what can be done without: says so, and goes on.
want() {
  missing=$(missing_of "$@")
  [ -n "$missing" ] || return 0
  obstacle=$(install_obstacle)
  if [ -n "$obstacle" ]; then
    say "benchmarks go without some peers: packages are missing, and $obstacle:
  apt-get install -y --no-install-recommends$missing"
    return 0
  fi
  # In a subshell: what fails there ends there. Not every release has every package.
  (install_packages $missing) && return 0
  for package in $missing; do
    (install_packages "$package") || say "there is no $package here; benchmarks go without it"
  done
}

# The Debian package index, which the tour stores, is not on a fresh machine.
need_package_index() {
  [ -z "$(apt-cache dumpavail 2>/dev/null | head -c 1)" ] || return 0
  say "fetching the Debian package index (apt-get update), which the tour will store"
  logged apt-update apt_get update
}

# configure PRESET [OPTION…]: once; ninja runs cmake again where it must.
configure() {
  preset=$1
  shift
  dir=build/$preset
  # A build directory that came along from another place is of no use.
  if [ -e "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$dir/CMakeCache.txt"; then
    rm -rf "$dir"
  fi
  options="$*"
  if [ -e "$dir/build.ninja" ] && [ -e "$dir/.run-options" ] && [ "$(cat "$dir/.run-options")" = "$options" ]; then return 0; fi
  # ccache helps who builds again and again, with tests: each source by itself. CI builds once, and so does ./run tour
  # without tests: they are faster by precompiled headers, of which ccache keeps nothing, and by sources in few pieces. So
  # is who has no ccache.
  case "$options ${CI:-}" in
    *HOLDFAST_TESTS=OFF* | *true) launcher= ;;
    *) launcher=${CMAKE_CXX_COMPILER_LAUNCHER:-$(command -v ccache || true)} ;;
  esac
  [ -n "$launcher" ] || set -- -DHOLDFAST_PIECES=ON "$@"
  logged "configure-$preset" cmake --preset "$preset" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DCMAKE_C_COMPILER_LAUNCHER="$launcher" "$@"
  printf '%s\n' "$options" >"$dir/.run-options"
}

# awk that takes each line as it comes: Debian's mawk waits for 4 KiB, so that a hang would have shown nothing.
awk_by_line() {
  if awk -W version 2>/dev/null </dev/null | grep -q mawk; then awk -W interactive "$@"; else awk "$@"; fi
}

# build PRESET TARGET…: on a terminal ninja's own line; elsewhere a line every tenth of the way.
build() {
  preset=$1
  shift
  begin=$(seconds_now)
  if [ -t 1 ]; then
    cmake --build "build/$preset" -j "$JOBS" --target "$@" || refuse "the build failed"
  else
    log=$LOGS/build-$preset.log
    {
      cmake --build "build/$preset" -j "$JOBS" --target "$@" 2>&1 || echo "$?" >"$log.failed"
    } | tee "$log" | awk_by_line -v preset="$preset" '
      match($0, /^\[[0-9]+\/[0-9]+\]/) {
        split(substr($0, 2, RLENGTH - 2), at, "/")
        tenth = int(10 * at[1] / at[2])
        if (at[2] >= 20 && tenth > shown) { shown = tenth; print "   built " at[1] " of " at[2] " (" preset ")"; fflush() }
      }' >&2
    if [ -e "$log.failed" ]; then
      rm -f "$log.failed"
      { grep -A 12 -E '^FAILED|error:' "$log" || tail -n 40 "$log"; } | head -n 60 >&2
      say "the build failed; all of it: $log"
      exit 1
    fi
  fi
  say "built $preset ($*) in $(($(seconds_now) - begin)) s"
}

# build_release TARGET…: without the tests where GoogleTest is not installed, so that ./run tour need not wait for it.
build_release() {
  if [ "$1" = all ] && dpkg-query -W libgtest-dev >/dev/null 2>&1 || grep -qs '^HOLDFAST_TESTS:BOOL=ON' build/release/CMakeCache.txt; then
    configure release -DHOLDFAST_TESTS=ON
  else
    configure release -DHOLDFAST_TESTS=OFF
  fi
  build release "$@"
}

# A Python with what of PyPI our histogram and our answers are compared with, and with fastavro, cramjam and pyarrow, by
# which streams read and write Avro and Parquet. Without a network these comparisons are skipped; ctest says so of the first.
test_python() {
  python=$PWD/build/python/bin/python
  packages='hdrhistogram duckdb polars fastavro cramjam pyarrow'
  if ! "$python" -c 'import hdrh, duckdb, polars, fastavro, cramjam, pyarrow' 2>/dev/null; then
    if ! { python3 -m venv build/python && "$python" -m pip install --quiet --retries 1 --timeout 10 $packages; } \
      >"$LOGS/python.log" 2>&1; then
      say "no Python with $packages (build/logs/python.log): what compares with those that are missing is skipped"
      [ -x "$python" ] || return 0
    fi
  fi
  export HOLDFAST_TEST_PYTHON="$python"
}

# What the tour shows while there is no command yet: README.md's first program, which needs the store alone.
first_record() {
  say "compiling the store: about a minute on two CPUs, the first time only"
  build_release first_store
  place=$(mktemp -d "$PWD/build/first.XXXXXX")
  echo "examples/first_store.cpp keeps a record of how often it was run. Twice, each a process of its own:"
  for _ in 1 2; do (cd "$place" && ../release/examples/first_store); done
  rm -rf "$place"
  say "compiling the command: half a minute more"
}

# A part of the tour: real events as a stream. Without Python or a network it says so, and the tour goes on.
flights() {
  want python3 python3-venv
  if ! command -v python3 >/dev/null; then
    say "no python3: the year of flights is left out"
    return 0
  fi
  test_python
  echo
  echo "A year of flights as a stream"
  "${HOLDFAST_TEST_PYTHON:-python3}" scripts/flights.py build/release/holdfast build/flights || { code=$?; [ $code -eq 3 ] || return $code; }
}

# run_ctest DIRECTORY LOG-NAME OPTION…: shows what did not pass and ctest's own summary; all of it is in the log.
run_ctest() {
  dir=$1
  log=$LOGS/$2.log
  shift 2
  say "running the tests of $dir"
  rm -f "$log.failed"
  {
    ctest --test-dir "$dir" -j "$JOBS" --timeout 900 --output-on-failure --no-tests=error "$@" 2>&1 || echo "$?" >"$log.failed"
  } | tee "$log" | awk_by_line '
    /^ *Start +[0-9]+: / || /^\[ (RUN     |      OK) \]/ || /^\[-------/ { next }  # What passed is in the log.
    match($0, /^ *[0-9]+\/[0-9]+ Test/) {
      split($1, at, "/")
      tenth = int(10 * at[1] / at[2])
      if ($0 !~ / Passed +[0-9.]+ sec/) print
      else if (at[2] >= 20 && tenth > shown) { shown = tenth; print "   " at[1] " of " at[2] " tests" }
      fflush()
      next
    }
    { print; fflush() }'
  [ ! -e "$log.failed" ] || exit 1
}

# build_java [MODULE…]: the native library, then modules of java/ with their tests (none named: the store and YCSB).
# What they depend on comes from Maven Central. HOLDFAST_MAVEN_OPTIONS: more words for Maven.
build_java() {
  [ $# -gt 0 ] || set -- holdfast ycsb
  need $BUILD_PACKAGES $JAVA_PACKAGES
  build_release holdfast_jni
  say "Maven: compiling and testing java/: $*"
  logged maven mvn -q -B -ntp ${HOLDFAST_MAVEN_OPTIONS:-} -f java/pom.xml -pl "$(IFS=, && echo "$*")" package
}

# `text`, so that a shell reads it back as it is.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# show_paths PREFIX LIBRARY: the variables by which what was installed there is found.
show_paths() {
  say "installed; what builds with it finds it by these:"
  printf '%s\n' "export PATH=$(quoted "$1/bin"):\"\$PATH\" CMAKE_PREFIX_PATH=$(quoted "$1")" \
    "export PKG_CONFIG_PATH=$(quoted "$2/pkgconfig") LD_LIBRARY_PATH=$(quoted "$2")    # The latter for C."
  case $1 in
    *[!A-Za-z0-9/._+-]*) say "the prefix has a character that the shell splits or expands; write: eval g++ … \"\$(pkg-config …)\"" ;;
  esac
}
