#!/bin/sh
# run.sh [--build DIR] [--seed N] [--keep]: the real command on the real kernel paths, killed with its machine.
#
# Boots a QEMU guest (TCG, never KVM) with two emulated NVDIMMs and a CXL type-3 device, four times on
# the same backing files, and kills QEMU with SIGKILL twice:
#
#   boot 1  create the stores, import chunks of records with `holdfast kv import`         kill
#   boot 2  verify, compare every acknowledged chunk; crash_writer with two threads        kill
#   boot 3  verify, compare every acknowledged operation, and the chunks again             power off
#   boot 4  on two NUMA nodes: a region in stripes over both, a star asked by a thread of each
#
# on fsdax (ext4 -o dax), on devdax and on CXL memory (devdax on a CXL region), at once. On all
# three `holdfast mem SPEC --json` must report granularity line, on fsdax also that MAP_SYNC was obtained.
#
# Shows      recovery from arbitrary instants over the kernel's real dax, ndctl and CXL paths.
# Shows not  missing flushes or fences: what QEMU executed stays in the host's page cache. The crash
#            checker (tests/*/…_crash_test.cpp) is there for that. Nor any timing: TCG is an emulator.
# Needs      DIR/holdfast, DIR/holdfast-bench and DIR/tests/real/crash_writer (DIR is build/release); installs QEMU and what
#            the guest is made of with apt where missing.
# Exit       0 every line passed, 1 something failed (the logs are kept in build/qemu/run).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source_root=$(cd "$here/../.." && pwd)
build=$source_root/build/release
seed=$(date +%s)
keep=no
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(cd "$2" && pwd) && shift ;;
    --seed) seed=$2 && shift ;;
    --keep) keep=yes ;;
    *) echo "run.sh: unknown argument '$1'; usage: run.sh [--build DIR] [--seed N] [--keep]" >&2 && exit 2 ;;
  esac
  shift
done

out=$source_root/build/qemu
work=$out/run
tiers='fsdax devdax cxl'
failures=0
passes=0
qemu_pid=''

pass() { passes=$((passes + 1)) && echo "PASS $*"; }
fail() { failures=$((failures + 1)) && echo "FAIL $*"; }
stop_qemu() {
  if [ -n "$qemu_pid" ]; then
    kill -KILL "$qemu_pid" 2>/dev/null || true
    wait "$qemu_pid" 2>/dev/null || true
  fi
  qemu_pid=''
}
trap 'stop_qemu; exit 130' INT TERM
trap 'stop_qemu' EXIT

install_packages() {
  missing=''
  for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static kmod:kmod ndctl:ndctl daxctl:daxctl \
    mkfs.ext4:e2fsprogs cpio:cpio strip:binutils; do
    PATH=$PATH:/sbin:/usr/sbin command -v "${pair%%:*}" > /dev/null || missing="$missing ${pair#*:}"
  done
  # A dynamic busybox would need its libraries in the initramfs; take the static one.
  [ -z "$missing" ] && [ -n "$(apt-cache search --names-only '^linux-image-amd64$' 2>/dev/null)" ] && return
  sudo=''
  [ "$(id -u)" = 0 ] || sudo=sudo
  echo "installing:$missing"
  $sudo apt-get update -qq
  # shellcheck disable=SC2086  # One word per package.
  [ -z "$missing" ] || $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
}

# boot NUMBER PHASE [ARGUMENT…]: starts QEMU in the background; messages go to work/NUMBER-*.log.
# Three things that fail in silence otherwise: the backing file of an NVDIMM is a multiple of 16 MiB plus
# its label area, or no namespace fits; with one root port only, the kernel leaves the host bridge's
# decoder alone, QEMU 7.2 asks for it, and every store to the CXL memory is dropped: hence the idle
# second port; without a serial number the CXL labels have no valid cookie and namespaces vanish at reboot.
boot() {
  number=$1 phase=$2
  shift 2
  serials="-serial file:$work/$number-console.log"
  for tier in $tiers; do
    serials="$serials -serial file:$work/$number-$tier.log"
    : > "$work/$number-$tier.log"
  done
  nodes=''
  [ "$phase" != nodes ] || nodes='-object memory-backend-ram,id=node0,size=512M -numa node,nodeid=0,cpus=0,memdev=node0
    -object memory-backend-ram,id=node1,size=512M -numa node,nodeid=1,cpus=1,memdev=node1'
  # shellcheck disable=SC2086
  qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1G,slots=4,maxmem=8G $nodes \
    -M q35,nvdimm=on,nvdimm-persistence=mem-ctrl,cxl=on,cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G \
    -nodefaults -no-reboot -display none $serials \
    -object memory-backend-file,id=nv0,share=on,mem-path="$work/fsdax.img",size=258M,align=2M \
    -device nvdimm,id=nvdimm0,memdev=nv0,label-size=2M \
    -object memory-backend-file,id=nv1,share=on,mem-path="$work/devdax.img",size=258M,align=2M \
    -device nvdimm,id=nvdimm1,memdev=nv1,label-size=2M \
    -object memory-backend-file,id=cxl-memory,share=on,mem-path="$work/cxl.img",size=256M \
    -object memory-backend-file,id=cxl-labels,share=on,mem-path="$work/cxl-labels.img",size=1M \
    -device pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1 \
    -device cxl-rp,port=0,bus=cxl.1,id=rp0,chassis=0,slot=2 -device cxl-rp,port=1,bus=cxl.1,id=rp1,chassis=0,slot=3 \
    -device cxl-type3,bus=rp0,memdev=cxl-memory,lsa=cxl-labels,sn=0x40,id=cxl-pmem0 \
    -kernel "$out/vmlinuz" -initrd "$out/initramfs" \
    -append "console=ttyS0 panic=-1 loglevel=4 holdfast.phase=$phase holdfast.seed=$seed $*" \
    > "$work/$number-qemu.log" 2>&1 &
  qemu_pid=$!
}

