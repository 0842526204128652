#!/bin/busybox sh
# guest_init.sh: /init of the guest that run.sh boots. Brings up the three tiers, then does one phase:
#
#   import  creates the stores; `holdfast kv import` of numbered chunks, one process per chunk, each
#           acknowledged on the tier's serial line when the command has exited with 0, until killed
#   write   every record of an acknowledged chunk is compared; then crash_writer overwrites, patches,
#           erases and batches with two threads, each acknowledgement on the serial line, until killed
#   check   what crash_writer was told is acknowledged is compared, the chunks once more; then power off
#   nodes   on a machine with two NUMA nodes: a region striped over both, and a star; then power off
#
# Tiers   fsdax: ext4 -o dax on NVDIMM 0; devdax: NVDIMM 1; cxl: devdax on the CXL type-3 device. Each
#         has a serial line for its own messages: ttyS1, ttyS2, ttyS3. ttyS0 is the console.
# Output  lines "PASS what", "FAIL what", "NOTE what", "ACK …", "READY", "DONE": run.sh reads them.
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec < /dev/null > /dev/console 2>&1
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm

argument() { sed -n "s/.*holdfast\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
phase=$(argument phase)
seed=$(argument seed)

say() { echo "$*" > /dev/console; }

die() { say "FAIL guest: $*"; poweroff -f; }

wait_for() {  # wait_for PATH: up to 5 s.
  tries=0
  while [ ! -e "$1" ]; do
    tries=$((tries + 1))
    [ $tries -gt 50 ] && return 1
    sleep 0.1
  done
}

# A CXL device has no namespace until its address range is programmed, at every boot anew: Debian 12
# has no `cxl` command, so through sysfs. The same uuid finds the labels of the earlier boot again.
make_cxl_region() {
  bus=/sys/bus/cxl/devices
  wait_for $bus/mem0 || return 1
  root=$bus/$(ls $bus | grep -m1 '^decoder0\.')
  endpoint=''
  for decoder in $bus/decoder*; do
    [ "$(cat "$decoder/devtype" 2>/dev/null)" = cxl_decoder_endpoint ] && endpoint=$decoder && break
  done
  [ -n "$endpoint" ] || return 1
  region=$(cat "$root/create_pmem_region")
  echo "$region" > "$root/create_pmem_region"
  region=$bus/$region
  echo 256 > "$region/interleave_granularity"
  echo 1 > "$region/interleave_ways"
  echo 5f5f5f5f-4f4f-4e4e-8a8a-686f6c646661 > "$region/uuid"
  size=$((256 << 20))
  echo $size > "$region/size"
  echo pmem > "$endpoint/mode"
  echo $size > "$endpoint/dpa_size"
  echo "${endpoint##*/}" > "$region/target0"
  echo 1 > "$region/commit"
  echo "${region##*/}" > /sys/bus/cxl/drivers/cxl_region/bind
}

namespace_device() {  # namespace_device REGION KEY: the block or char device of its only namespace.
  ndctl list -N -r "$1" 2>/dev/null | sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p" | head -n 1
}

bring_up() {
  for module in crc32c_generic nfit nd_pmem dax_pmem device_dax cxl_acpi cxl_pci cxl_mem cxl_pmem ext4; do
    modprobe $module || die "modprobe $module"
  done
  wait_for /sys/bus/nd/devices/region1 || die "the two NVDIMMs did not appear"
  make_cxl_region || die "no CXL region: $(ls /sys/bus/cxl/devices | tr '\n' ' ')"
  wait_for /sys/bus/nd/devices/region2 || die "the CXL region did not become an nvdimm region"
  if [ "$phase" = import ]; then
    # A fresh NVDIMM is one raw namespace, to be made anew; a CXL region is empty.
    ndctl create-namespace -f -e namespace0.0 -m fsdax > /tmp/ndctl 2>&1 || die "fsdax namespace: $(cat /tmp/ndctl)"
    ndctl create-namespace -f -e namespace1.0 -m devdax -a 2M > /tmp/ndctl 2>&1 || die "devdax namespace: $(cat /tmp/ndctl)"
    ndctl create-namespace -r region2 -m devdax -a 2M > /tmp/ndctl 2>&1 || die "CXL namespace: $(cat /tmp/ndctl)"
  fi
  fsdax=/dev/$(namespace_device region0 blockdev)
  devdax=/dev/$(namespace_device region1 chardev)
  cxl=/dev/$(namespace_device region2 chardev)
  [ -b "$fsdax" ] && [ -c "$devdax" ] && [ -c "$cxl" ] ||
    die "namespaces: fsdax=$fsdax devdax=$devdax cxl=$cxl: $(ndctl list -N | tr '\n' ' ')"
  if [ "$phase" = import ]; then
    mkfs.ext4 -q -b 4096 "$fsdax" > /tmp/mkfs 2>&1 || die "mkfs.ext4: $(cat /tmp/mkfs)"
  fi
  mount -t ext4 -o dax=always "$fsdax" /mnt || die "mount -o dax $fsdax"
}

records_per_chunk=100
chunk() {  # chunk N: its records as JSON lines.
  first=$(($1 * records_per_chunk))
  awk -v first=$first -v n=$records_per_chunk 'BEGIN {
    for (i = first; i < first + n; i++)
      printf "{\"key\":\"import/%06d\",\"value\":\"record %d of the import, %d, %d, %d\"}\n", i, i, i * 7, i * 11, i * 13
  }'
}

