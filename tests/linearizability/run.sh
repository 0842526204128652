#!/bin/sh
# run.sh RECORD_HISTORIES WORK [ARGUMENT…]: records histories and has porcupine decide them.
#
# ARGUMENTs go to record_histories (--rounds N --histories M --seed S). Builds checker/ with Go and tests the
# model itself first: each promise of the store, broken by hand, must be noticed, and histories of four
# broken stores refused.
# Exit  0 linearizable; 1 not; 77 (skipped) where Go is missing, or its module cannot be had. On Debian:
#       apt-get install golang-go (1.19 suffices).
set -eu
recorder=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "$0")" && pwd)

skip() { echo "SKIPPED linearizability: $*" && exit 77; }
command -v go > /dev/null || skip "no go command; apt-get install golang-go"
cd "$here/checker"
export GOFLAGS="${GOFLAGS:-} -buildvcs=false" # A clone of another owner has no version to stamp.
# A proxy that answers nothing must not hang a test run.
timeout 60 go mod download > "$work/download.log" 2>&1 ||
  skip "the Go module porcupine cannot be downloaded: $(tail -n 1 "$work/download.log")"
go vet ./...
go test ./...
go build -o "$work/checker" .
# The whole of it, on stores that are not linearizable.
for how in stale_reads blind_compare torn_batches lost_writes; do
  for attempt in 1 2 3 4 5; do # Where the machine has no time the clients hardly meet, and little shows.
    "$recorder" "$work/broken.json" --rounds 2 --histories 60 --broken $how > "$work/broken.log" || true
    "$work/checker" "$work/broken.json" > "$work/broken.log" || true
    refused=$(grep -c 'is not linearizable' "$work/broken.log") || true
    [ "$refused" -eq 0 ] || break
  done
  if [ "$refused" -eq 0 ]; then
    tail -n 3 "$work/broken.log"
    echo "FAIL linearizability: a store with $how passes for linearizable" && exit 1
  fi
  echo "a store with $how: $refused of its histories are refused"
done
rm -f "$work/broken.json" "$work/broken.log"
"$recorder" "$work/histories.json" "$@"
"$work/checker" -picture "$work/not-linearizable.html" "$work/histories.json"
rm -f "$work/histories.json"
