"""A made-up result document in which everything occurs that a report shows; its numbers are of no machine.

    report_example.py FILE [SPEED]     SPEED: all rates times this, 1 by default

Used by report_browser_test.py.
"""

import json
import math
import random
import sys

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


if __name__ == '__main__':
    with open(sys.argv[1], 'w', encoding='utf-8') as file:
        json.dump(document(float(sys.argv[2]) if len(sys.argv) > 2 else 1.0), file)