# What the real command says about the tier. MAP_SYNC must have been obtained where there is a file
# system (/mnt: the store is not there yet); a devdax has no metadata that it could be about. Lines survive on all three, by what sysfs says.
describe() {
  if ! holdfast mem "${spec%/store}" --json > /tmp/$tier.mem 2> /tmp/$tier.error; then
    echo "FAIL holdfast mem ${spec%/store} --json: $(tail -n 1 /tmp/$tier.error)"
    return
  fi
  tr -d '\n' < /tmp/$tier.mem | tr -s ' ' | sed 's/^/NOTE holdfast mem --json: /' | cut -c 1-3000
  echo
  case $tier in
    fsdax) wanted='"mapping": *"MAP_SYNC' ;;
    *) wanted='"kind": *"devdax"' ;;
  esac
  if grep -q "$wanted" /tmp/$tier.mem && grep -q '"granularity": *"line"' /tmp/$tier.mem; then
    echo "PASS $(grep -o "$wanted" /tmp/$tier.mem), granularity line: $(grep -o 'persistence_domain=[a-z_]*' /tmp/$tier.mem)"
  else
    echo "FAIL not $wanted with granularity line: $(grep -o '"\(mapping\|kind\|granularity\|granularity_source\)": *"[^"]*"' /tmp/$tier.mem | tr '\n' ' ')"
  fi
}

verify() {
  if holdfast kv "$spec" verify > /tmp/$tier.verify 2>&1; then
    echo "PASS verify after $1: $(tail -n 1 /tmp/$tier.verify)"
  else
    echo "FAIL verify after $1: $(tail -n 3 /tmp/$tier.verify | tr '\n' ' ')"
  fi
}

# compare_chunks COUNT WHEN: chunks 0 … COUNT-1 were acknowledged: each of their records must be there, as it was.
compare_chunks() {
  holdfast kv "$spec" export > /tmp/$tier.export 2> /tmp/$tier.error || {
    echo "FAIL export $2: $(tail -n 1 /tmp/$tier.error)"
    return
  }
  n=0
  while [ $n -lt "$1" ]; do
    chunk $n
    n=$((n + 1))
  done | tr -d ' ' > /tmp/$tier.expected
  grep 'import/' /tmp/$tier.export | tr -d ' ' > /tmp/$tier.found
  acknowledged=$(wc -l < /tmp/$tier.expected)
  found=$(wc -l < /tmp/$tier.found)
  # Counts what is there rather than what is missing: a tool that fails must not look like success.
  intact=$(awk 'NR == FNR { have[$0] = 1; next } $0 in have { n++ } END { print n + 0 }' /tmp/$tier.found /tmp/$tier.expected)
  # Records beyond the acknowledged chunks can only be of the one chunk in flight, and of one whose
  # acknowledgement did not get out.
  if [ "$acknowledged" = $(($1 * records_per_chunk)) ] && [ "$acknowledged" -gt 0 ] &&
    [ "$intact" = "$acknowledged" ] && [ "$found" -le $(($acknowledged + 2 * records_per_chunk)) ]; then
    echo "PASS $2: all $acknowledged acknowledged records are there, unchanged ($found imported records in all)"
  else
    echo "FAIL $2: $intact of $acknowledged acknowledged records are there, unchanged; $found imported records in all"
  fi
}

