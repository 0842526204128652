"""What a call through JNI costs over the same loop in C++: 16-byte keys, values of 200 bytes, tmpfs, in turn. Time of the CPU.

    jni_bench.py STORE_LOOP JAR CLASSES [--records N] [--rounds N]
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

OPERATIONS = ('put of a new key', 'overwrite', 'get', 'get of two keys')

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('loop')
parser.add_argument('jar')
parser.add_argument('classes')
parser.add_argument('--records', type=int, default=1_000_000)
parser.add_argument('--rounds', type=int, default=5)
arguments = parser.parse_args()

ways = {'C++': [arguments.loop],
        'JNI': ['java', '-Xmx1g', '-cp', f'{arguments.jar}:{arguments.classes}', 'org.holdfast.JniLoop']}
place = '/dev/shm' if pathlib.Path('/dev/shm').is_dir() else None
seen = {name: [] for name in ways}
for number in range(arguments.rounds):
    for name in sorted(ways, reverse=number % 2 == 1):
        with tempfile.TemporaryDirectory(prefix='holdfast-bench-', dir=place) as directory:
            ran = subprocess.run([*ways[name], f'{directory}/s', str(arguments.records)], check=True, text=True,
                                 capture_output=True)
        seen[name].append([float(word) for word in ran.stdout.split()])
    print(f'round {number + 1} of {arguments.rounds}', file=sys.stderr)

print(f'{arguments.records:,} records, {arguments.rounds} rounds in turn, ns: median [least, most]')
for at, operation in enumerate(OPERATIONS):
    columns = []
    for name, rounds in seen.items():
        times = [row[at] for row in rounds]
        columns.append(f'{name} {statistics.median(times):6.1f} [{min(times):.1f}, {max(times):.1f}]')
    more = [java[at] - cpp[at] for java, cpp in zip(seen['JNI'], seen['C++'])]
    columns.append(f'more {statistics.median(more):+6.1f} [{min(more):+.1f}, {max(more):+.1f}]')
    print(f'{operation:18}', '   '.join(columns))
# The same keys through getMany, 64 in a call, beside C++ that gets one after the other.
many = [row[4] for row in seen['JNI']]
more = [java[4] - cpp[2] for java, cpp in zip(seen['JNI'], seen['C++'])]
print(f'{"get, 64 in a call":18}', f'JNI {statistics.median(many):6.1f} [{min(many):.1f}, {max(many):.1f}]   '
      f'more than C++ one by one {statistics.median(more):+6.1f} [{min(more):+.1f}, {max(more):+.1f}]')
floor = [row[5] for row in seen['JNI']]
print(f'{"an empty call":18}', f'JNI {statistics.median(floor):6.1f} [{min(floor):.1f}, {max(floor):.1f}]')
