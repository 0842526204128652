"""The state backend beside those of Flink: a sum of 60 s by key, DataStream, two slots in one process, a checkpoint each
10 s.

    flink_bench.py JARS [--keys N,N…] [--backends NAMES] [--rounds N] [--warm-up S] [--samples N] [--seconds S] [--json FILE]

Backends: holdfast (in DRAM), rocksdb (incremental checkpoints, 1 GiB of managed memory, timers on the heap), rocksdb-timers
(the same with its timers in RocksDB, which is its default), hashmap (on the heap). A window has three events per key,
at least 300,000. Each measurement is a process; rounds go through the backends in turn, and ratios are of the same
round. The sum of each window is compared with what the generator gave it.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROCKSDB = ['state.backend.type=rocksdb', 'execution.checkpointing.incremental=true',
           'taskmanager.memory.managed.size=1g']
BACKENDS = {
    'holdfast': ['state.backend.type=org.holdfast.flink.HoldfastStateBackendFactory'],
    'rocksdb': [*ROCKSDB, 'state.backend.rocksdb.timer-service.factory=HEAP'],
    'rocksdb-timers': [*ROCKSDB, 'state.backend.rocksdb.timer-service.factory=ROCKSDB'],
    'hashmap': ['state.backend.type=hashmap']}
OPENS = [f'--add-opens=java.base/{package}=ALL-UNNAMED' for package in (
    'java.util', 'java.lang', 'java.time', 'java.net', 'java.io', 'java.nio', 'sun.nio.ch', 'java.util.concurrent')]


def measure(arguments, classes, backend, keys):
    """(million events per second, windows checked)"""
    with tempfile.TemporaryDirectory(prefix='holdfast-flink-bench-', dir=arguments.place) as directory:
        ran = subprocess.run(
            ['java', '-Xmx6g', *OPENS, '-cp', classes, 'org.holdfast.flink.bench.WindowSum', str(keys),
             str(max(300_000, 3 * keys)), str(arguments.warm_up), str(arguments.samples), str(arguments.seconds),
             f'{directory}/checkpoints', 'execution.checkpointing.interval=10 s', f'io.tmp.dirs={directory}',
             f'state.backend.rocksdb.localdir={directory}/rocksdb', *BACKENDS[backend]],
            capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f'{backend}, {keys} keys: exit code {ran.returncode}\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}')
    rate, windows = ran.stdout.split()
    return float(rate), int(windows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jars')
    parser.add_argument('--keys', default='15000,1000000')
    parser.add_argument('--backends', default=','.join(BACKENDS))
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--warm-up', type=int, default=8)
    parser.add_argument('--samples', type=int, default=3)
    parser.add_argument('--seconds', type=int, default=5)
    parser.add_argument('--place', default='/dev/shm' if os.access('/dev/shm', os.W_OK) else tempfile.gettempdir())
    parser.add_argument('--json')
    arguments = parser.parse_args()
    backends = arguments.backends.split(',')
    if unknown := set(backends) - set(BACKENDS):
        parser.error(f'--backends: there is no {", ".join(sorted(unknown))}; there are {", ".join(BACKENDS)}')
    jars = pathlib.Path(arguments.jars)
    classes = ':'.join(map(str, [*sorted(jars.glob('*.jar')), *sorted((jars / 'lib').glob('*.jar'))]))
    rows = []
    print(f'sum of 60 s by key, two slots, a checkpoint each 10 s, {arguments.place}; {arguments.rounds} rounds in turn; '
          'million events per second: median [least, most]')
    for keys in map(int, arguments.keys.split(',')):
        seen = {backend: [] for backend in backends}
        for number in range(arguments.rounds):
            for backend in backends[number % len(backends):] + backends[:number % len(backends)]:
                print(f'{keys} keys, round {number + 1} of {arguments.rounds}: {backend}', file=sys.stderr)
                rate, windows = measure(arguments, classes, backend, keys)
                seen[backend].append(rate)
                rows.append({'keys': keys, 'backend': backend, 'round': number + 1, 'million_per_second': rate,
                             'windows_checked': windows})
        for backend, rates in seen.items():
            line = f'{keys:>10,} keys  {backend:15} {statistics.median(rates):7.3f} [{min(rates):.3f}, {max(rates):.3f}]'
            if backend != 'holdfast' and 'holdfast' in seen:
                ratios = [ours / theirs for ours, theirs in zip(seen['holdfast'], rates)]
                line += f'   holdfast is {statistics.median(ratios):5.2f} [{min(ratios):.2f}, {max(ratios):.2f}] of it'
            print(line)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


main()
