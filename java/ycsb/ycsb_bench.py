"""YCSB's workloads A to F on Holdfast, RocksDB and a client that keeps nothing: one table.

    ycsb_bench.py DIRECTORY-OF-JARS [--records N] [--operations N] [--threads N] [--rounds N] [--workloads ABC…]
                  [--place DIR] [--json FILE] [--check]

Each round loads every store and runs every workload on it, the stores in turn and each time in another order. Records are
of 10 fields of 100 bytes, keys drawn as the workloads say (zipfian; D: latest). E runs on a store that was loaded anew,
since D inserts. Ratios are of the same round. What the client that keeps nothing reaches is the cost of YCSB itself.

--check runs a little of each with YCSB's own verification of what it reads, and fails where a read differs.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

SHARES = {  # read, update, insert, scan, read-modify-write
    'A': (0.5, 0.5, 0, 0, 0), 'B': (0.95, 0.05, 0, 0, 0), 'C': (1, 0, 0, 0, 0),
    'D': (0.95, 0, 0.05, 0, 0), 'E': (0, 0, 0.05, 0.95, 0), 'F': (0.5, 0, 0, 0, 0.5)}
ORDER = 'ABCFDE'  # As YCSB advises: D and E insert.
CLIENTS = {'holdfast': 'HoldfastClient', 'rocksdb': 'RocksDbClient', 'nothing': 'NothingClient'}
SHORT = {'READ-MODIFY-WRITE': 'rmw'}
OPERATIONS = 'READ', 'UPDATE', 'INSERT', 'SCAN', 'READ-MODIFY-WRITE'


def properties(workload):
    names = 'readproportion', 'updateproportion', 'insertproportion', 'scanproportion', 'readmodifywriteproportion'
    return [f'{name}={share}' for name, share in zip(names, SHARES[workload])] + [
        f'requestdistribution={"latest" if workload == "D" else "zipfian"}', 'maxscanlength=100']


def parse(text):
    """{operation: {measure: number}} of YCSB's lines `[READ], 99thPercentileLatency(us), 12`, and its counts of returns."""
    found = {}
    for line in text.splitlines():
        if match := re.match(r'\[([A-Z-]+)\], ([^,]+), ([-\d.E+]+)$', line):
            found.setdefault(match[1], {})[match[2]] = float(match[3])
    return found


class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        jars = pathlib.Path(arguments.jars)
        self.classes = ':'.join(map(str, [*sorted(jars.glob('*.jar')), *sorted((jars / 'lib').glob('*.jar'))]))

    def ycsb(self, phase, subject, directory, settings):
        words = ['java', '-Xmx1g', '-XX:+UseParallelGC', '-cp', self.classes, 'site.ycsb.Client', phase,
                 '-db', f'org.holdfast.ycsb.{CLIENTS[subject]}', '-threads', str(self.arguments.threads)]
        for setting in ['workload=site.ycsb.workloads.CoreWorkload', f'recordcount={self.arguments.records}',
                        f'operationcount={self.arguments.operations}', 'measurementtype=hdrhistogram',
                        f'holdfast.spec={directory}/store', f'rocksdb.dir={directory}/store', *settings]:
            words += ['-p', setting]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        found = parse(ran.stdout)
        if ran.returncode != 0 or 'OVERALL' not in found:
            sys.exit(f'YCSB ended with exit code {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}')
        for operation in OPERATIONS + ('VERIFY',):
            for measure, count in found.get(operation, {}).items():
                # NOT_FOUND is what the client that keeps nothing returns. D reads what is being inserted.
                if measure.startswith('Return=') and measure != 'Return=OK' and count != 0 and not (
                        measure == 'Return=NOT_FOUND' and (subject == 'nothing' or 'requestdistribution=latest' in settings)):
                    sys.exit(f'{subject}: {operation} {measure} {count:.0f} times')
        return found

    def load(self, subject, directory, settings=()):
        shutil.rmtree(directory / 'store', ignore_errors=True)
        return self.ycsb('-load', subject, directory, [*properties('A'), *settings])


