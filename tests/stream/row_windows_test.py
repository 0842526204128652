"""Windows of so many rows: GROUP BY TUMBLE_ROWS(…) and HOP_ROWS(…).

    row_windows_test.py HOLDFAST

  1. Against an evaluation in Python that keeps all rows; interpreted and compiled the same bytes. Those of TUMBLE_ROWS against
     DuckDB, too, if this Python or HOLDFAST_TEST_PYTHON has the package.
  2. What is refused, and what is said.
  3. Runs that are killed at any moment and run again, on each state store, interpreted and compiled: the undisturbed run's rows.
"""
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import compilers
from graph_grammar import COLUMNS, events, rows_of, same, table, write
from kills import check_kills, stores, where
from test_python import duckdb

HOLDFAST = sys.argv[1]
KILLS = 6
AGGREGATES = "COUNT(*) AS n, COUNT(v) AS c, SUM(v) AS s, MIN(d) AS d, MAX(k) AS t, COUNT(DISTINCT v) AS u, LISTAGG(CAST(v AS STRING), ';') AS l"
COUNTS = [(3, 3), (1, 1), (10, 4), (6, 2), (25, 25)]


def call(size, slide):
    return f'TUMBLE_ROWS({size})' if size == slide else f'HOP_ROWS({slide}, {size})'


