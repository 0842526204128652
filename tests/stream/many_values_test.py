"""Groups that change and have many values: COUNT(DISTINCT), SUM(DISTINCT), MIN, MAX, which a store that keeps entries has in parts.

    many_values_test.py HOLDFAST

Runs are killed at any moment and go on, interpreted and compiled by turns; what they answer at the end is what Python says.
Savepoints hold the parts, too.
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
from kills import stores, where

HOLDFAST = sys.argv[1]
SEED = int(os.environ.get('HOLDFAST_SEED', '1'))
KILLS = 6
QUERIES = {
    # Values stay.
    'SELECT k, COUNT(DISTINCT v), SUM(DISTINCT v), COUNT(DISTINCT t) FROM e GROUP BY k':
        lambda rows: {k: (len({v for _, v in of_k}), sum({v for _, v in of_k}), len({f'text {v}' for _, v in of_k})) for k, of_k in rows.items()},
    # What an id has changes with its rows: values go, too.
    'SELECT k, COUNT(DISTINCT v), MAX(v), MIN(v) FROM (SELECT id, MIN(k) AS k, MAX(v) AS v FROM e GROUP BY id) GROUP BY k':
        lambda rows: {k: (len(set(of_k)), max(of_k), min(of_k)) for k, of_k in of_ids(rows).items()},
}


def of_ids(rows):
    ids = {}
    for k, of_k in rows.items():
        for ident, v in of_k:
            least, most = ids.get(ident, (k, v))
            ids[ident] = (min(k, least), max(v, most))
    by_key = {}
    for k, v in ids.values():
        by_key.setdefault(k, []).append(v)
    return by_key


def write(path, rand, count):
    """Rows of the file, as {k: [(id, v)]}."""
    rows = {}
    with open(path, 'w') as out:
        for _ in range(count):
            k, ident, v = rand.randrange(3), rand.randrange(count // 2), rand.randrange(count)
            out.write(f'{k},{ident},{v},text {v}\n')
            rows.setdefault(k, []).append((ident, v))
    return rows


def table(path):
    return ("CREATE TABLE e (k INT, id INT, v BIGINT, t STRING) WITH ('connector' = 'filesystem', "
            f"'path' = '{path}', 'format' = 'csv');\n")


def follow(out, groups):
    """Changes groups as the rows say. Those of a run that was killed may come again, and the last one may be cut."""
    for line in out.split('\n')[:-1]:
        kind, *fields = line.split(',')
        if kind in ('+I', '+U'):
            groups[int(fields[0])] = tuple(map(int, fields[1:]))
        elif kind == '-D':
            groups.pop(int(fields[0]), None)


def check_kills(directory, state, query, wanted, rand):
    text = table(directory / 'e.csv') + query
    taken_over, kills, seconds = {'never': 0, 'wait': 0}, 0, {'never': 0.3, 'wait': 0.3}
    for round_ in range(40):
        turn, groups = 0, {}
        while True:
            mode = ('never', 'wait')[(turn + round_) % 2]
            begun, shown = time.monotonic(), directory / 'shown'  # A pipe that is full would stop it.
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '--checkpoint', '3ms',
                                        *where(state, directory, round_), '-e', text], stdout=open(shown, 'w'), stderr=subprocess.PIPE, text=True)
            if turn < 4:
                try:
                    process.wait(rand.uniform(0.1, 1) * seconds[mode])
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
            _, message = process.communicate(timeout=300)
            assert process.returncode in (0, -signal.SIGKILL), message
            follow(shown.read_text(), groups)
            taken_over[mode] += 'resumed from checkpoint' in message
            if process.returncode == 0:
                break
            turn += 1
            kills += 1
        seconds[mode] = time.monotonic() - begun
        assert groups == wanted, (state, query, mode, turn, groups, wanted)
        if kills >= KILLS and min(taken_over.values()) >= 2:
            return f'{kills} kills, taken over: {taken_over}'
    raise AssertionError(f'only {kills} kills, {taken_over}')


def check_savepoints(directory):
    """Parts go into a savepoint, and out of it into any store."""
    text = ("CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10000', 'number-of-rows' = '20000', "
            "'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '20000');\nSELECT COUNT(DISTINCT id) AS n FROM e")

    def command(verb, *words):
        return [HOLDFAST, 'stream', verb, *map(str, words), '-e', text]

    first = where('kv', directory, 'first')
    process = subprocess.Popen(command('run', '--compile', 'never', '--checkpoint', '50ms', *first), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    message = process.communicate(timeout=60)[1]
    assert 'interrupted' in message, message
    subprocess.run(command('savepoint', *first, '--to', directory / 'saved'), check=True, capture_output=True, timeout=60)
    for state in stores(HOLDFAST):
        done = subprocess.run(command('run', '--compile', 'never', '--from', directory / 'saved', '--checkpoint', '50ms',
                                      *where(state, directory, 'second')), capture_output=True, text=True, timeout=60)
        shown = done.stdout.splitlines()
        assert done.returncode == 0 and shown[-1] == '+U,20000' and len(shown) < 2 * 20_000, (state, done.stderr, shown[-3:])
    print('savepoints hold parts')


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_many_values_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    compilers.be_quick(directory)
    rand = random.Random(SEED)
    try:
        check_savepoints(directory)
        rows = write(directory / 'e.csv', rand, 12_000)
        for number, (query, says) in enumerate(QUERIES.items()):
            wanted = says(rows)
            for state in stores(HOLDFAST):
                print(f'query {number}, {state}: {check_kills(directory, state, query, wanted, rand)}', flush=True)
                for path in directory.glob(f'{state}_*' if state != 'dram' else 'checkpoints_*'):
                    shutil.rmtree(path, ignore_errors=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