log_of() { tr -d '\r' < "$work/$1-$2.log"; }
# The number in the last complete "ACK chunks N".
last_chunk() { log_of "$1" "$2" | sed -n 's/^ACK chunks \([0-9][0-9]*\)$/\1/p' | tail -n 1; }
# The newest complete "ACK THREAD OPERATION" of each thread, as THREAD:OPERATION,…
last_operations() {
  log_of "$1" "$2" | sed '$!b; /[^0-9]$/d' |
    awk '/^ACK [0-9]+ [0-9]+ \.$/ { if ($3 > last[$2]) last[$2] = $3 }
         END { for (t in last) { printf "%s%s:%s", separator, t, last[t]; separator = "," } }'
}

# wait_until SECONDS CONDITION…: polls; also ends when QEMU has gone. Tells whether the condition holds.
wait_until() {
  deadline=$(($(date +%s) + $1))
  shift
  while ! "$@"; do
    if ! kill -0 "$qemu_pid" 2>/dev/null || [ "$(date +%s)" -ge "$deadline" ]; then
      "$@"
      return
    fi
    sleep 0.2
  done
}
guest_failed() { grep -q '^FAIL' "$work/$1"-*.log; }
all_have() {  # all_have NUMBER PATTERN COUNT: every tier's log has at least COUNT lines like that, or something failed.
  guest_failed "$1" && return 0
  for tier in $tiers; do
    [ "$(grep -c "$2" "$work/$1-$tier.log")" -ge "$3" ] || return 1
  done
}
is_off() { ! kill -0 "$qemu_pid" 2>/dev/null; }

# kill_while_writing NUMBER PATTERN COUNT SECONDS: waits for COUNT acknowledgements on each tier, then kills.
kill_while_writing() {
  if wait_until "$4" all_have "$1" "$2" "$3" && kill -0 "$qemu_pid" 2>/dev/null; then
    # A moment that depends on the seed, so that rounds differ.
    sleep "0.$(((seed + $1) % 10))"
    stop_qemu
    echo "killed QEMU in boot $1, $(($(date +%s) - started)) s after the start"
  else
    stop_qemu
    fail "boot $1: not $3 acknowledgements on every tier within $4 s: $(tail -n 3 "$work/$1-console.log" | tr -d '\r' | tr '\n' ' ')"
  fi
}

report() {  # report NUMBER: the guest's own PASS, FAIL and NOTE lines, with boot and tier in front.
  for tier in console $tiers; do
    log_of "$1" "$tier" | grep -E '^(PASS|FAIL|NOTE) ' > "$work/lines" || true
    while read -r kind text; do
      case $kind in
        PASS) pass "boot $1, $tier: $text" ;;
        FAIL) fail "boot $1, $tier: $text" ;;
        NOTE) echo "NOTE boot $1, $tier: $text" ;;
      esac
    done < "$work/lines"
  done
}

started=$(date +%s)
for binary in "$build/holdfast" "$build/holdfast-bench" "$build/tests/real/crash_writer"; do
  [ -x "$binary" ] || { echo "run.sh: $binary is not there; build it first (./run test builds all)" >&2 && exit 1; }
done
install_packages
rm -rf "$work"
mkdir -p "$work"
PATH=$PATH:/sbin:/usr/sbin "$here/build_guest.sh" "$out" "$build/holdfast" "$build/holdfast-bench" "$build/tests/real/crash_writer"
for image in fsdax.img:258M devdax.img:258M cxl.img:256M cxl-labels.img:1M; do
  truncate -s "${image#*:}" "$work/${image%:*}"
done
echo "QEMU guest: fsdax, devdax and CXL memory, seed $seed"

boot 1 import
kill_while_writing 1 '^ACK chunks' 10 120
report 1
chunks=''
for tier in $tiers; do
  n=$(last_chunk 1 "$tier")
  chunks="$chunks holdfast.$tier.chunks=${n:-0}"
done

if [ $failures = 0 ]; then
  # shellcheck disable=SC2086
  boot 2 write $chunks
  kill_while_writing 2 '^ACK ' 2000 120
  report 2
fi

if [ $failures = 0 ]; then
  acknowledged=''
  for tier in $tiers; do
    acknowledged="$acknowledged holdfast.$tier.acknowledged=$(last_operations 2 "$tier")"
  done
  echo "acknowledged:$chunks$acknowledged" | sed 's/holdfast\.//g'
  # shellcheck disable=SC2086
  boot 3 check $chunks $acknowledged
  wait_until 120 is_off || fail "boot 3: the guest did not power off within 120 s"
  stop_qemu
  report 3
  for tier in $tiers; do
    grep -q '^DONE' "$work/3-$tier.log" || fail "boot 3, $tier: ended before its checks were done"
  done
fi

if [ $failures = 0 ]; then
  boot 4 nodes
  wait_until 180 is_off || fail "boot 4: the guest did not power off within 180 s"
  stop_qemu
  report 4
fi

# Each tier: what it is, two verifies, two comparisons of chunks, one of operations. Nodes: four.
expected=22
[ $failures != 0 ] || [ $passes = $expected ] || fail "$passes checks passed, $expected were to be made"
echo "$passes passed, $failures failed, $(($(date +%s) - started)) s"
if [ $failures = 0 ] && [ $keep = no ]; then rm -rf "$work"; else rm -f "$work"/*.img; fi
[ $failures = 0 ]
