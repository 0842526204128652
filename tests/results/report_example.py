"""A made-up result document in which everything occurs that a report shows; its numbers are of no machine.

    report_example.py FILE [SPEED]     SPEED: all rates times this, 1 by default

Used by report_browser_test.py.
"""

import itertools
import json
import math
import random
import sys

GIB = 2**30
DELAYS = {'0ns': 0, '200ns': 200, '1us': 1000}
STORES = (('holdfast', 3e6, 'assumed'), ('floor', 4e6, 'power'), ('rocksdb', 2e5, 'process'), ('map', 2e6, 'none'))
EVIL = '</script><script>document.title="evil"</script><!-- <b>bold</b> & "quotes"'


def median(values):
    return sorted(values)[len(values) // 2]


def rate_fields(field, middle, rng, spread=0.04):
    samples = [middle * (1 + rng.uniform(-spread, spread)) for _ in range(5)]
    return {
        f'{field}_median': median(samples),
        f'{field}_low': min(samples),
        f'{field}_high': max(samples),
        f'{field}_samples': samples,
    }


def latency_fields(middle_ns, rng):
    values = sorted(
        int(middle_ns * math.exp(rng.gauss(0, 0.3)) * (20 if rng.random() < 0.001 else 1)) for _ in range(20000)
    )
    counts = {}
    for value in values:
        bucket = value if value < 256 else value | ((1 << (value.bit_length() - 8)) - 1)
        counts[bucket] = counts.get(bucket, 0) + 1
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return {
        'p50_ns': at(0.5),
        'p90_ns': at(0.9),
        'p99_ns': at(0.99),
        'p999_ns': at(0.999),
        'p9999_ns': at(0.9999),
        'max_ns': values[-1],
        'mean_ns': sum(values) / len(values),
        'latency_upper_ns': list(counts),
        'latency_count': list(counts.values()),
    }


def row(operation, threads, rng, gib_per_s, speed, **parameters):
    result = {'subject': 'holdfast', 'operation': operation, 'threads': threads, 'valid': True, **parameters}
    size = parameters.get('access_bytes', 64)
    rates = rate_fields('bytes_per_s', gib_per_s * speed * 2**30, rng)
    result |= rates
    result |= {f'ops_per_s_{k}': rates[f'bytes_per_s_{k}'] / size for k in ('median', 'low', 'high')}
    result |= {
        'ns_per_op_median': 1e9 * threads / result['ops_per_s_median'],
        'repetitions': 5,
        'interval_coverage': 0.9375,
    }
    return result


def document(speed=1.0):
    rng = random.Random(7)
    rows = []
    for size in (64, 256, 1024, 4096):
        for threads in (1, 2, 4, 8):
            rows.append(
                row(
                    'sequential_reads',
                    threads,
                    rng,
                    12 * threads**0.7 * (size / 4096) ** 0.1,
                    speed,
                    access_bytes=size,
                    exec_mode='sequential',
                    access_kind='read',
                    region='dram',
                )
            )
    bad = rows[5]  # 256 bytes, 2 threads: as a compiler makes it that drops the reads.
    bad |= {f'bytes_per_s_{k}': 113598 * 2**30 for k in ('median', 'low', 'high')} | {
        'bytes_per_s_samples': [113598 * 2**30] * 5
    }
    bad['valid'] = '113598 GiB/s is above the 88 GiB/s that this machine can read ' + EVIL
    rows[0]['warnings'] = ['12 page faults in the timed part']
    for instruction in ('nocache', 'cache', 'none'):
        for threads in (1, 2, 4):
            rows.append(
                row(
                    'sequential_writes',
                    threads,
                    rng,
                    4.3 * threads**0.8 * (1.5 if instruction == 'nocache' else 1),
                    speed,
                    access_bytes=512,
                    access_kind='write',
                    persist_instruction=instruction,
                    exec_mode='sequential',
                    region='dram',
                )
            )
    for chain in ('r_256', 'r_256,w_256_cache'):
        latency = row('operation_latency', 1, rng, 0.5, speed, custom_operations=chain, region='dram')
        rows.append(latency | latency_fields((200 if ',' not in chain else 420) / speed, rng))
    only = row('hash_index_update', 2, rng, 0.9, speed, custom_operations='r_512,w_64_cache', region='dram')
    rows.append(only)
    return {
        'schema': {'name': 'holdfast.bench', 'version': 2},
        'environment': {
            'utc_time': '2026-11-21T10:00:00Z',
            'host': 'made-up',
            'cpu_model': 'Example CPU ' + EVIL,
            'kernel': 'Linux 6.1' if speed == 1 else 'Linux 6.18',
            'compiler': 'gcc 12',
            'memory_bytes': 24 * 2**30,
        },
        'calibration': {'memory_read_bytes_per_s_per_thread': 4e10, 'dependent_read_ns': 100.5},
        'command': {'name': 'bench run', 'seed': 1},
        'regions': [{'name': 'dram', 'spec': 'dram', 'page_bytes': 2097152, 'mapping': 'anonymous'}],
        'parameters': [
            'access_bytes',
            'access_kind',
            'exec_mode',
            'persist_instruction',
            'custom_operations',
            'region',
        ],
        'warnings': ['the machine was busy'],
        'rows': rows,
    }


SOURCE = 'van Renen et al. 2020, Fig. 1'


def accesses(operation, ns, rng, threads=1, size=64, **parameters):
    """A row of accesses that take `ns` each."""
    memory = {'access_bytes': size, 'memory_range_bytes': 2 * GIB, 'region': 'target'}
    return row(operation, threads, rng, threads * size / ns * 1e9 / GIB, 1.0, **memory | parameters)


def memory_document():
    """What the shipped workloads measure, as `bench run` would write it."""
    rng = random.Random(11)
    chase = {'exec_mode': 'chase', 'access_kind': 'read'}
    write = {'exec_mode': 'sequential', 'access_kind': 'write'}
    read = {'exec_mode': 'sequential', 'access_kind': 'read'}
    rows = []
    for window, ns in ((0, 300), (4096, 100), (2097152, 150)):
        rows.append(accesses('far_latency', ns, rng, chase_window_bytes=window, **chase))
    for instruction, ns in (('cache', 400), ('nocache', 320)):
        rows.append(accesses('line_latency', ns, rng, persist_instruction=instruction, **write))
    for delay, load, ns in (('0ns', 12, 900), ('200ns', 8, 500), ('1us', 2, 320)):
        pair = {'part': 'chase', 'beside': f'load number_threads=15 delay={delay}', 'memory_range_bytes': GIB}
        both = {f'both_bytes_per_s_{name}': load * share * GIB for name, share in (('median', 1), ('low', 0.9), ('high', 1.1))}
        rows.append(accesses('loaded', ns, rng, **chase | pair) | both)
        other = {'part': 'load', 'beside': 'chase number_threads=1', 'delay_ns': DELAYS[delay], 'grouping': 'individual'}
        rows.append(accesses('loaded', 300, rng, threads=15, size=4096, **read | other) | both)
    for threads, ns in ((1, 400), (2, 440)):
        rows.append(accesses('sequential_reads', ns, rng, threads, 4096, **read))
        rows.append(accesses('sequential_reads', 2 * ns, rng, threads, 4096, **read | {'region': 'dram'}))
        for fence in (1, 8, 0):
            parameters = {'persist_instruction': 'nocache', 'fence_every_operations': fence}
            rows.append(accesses('sequential_writes', 100 + 200 * (fence == 1), rng, threads, 512, **write | parameters))
    for size in (512, 640, 1024):
        rows.append(accesses('adjacent_lines', size, rng, 2, size, **read | {'exec_mode': 'random'}))
    for region, mode in ((r, m) for r in ('dram', 'target') for m in ('sequential', 'random')):
        alone = {'exec_mode': mode, 'access_kind': 'read', 'region': region}
        rows.append(accesses('alone', 100, rng, size=256, **alone))
        for other in ('region=dram exec_mode=sequential', 'region=dram exec_mode=random', 'region=target exec_mode=sequential'):
            for part, beside in (('foreground', 'other'), ('other', 'foreground')):
                pair = {'part': part, 'beside': f'{beside} number_threads=1 {other}'}
                rows.append(accesses('beside_reads', 200, rng, size=256, **alone | pair))
    parameters = ('part', 'access_bytes', 'access_kind', 'memory_range_bytes', 'exec_mode', 'persist_instruction', 'region')
    return document() | {
        'regions': [{'name': 'target', 'spec': '/dev/shm/x?granularity=line', 'durability': 'assumed'}],
        'benchmarks': [
            {'name': 'far_latency', 'description': f'Dependent reads ({SOURCE})', 'file': 'building_blocks/latency.yaml'},
            {'name': 'sequential_reads', 'description': 'Table scan', 'file': 'raw/reads.yaml'},
        ],
        'parameters': [*parameters, 'fence_every_operations', 'grouping', 'delay_ns', 'chase_window_bytes', 'beside'],
        'warnings': [f'region "socket{i}" is wanted, but there is no NUMA node {i}' for i in range(9)],
        'rows': rows + shipped_rows(rng),
    }


def shipped_rows(rng):
    """Shapes of shipped workloads on a machine with many CPUs."""
    rows = []
    random_writes = {'exec_mode': 'random', 'access_kind': 'write'}
    for size, instruction, threads in itertools.product((256, 2**20), ('none', 'cache', 'nocache'), (1, 2, 6, 24)):
        rows.append(accesses('threads_write', 100, rng, threads, size, persist_instruction=instruction, **random_writes))
    for part, region in (('first', 'socket0'), ('second', 'socket1')):
        pair = {'part': part, 'region': region, 'beside': 'other number_threads=18', 'both_bytes_per_s_median': 100 * GIB}
        rows.append(accesses('two_sockets', 100, rng, 18, 4096, exec_mode='sequential', access_kind='read') | pair)
    return rows


def store_document():
    """A comparison of stores, as `kv bench` would write it."""
    rng = random.Random(13)
    rows = []
    for operation in ('put', 'get', 'ycsb-a'):
        for subject, rate, durability in STORES:
            for threads in (1, 2):
                parameters = {'key_bytes': 16, 'value_bytes': 200, 'records': 1000000, 'durability': durability}
                one = row(operation, threads, rng, rate * threads**0.8 * 64 / GIB, 1.0, **parameters)
                rows.append(one | {'subject': subject})
    return document() | {
        'command': {'name': 'kv bench'},
        'parameters': ['key_bytes', 'value_bytes', 'records', 'durability'],
        'rows': rows,
    }


if __name__ == '__main__':
    with open(sys.argv[1], 'w', encoding='utf-8') as file:
        json.dump(document(float(sys.argv[2]) if len(sys.argv) > 2 else 1.0), file)
