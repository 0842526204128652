"""Queries of arrays, rows and maps, from JSON to JSON: interpreted and compiled ones against an evaluation in Python, and killed.

    nested_queries_test.py HOLDFAST
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import compilers
from kills import check_kills, stores, where

HOLDFAST = sys.argv[1]
COMPILER = shutil.which(os.environ.get('CXX', 'g++')) or shutil.which('clang++')
KILLS = 8
COLUMNS = 'n INT, k STRING, v INT, a ARRAY<INT>, r ROW<x INT, y STRING>, m MAP<STRING, INT>, b ARRAY<ROW<p INT, q STRING>>, t TIMESTAMP(3)'


def stamp(second):
    return f'2026-01-01 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000'


def value_or_null(rand, make):
    return None if rand.random() < 0.2 else make()


def events(rand, count):
    text = lambda: rand.choice(['', 'a', 'b, "c"', "it's", 'ä', 'long' * 20])  # noqa: E731
    number = lambda: rand.randrange(-3, 4)  # noqa: E731
    rows = []
    for n in range(count):
        rows.append({
            'n': n, 'k': value_or_null(rand, text), 'v': value_or_null(rand, number),
            'a': value_or_null(rand, lambda: [value_or_null(rand, number) for _ in range(rand.randrange(4))]),
            'r': value_or_null(rand, lambda: {'x': value_or_null(rand, number), 'y': value_or_null(rand, text)}),
            'm': value_or_null(rand, lambda: {key: value_or_null(rand, number) for key in rand.sample('pqrs', rand.randrange(4))}),
            'b': value_or_null(rand, lambda: [value_or_null(rand, lambda: {'p': number(), 'q': value_or_null(rand, text)})
                                              for _ in range(rand.randrange(3))]),
            't': stamp(n // 4)})
    return rows


def table(path, rows):
    path.write_text(''.join(json.dumps(row, ensure_ascii=False) + '\n' for row in rows))
    return (f"CREATE TABLE t ({COLUMNS}, WATERMARK FOR t AS t) WITH ('connector' = 'filesystem', 'path' = '{path}', "
            "'format' = 'json');\n")


def run(text, *options):
    done = subprocess.run([HOLDFAST, 'stream', 'run', '--format', 'json', *options, '-e', text], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, (text, done.returncode, done.stderr)
    return done


def key_of(row):
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def left_of(lines):
    """The rows that a changelog leaves; of one that only inserts, all."""
    left = {}
    for line in lines:
        row = json.loads(line)
        change = row.pop('op', '+I')
        key = key_of(row)
        left[key] = left.get(key, 0) + (1 if change in ('+I', '+U') else -1)
        assert left[key] >= 0, line
    return sorted(key for key, count in left.items() for _ in range(count))


# ---- The evaluation in Python ----
def groups(rows, key):
    found = {}
    for row in rows:
        found.setdefault(key_of(key(row)), (key(row), []))[1].append(row)
    return found.values()


def unnested(rows, column, parts, outer=False):
    """(row, number from 1, part): of an empty or NULL one no part, or NULL if `outer`."""
    for row in rows:
        found = parts(row[column]) if row[column] is not None else []
        for number, part in enumerate(found, 1):
            yield row, number, part
        if outer and not found:
            yield row, None, None


def gathered(rows, column):
    return [row[column] for row in rows] or None


def first_at(array, number):
    return array[number - 1] if array is not None and number <= len(array) else None


def answers(rows):
    """Queries, what they answer, and whether they are compiled."""
    pairs = lambda value: [{'x': key, 'y': of} for key, of in sorted(value.items())]  # noqa: E731
    fields = lambda part: part or {'p': None, 'q': None}  # noqa: E731
    yield 'SELECT n, a, r, m, b FROM t', [{name: row[name] for name in 'narmb'} for row in rows], True
    yield 'SELECT a FROM t WHERE a IS NOT NULL', [{'a': row['a']} for row in rows if row['a'] is not None], True
    yield 'SELECT n, a[2] AS a2, r.y AS y, m[\'p\'] AS p, b[1].q AS q, CARDINALITY(a) AS c FROM t', [
        {'n': row['n'], 'a2': first_at(row['a'], 2), 'y': (row['r'] or {}).get('y'), 'p': (row['m'] or {}).get('p'),
         'q': (first_at(row['b'], 1) or {}).get('q'), 'c': None if row['a'] is None else len(row['a'])} for row in rows], True
    yield 'SELECT a, r, COUNT(*) AS c, MAX(k) AS k FROM t GROUP BY a, r', [
        {'a': key[0], 'r': key[1], 'c': len(of), 'k': max((row['k'] for row in of if row['k'] is not None),
                                                         key=lambda text: text.encode(), default=None)}
        for key, of in groups(rows, lambda row: [row['a'], row['r']])], True
    yield 'SELECT x.a, x.n, y.n AS o FROM t AS x JOIN t AS y ON x.a = y.a WHERE x.n < y.n', [
        {'a': x['a'], 'n': x['n'], 'o': y['n']} for x in rows for y in rows
        if x['n'] < y['n'] and x['a'] is not None and x['a'] == y['a']], True
    yield 'SELECT x.m, x.b FROM t AS x JOIN t AS y ON x.r = y.r AND x.n = y.n', [
        {'m': row['m'], 'b': row['b']} for row in rows if row['r'] is not None], True
    yield 'SELECT DISTINCT m FROM t', [{'m': key} for key, _ in groups(rows, lambda row: row['m'])], True
    yield 'SELECT n, x FROM t CROSS JOIN UNNEST(a) AS u(x)', [{'n': row['n'], 'x': part} for row, _, part in unnested(rows, 'a', list)], False
    yield 'SELECT n, x, o FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u(x, o)', [
        {'n': row['n'], 'x': part, 'o': number} for row, number, part in unnested(rows, 'a', list)], False
    yield 'SELECT n, x FROM t LEFT JOIN UNNEST(a) AS u(x) ON TRUE', [
        {'n': row['n'], 'x': part} for row, _, part in unnested(rows, 'a', list, True)], False
    yield 'SELECT n, p, q FROM t LEFT JOIN UNNEST(b) AS u(p, q) ON TRUE', [
        {'n': row['n'], **fields(part)} for row, _, part in unnested(rows, 'b', list, True)], False
    yield 'SELECT n, x, y FROM t CROSS JOIN UNNEST(m) AS u(x, y)', [
        {'n': row['n'], **part} for row, _, part in unnested(rows, 'm', pairs)], False
    yield 'SELECT k, ARRAY_AGG(v) AS g FROM t GROUP BY k', [
        {'k': key, 'g': gathered(of, 'v')} for key, of in groups(rows, lambda row: row['k'])], False
    yield 'SELECT k, ARRAY_AGG(r) FILTER (WHERE v > 0) AS g FROM t GROUP BY k', [
        {'k': key, 'g': gathered([row for row in of if (row['v'] or 0) > 0], 'r')} for key, of in groups(rows, lambda row: row['k'])], False
    yield WINDOWS, [{'t': stamp((second + 1) * 10), 'k': key, 'g': gathered(of, 'a')}
                    for (second, key), of in groups(rows, lambda row: [seconds(row) // 10, row['k']])], False
    # Rows that are taken back: each count that a key has had leaves the array when the next one comes.
    counts = sorted(len(of) for _, of in groups(rows, lambda row: row['k']))
    yield 'SELECT ARRAY_MAX(ARRAY_AGG(c)) AS c, CARDINALITY(ARRAY_AGG(c)) AS d FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k)', [
        {'c': counts[-1], 'd': len(counts)}], False


def seconds(row):
    return row['n'] // 4


WINDOWS = ('SELECT window_end AS t, k, ARRAY_AGG(a) AS g FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(t), INTERVAL \'10\' SECOND)) '
           'GROUP BY window_start, window_end, k')


def check_answers(directory, rand):
    rows = events(rand, 400)
    head = table(directory / 'rows.json', rows)
    compiled = 0
    for query, wanted, compiles in answers(rows):
        wanted = sorted(key_of(row) for row in wanted)
        for options in (['never'], ['wait'])[:2 if COMPILER else 1]:
            done = run(head + query, '--compile', *options)
            ours = left_of(done.stdout.splitlines())
            differ = [(o, w) for o, w in zip(ours, wanted) if o != w][:2]
            assert ours == wanted, (query, options, len(ours), len(wanted), differ)
            if options[0] == 'wait':
                assert (', compiled' in done.stderr) == compiles, (query, done.stderr)
                compiled += compiles
    print(f'{compiled} compiled queries and all interpreted ones are right')


# ---- Kills ----
def command_of(directory, head, state, query, columns):
    def command(name):
        out = directory / f'out_{name}'
        text = (head + f"CREATE TABLE o ({columns}) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'json');\n"
                f'INSERT INTO o {query}')
        return out, [HOLDFAST, 'stream', 'run', '--compile', 'never', '--checkpoint', '3ms', *where(state, directory, name), '-e', text]
    return command


def main():
    rand = random.Random(5)
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_nested_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    compilers.be_quick(directory)
    try:
        check_answers(directory, rand)
        for state in stores(HOLDFAST):
            for number, (query, columns) in enumerate([
                    (WINDOWS, 't TIMESTAMP(3), k STRING, g ARRAY<ARRAY<INT>>'),
                    ('SELECT x.t, x.r, y.m FROM t AS x JOIN t AS y ON x.a = y.a AND x.t BETWEEN y.t - INTERVAL \'2\' SECOND AND y.t '
                     'WHERE x.n < y.n', 't TIMESTAMP(3), r ROW<x INT, y STRING>, m MAP<STRING, INT>')]):
                place = directory / f'kills_{number}_{state}'
                place.mkdir()
                head = table(place / 'rows.json', events(rand, 1500))
                kills = check_kills(command_of(place, head, state, query, columns), rand, KILLS)
                print(f'{query[:40]}…, {state}: {kills} kills', flush=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
