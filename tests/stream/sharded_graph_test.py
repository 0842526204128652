"""Queries that are more than a chain on several workers.

    sharded_graph_test.py HOLDFAST

  1. Random queries: the changelog that two and three workers write is that of one, byte by byte. Those that cannot be
     shared out say so.
  2. The same of compiled code.
  3. Runs that are killed, each time with another number of workers, some compiled: what they show is what an
     undisturbed run shows. State is in files, in kv with and without memory for it, in RocksDB.
  4. A run that was interrupted goes on from its savepoint in another store, with other workers.
  5. State that no row changes is forgotten; a row that fails is named; what has one worker says so.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import compilers
from graph_grammar import COLUMNS, events, random_query, random_query_of_sets, random_query_of_values, table, write
from kills import parts, stores, where

HOLDFAST = sys.argv[1]
COMPILER = subprocess.run(['sh', '-c', 'command -v ${CXX:-g++} || command -v clang++'], capture_output=True).returncode == 0
KILLS = 6


def run(text, *options, code=0, compiled='never'):
    done = subprocess.run([HOLDFAST, 'stream', 'run', '--compile', compiled, *options, '-e', text], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, (text, done.returncode, done.stderr)
    return done


def tables(directory, rand, count):
    paths = {name: directory / f'{name}.csv' for name in 'ab'}
    for path in paths.values():
        write(path, events(rand, count))
    return ''.join(table(name, path, COLUMNS) for name, path in paths.items())


def check_random(directory):
    rand, shared = random.Random(11), 0
    head = tables(directory, rand, 400)
    for number in range(120):
        query = (random_query, random_query_of_values, random_query_of_sets)[number // 40](rand)
        options = rand.choice([[], [], ['--final']])
        one = run(head + query, *options)
        for workers in rand.sample('2345', 2):
            several = run(head + query, '--workers', workers, *options)
            assert several.stdout == one.stdout, (query, workers, options)
        shared += 'one worker' not in several.stderr
    assert shared > 50, shared
    print(f'{shared} of 120 queries were shared out and gave what one worker gives')


WINDOW = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
# [columns of the sink, query, whether its rows come in the order of one worker]; a file takes no changes, so runs that are killed show the end.
QUERIES = [
    ('k STRING, n BIGINT, s BIGINT', 'SELECT k, COUNT(*) AS n, SUM(v) AS s FROM (SELECT a.k, b.v FROM a JOIN b ON a.k = b.k AND a.v < b.v) x GROUP BY k', True),
    ('m BIGINT, n BIGINT', 'SELECT m, COUNT(*) AS n FROM (SELECT a.k, MAX(b.v) AS m FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k, a.v) x GROUP BY m', True),
    ('k STRING, v BIGINT, n BIGINT', 'SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, d) AS n FROM a) x WHERE n <= 4', True),
    ('k STRING, d BIGINT, m BIGINT', 'SELECT k, COUNT(DISTINCT v) AS d, MIN(v) AS m FROM a GROUP BY k', True),
    ('av BIGINT, bv BIGINT', f'SELECT x.v, y.v FROM (SELECT * FROM {WINDOW.format("a")}) x JOIN (SELECT * FROM {WINDOW.format("b")}) y'
                             ' ON x.k = y.k AND x.window_start = y.window_start AND x.window_end = y.window_end', False),
    ('k STRING, v BIGINT, n BIGINT', 'SELECT k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY v) AS n'
                                     f' FROM {WINDOW.format("a")}) x WHERE n <= 2', False),
    ('av BIGINT, bv BIGINT', "SELECT a.v, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND AND b.ts", False),
    ('k STRING, n BIGINT, e TIMESTAMP(3)', "SELECT k, COUNT(*) AS n, window_end FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND))"
                                           ' GROUP BY window_start, window_end, k', False),
    ('k STRING, n BIGINT, s BIGINT', f'SELECT k, COUNT(*) AS n, SUM(v) AS s FROM (SELECT * FROM {WINDOW.format("a")}) x GROUP BY k, window_start, window_end', False),
]


def shown(text, in_order):
    return text if in_order else sorted(text.splitlines())


def check_compiled(directory):
    head = tables(directory, random.Random(6), 1_500)
    for _, query, in_order in QUERIES:
        one = run(head + query)
        for workers in '25':
            several = run(head + query, '--workers', workers, compiled='wait')
            if 'one worker' in several.stderr:
                assert query == QUERIES[1][1] and 'only the interpreter has these once' in several.stderr, several.stderr
            assert ', compiled' in several.stderr, several.stderr
            assert shown(several.stdout, in_order) == shown(one.stdout, in_order), (query, workers)
            assert dropped(several) == dropped(one), (several.stderr, one.stderr)


def dropped(done):
    return sorted(line for line in done.stderr.splitlines() if 'dropped' in line)


def run_until_killed(arguments, seconds):
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    stderr = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), (arguments, process.returncode, stderr)
    return process.returncode == 0


def check_killed(directory):
    rand = random.Random(3)
    head = tables(directory, rand, 6_000)
    hits = 0
    for number, (columns, query, in_order) in enumerate(QUERIES):
        def text(out):
            return (head + f"CREATE TABLE out_rows ({columns}) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');\n"
                    'INSERT INTO out_rows ' + query)
        whole = directory / f'whole_{number}'
        begun = time.monotonic()
        run(text(whole), '--final')
        undisturbed = time.monotonic() - begun
        wanted = shown(parts(whole), in_order)
        assert wanted, query
        for store in stores(HOLDFAST):
            name = f'{number}_{store}'
            out, state = directory / f'out_{name}', where(store, directory, name)
            if store == 'kv':
                state = [word + '?granularity=line' if word.startswith(f'{directory}/kv') else word for word in state]
            kills = 0
            while True:
                compiled = ['--compile', rand.choice(['never', 'never', 'background'])]
                arguments = [HOLDFAST, 'stream', 'run', '--final', '--checkpoint', '10ms', *state, '--workers', rand.choice('12234'), *compiled, '-e', text(out)]
                if run_until_killed(arguments, rand.uniform(0.1, 1) * undisturbed if kills < KILLS else 300):
                    break
                kills += 1
            hits += kills
            assert shown(parts(out), in_order) == wanted, (query, store, kills)
    print(f'{hits} kills: nothing was lost, nothing came twice')


def check_elsewhere(directory):
    rand = random.Random(8)
    head = tables(directory, rand, 4_000)
    for columns, query, in_order in QUERIES[:6]:
        wanted = run(head + query).stdout.splitlines()[1:]
        first = ['--checkpoint-dir', f'{directory}/first_{rand.random()}']
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', head + query, *first, '--workers', '3', '--compile', 'never',
                                    '--checkpoint', '5ms'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = [process.stdout.readline() for _ in range(5)]
        process.send_signal(signal.SIGINT)
        seen = [line.rstrip('\n') for line in seen][1:] + process.stdout.read().splitlines()
        process.communicate()
        saved = f'{directory}/saved_{rand.random()}'
        done = subprocess.run([HOLDFAST, 'stream', 'savepoint', '-e', head + query, *first, '--to', saved], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for workers, store in zip('124', rand.sample(stores(HOLDFAST) * 2, 3)):
            done = run(head + query, '--from', saved, *where(store, directory, f'then_{rand.random()}'), '--workers', workers)
            all_rows = seen + done.stdout.splitlines()[1:]
            assert (all_rows == wanted) if in_order else (sorted(all_rows) == sorted(wanted)), (query, workers, store)


def check_words(directory):
    head = tables(directory, random.Random(2), 200)
    query = 'SELECT a.k, COUNT(*) FROM a JOIN b ON a.k = b.k GROUP BY a.k'
    ttl = "SET 'table.exec.state.ttl' = '1 h';\n"
    one = run(ttl + head + query).stdout
    assert run(ttl + head + query, '--workers', '3').stdout == one
    refused = run(ttl + head + query, '--workers', '3', *where('kv', directory, 'ttl'))
    assert 'one worker: with table.exec.state.ttl shards want --state dram' in refused.stderr and refused.stdout == one, refused.stderr
    lines = (directory / 'a.csv').read_text().splitlines()
    lines[150] = lines[150].rsplit(',', 2)[0] + ',0,0.00'
    (directory / 'a.csv').write_text('\n'.join(lines) + '\n')
    text = head + 'SELECT a.k, SUM(1 / a.v) FROM a JOIN b ON a.k = b.k GROUP BY a.k'
    wanted = run(text, code=2)
    several = run(text, '--workers', '3', code=2)
    assert 'division by zero (table a, record ' in wanted.stderr and several.stderr == wanted.stderr, (several.stderr, wanted.stderr)
    assert several.stdout == wanted.stdout


def main():
    directory = pathlib.Path(tempfile.mkdtemp())
    compilers.be_quick(directory)
    try:
        check_random(directory)
        if COMPILER:
            check_compiled(directory)
        check_killed(directory)
        check_elsewhere(directory)
        check_words(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)  # A compiler may still write, whose run was killed.


if __name__ == '__main__':
    main()