def check(arguments):
    arguments.records, arguments.operations = 5_000, 20_000
    runner = Runner(arguments)
    verified = 0
    for subject in ('holdfast', 'rocksdb'):
        with tempfile.TemporaryDirectory(prefix='holdfast-ycsb-', dir=arguments.place) as name:
            directory = pathlib.Path(name)
            runner.load(subject, directory, ['dataintegrity=true'])
            for workload in ORDER:
                found = runner.ycsb('-t', subject, directory, [*properties(workload), 'dataintegrity=true'])
                verified += found.get('VERIFY', {}).get('Return=OK', 0)
    assert verified > 50_000, f'only {verified} reads were verified'
    print(f'workloads {ORDER}: {verified:.0f} reads of two stores verified')


def cell(found):
    """Throughput and the 99th percentiles of what the workload does."""
    tails = [f'{SHORT.get(operation, operation.lower())} {found[operation]["99thPercentileLatency(us)"]:.0f}'
             for operation in OPERATIONS if found.get(operation, {}).get('Operations', 0) > 0]
    return f'{found["OVERALL"]["Throughput(ops/sec)"] / 1000:.0f} k/s', ', '.join(tails)


def measure(arguments):
    runner = Runner(arguments)
    seen = []  # One dictionary per round: {(subject, workload): what YCSB printed}.
    for number in range(arguments.rounds):
        results = {}
        subjects = list(CLIENTS)
        subjects = subjects[number % 3:] + subjects[:number % 3]
        for subject in subjects:
            with tempfile.TemporaryDirectory(prefix='holdfast-ycsb-', dir=arguments.place) as name:
                directory = pathlib.Path(name)
                results[subject, 'load'] = runner.load(subject, directory)
                for workload in ORDER:
                    if workload not in arguments.workloads:
                        continue
                    if workload == 'E':
                        runner.load(subject, directory)
                    print(f'round {number + 1} of {arguments.rounds}: {subject} {workload}', file=sys.stderr)
                    results[subject, workload] = runner.ycsb('-t', subject, directory, properties(workload))
        seen.append(results)

    def rate(results, subject, workload):
        return results[subject, workload]['OVERALL']['Throughput(ops/sec)']

    print(f'{arguments.records:,} records of 1 KB, {arguments.operations:,} operations, {arguments.threads} threads, '
          f'{arguments.place}; {arguments.rounds} rounds in turn; medians; p99 in us')
    print(f'{"":5} {"holdfast":>10}  {"rocksdb":>10}  {"nothing":>10}  {"of rocksdb":>18}   p99')
    for workload in ['load', *[one for one in 'ABCDEF' if one in arguments.workloads]]:
        cells, tails = [], []
        for subject in CLIENTS:
            middle = sorted(seen, key=lambda results: rate(results, subject, workload))[len(seen) // 2]
            text, tail = cell(middle[subject, workload])
            cells.append(f'{text:>10}')
            if subject != 'nothing':
                tails.append(f'{subject} {tail}')
        ratios = [rate(results, 'holdfast', workload) / rate(results, 'rocksdb', workload) for results in seen]
        print(f'{workload:5} {"  ".join(cells)}  {statistics.median(ratios):5.1f} [{min(ratios):.1f}, {max(ratios):.1f}]'.ljust(62),
              '; '.join(tails))
    if arguments.json:
        rows = [{f'{subject}/{workload}': found for (subject, workload), found in results.items()} for results in seen]
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jars')
    parser.add_argument('--records', type=int, default=500_000)
    parser.add_argument('--operations', type=int, default=1_500_000)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--workloads', default='ABCDEF')
    parser.add_argument('--place', default='/dev/shm' if os.access('/dev/shm', os.W_OK) else tempfile.gettempdir())
    parser.add_argument('--json')
    parser.add_argument('--check', action='store_true')
    arguments = parser.parse_args()
    if unknown := set(arguments.workloads) - set(ORDER):
        parser.error(f'--workloads {arguments.workloads}: there is no {"".join(sorted(unknown))}; A to F are')
    check(arguments) if arguments.check else measure(arguments)


main()
