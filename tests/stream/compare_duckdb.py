"""Queries that both understand, by `holdfast stream run --final` and by DuckDB, on the same CSV file.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install duckdb
    /tmp/venv/bin/python tests/stream/compare_duckdb.py build/release/holdfast [ROUNDS]

Not run by ctest: it needs a package of PyPI. Where the dialects differ (division, AVG of integers, overflow) the
answers of tests/sql/expression_test.cpp count instead.
"""
import csv
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb

HOLDFAST, ROUNDS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
COLUMNS = 'a BIGINT, b INT, d DECIMAL(12, 2), s VARCHAR(20), ok BOOLEAN'


def number(rand, depth):
    if depth == 0 or rand.random() < 0.3:
        return rand.choice(['a', 'b', 'd', str(rand.randrange(-9, 10)), '1.25', 'CAST(NULL AS BIGINT)'])
    one = lambda: number(rand, depth - 1)
    return rand.choice([
        lambda: f'({one()} {rand.choice("+-")} {one()})', lambda: f'ABS({one()})',
        lambda: f'CASE WHEN {condition(rand, depth - 1)} THEN {one()} ELSE {one()} END',
        lambda: f'COALESCE({one()}, {one()})'])()


def condition(rand, depth):
    if depth == 0 or rand.random() < 0.2:
        return rand.choice(['ok', 'a > 3', 'b IS NULL', "s = 'x'", "s LIKE '%b_'", 'd <= 1.5', 'a IN (1, 2, NULL)'])
    one = lambda: condition(rand, depth - 1)
    return rand.choice([
        lambda: f'({one()} {rand.choice(["AND", "OR"])} {one()})', lambda: f'NOT {one()}',
        lambda: f'({one()}) IS {rand.choice(["", "NOT "])}{rand.choice(["NULL", "TRUE", "FALSE"])}',
        lambda: f'{number(rand, depth - 1)} {rand.choice(["<", "<=", "=", "<>"])} {number(rand, depth - 1)}',
        lambda: f'{number(rand, depth - 1)} BETWEEN -2 AND {number(rand, depth - 1)}'])()


def same(ours, theirs):
    """Numbers by value: the scales of decimals differ."""
    if ours == theirs:
        return True
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return False


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_duckdb_'))
    path, base = directory / 'rows.csv', duckdb.connect()
    rand = random.Random(11)
    null = lambda value: '\\N' if rand.random() < 0.15 else value
    with open(path, 'w') as out:
        for _ in range(500):
            out.write(','.join([null(str(rand.randrange(-9, 10))), null(str(rand.randrange(-99, 99))),
                                null(f'{rand.randrange(-999, 999) / 100:.2f}'), null(rand.choice(['x', 'abc', 'bb', ''])),
                                null(rand.choice(['true', 'false']))]) + '\n')
    types = ', '.join(f"'{word.split()[0]}': '{word.split(' ', 1)[1]}'" for word in
                      ['a BIGINT', 'b INT', 'd DECIMAL(12,2)', 's VARCHAR', 'ok BOOLEAN'])
    base.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{path}', header=false, nullstr='\\N', columns={{{types}}}, "
                 "allow_quoted_nulls=false)")
    table = f"CREATE TABLE t ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');"
    for round_number in range(ROUNDS):
        key, where = rand.choice(['s', 'b', 'ok', 'a']), condition(rand, 3)
        query = (f'SELECT {key}, COUNT(*), SUM({number(rand, 2)}), MIN({number(rand, 2)}), MAX(s), COUNT(DISTINCT a), '
                 f'SUM(d) FILTER (WHERE {condition(rand, 2)}) FROM t WHERE {where} GROUP BY {key}')
        done = subprocess.run([HOLDFAST, 'stream', 'run', '--final', '-e', table + query], capture_output=True, text=True)
        assert done.returncode == 0, (query, done.stderr)
        ours = sorted(list(csv.reader(done.stdout.splitlines()))[1:])
        theirs = sorted([['\\N' if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in row]
                         for row in base.execute(query).fetchall()])
        equal = len(ours) == len(theirs) and all(same(x, y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
        assert equal, f'{query}\n{ours[:5]}\n{theirs[:5]}'
    print(f'{ROUNDS} queries agree')


main()
