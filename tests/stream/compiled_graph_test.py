"""Compiled queries that are more than a chain, against the interpreter and DuckDB.

    compiled_graph_test.py HOLDFAST WORKLOADS

  1. Random queries over rows that are late, with NULL, texts and decimals: each run interpreted and compiled; the same bytes,
     row by row of the changelog. What is left of it at the end is what DuckDB answers, if there is the package.
  2. Windows in cascades, joins of windows, rankings of windows, rows once per window: the same bytes. Joins with the MIN or
     MAX of a window: the same, and most rows are left out where the condition allows it, nowhere else. Groups of a join whose
     keys are all of one side: the same, also where groups go and come again. Joins of near times, of versions, with a look-up; OVER; aggregates of spread and of the order of rows, and queries that are values.
  3. NEXMark's queries: compiled code takes over on the way, and at the beginning: the same bytes.
  4. Runs that are stopped, and runs that are killed, go on compiled and interpreted in turn, on both state stores.
  5. An error of a row: the same words, the same place.
"""
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from compilers import ROUNDS, be_quick
from graph_grammar import COLUMNS, events, random_query, random_query_of_sets, rows_of, same, table, write
from kills import stores, where
from test_python import duckdb

HOLDFAST, WORKLOADS = sys.argv[1], pathlib.Path(sys.argv[2])
SEED = int(os.environ.get('HOLDFAST_SEED', '1'))
QUERIES = 3  # Of each kind; a compiler takes some seconds for one.
MORE = 3  # Of grouping sets and rankings with equal ranks.

WINDOW = "TABLE({}(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND{}))"
SIZES = {'TUMBLE': '', 'HOP': ", INTERVAL '30' SECOND", 'CUMULATE': ", INTERVAL '30' SECOND"}


def run(mode, text, *more):
    return subprocess.run([HOLDFAST, 'stream', 'run', '--compile', mode, '-e', text, *more],
                          capture_output=True, text=True, timeout=300)


def outcome(done):
    """What both must agree on: code, rows, and messages but for ", compiled"."""
    return done.returncode, done.stdout, [line.replace(', compiled', '') for line in done.stderr.splitlines()]


def check_same(text, fails=False):
    interpreted, compiled = run('never', text), run('wait', text)
    assert (interpreted.returncode != 0) == fails, (text, interpreted.stderr)
    assert 'interpreted:' not in compiled.stderr, (text, compiled.stderr)
    assert fails or ', compiled' in compiled.stderr, compiled.stderr
    a, b = outcome(interpreted), outcome(compiled)
    first = next((pair for pair in zip(a[1].splitlines() + a[2], b[1].splitlines() + b[2]) if pair[0] != pair[1]), None)
    assert a == b, (text, first, a[0], b[0], len(a[1]), len(b[1]))
    return interpreted


