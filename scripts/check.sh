#!/bin/sh
# check.sh: the stages beyond ./run test; .ci/run says which of them CI runs. `./run check [--full] [--list] [STAGE …]`.
#
# Each stage is a process of its own with its log in build/logs/check-STAGE.log; a failed stage does not
# stop the others. Exit code of a stage: 0 held, 77 cannot be run here (its last line says why), else
# failed. A stage that was asked for by name and cannot be run has failed. A table closes the run; exit
# code 1 if any stage failed.
set -eu
cd "$(dirname "$0")/.."
. scripts/common.sh

STAGES="layers format tidy release report asan tsan fuzz mutation steps kill"
FULL_STAGES="$STAGES java flink kafka slow qemu"
# By name only: a part of asan.
ALL_STAGES="$FULL_STAGES asan_units"

skip() {
  echo "$*"
  exit 77
}

# The commit that this change is measured from: where it left origin/main, else the last one that is
# older than a day (CI's clone is itself origin/main), else the empty tree.
base_commit() {
  git config --global --get-all safe.directory 2>/dev/null | grep -qxF -e "$PWD" -e '*' || git_options="-c safe.directory=$PWD"
  # shellcheck disable=SC2086
  base=$(git ${git_options:-} merge-base HEAD origin/main 2>/dev/null || true)
  # shellcheck disable=SC2086
  if [ -z "$base" ] || [ "$base" = "$(git ${git_options:-} rev-parse HEAD)" ]; then
    base=$(git ${git_options:-} rev-list -1 --before='24 hours ago' HEAD)
  fi
  # shellcheck disable=SC2086
  [ -n "$base" ] || base=$(git ${git_options:-} hash-object -t tree /dev/null)
  echo "$base"
}

# changed PATTERN: files that changed since then and still exist, matching an extended regular expression.
changed() {
  base=$(base_commit)
  if [ "${FULL:-0}" = 1 ]; then
    git -c safe.directory="$PWD" ls-files
  else
    git -c safe.directory="$PWD" diff --name-only --diff-filter=d "$base"
  fi | { grep -E "$1" || true; }
}

sanitizer_tests() { # PRESET TARGET CTEST-OPTION…
  preset=$1
  target=$2
  shift 2
  configure "$preset"
  build "$preset" "$target"
  run_ctest "build/$preset" "ctest-$preset" "$@"
}

stage_layers() { # All headers take six minutes: the quick form looks at those that changed, and at some.
  changed '^holdfast/.*\.hpp$' >"$LOGS/headers"
  python3 tests/layers/layers_test.py
  if [ "${FULL:-0}" = 1 ]; then python3 tests/layers/headers_alone_test.py; else python3 tests/layers/headers_alone_test.py --quick "$LOGS/headers"; fi
  python3 tests/layers/thread_safety_test.py
}

stage_format() {
  changed '^(holdfast|tools|tests|examples)/.*\.(cpp|hpp)$' >"$LOGS/format-files"
  [ -s "$LOGS/format-files" ] || { echo "no source has changed" && return 0; }
  echo "$(wc -l <"$LOGS/format-files") files"
  xargs clang-format-19 --dry-run -Werror <"$LOGS/format-files" || {
    echo "./run format puts this right"
    return 1
  }
}

stage_tidy() {
  # Headers are read through the sources that include them (HeaderFilterRegex in .clang-tidy).
  changed '^(holdfast|tools)/.*\.cpp$' >"$LOGS/tidy-files"
  [ -s "$LOGS/tidy-files" ] || { echo "no source of the library or the command has changed" && return 0; }
  configure asan
  build asan holdfast_git_revision holdfast_module_identity  # Generated headers.
  echo "$(wc -l <"$LOGS/tidy-files") files"
  # The path-sensitive analyzer takes three quarters of the time; it waits for --full.
  checks='-clang-analyzer-*'
  [ "${FULL:-0}" = 0 ] || checks=
  xargs -P "$JOBS" -n 1 clang-tidy-19 -p build/asan --quiet --use-color=false --checks="$checks" <"$LOGS/tidy-files"
}

stage_release() { # Tests that cost too much for ./run test: installation, linearizability and whatever is labelled so.
  need valgrind
  build_release all
  run_ctest build/release ctest-release-check -L check -E '^kill_test$'
}

stage_report() { # Reports and the page of streams in a headless Chromium: on a screen, a phone, in the dark, on paper.
  need $BROWSER_PACKAGES
  build_release holdfast holdfast-bench holdfast_peers
  run_ctest build/release ctest-report -L browser
}

# Crash tests without the media that hardly differ from another: a step that is missing cannot show on byte media, and
# line_streaming is much as line.
QUICK_MEDIA='-*/byte:*/line_streaming'

