"""The state backend beside those of Flink: sums of 60 s by key (DataStream), and queries of NEXMark in Flink's SQL; two slots
in one process, a checkpoint each 10 s.

    flink_bench.py JARS [--keys N,N…] [--queries NAMES] [--events N] [--backends NAMES] [--rounds N] [--warm-up S]
                   [--samples N] [--seconds S] [--checkpoints RECORDS] [--json FILE]

Backends: holdfast (in DRAM, incremental checkpoints), rocksdb (incremental checkpoints, as much managed memory, Bloom filters,
timers on the heap), rocksdb-timers (the same with its timers in RocksDB, which is its default), hashmap (on the heap). Each measurement
is a process; rounds go through the backends in turn, and ratios are of the same round.

--keys: a window has three events per key, at least 300,000. The sum of each window is compared with what the generator gave it.
--queries: sum,q3,q4,q5,q7,q8,q11, each over so many events. Their results must be the same with all backends.
--checkpoints: nothing but checkpoints and a restore of so many records of one operator, without a cluster; all is compared.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

MEMORY = 'taskmanager.memory.managed.size=4g'
INCREMENTAL = 'execution.checkpointing.incremental=true'
# As Flink's documentation advises for state that does not fit a cache; everything else comes from the managed memory.
ROCKSDB = ['state.backend.type=rocksdb', INCREMENTAL, MEMORY, 'state.backend.rocksdb.use-bloom-filter=true',
           'state.backend.rocksdb.thread.num=2', 'state.backend.rocksdb.compaction.level.use-dynamic-size=true']
BACKENDS = {
    'holdfast': ['state.backend.type=org.holdfast.flink.HoldfastStateBackendFactory', INCREMENTAL, MEMORY],
    'rocksdb': [*ROCKSDB, 'state.backend.rocksdb.timer-service.factory=HEAP'],
    'rocksdb-timers': [*ROCKSDB, 'state.backend.rocksdb.timer-service.factory=ROCKSDB'],
    'hashmap': ['state.backend.type=hashmap', 'taskmanager.memory.managed.size=256m']}
OPENS = [f'--add-opens=java.base/{package}=ALL-UNNAMED' for package in (
    'java.util', 'java.lang', 'java.time', 'java.net', 'java.io', 'java.nio', 'sun.nio.ch', 'java.util.concurrent')]
QUERIES = 'sum,q3,q4,q5,q7,q8,q11'


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


def run(arguments, classes, backend, main_class, *words, cluster=True):
    """What it prints."""
    with tempfile.TemporaryDirectory(prefix='holdfast-flink-bench-', dir=arguments.place) as directory:
        ran = subprocess.run(
            ['java', f'-Xmx{arguments.heap}', *OPENS, '-cp', classes, f'org.holdfast.flink.bench.{main_class}',
             *map(str, words), f'{directory}/checkpoints', *([str(free_port())] if cluster else []),
             'execution.checkpointing.interval=10 s', f'io.tmp.dirs={directory}',
             f'state.backend.rocksdb.localdir={directory}/rocksdb', *BACKENDS[backend]],
            capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f'{backend}, {main_class} {words}: exit code {ran.returncode}\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}')
    return ran.stdout


def numbers_of(*words):
    rate, *rest = run(*words).split()[-6:]
    return [float(rate), *map(int, rest)]


def window_sum(arguments, classes, backend, keys):
    rate, windows, completed, size, took, recovered = numbers_of(
        arguments, classes, backend, 'WindowSum', keys, max(300_000, 3 * keys), arguments.warm_up, arguments.samples,
        arguments.seconds)
    return {'million_per_second': rate, 'windows_checked': windows, 'checkpoints': completed, 'checkpoint_bytes': size,
            'checkpoint_ms': took, 'recovery_ms': recovered}


def query(arguments, classes, backend, name):
    rate, rows, checksum, completed, size, took = numbers_of(arguments, classes, backend, 'Nexmark', name, arguments.events)
    return {'million_per_second': rate, 'rows': rows, 'checksum': checksum, 'checkpoints': completed,
            'checkpoint_bytes': size, 'checkpoint_ms': took}


def show(title, seen):
    """One line for each backend; `seen`: its rounds."""
    for backend, rounds in seen.items():
        rates = [one['million_per_second'] for one in rounds]
        last = rounds[-1]
        line = (f'{title:>16}  {backend:15} {statistics.median(rates):7.3f} [{min(rates):.3f}, {max(rates):.3f}]  '
                f'checkpoint {last["checkpoint_bytes"] / 1e6:7.1f} MB {last["checkpoint_ms"]:5} ms')
        if 'recovery_ms' in last:
            line += f'  recovery {last["recovery_ms"]:5} ms'
        if backend != 'holdfast' and 'holdfast' in seen:
            ratios = [ours['million_per_second'] / theirs for ours, theirs in zip(seen['holdfast'], rates)]
            line += f'  holdfast is {statistics.median(ratios):5.2f} [{min(ratios):.2f}, {max(ratios):.2f}] of it'
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jars')
    parser.add_argument('--keys', default='15000,1000000')
    parser.add_argument('--queries', default=QUERIES)
    parser.add_argument('--events', type=int, default=5_000_000)
    parser.add_argument('--backends', default=','.join(BACKENDS))
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--warm-up', type=int, default=8)
    parser.add_argument('--samples', type=int, default=3)
    parser.add_argument('--seconds', type=int, default=5)
    parser.add_argument('--heap', default='6g')
    parser.add_argument('--place', default='/dev/shm' if os.access('/dev/shm', os.W_OK) else tempfile.gettempdir())
    parser.add_argument('--checkpoints', type=int, metavar='RECORDS')
    parser.add_argument('--json')
    arguments = parser.parse_args()
    backends = arguments.backends.split(',')
    if unknown := set(backends) - set(BACKENDS):
        parser.error(f'--backends: there is no {", ".join(sorted(unknown))}; there are {", ".join(BACKENDS)}')
    queries = [name for name in arguments.queries.split(',') if name]
    if unknown := set(queries) - set(QUERIES.split(',')):
        parser.error(f'--queries: there is no {", ".join(sorted(unknown))}; there are {QUERIES}')
    jars = pathlib.Path(arguments.jars)
    classes = ':'.join(map(str, [*sorted(jars.glob('*.jar')), *sorted((jars / 'lib').glob('*.jar'))]))
    if arguments.checkpoints:
        for backend in backends:
            print(f'{backend}:\n{run(arguments, classes, backend, "Checkpoints", arguments.checkpoints, cluster=False)}', flush=True)
        return
    rows = []
    print(f'two slots, a checkpoint each 10 s, {arguments.place}; {arguments.rounds} rounds in turn; '
          'million events per second: median [least, most]', flush=True)
    jobs = [(f'{keys:,} keys', window_sum, keys) for keys in map(int, filter(None, arguments.keys.split(',')))]
    jobs += [(f'SQL {name}', query, name) for name in queries]
    for title, measure, what in jobs:
        seen = {backend: [] for backend in backends}
        for number in range(arguments.rounds):
            for backend in backends[number % len(backends):] + backends[:number % len(backends)]:
                print(f'{title}, round {number + 1} of {arguments.rounds}: {backend}', file=sys.stderr)
                one = measure(arguments, classes, backend, what)
                seen[backend].append(one)
                rows.append({'job': title, 'backend': backend, 'round': number + 1, **one})
        if len(sums := {one['checksum'] for rounds in seen.values() for one in rounds if 'checksum' in one}) > 1:
            sys.exit(f'{title}: the results differ: {seen} ({len(sums)} sums)')
        show(title, seen)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


main()