# ---- 1. Random queries ----
def check_random(directory):
    compared, base = 0, duckdb.connect() if duckdb else None
    for round_ in range(ROUNDS):
        rand = random.Random(SEED * 100 + round_)
        paths = {name: directory / f'{name}.csv' for name in 'ab'}
        for name, path in paths.items():
            write(path, events(rand, 60))
            if base:
                base.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM read_csv('{path}', header=false, nullstr='\\N', "
                             "columns={'ts': 'TIMESTAMP', 'k': 'VARCHAR', 'v': 'BIGINT', 'd': 'DECIMAL(10,2)'})")
        head = ''.join(table(name, path, COLUMNS) for name, path in paths.items())
        done = 0
        while done < QUERIES + MORE:
            query = random_query(rand) if done < QUERIES else random_query_of_sets(rand)
            shown = rows_of(check_same(head + query).stdout)
            done += 1
            if not base:
                continue
            # What never changes has no column of changes.
            theirs = [['\\N' if value is None else str(value) for value in row] for row in base.execute(query).fetchall()]
            if shown and len(shown[0]) > len(base.description):
                left = collections.Counter()
                for op, *row in shown:
                    left[tuple(row)] += 1 if op in ('+I', '+U') else -1
                shown = list((+left).elements())
            ours, theirs = sorted(map(list, shown)), sorted(theirs)
            equal = len(ours) == len(theirs) and all(same(x, y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
            assert equal, f'{query}\n{ours[:8]}\n{theirs[:8]}'
            compared += 1
    print(f'{(QUERIES + MORE) * ROUNDS} random queries are the same, {compared} agree with DuckDB', flush=True)


# ---- 2. Windows ----
def window_query(rand):
    kind = rand.choice(['TUMBLE', 'HOP', 'CUMULATE'])
    of = lambda name: WINDOW.format(kind, name, SIZES[kind])
    counts = lambda name: f'SELECT window_start, window_end, k, COUNT(*) AS n, MAX(d) AS m, MIN(k) AS t FROM {of(name)} GROUP BY window_start, window_end, k'
    join = rand.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
    same_window = 'x.window_start = y.window_start AND x.window_end = y.window_end'
    session = lambda name: (f"TABLE(SESSION(TABLE {name}{rand.choice(['', ' PARTITION BY k', ' PARTITION BY k, v'])}, DESCRIPTOR(ts), "
                            f"INTERVAL '{rand.choice([1, 2, 5, 20])}' SECOND))")
    return rand.choice([
        lambda: f'SELECT window_start, window_end, window_time, ts, k, v, d FROM {session("a")}',
        lambda: f'SELECT window_start, window_end, COUNT(*), SUM(v), MIN(k), COUNT(DISTINCT d) FROM {session("a")} GROUP BY window_start, window_end',
        lambda: f"SELECT SESSION_START(ts, INTERVAL '3' SECOND), SESSION_END(ts, INTERVAL '3' SECOND), k, COUNT(*), MAX(v) FROM a GROUP BY k, SESSION(ts, INTERVAL '3' SECOND)",
        lambda: f'SELECT x.k, x.n, y.k, y.m FROM ({counts("a")}) x {join} ({counts("b")}) y ON {same_window} AND x.k = y.k AND x.n >= y.n',
        lambda: f'SELECT x.ts, x.v, y.v, y.k FROM (SELECT * FROM {of("a")}) x {join} (SELECT * FROM {of("b")}) y ON {same_window} AND x.v = y.v',
        lambda: f'SELECT window_start, MAX(n), COUNT(*), SUM(m) FROM ({counts("a")}) x GROUP BY window_start, window_end',
        lambda: f'SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, k NULLS FIRST) AS r FROM ({counts("a")}) x) y WHERE r <= {rand.randrange(1, 4)}',
        lambda: f'SELECT window_end, k, v, d FROM {WINDOW.format("CUMULATE", "a", SIZES["CUMULATE"])} WHERE v > 0',
        lambda: f'SELECT k, COUNT(*), MAX(t), AVG(n) FROM ({counts("a")} UNION ALL {counts("b")}) x GROUP BY k',
        lambda: f'SELECT k, v FROM (SELECT * FROM {of("a")}) x WHERE {rand.choice(["", "NOT "])}EXISTS (SELECT 1 FROM (SELECT * FROM {of("b")}) y WHERE {same_window} AND x.k = y.k)',
    ])()


ORDERS = ['v * v - 3 * v, d', 'CASE WHEN v > 2 THEN d END DESC NULLS LAST, SUBSTRING(k, 1, 1) NULLS FIRST',
          'CHAR_LENGTH(k) DESC, ABS(v - 3), COALESCE(d, 0.5), v NULLS FIRST']


def check_windows(directory):
    rand, rows = random.Random(SEED), 0
    for name in 'ab':
        write(directory / f'{name}.csv', events(rand, 300))
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
    seen = set()
    counts = (f'SELECT window_start, window_end, k, COUNT(*) AS n FROM {WINDOW.format("TUMBLE", "a", SIZES["TUMBLE"])} '
              'GROUP BY window_start, window_end, k')
    while len(seen) < QUERIES * ROUNDS:
        query = window_query(rand)
        if query not in seen:
            seen.add(query)
            rows += len(check_same(head + query).stdout.splitlines())
    assert rows > 50, rows
    for bound in ('r <= 0', 'r < 1', 'r <= 2 AND r >= 5'):  # No row has such a number.
        done = check_same(f'{head}SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM a) WHERE {bound}')
        assert len(done.stdout.splitlines()) <= 1, (bound, done.stdout)
    for ranking in ('RANK', 'DENSE_RANK'):
        ranks = f'SELECT *, {ranking}() OVER (PARTITION BY {{}} ORDER BY {{}}) AS r FROM ({{}}) x'
        sums = 'SELECT k, v % 3 AS v, SUM(v) AS d FROM a GROUP BY k, v'
        for query in (ranks.format('k', 'v DESC NULLS LAST', 'SELECT k, v, d FROM a'), ranks.format('k', 'v', sums),
                      ranks.format('window_start, window_end', 'n DESC', counts)):
            for bound in ('r <= 3', 'r >= 2 AND r <= 4', 'r <= 0'):
                rows += len(check_same(f'{head}SELECT * FROM ({query}) y WHERE {bound}').stdout.splitlines())
    for order in ORDERS:  # By what is no column, of rows that stay and of rows that change.
        for of in ('a', '(SELECT k, SUM(v) AS v, MAX(d) AS d FROM a GROUP BY k, v)'):
            for query in (f'SELECT k, v, d, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r FROM {of} x) y WHERE r <= 3',
                          f'SELECT k, v, d FROM {of} x ORDER BY {order} LIMIT 7'):
                rows += len(check_same(head + query).stdout.splitlines())
    print(f'{len(seen)} queries of windows are the same, {rows} rows', flush=True)


# Rows beside the MIN or MAX of their window: (the other side, the condition, whether most rows need not be kept).
OF_WINDOW = "(SELECT {}MAX(v) AS m, MIN(v) AS l, window_start AS s, window_end AS e FROM TABLE({}(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND{})) GROUP BY {}window_start, window_end) y"
EXTREMES = [
    ('{a} x JOIN {all}', "x.v = y.m AND x.ts BETWEEN y.e - INTERVAL '10' SECOND AND y.e", True),
    ('{a} x JOIN {by_k}', 'x.k = y.k AND x.v = y.l AND x.ts >= y.s AND x.ts < y.e', True),
    ('{b} x JOIN {by_k}', "y.k = x.k AND y.m <= x.v AND x.ts + INTERVAL '10' SECOND >= y.e AND y.e >= x.ts", True),
    ('{all} JOIN {b} x', 'x.v = y.l AND x.ts >= y.s AND x.ts <= y.e', True),
    ('{of_a} x JOIN {by_k}', 'x.window_start = y.s AND x.window_end = y.e AND x.k = y.k AND x.v >= y.m', True),
    ('{all} JOIN {of_a} x', 'x.window_start = y.s AND x.window_end = y.e AND x.v <= y.l', True),
    ('{a} x JOIN {all}', "x.v = y.m AND x.ts BETWEEN y.e - INTERVAL '11' SECOND AND y.e", False),
    ('{a} x JOIN {all}', "x.v = y.m AND x.ts BETWEEN y.s AND y.e + INTERVAL '1' SECOND", False),
    ('{a} x JOIN {all}', 'x.v <= y.m AND x.ts BETWEEN y.s AND y.e', False),
    ('{a} x LEFT JOIN {all}', 'x.v = y.m AND x.ts BETWEEN y.s AND y.e', False),
    ('{a} x JOIN {by_k}', 'x.v = y.m AND x.ts BETWEEN y.s AND y.e', False),
    ('{a} x JOIN {hop}', 'x.v = y.m AND x.ts BETWEEN y.s AND y.e', False),
]


def check_extremes(directory):
    rand, rows = random.Random(SEED), 0
    for name in 'ab':
        write(directory / f'{name}.csv', events(rand, 400))
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
    sides = {'a': 'a', 'b': 'b', 'of_a': '(SELECT * FROM ' + WINDOW.format('TUMBLE', 'a', '') + ')',
             'all': OF_WINDOW.format('', 'TUMBLE', '', ''), 'by_k': OF_WINDOW.format('k, ', 'TUMBLE', '', 'k, '),
             'hop': OF_WINDOW.format('', 'HOP', SIZES['HOP'], '')}
    for join, condition, leaves_out in EXTREMES:
        query = head + f'SELECT x.ts, x.k, x.v, x.d, y.m, y.e FROM {join.format(**sides)} ON {condition}'
        shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', query], capture_output=True, text=True, check=True).stdout
        assert ('.surpasses_' in shown) == leaves_out, (join, condition, shown)
        found = len(check_same(query).stdout.splitlines())
        assert found > 3, (join, condition, found)
        rows += found
    print(f'{len(EXTREMES)} joins with an extreme are the same, {rows} rows', flush=True)


# Groups of a join; the side whose rows remember their group, if the keys are all of one; whether no row goes.
OF_JOINS = [
    ('SELECT x.k, x.v, COUNT(*), MAX(y.n), MIN(y.k) FROM a x JOIN {sums} y ON x.k = y.k GROUP BY x.k, x.v', 'kLeft', False),
    ('SELECT y.v, SUM(x.v), COUNT(*) FROM a x FULL JOIN {sums} y ON x.k = y.k AND x.v <> y.n GROUP BY y.v', 'kRight', False),
    ('SELECT n, MAX(s), COUNT(*) FROM (SELECT x.n, x.k, SUM(y.v) AS s FROM {sums} x JOIN b y ON x.k = y.k WHERE y.v > 0 GROUP BY x.k, x.n) GROUP BY n',
     'kLeft', False),
    ('SELECT x.k, y.v, COUNT(*) FROM a x JOIN b y ON x.k = y.k AND x.d > y.d GROUP BY x.k, y.v', None, True),
    ('SELECT y.k, y.v, COUNT(*) FROM a x JOIN b y ON x.k = y.k AND 10 / (x.v * x.v + 1) >= y.v GROUP BY y.k, y.v', 'kRight', False),
]


def check_groups_of_joins(directory):
    rand, rows = random.Random(SEED), 0
    for name in 'ab':
        write(directory / f'{name}.csv', events(rand, 300))
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
    # Each change takes pairs back: their groups go, and come again with other numbers.
    sums = '(SELECT k, v % 3 AS v, COUNT(*) % 4 AS n FROM b GROUP BY k, v % 3)'
    for query, side, only_comes in OF_JOINS:
        text = head + query.format(sums=sums)
        shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', text], capture_output=True, text=True, check=True).stdout
        sides = [other for other in ('kLeft', 'kRight') if f'kGroupOf = Side::{other}' in shown]
        assert sides == ([side] if side else []), (query, sides)
        assert ('kIsRemembered' in shown) == (side is not None), query
        assert ('kOnlyComes' in shown) == only_comes, query
        found = len(check_same(text).stdout.splitlines())
        assert found > 100, (query, found)
        rows += found
    print(f'{len(OF_JOINS)} groups of joins are the same, {rows} rows', flush=True)


def near_query(rand):
    join = rand.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
    low, high = rand.randrange(0, 6), rand.randrange(1, 6)
    near = (f"SELECT x.ts AS t, x.k, x.v, y.ts AS u, y.d FROM a x {join} b y ON x.k = y.k AND x.ts BETWEEN y.ts - INTERVAL '{low}' SECOND "
            f"AND y.ts + INTERVAL '{high}' SECOND" + rand.choice(['', ' AND x.v > y.v']))
    return rand.choice([near, "SELECT window_start, COUNT(*), MIN(k), SUM(v) FROM TABLE(TUMBLE(TABLE n, DESCRIPTOR(t), INTERVAL '10' SECOND)) "
                        'GROUP BY window_start, window_end' if join == 'JOIN' else near]), near


def versions_of(path):
    """The table c, whose rows replace one another."""
    return table('c', path, COLUMNS).replace('(', '(PRIMARY KEY (k) NOT ENFORCED, ', 1)


def check_near_times(directory):
    rand, rows, queries = random.Random(SEED), 0, set()
    for name in 'ab':
        write(directory / f'{name}.csv', events(rand, 300))
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
    while len(queries) < QUERIES * ROUNDS:
        query, near = near_query(rand)
        if query not in queries:
            queries.add(query)
            rows += len(check_same(f'{head}CREATE VIEW n AS {near};\n{query}').stdout.splitlines())
    assert rows > 50, rows
    clock = table('l', directory / 'a.csv', COLUMNS).replace('(', '(p AS PROCTIME(), ', 1)
    versions = versions_of(directory / 'b.csv')
    for join in ('a x JOIN c FOR SYSTEM_TIME AS OF x.ts', 'a x LEFT JOIN c FOR SYSTEM_TIME AS OF x.ts', 'l x LEFT JOIN b FOR SYSTEM_TIME AS OF x.p'):
        query = f'SELECT x.ts, x.k, x.v, y.v, y.d FROM {join} AS y ON x.k = y.k'
        found = len(check_same(head + clock + versions + query).stdout.splitlines())
        assert found > 100, (query, found)
        queries.add(query)
        rows += found
    print(f'{len(queries)} joins by times are the same, {rows} rows', flush=True)


OVER_FRAMES = ['', 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW', 'ROWS BETWEEN {} PRECEDING AND CURRENT ROW',
               "RANGE BETWEEN INTERVAL '{}' SECOND PRECEDING AND CURRENT ROW"]
OVER_MERGED = ['COUNT(*)', 'COUNT(d)', 'SUM(v)', 'AVG(v)', 'MIN(v)', 'MAX(k)', 'MIN(d)', 'SUM(v) FILTER (WHERE d > 1.5)']
OVER_GATHERED = ['SUM(d)', 'AVG(d)', 'SUM(CAST(d AS DOUBLE) / 3)', 'COUNT(DISTINCT k)', 'SUM(DISTINCT v)',
                 'AVG(CAST(v AS FLOAT)) FILTER (WHERE v <> 3)', 'FIRST_VALUE(k)', 'LAST_VALUE(d)', 'STDDEV_SAMP(v)', 'MEDIAN(d)']


def over_query(rand, number):
    """All frames, with aggregates that are merged and with others."""
    frame = OVER_FRAMES[number % len(OVER_FRAMES)].format(rand.randrange(0, 9))
    known = OVER_MERGED + (OVER_GATHERED if number // len(OVER_FRAMES) % 2 else [])
    of = [*rand.sample(known, 3), *known[len(OVER_MERGED):][:1]]
    partition = rand.choice(['', 'PARTITION BY k ', 'PARTITION BY v, k ', 'PARTITION BY v * 2 > 3 '])
    over = f"SELECT ts AS t, k, v, {', '.join(f'{call} OVER w AS x{i}' for i, call in enumerate(of))} FROM a WINDOW w AS ({partition}ORDER BY ts {frame})"
    return rand.choice(['SELECT * FROM o', "SELECT window_start, COUNT(*), MIN(x0), MAX(k), SUM(v) FROM TABLE(TUMBLE(TABLE o, DESCRIPTOR(t), "
                        "INTERVAL '10' SECOND)) GROUP BY window_start, window_end"]), over


def check_over(directory):
    rand, rows, queries = random.Random(SEED), 0, set()
    write(directory / 'a.csv', events(rand, 400))
    head = table('a', directory / 'a.csv', COLUMNS)
    while len(queries) < 2 * len(OVER_FRAMES) * ROUNDS:
        query, over = over_query(rand, len(queries))
        if (query, over) not in queries:
            queries.add((query, over))
            done = check_same(f'{head}CREATE VIEW o AS {over};\n{query}')
            assert 'late rows' in done.stderr, done.stderr
            rows += len(done.stdout.splitlines())
    assert rows > 1000, rows
    print(f'{len(queries)} queries of OVER are the same, {rows} rows', flush=True)


FURTHER = [
    "SELECT window_start, k, FIRST_VALUE(v), LAST_VALUE(k), LISTAGG(k, '; é\'\''), FIRST_VALUE(v > 2) FILTER (WHERE d > 1), STDDEV_POP(v), MEDIAN(d) "
    f"FROM {WINDOW.format('HOP', 'a', SIZES['HOP'])} GROUP BY window_start, window_end, k",
    'SELECT window_end, VAR_POP(v), VAR_SAMP(d), STDDEV(v), PERCENTILE(v, 0.3), MEDIAN(d) FILTER (WHERE v > 1) '
    f"FROM {WINDOW.format('HOP', 'a', SIZES['HOP'])} GROUP BY window_start, window_end",
    "SELECT k, FIRST_VALUE(v), LAST_VALUE(ts), LISTAGG(CAST(v AS STRING)), VARIANCE(v), PERCENTILE(d, 0.9) FROM a GROUP BY k",
    'SELECT n, STDDEV_POP(m), MEDIAN(m), COUNT(*) FROM (SELECT k, v, COUNT(*) AS n, MAX(d) AS m FROM a GROUP BY k, v) x GROUP BY n',
    "SELECT window_start, FIRST_VALUE(k), STDDEV_SAMP(d) FROM TABLE(SESSION(TABLE a PARTITION BY v, DESCRIPTOR(ts), INTERVAL '2' SECOND)) "
    'GROUP BY v, window_start, window_end',
    'SELECT k, v, LAG(v) OVER w, LAG(k, 3) OVER w, LAG(v, 2, v * 10) OVER w FROM a WINDOW w AS (PARTITION BY v > 3 ORDER BY ts)',
    'SELECT k, v, LAG(d, 0) OVER (ORDER BY ts), LISTAGG(k) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM a',
    'SELECT k, v, (SELECT MAX(v) FROM b) AS s FROM a',
    'SELECT k, SUM(v) + (SELECT v FROM b WHERE v > 90) FROM a WHERE v < (SELECT COUNT(*) FROM b) GROUP BY k',
]


def check_further(directory):
    """Other aggregates than COUNT, SUM, MIN, MAX and AVG."""
    rand, rows = random.Random(SEED), 0
    for name, count in (('a', 400), ('b', 40)):
        write(directory / f'{name}.csv', events(rand, count))
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
    for query in FURTHER:
        found = len(check_same(head + query).stdout.splitlines())
        assert found > 20, (query, found)
        rows += found
    print(f'{len(FURTHER)} queries of further aggregates are the same, {rows} rows', flush=True)


# ---- 3. NEXMark ----
def nexmark(name, count):
    tables = (WORKLOADS / 'tables.sql').read_text().replace("'number-of-events' = '100000'", f"'number-of-events' = '{count}'")
    return tables + (WORKLOADS / f'{name}.sql').read_text()


def check_nexmark():
    shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', nexmark('q4', 1000)], capture_output=True, text=True, check=True).stdout
    assert 'Project auction AS auction BIGINT, price AS price BIGINT, dateTime AS dateTime TIMESTAMP(3)\n' in shown, 'the join keeps no more'
    assert 'RegularJoin<Node' in shown and 'RunningGroups<Node' in shown, shown
    for name in ('q4', 'q5', 'q7', 'q9'):
        check_same(nexmark(name, 20_000))
    # The library is there: it takes over when a tenth of a second has gone by.
    on_the_way = 0
    for name in ('q4', 'q9'):
        for count in (100_000, 400_000):
            interpreted = run('never', nexmark(name, count))
            run('wait', nexmark(name, count))
            changed = run('background', nexmark(name, count))
            assert outcome(changed) == outcome(interpreted), name
            if ', compiled' in changed.stderr:
                on_the_way += 1
                break
    assert on_the_way > 0, 'none was taken over'
    print(f'NEXMark is the same, {on_the_way} queries were taken over on the way', flush=True)


# ---- 4. Stopped and killed ----
def check_stops(directory, state, name, count):
    """SIGINT ends a run with a checkpoint: what the next one shows goes on where this one's ends."""
    text = nexmark(name, count)
    wanted = run('never', text).stdout
    started = time.monotonic()
    assert run('wait', text, *where(state, directory, f'{name}_whole')).stdout == wanted
    undisturbed = time.monotonic() - started
    rand, turns = random.Random(SEED), {'never': 0, 'wait': 0}  # Runs that went on where another was stopped.
    for attempt in range(30):
        shown, turn = '', 0
        while True:
            mode = ('never', 'wait')[(attempt + turn) % 2]
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '-e', text, '--checkpoint',
                                        '10ms', *where(state, directory, f'{name}_{attempt}')], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            if turn < 6:
                time.sleep(rand.uniform(0.1, 0.6) * undisturbed)
                process.send_signal(signal.SIGINT)
            out, message = process.communicate(timeout=120)
            if process.returncode == -signal.SIGINT:  # It had not begun.
                assert not out, message
                turn += 1
                undisturbed *= 1.2
                continue
            shown += out  # One that goes on has no header.
            assert wanted.startswith(shown), (name, state, mode, message)
            turns[mode] += 'resumed from checkpoint' in message
            turn += 1
            if shown == wanted:
                break
        if turn == 1:  # It was over too soon.
            undisturbed *= 0.8
        if min(turns.values()) >= 2:
            return turns
    raise AssertionError(f'{name}, {state}: {turns}')


KILLED = [
    'SELECT a.ts, a.v, b.ts, b.v FROM a JOIN b ON a.k = b.k AND a.v = b.v',
    f"SELECT x.window_start, x.m, x.window_end, y.n FROM (SELECT window_start, window_end, MAX(v) AS m FROM {WINDOW.format('HOP', 'a', SIZES['HOP'])} "
    f"GROUP BY window_start, window_end) x JOIN (SELECT window_start, window_end, COUNT(*) AS n FROM {WINDOW.format('HOP', 'b', SIZES['HOP'])} "
    'GROUP BY window_start, window_end) y ON x.window_start = y.window_start AND x.window_end = y.window_end',
    'SELECT window_start, v, window_end, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS r '
    f"FROM {WINDOW.format('TUMBLE', 'a', '')}) WHERE r <= 3",
    "SELECT a.ts, a.v, b.ts, b.v FROM a FULL JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND AND b.ts + INTERVAL '3' SECOND",
    f"SELECT l.ts, l.v, r.ts, r.v FROM (SELECT * FROM {WINDOW.format('TUMBLE', 'a', '')}) l FULL JOIN (SELECT * FROM "
    f"{WINDOW.format('TUMBLE', 'b', '')}) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end",
    "SELECT ts, SUM(v) OVER w + COUNT(*) OVER (PARTITION BY k, v ORDER BY ts RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW), "
    'ts, CAST(SUM(CAST(d AS DOUBLE)) OVER (PARTITION BY k ORDER BY ts) AS BIGINT) FROM a '
    'WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 5 PRECEDING AND CURRENT ROW)',
    "SELECT window_start, CAST(STDDEV_POP(v) * 1e6 AS BIGINT), window_end, FIRST_VALUE(v) + CHAR_LENGTH(LISTAGG(k, '; ')) "
    f"FROM {WINDOW.format('HOP', 'a', SIZES['HOP'])} GROUP BY window_start, window_end, k",
    "SELECT window_start, v, window_end, CHAR_LENGTH(k) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND))",
    'SELECT a.ts, a.v, c.ts, c.v FROM a LEFT JOIN c FOR SYSTEM_TIME AS OF a.ts ON a.k = c.k',
]


def parts(to):
    return ''.join(part.read_text() for part in sorted(pathlib.Path(to).glob('part-*.csv')))


def kill(process, to, rand, seconds):
    """At any time, or once this run has shown rows: then there is a checkpoint, and the next one goes on from it."""
    if rand.random() < 0.5:
        time.sleep(rand.uniform(0.2, 1) * seconds)
    else:
        count = lambda: len(list(to.glob('part-*.csv')))
        before = count()
        while process.poll() is None and count() == before:
            time.sleep(0.001)
    process.send_signal(signal.SIGKILL)


def check_kills(directory, state, query, rand):
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab') + versions_of(directory / 'b.csv')

    def text(to):
        return (head + "CREATE TABLE o (t TIMESTAMP(3), x BIGINT, u TIMESTAMP(3), y BIGINT) WITH ('connector' = 'filesystem', "
                f"'path' = '{to}', 'format' = 'csv');\nINSERT INTO o {query}")

    takes = {}  # Seconds of an undisturbed run.
    for mode in ('never', 'wait', 'wait'):  # The first compiles.
        to, begin = directory / f'whole_{len(takes)}_{mode}', time.monotonic()
        done = run(mode, text(to), '--checkpoint', '3ms', *where(state, directory, to.name))
        takes[mode] = time.monotonic() - begin
        wanted = parts(to)
        assert done.returncode == 0 and wanted, done.stderr
        shutil.rmtree(to)
        shutil.rmtree(directory / f'region_{to.name}', ignore_errors=True)
        shutil.rmtree(directory / f'checkpoints_{to.name}', ignore_errors=True)
    kills, taken_over = 0, {'never': 0, 'wait': 0}
    for round_ in range(60):
        to, turn = directory / f'broken_{round_}', 0
        while True:
            mode = ('never', 'wait')[(turn + round_) % 2]
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '-e', text(to), '--checkpoint',
                                        '3ms', *where(state, directory, round_)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if turn < 6:
                kill(process, to, rand, takes[mode])
            _, message = process.communicate(timeout=120)
            assert process.returncode in (0, -signal.SIGKILL), message
            assert wanted.startswith(parts(to)), 'what is shown is a prefix of the whole'
            taken_over[mode] += turn > 0 and 'resumed from checkpoint' in message
            if process.returncode == 0:
                break
            kills += 1
            turn += 1
        assert parts(to) == wanted, (query, state)
        if kills >= 4 and min(taken_over.values()) >= 1:
            return f'{kills} kills, taken over: {taken_over}'
    raise AssertionError(f'only {kills} kills, {taken_over}')


def check_wide_rows(directory):
    """More columns than 32: rows that differ in which of the last ones is NULL were one."""
    columns = ', '.join(f'c{i} BIGINT' for i in range(40))
    rows = [['1'] * 40 for _ in range(3)]
    rows[0][35], rows[1][35] = '\\N', '0'
    (directory / 'w.csv').write_text(''.join(','.join(row) + '\n' for row in rows))
    head = f"CREATE TABLE w ({columns}) WITH ('connector' = 'filesystem', 'path' = '{directory}/w.csv', 'format' = 'csv');\n"
    for query in ('SELECT * FROM w ORDER BY c0', 'SELECT DISTINCT * FROM w'):
        assert len(set(check_same(head + query).stdout.splitlines())) == 4, query
    print('rows of 40 columns are the same', flush=True)


def check_sums_of_sums(directory):
    """SUM(a + b) of groups that change: the compiler took the + for the function that adds a row, and the query was interpreted."""
    (directory / 's.csv').write_text('1,2,0.5\n3,\\N,1.5\n5,6,2.5\n')
    head = f"CREATE TABLE s (a BIGINT, b BIGINT, r DOUBLE) WITH ('connector' = 'filesystem', 'path' = '{directory}/s.csv', 'format' = 'csv');\n"
    done = check_same(head + 'SELECT SUM(a + b) AS x, MAX(r + r) AS y, COUNT(a + 1) FILTER (WHERE a + b > 3) AS n FROM s GROUP BY a + 0 - a')
    assert done.stdout.splitlines()[-1] == '+U,14,5.0,1', done.stdout
    print('sums of sums are the same', flush=True)


def check_made_texts():
    """A window gives out a million rows, and a text of 200 bytes is made for each: they do not stay until its end."""
    text = ("CREATE TABLE e (v BIGINT, ts AS TO_TIMESTAMP_LTZ(v / 1000000, 3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', "
            "'number-of-rows' = '1000000', 'rows-per-second' = '100000000', 'fields.v.kind' = 'sequence', 'fields.v.start' = '1', "
            "'fields.v.end' = '1000000');\nSELECT COUNT(*) FROM (SELECT UPPER(REPEAT('x', 200) || CAST(v AS STRING)) AS u FROM TABLE(TUMBLE("
            "TABLE e, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, v) t WHERE u LIKE '%00000'")
    assert run('wait', text, '--final').stdout.split() == ['EXPR$0', '10']  # The compiler takes memory, too: once.
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--final', '--compile', 'wait', '-e', text],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    message = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0 and 'compiled' in message, message
    assert used.ru_maxrss < 200 << 10, f'{used.ru_maxrss} KiB'
    print(f'made texts: {used.ru_maxrss >> 10} MiB at most', flush=True)


# ---- 5. Errors ----
def check_errors(directory):
    head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
    for query in ('SELECT a.k, 10 / (b.v - 3) FROM a JOIN b ON a.k = b.k',
                  'SELECT k, SUM(10 / (v - 3)) FROM a GROUP BY k',
                  'SELECT k, SUM(10 / (v - 3)) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM a',
                  'SELECT a.k FROM a JOIN b ON a.k = b.k AND 10 / (a.v - b.v) > 1'):
        done = check_same(head + query, fails=True)
        assert 'division by zero' in done.stderr and '(table ' in done.stderr, done.stderr
    done = check_same(head + 'SELECT k, (SELECT v FROM b) FROM a', fails=True)
    assert 'more than one row' in done.stderr, done.stderr
    print('errors are the same', flush=True)


def main():
    if shutil.which('g++') is None and shutil.which('clang++') is None:
        print('skipped: there is no compiler')
        sys.exit(77)
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_graph_code_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    be_quick(directory)
    try:
        check_random(directory)
        check_windows(directory)
        check_extremes(directory)
        check_groups_of_joins(directory)
        check_near_times(directory)
        check_wide_rows(directory)
        check_sums_of_sums(directory)
        check_over(directory)
        check_further(directory)
        check_made_texts()
        check_errors(directory)
        check_nexmark()
        for state in stores(HOLDFAST):
            for name, count in (('q4', 60_000), ('q7', 60_000), ('q19', 40_000)):
                print(f'{name}, {state}: {check_stops(directory, state, name, count)}', flush=True)
        rand = random.Random(SEED)
        for name in 'ab':
            write(directory / f'{name}.csv', events(rand, 1500))
        for number, query in enumerate(KILLED):
            # RocksDB takes one of them: it is asked for the same as kv.
            for state in [state for state in stores(HOLDFAST) if state != 'rocksdb' or number == 0]:
                place = directory / f'kills_{number}_{state}'
                place.mkdir()
                for name in 'ab':
                    (place / f'{name}.csv').symlink_to(directory / f'{name}.csv')
                print(f'query {number}, {state}: {check_kills(place, state, query, rand)}', flush=True)
                shutil.rmtree(place)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