import_until_killed() {
  n=0
  while :; do
    if ! chunk $n | holdfast kv "$spec" import > /tmp/$tier.import 2>&1; then
      echo "FAIL import of chunk $n: $(tail -n 1 /tmp/$tier.import)"
      return
    fi
    n=$((n + 1))
    echo "ACK chunks $n"
  done
}

run_tier() {
  chunks=$(argument "$tier.chunks")
  case $phase in
    import)
      describe
      import_until_killed
      ;;
    write)
      verify "the kill during import"
      compare_chunks "$chunks" "after the kill during import"
      crash_writer write "$spec" --seed "$seed" --threads 2 2>&1
      echo "FAIL crash_writer ended by itself with exit code $?"
      ;;
    check)
      verify "the kill during writing"
      acknowledged=$(argument "$tier.acknowledged")
      if crash_writer check "$spec" --seed "$seed" --acknowledged "$acknowledged" > /tmp/$tier.check 2>&1; then
        echo "PASS $(tail -n 1 /tmp/$tier.check)"
      else
        echo "FAIL $(head -n 3 /tmp/$tier.check | tr '\n' ' ')"
      fi
      compare_chunks "$chunks" "after the kill during writing"
      ;;
  esac
  echo DONE
}

# answers DIRECTORY OPTION…: writes the answers of two queries with joins.
answers() {
  directory=$1
  shift
  holdfast ssb run --sf 0.05 --queries q2.1,q3.1 --threads 2 --repeat 1 --out "$directory" "$@" 2>&1
}

ask_on_two_nodes() {
  nodes=$(cat /sys/devices/system/node/online)
  [ "$nodes" = 0-1 ] || die "NUMA nodes online: $nodes"
  holdfast mem node:0,1 --json > /tmp/mem 2>&1
  if tr -d '\n ' < /tmp/mem | grep -q '"nodes":\[0,1\]'; then
    say "PASS node:0,1 has pages on both nodes"
  else
    say "FAIL node:0,1: $(grep -A 3 '"nodes"' /tmp/mem | tr -d '\n')"
  fi
  answers /tmp/one --layout column --pin none > /tmp/one.log || die "ssb run: $(tail -n 1 /tmp/one.log)"
  for layout in row column; do
    answers /tmp/$layout --layout $layout --pin core > /tmp/$layout.log ||
      die "ssb run --pin core: $(tail -n 1 /tmp/$layout.log)"
    if cmp -s /tmp/one/q2_1.csv /tmp/$layout/q2_1.csv && cmp -s /tmp/one/q3_1.csv /tmp/$layout/q3_1.csv &&
      [ "$(wc -l < /tmp/one/q3_1.csv)" -gt 1 ]; then
      say "PASS by $layout on two nodes the answers are those of one"
    else
      say "FAIL by $layout on two nodes the answers differ: $(tail -n 1 /tmp/$layout.log)"
    fi
  done
  if grep -q 'on each of 2 NUMA nodes' /tmp/row.log; then
    say "PASS $(grep -o 'four Dash indexes.*' /tmp/row.log)"
  else
    say "FAIL no copies of the dimensions: $(head -n 3 /tmp/row.log | tr '\n' ' ')"
  fi
}

if [ "$phase" = nodes ]; then
  ask_on_two_nodes
  say DONE
  poweroff -f
fi

bring_up
say READY
tier=fsdax spec=/mnt/store
run_tier > /dev/ttyS1 &
tier=devdax spec=$devdax
run_tier > /dev/ttyS2 &
tier=cxl spec=$cxl
run_tier > /dev/ttyS3 &
wait
umount /mnt
say DONE
poweroff -f