stage_asan() { # Everything, but what takes longest there.
  [ "${FULL:-0}" = 1 ] || export GTEST_FILTER="$QUICK_MEDIA"
  sanitizer_tests asan all -LE 'slow|check|no_sanitizer'
}
stage_asan_units() {
  [ "${FULL:-0}" = 1 ] || export GTEST_FILTER="$QUICK_MEDIA"
  sanitizer_tests asan unit_tests -L unit -LE no_sanitizer
}
stage_tsan() { sanitizer_tests tsan concurrent_tests -L concurrent; }

fuzz_target() { # TARGET SECONDS: what is found is kept under build/, so that later runs go on from it.
  name=$(basename "$1")
  corpus=build/fuzz-corpus/$name
  seeds=tests/fuzz/corpus/$name
  mkdir -p "$corpus"
  [ -d "$seeds" ] || seeds=$corpus
  # In CI one seed, so nearly the same inputs each time: what is not known yet is looked for elsewhere.
  random=0
  [ "${CI:-}" != true ] || random=1
  "$1" -seed=$random -max_total_time="$2" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$LOGS/$name-" "$corpus" "$seeds" 2>&1 | grep -vE '^#[0-9]+.(NEW|REDUCE)|NEW_FUNC|# Uses' >"$LOGS/fuzz-$name.log" || true
  verdict=clean
  grep -q '^stat::number_of_executed_units' "$LOGS/fuzz-$name.log" || verdict=unfinished
  ! grep -qE 'ERROR: |SUMMARY: ' "$LOGS/fuzz-$name.log" || verdict=FOUND
  echo "== $name, $2 s: $verdict"
  grep -E '^stat::|^Done' "$LOGS/fuzz-$name.log" || true
  [ "$verdict" = clean ] || echo "$name" >>"$LOGS/fuzz-found"
}

stage_fuzz() {
  seconds=10
  [ "${FULL:-0}" = 0 ] || seconds=600
  configure asan
  if [ "${CI:-}" = true ]; then build asan fuzz_targets_of_ci; else build asan fuzz_targets; fi
  rm -f "$LOGS/fuzz-found"
  printf '%s\n' build/asan/fuzz_targets/* | xargs -P "$JOBS" -I '{}' sh scripts/check.sh --fuzz '{}' "$seconds"
  [ -f "$LOGS/fuzz-found" ] || return 0
  # Last, and with its input, since of a failed stage only the end is shown.
  while read -r name; do
    echo "== $name did not end clean"
    grep -vE '^stat::|^Done|^INFO' "$LOGS/fuzz-$name.log" | cut -c1-200 | head -n 40
    grep -E '^(Base64|artifact_prefix)' "$LOGS/fuzz-$name.log" | tail -n 2 || true
  done <"$LOGS/fuzz-found"
  return 1
}

# drop_steps FILTER OPTION…: of each traced test binary, in the sources of its own layer: those of the layers below are
# watched by their own tests. The checker's own tests drop steps of protocols that they bring.
drop_steps() {
  filter=$1
  shift
  mutated=0
  for binary in build/release/tests/*/*traced*; do
    case $binary in */CMakeFiles/* | */crash_tests_traced*) continue ;; esac
    layer=$(basename "$(dirname "$binary")")
    case " ${LAYERS:-$layer} " in *" $layer "*) ;; *) continue ;; esac
    if [ ! -f "$binary" ] || [ ! -x "$binary" ]; then continue; fi
    mutated=$((mutated + 1))
    echo "== $binary"
    python3 tests/mutation.py "$binary" --only "holdfast/$layer" "$@" --jobs "$JOBS" -- --gtest_filter="$filter"
  done
  [ "$mutated" -gt 0 ] || skip "no traced test binary of a layer above memory was built"
}

stage_mutation() { # Flushes, fences and syncs that changed are left out, the logic is changed: a test must notice each.
  build_release all
  build release mutant_tests
  # All mutants of the logic take long: the quick form draws some, others for every commit.
  if [ "${FULL:-0}" = 1 ]; then
    python3 tests/logic_mutants.py --jobs "$JOBS"
    drop_steps '*'
  else
    python3 tests/logic_mutants.py --seed "$(git rev-parse HEAD)" --sample 8 --jobs "$JOBS"
    drop_steps "$QUICK_MEDIA" --changed "$(base_commit)"
  fi
}

# All steps of the layers that others stand on, whatever has changed. HOLDFAST_STEPS_LAYERS="kv olap": of other layers.
stage_steps() {
  build_release all
  LAYERS=${HOLDFAST_STEPS_LAYERS:-memory blocks index}
  drop_steps "$QUICK_MEDIA"
}