def run(text, *options, code=0, compiled='never'):
    done = subprocess.run([HOLDFAST, 'stream', 'run', '--compile', compiled, *options, '-e', text], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, (text, done.returncode, done.stderr)
    assert compiled != 'wait' or code != 0 or ', compiled' in done.stderr, (text, done.stderr)
    return done


# ---- 1. Answers ----
def shown(key, rows):
    values = [value for _, _, value, _ in rows if value is not None]
    cents = [cents for _, _, _, cents in rows if cents is not None]
    keys = [key for _, key, _, _ in rows if key is not None]
    or_null = lambda known, value: str(value()) if known else '\\N'
    return [*key, str(len(rows)), str(len(values)), or_null(values, lambda: sum(values)),
            or_null(cents, lambda: f'{min(cents) / 100:.2f}'), or_null(keys, lambda: max(keys)), str(len(set(values))),
            or_null(values, lambda: ';'.join(map(str, values)))]


def windows(rows, size, slide, key_of):
    """The rows that are shown, in their order."""
    of_key, all = collections.defaultdict(list), []
    for row in rows:
        mine = of_key[key_of(row)]
        mine.append(row)
        before = len(mine) - size
        if before >= 0 and before % slide == 0:
            all.append(shown(key_of(row), mine[before:]))
    return all


def check_answers(directory, rand):
    rows = events(rand, 400)
    write(directory / 'a.csv', rows)
    head = table('a', directory / 'a.csv', COLUMNS)
    for size, slide in COUNTS:
        for keys, key_of in (('', lambda row: ()), (', k', lambda row: (row[1] or '\\N',)),
                             (', v % 2, k', lambda row: ('\\N' if row[2] is None else str(row[2] % 2 if row[2] >= 0 else -(-row[2] % 2)),
                                                         row[1] or '\\N'))):
            query = f'SELECT {keys[2:] + ", " if keys else ""}{AGGREGATES} FROM a GROUP BY {call(size, slide)}{keys}'
            text = head + query
            done = run(text)
            assert rows_of(done.stdout) == windows(rows, size, slide, key_of), query
            assert run(text, compiled='wait').stdout == done.stdout, query
            # Rows stay: any sink takes them, and all that is behind.
            assert run(text, '--final').stdout == done.stdout, query
    print('windows of rows are right')
    where_first = run(head + f'SELECT {AGGREGATES} FROM a WHERE v > 3 GROUP BY TUMBLE_ROWS(4) HAVING SUM(v) > 20')
    wanted = [row for row in windows([row for row in rows if row[2] is not None and row[2] > 3], 4, 4, lambda row: ()) if int(row[2]) > 20]
    assert rows_of(where_first.stdout) == wanted and wanted
    # Groups and windows of rows behind them.
    again = head + ('SELECT TRUNCATED, COUNT(*) FROM (SELECT n / 2 AS TRUNCATED FROM (SELECT k, COUNT(v) AS n FROM a GROUP BY TUMBLE_ROWS(5), k) x) y '
                    'GROUP BY TUMBLE_ROWS(7), TRUNCATED')
    assert run(again).stdout == run(again, compiled='wait').stdout
    assert rows_of(run(again).stdout)
    if duckdb is None:
        print('skipped: no package duckdb (HOLDFAST_TEST_PYTHON names a Python that has it)')
        return
    base = duckdb.connect()
    base.execute(f"CREATE TABLE a AS SELECT * FROM read_csv('{directory / 'a.csv'}', header=false, nullstr='\\N', columns={{'ts': "
                 "'TIMESTAMP', 'k': 'VARCHAR', 'v': 'BIGINT', 'd': 'DECIMAL(10,2)'})")
    for size in (1, 3, 8):
        theirs = base.execute(f'SELECT k, COUNT(*), SUM(v), MAX(d) FROM (SELECT *, (ROW_NUMBER() OVER (PARTITION BY k ORDER BY rowid) - 1) // {size} '
                              f'AS w FROM a) x GROUP BY k, w HAVING COUNT(*) = {size}').fetchall()
        theirs = sorted(['\\N' if value is None else str(value) for value in row] for row in theirs)
        ours = sorted(rows_of(run(head + f'SELECT k, COUNT(*), SUM(v), MAX(d) FROM a GROUP BY k, TUMBLE_ROWS({size})').stdout))
        assert len(ours) == len(theirs) and all(same(x, y) for a, b in zip(ours, theirs) for x, y in zip(a, b)), (size, ours[:5], theirs[:5])
    print('so says DuckDB')


def check_texts_that_are_made(directory):
    """A window that is full lets no text go that was made for the row which filled it: others read the row, too."""
    path = directory / 'long.csv'
    path.write_text(''.join(f'{chr(97 + row % 26) * (17000 + row)},{row}\n' for row in range(30)))
    text = (f"CREATE TABLE long (k STRING, v BIGINT, u AS UPPER(k)) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n"
            'SELECT u, COUNT(*) FROM long GROUP BY TUMBLE_ROWS(1), u UNION ALL SELECT u, v FROM long')
    shown = rows_of(run(text).stdout)
    assert sorted(shown) == sorted([chr(65 + row % 26) * (17000 + row), str(n)] for row in range(30) for n in (1, row))
    assert rows_of(run(text, compiled='wait').stdout) == shown
    print('texts live as long as their row')


# ---- 2. Words ----
def check_words(head):
    for group, said in (('TUMBLE_ROWS()', 'TUMBLE_ROWS wants one number of rows'), ('HOP_ROWS(3)', 'HOP_ROWS wants two numbers of rows'),
                        ('TUMBLE_ROWS(0)', 'wants numbers of 1 to 1000000000'), ('TUMBLE_ROWS(v)', 'wants numbers of 1 to'),
                        ('TUMBLE_ROWS(2.5)', 'wants numbers of 1 to'), ('HOP_ROWS(3, 2)', 'the slide is no longer than the window'),
                        ('HOP_ROWS(1, 5000)', 'a row is in more than 1000 windows'), ('TUMBLE_ROWS(2), TUMBLE_ROWS(2)', 'a query has one window'),
                        ("TUMBLE_ROWS(2), TUMBLE(ts, INTERVAL '1' SECOND)", 'a query has one window'),
                        ('k HAVING TUMBLE_ROWS(2) > 1', 'TUMBLE_ROWS stands in GROUP BY only'),
                        ('TUMBLE_ROWS(2), ROLLUP(k)', 'a window of rows with grouping sets')):
        assert said in run(head + f'SELECT COUNT(*) FROM a GROUP BY {group}', code=2).stderr, group
    for query, said in (('SELECT COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) x GROUP BY TUMBLE_ROWS(2)', 'a window of rows that change'),
                        ("SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end, "
                         'TUMBLE_ROWS(2)', 'a query has one window')):
        assert said in run(head + query, code=2).stderr, query
    shown = subprocess.run([HOLDFAST, 'stream', 'explain', '--state', 'kv', '-e', head + 'SELECT COUNT(*) FROM a GROUP BY HOP_ROWS(2, 7)'],
                           capture_output=True, text=True, timeout=60)
    assert 'in windows of 7 rows, one each 2' in shown.stdout and 'RowWindows<' in shown.stdout, shown.stdout
    workers = run(head + 'SELECT COUNT(*) FROM a GROUP BY TUMBLE_ROWS(2)', '--workers', '2')
    assert 'one worker: its joins, groups and rankings have no columns of the tables as common keys' in workers.stderr, workers.stderr
    print('words about windows of rows')


# ---- 3. Kills ----
def command_of(place, head, state, size, slide):
    def made(name):
        out = place / name
        text = (head + "CREATE TABLE o (k STRING, n BIGINT, c BIGINT, s BIGINT, d DECIMAL(10, 2), t STRING, u BIGINT, l STRING) WITH ('connector' = "
                f"'filesystem', 'path' = '{out}', 'format' = 'csv');\nINSERT INTO o SELECT k, {AGGREGATES} FROM a GROUP BY {call(size, slide)}, k")
        mode = random.choice(['never', 'wait'])
        return out, [HOLDFAST, 'stream', 'run', '--compile', mode, '--checkpoint', '5ms',
                     *where(state, place, name), '-e', text]
    return made


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_rows_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    compilers.be_quick(directory)
    try:
        rand = random.Random(12)
        check_answers(directory, rand)
        check_texts_that_are_made(directory)
        write(directory / 'a.csv', events(rand, 1500))
        head = table('a', directory / 'a.csv', COLUMNS)
        check_words(head)
        for size, slide in ((7, 7), (10, 4)):
            for state in stores(HOLDFAST):
                place = directory / f'kills_{size}_{state}'
                place.mkdir()
                kills = check_kills(command_of(place, head, state, size, slide), rand, KILLS)
                print(f'{call(size, slide)}, {state}: {kills} kills', flush=True)
                shutil.rmtree(place)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