stage_kill() {
  rounds=20
  [ "${FULL:-0}" = 0 ] || rounds=200
  build_release all
  build/release/tests/real/kill_test --rounds "$rounds" --directory build
  # And the tour: an import of real records. The machine's own package index, or else records made up for this.
  set -- --kills "$rounds" --no-compare --dir build
  if [ -z "$(apt-cache dumpavail 2>/dev/null | head -c 1)" ]; then
    python3 tests/tools/make_stanzas.py 60000 >build/stanzas
    set -- "$@" --input build/stanzas
  fi
  build/release/holdfast tour "$@"
}

stage_java() { # The store for Java, and the bindings of YCSB beside RocksDB's.
  build_java
  python3 java/ycsb/ycsb_bench.py build/java/ycsb --check
}

stage_flink() { # Flink's own suites on our state backend, and a cluster whose TaskManagers are killed.
  rm -rf build/java/flink/surefire-reports
  build_java holdfast flink flink-cluster kafka flink-peer
  python3 java/flink/suites.py build/java/flink/surefire-reports
  build_release holdfast holdfast-bench
  python3 tests/bench/stream_compare_test.py build/release/holdfast flink
  rounds=3
  [ "${FULL:-0}" = 0 ] || rounds=20
  python3 -u java/flink-cluster/cluster.py build/java/flink-cluster build/java/flink/holdfast-flink-0.1.0.jar \
    --kafka build/java/kafka --rounds "$rounds"
}

stage_kafka() { # Streams from Kafka to Kafka with a real broker: exactly once over kill -9.
  need $JAVA_PACKAGES librdkafka-dev
  build_release holdfast holdfast-bench holdfast-peers-rdkafka
  logged maven-kafka mvn -q -B -ntp -f java/kafka/pom.xml package
  test_python  # With fastavro.
  kills=8
  [ "${FULL:-0}" = 0 ] || kills=40
  python3 -u tests/stream/kafka_test.py build/release/holdfast build/java/kafka --kills "$kills"
}

stage_slow() { # Full only.
  build_release all
  run_ctest build/release ctest-slow -L slow -LE check
}

stage_qemu() { # Full only.
  build_release all
  sh tests/qemu/run.sh --build build/release
}

case ${1:-} in
  --stage)
    "stage_$2"
    exit 0
    ;;
  --fuzz) # One target, for the stage.
    fuzz_target "$2" "$3"
    exit
    ;;
esac

chosen=
by_name=
FULL=0
for word in "$@"; do
  case $word in
    --full) FULL=1 ;;
    --list) echo "$ALL_STAGES" && exit 0 ;;
    *)
      case " $ALL_STAGES " in
        *" $word "*) chosen="$chosen $word" by_name=1 ;;
        *) refuse "'$word' is no stage; there are $ALL_STAGES, and --full" ;;
      esac
      ;;
  esac
done
export FULL
if [ -z "$chosen" ]; then
  chosen=$STAGES
  [ "$FULL" = 0 ] || chosen=$FULL_STAGES
fi

# shellcheck disable=SC2086
need $BUILD_PACKAGES $TEST_PACKAGES $CHECK_PACKAGES
want $PEER_PACKAGES
all_begin=$(seconds_now)
passed=0 failed=0 skipped=0 table=
for stage in $chosen; do
  log=$LOGS/check-$stage.log
  say "$stage"
  begin=$(seconds_now)
  code=0
  sh scripts/check.sh --stage "$stage" >"$log" 2>&1 </dev/null || code=$?
  took=$(($(seconds_now) - begin))
  case $code in
    0)
      verdict=held
      passed=$((passed + 1))
      # The runner's own closing lines, where the stage ran tests.
      grep -E '^[0-9]+% tests passed' "$log" || true
      ;;
    77)
      if [ -n "$by_name" ]; then # It was asked for: not to run it is not to hold.
        verdict="FAILED, cannot run here: $(tail -n 1 "$log")"
        failed=$((failed + 1))
      else
        verdict="skipped: $(tail -n 1 "$log")"
        skipped=$((skipped + 1))
      fi
      ;;
    *)
      verdict="FAILED, see $log"
      failed=$((failed + 1))
      tail -n 60 "$log"
      ;;
  esac
  say "$stage: $verdict ($took s)"
  table="$table$(printf '%-10s %6s s   %s' "$stage" "$took" "$verdict")
"
done
printf '\n%-10s %8s   %s\n%s\n' stage took verdict "$table"
echo "in $(($(seconds_now) - all_begin)) s; logs: $LOGS"
echo "checks: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
