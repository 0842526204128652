"""Queries that are more than a chain: joins, changelogs, rankings, OVER, windows of every kind.

    graph_query_test.py HOLDFAST

  1. Random queries over bounded tables, against DuckDB: what is left of the changelog at the end is what a batch engine
     answers. Skipped, and says so, if neither this Python nor HOLDFAST_TEST_PYTHON has the package.
  2. Windows, OVER and joins by time with rows that are late, against an evaluation in Python that knows one row after the
     other and nothing of state.
  3. The rows of a changelog, one by one, add up to the state at the end.
     State that no row changes is forgotten after 'table.exec.state.ttl'.
  4. Runs that are killed at any moment and run again, with state in files and in kv: the undisturbed run's output.
"""
import collections
import csv
import io
import itertools
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import compilers
from graph_grammar import (COLUMNS, DELAY, events, for_duckdb, random_query, random_query_of_sets, random_query_of_values, rows_of,
                           same, stamp, table, write)
from kills import check_kills, parts, stores, where
from test_python import duckdb

HOLDFAST = sys.argv[1]
KILLS = 8


def run(text, *options, code=0, compiled='never'):
    done = subprocess.run([HOLDFAST, 'stream', 'run', '--compile', compiled, *options, '-e', text], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, (text, done.returncode, done.stderr)
    return done


# ---- 1. DuckDB ----
def check_duckdb(directory):
    if duckdb is None:
        print('skipped: no package duckdb (HOLDFAST_TEST_PYTHON names a Python that has it)')
        return
    rand, base = random.Random(5), duckdb.connect()
    paths = {name: directory / f'{name}.csv' for name in 'ab'}
    for name, path in paths.items():
        write(path, events(rand, 60))
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{path}', header=false, nullstr='\\N', columns={{'ts': "
                     "'TIMESTAMP', 'k': 'VARCHAR', 'v': 'BIGINT', 'd': 'DECIMAL(10,2)'})")
    head = ''.join(table(name, path, COLUMNS) for name, path in paths.items())
    for number in range(180):
        query = (random_query, random_query_of_values, random_query_of_sets)[number // 60](rand)
        ours = sorted(rows_of(run(head + query, '--final').stdout))
        theirs = sorted(['\\N' if value is None else str(value) for value in row] for row in
                        base.execute(for_duckdb(query)).fetchall())
        equal = len(ours) == len(theirs) and all(same(x, y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
        assert equal, f'{query}\n{ours[:8]}\n{theirs[:8]}'
    check_constant_keys(head, base)
    check_sets_of_windows(rand, base, directory)
    print('180 queries agree with DuckDB')


# They were refused. GROUP BY 1 still is: to DuckDB it is the first column, to Flink a constant.
CONSTANTS = ("SELECT 'x', SUM(v) FROM a GROUP BY 'x'", "SELECT k, 'x', COUNT(*) FROM a GROUP BY k, 'x'",
             "SELECT COUNT(*) FROM a GROUP BY TRUE, DATE '2020-01-01'", "SELECT COUNT(*) FROM a WHERE v > 1000000 GROUP BY NULL",
             "SELECT 'x', k, COUNT(*) FROM a GROUP BY ROLLUP(k, 'x')", "SELECT k, COUNT(*) FROM a GROUP BY GROUPING SETS ((k), ('x'), ())",
             "SELECT x.k, 1 + 1, COUNT(*) FROM a x JOIN b y ON x.k = y.k GROUP BY x.k, 1 + 1")


def check_constant_keys(head, base):
    for query in CONSTANTS:
        theirs = sorted(['\\N' if value is None else str(value) for value in row] for row in base.execute(query).fetchall())
        for compiled in ('never', 'wait'):
            assert sorted(rows_of(run(head + query, '--final', compiled=compiled).stdout)) == theirs, query
    window = "TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end"
    counts = [run(head + f'SELECT window_start, COUNT(*) FROM {window}{key}').stdout for key in ('', ", 'x'")]
    assert counts[0] == counts[1] and len(counts[0].splitlines()) > 3, counts
    assert 'GROUP BY a number; name the column' in run(head + 'SELECT COUNT(*) FROM a GROUP BY 1', code=2).stderr


def check_sets_of_windows(rand, base, directory):
    """Grouping sets within windows, of rows that are not late."""
    path = directory / 'in_time.csv'
    write(path, events(rand, 200, late=False))
    base.execute(f"CREATE TABLE t AS SELECT *, time_bucket(INTERVAL '20 seconds', ts, TIMESTAMP '1970-01-01') AS s FROM read_csv('{path}', "
                 "header=false, nullstr='\\N', columns={'ts': 'TIMESTAMP', 'k': 'VARCHAR', 'v': 'BIGINT', 'd': 'DECIMAL(10,2)'})")
    head = table('t', path, COLUMNS)
    window = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '20' SECOND))"
    what = 'k, v % 2, COUNT(*), SUM(d), MAX(k), GROUPING_ID(k, v % 2)'
    for sets in ('ROLLUP(k, v % 2)', 'CUBE(k, v % 2)', 'GROUPING SETS ((k), (v % 2), ())'):
        theirs = sorted(['\\N' if value is None else value.isoformat(' ', 'milliseconds') if hasattr(value, 'isoformat') else str(value)
                         for value in row] for row in base.execute(f'SELECT s, {what} FROM t GROUP BY s, {sets}').fetchall())
        for query in (f'SELECT window_start, {what} FROM {window} GROUP BY window_start, window_end, {sets}',
                      f'SELECT window_start, {what} FROM (SELECT * FROM {window}) x GROUP BY {sets}, window_end, window_start',
                      f"SELECT TUMBLE_START(ts, INTERVAL '20' SECOND), {what} FROM t GROUP BY TUMBLE(ts, INTERVAL '20' SECOND), {sets}"):
            assert sorted(rows_of(run(head + query).stdout)) == theirs, query
    each = ('SELECT window_start, k, COUNT(*) FROM {} GROUP BY GROUPING SETS ((window_start, window_end, k), (window_start, window_end))')
    assert len(rows_of(run(head + each.format(window)).stdout)) > 20
    for query, said in (
            (f'SELECT k, COUNT(*) FROM {window} GROUP BY GROUPING SETS ((window_start, window_end, k), (k))', 'without the window'),
            ("SELECT k FROM t GROUP BY SESSION(ts, INTERVAL '1' SECOND), ROLLUP(k)", 'GROUP BY SESSION with grouping sets'),
            ('SELECT d FROM t GROUP BY ROLLUP(k, v)', 'd is neither in GROUP BY nor in an aggregate'),
            ('SELECT GROUPING(d) FROM t GROUP BY ROLLUP(k, v)', 'GROUPING wants a key of GROUP BY'),
            ('SELECT GROUPING(d) FROM t', 'GROUPING wants GROUP BY'),
            ('SELECT * FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY GROUPING(k)) AS n FROM t) WHERE n <= 3', 'GROUPING wants GROUP BY'),
            ('SELECT k FROM t WHERE GROUPING(k) = 0 GROUP BY k', 'belongs to the columns and HAVING'),
            ('SELECT k FROM t GROUP BY GROUPING SETS (GROUPING SETS (k))', 'GROUPING SETS within GROUPING SETS is not supported'),
            ('SELECT k FROM t GROUP BY CUBE(k, v, d, k, v, d, k, v, d)', 'more than 256 grouping sets'),
            ('SELECT k FROM t GROUP BY CUBE(k, v, d, ts), CUBE(k, v, d, ts), ROLLUP(k)', 'more than 256 grouping sets'),
            ('SELECT k FROM t GROUP BY ROLLUP(k', "expected ')'"),
            ('SELECT k, RANK() OVER (ORDER BY v), DENSE_RANK() OVER (ORDER BY v) FROM t', 'more than one ROW_NUMBER, RANK or DENSE_RANK'),
            ('SELECT k, RANK() OVER (PARTITION BY k) FROM t', 'a ranking wants ORDER BY'),
            ('SELECT k, RANK(v) OVER (ORDER BY v) FROM t', 'RANK has no argument'),
            ('SELECT SUM(v) OVER (ORDER BY ts ROWS BETWEEN 2000000000000000000 PRECEDING AND CURRENT ROW) FROM t', 'at most 2^60 rows'),
            ('SELECT SUM(v) OVER (ORDER BY ts ROWS BETWEEN v PRECEDING AND CURRENT ROW) FROM t', 'ROWS wants a number of rows'),
            ('SELECT SUM(v) OVER (ORDER BY ts RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) FROM t', 'RANGE wants an INTERVAL')):
        refused = run(head + query, code=2)
        assert said in refused.stderr and 'line ' in refused.stderr, (query, refused.stderr)


# ---- 2. Time ----
def watermarks(rows):
    """Each row with the watermark before it."""
    newest = -10**9
    for row in rows:
        yield row, newest
        newest = max(newest, row[0] * 1000 - DELAY * 1000)


def check_cumulate(head, rows):
    wanted = collections.Counter()
    for row, mark in watermarks(rows):
        start = row[0] // 60 * 60
        for end in range(row[0] // 20 * 20 + 20, start + 61, 20):
            if end * 1000 - 1 > mark:
                wanted[stamp(start), stamp(end), row[1] or '\\N'] += 1
    done = run(head + "SELECT window_start, window_end, k, COUNT(*) FROM TABLE(CUMULATE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' "
               "SECOND, INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, k")
    assert {tuple(row[:3]): int(row[3]) for row in rows_of(done.stdout)} == wanted
    ends = [row[1] for row in rows_of(done.stdout)]
    assert ends == sorted(ends)


def check_sessions(head, rows, gap=3):
    """A row opens a session of its own; those that touch are one. What is late is judged as merged."""
    open_, closed, late = collections.defaultdict(list), [], 0
    for row, mark in watermarks(rows):
        for key in open_:
            for session in open_[key]:
                if session['end'] * 1000 - 1 <= mark:
                    closed.append((key, session))
            open_[key] = [s for s in open_[key] if s['end'] * 1000 - 1 > mark]
        merged = {'start': row[0], 'end': row[0] + gap, 'count': 1}
        near = [s for s in open_[row[1]] if s['start'] <= merged['end'] and s['end'] >= merged['start']]
        for session in near:
            merged = {'start': min(merged['start'], session['start']), 'end': max(merged['end'], session['end']),
                      'count': merged['count'] + session['count']}
        if merged['end'] * 1000 - 1 <= mark:
            late += 1
            continue
        open_[row[1]] = [s for s in open_[row[1]] if s not in near] + [merged]
    closed += [(key, session) for key in open_ for session in open_[key]]
    wanted = sorted([stamp(s['start']), stamp(s['end']), key or '\\N', str(s['count'])] for key, s in closed)
    for query in (f"SELECT window_start, window_end, k, COUNT(*) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), "
                  f"INTERVAL '{gap}' SECOND)) GROUP BY window_start, window_end, k",
                  f"SELECT SESSION_START(ts, INTERVAL '{gap}' SECOND), SESSION_END(ts, INTERVAL '{gap}' SECOND), k, COUNT(*) "
                  f"FROM a GROUP BY SESSION(ts, INTERVAL '{gap}' SECOND), k"):
        done = run(head + query)
        assert sorted(rows_of(done.stdout)) == wanted, query
        assert (f'{late} late rows' in done.stderr) == (late > 0), (late, done.stderr)


def rows_of_over(rows, bounded):
    """Those of each partition in the order of their times, and how many are late: of a frame with an end those that come
    behind a row of their partition, of another those that come behind the watermark."""
    passed, waiting, seen, late, newest = {}, [], collections.defaultdict(list), 0, -10**9

    def give(mark):
        for row in sorted([r for r in waiting if r[0] * 1000 <= mark], key=lambda r: r[0]):
            seen[row[1]].append(row)
            passed[row[1]] = row[0]
        waiting[:] = [r for r in waiting if r[0] * 1000 > mark]

    for row in rows:
        if (row[0] <= passed.get(row[1], -10**9)) if bounded else (row[0] * 1000 <= newest):
            late += 1
        else:
            waiting.append(row)
        if row[0] * 1000 - DELAY * 1000 > newest:
            newest = row[0] * 1000 - DELAY * 1000
            give(newest)
    give(10**12)
    return seen, late


def check_over(head, rows):
    total = lambda values: '\\N' if not values else str(sum(values))
    for frame, in_frame in (("RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW",
                             lambda i, row, all_: [r for r in all_ if row[0] - 10 <= r[0] <= row[0]]),
                            ('ROWS BETWEEN 2 PRECEDING AND CURRENT ROW', lambda i, row, all_: all_[max(0, i - 2):i + 1]),
                            ('ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW', lambda i, row, all_: all_[:i + 1])):
        wanted = []
        seen, late = rows_of_over(rows, 'UNBOUNDED' not in frame)
        for all_ in seen.values():
            for i, row in enumerate(all_):
                frame_rows = in_frame(i, row, all_)
                wanted.append([stamp(row[0]), row[1] or '\\N', total([r[2] for r in frame_rows if r[2] is not None]),
                               str(len(frame_rows))])
        done = run(head + f'SELECT ts, k, SUM(v) OVER w, COUNT(*) OVER w FROM a WINDOW w AS (PARTITION BY k ORDER BY ts {frame})')
        assert sorted(rows_of(done.stdout)) == sorted(wanted), frame
        assert (f'{late} late rows' in done.stderr) == (late > 0), (late, done.stderr)
    check_several_overs(head, rows_of_over(rows, False)[0])


def check_several_overs(head, seen):
    """Windows of a SELECT that differ in their frames: what each would give alone."""
    show = lambda value: '\\N' if value is None else str(value)
    known = lambda rows: [row[2] for row in rows if row[2] is not None]
    wanted = []
    for all_ in seen.values():
        for i, row in enumerate(all_):
            last = known(all_[max(0, i - 1):i + 1])
            wanted.append([stamp(row[0]), row[1] or '\\N', show(all_[i - 2][2] if i >= 2 else None), show(sum(last) if last else None),
                           show((known(all_[:i + 1]) or [None])[0]), show((known(all_[max(0, i - 3):i + 1]) or [None])[-1])])
    done = run(head + 'SELECT ts, k, LAG(v, 2) OVER (PARTITION BY k ORDER BY ts), SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS '
               'BETWEEN 1 PRECEDING AND CURRENT ROW), FIRST_VALUE(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING '
               'AND CURRENT ROW), LAST_VALUE(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM a')
    assert sorted(rows_of(done.stdout)) == sorted(wanted)


def check_order(head, rows):
    """FIRST_VALUE, LAST_VALUE and LISTAGG of a window: by the order in which its rows came."""
    groups = collections.defaultdict(list)
    for row, mark in watermarks(rows):
        start = row[0] // 30 * 30
        if (start + 30) * 1000 - 1 > mark:
            groups[start, row[1] or '\\N'].append(row[2])
    wanted = []
    for (start, key), values in groups.items():
        known = [value for value in values if value is not None]
        shown = [str(known[0]), str(known[-1]), ';'.join(map(str, known))] if known else ['\\N'] * 3
        wanted.append([stamp(start), key, *shown])
    done = run(head + "SELECT window_start, k, FIRST_VALUE(v), LAST_VALUE(v), LISTAGG(CAST(v AS STRING), ';') FROM TABLE(TUMBLE(TABLE a, "
               "DESCRIPTOR(ts), INTERVAL '30' SECOND)) GROUP BY window_start, window_end, k")
    assert sorted(rows_of(done.stdout)) == sorted(wanted)


def on_time(rows):
    """Rows that no watermark has passed: joins by time keep all of them."""
    newest, kept = -10**9, []
    for row in rows:
        if row[0] > newest - DELAY:
            kept.append(row)
        newest = max(newest, row[0])
    return kept


def check_joins_by_time(directory, rand):
    a, b = on_time(events(rand, 150)), on_time(events(rand, 150))
    write(directory / 'ja.csv', a)
    write(directory / 'jb.csv', b)
    head = table('a', directory / 'ja.csv', COLUMNS) + table('b', directory / 'jb.csv', COLUMNS)
    show = lambda value: '\\N' if value is None else str(value)
    shown = lambda x, y: [stamp(x[0]) if x else '\\N', show(x and x[2]), stamp(y[0]) if y else '\\N', show(y and y[2])]

    def joined(kind, matches):
        pairs = [(x, y) for x in a for y in b if x[1] is not None and x[1] == y[1] and matches(x, y)]
        result = [shown(x, y) for x, y in pairs]
        ids_a, ids_b = {id(x) for x, _ in pairs}, {id(y) for _, y in pairs}
        if kind in ('LEFT', 'FULL'):
            result += [shown(x, None) for x in a if id(x) not in ids_a]
        if kind in ('RIGHT', 'FULL'):
            result += [shown(None, y) for y in b if id(y) not in ids_b]
        return sorted(result)

    for kind in ('INNER', 'LEFT', 'RIGHT', 'FULL'):
        interval = run(head + f"SELECT a.ts, a.v, b.ts, b.v FROM a {kind} JOIN b ON a.k = b.k AND a.ts >= b.ts - INTERVAL '3' "
                       "SECOND AND a.ts < b.ts + INTERVAL '7' SECOND")
        assert sorted(rows_of(interval.stdout)) == joined(kind, lambda x, y: -3 <= x[0] - y[0] < 7), kind
        windows = ("(SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)))")
        window = run(head + f"SELECT l.ts, l.v, r.ts, r.v FROM {windows.format('a')} l {kind} JOIN {windows.format('b')} r ON "
                     "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end")
        assert sorted(rows_of(window.stdout)) == joined(kind, lambda x, y: x[0] // 10 == y[0] // 10), kind
    versions = head.replace("TABLE b (ts TIMESTAMP(3)", "TABLE b (PRIMARY KEY (k) NOT ENFORCED, ts TIMESTAMP(3)")
    temporal = run(versions + 'SELECT a.ts, a.v, b.ts, b.v FROM a LEFT JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k')
    wanted = []
    for x in a:
        newest = None
        for y in b:
            if x[1] is not None and y[1] == x[1] and y[0] <= x[0] and (newest is None or y[0] >= newest[0]):
                newest = y
        wanted.append(shown(x, newest))
    assert sorted(rows_of(temporal.stdout)) == sorted(wanted)
    lookup = run(head.replace('d DECIMAL(10, 2), WATERMARK', 'd DECIMAL(10, 2), p AS PROCTIME(), WATERMARK', 1) +
                 'SELECT a.ts, a.v, b.ts, b.v FROM a JOIN b FOR SYSTEM_TIME AS OF a.p ON a.k = b.k')
    assert sorted(rows_of(lookup.stdout)) == joined('INNER', lambda x, y: True)


def check_top_of_windows(head, rows):
    groups = collections.defaultdict(list)
    for place, (row, mark) in enumerate(watermarks(rows)):
        start = row[0] // 30 * 30
        if (start + 30) * 1000 - 1 > mark:
            groups[start].append((row[2] is None, -(row[2] or 0), place, row))
    wanted = []
    for start, group in groups.items():
        for number, (_, _, _, row) in enumerate(sorted(group)[:3], 1):
            wanted.append([stamp(start), row[1] or '\\N', '\\N' if row[2] is None else str(row[2]), str(number)])
    done = run(head + "SELECT window_start, k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER "
               "BY v DESC NULLS LAST) AS n FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '30' SECOND))) WHERE n <= 3")
    assert sorted(rows_of(done.stdout)) == sorted(wanted)


def check_time(directory):
    for seed in range(3):
        rand = random.Random(seed)
        rows = events(rand, 400)
        write(directory / 'time.csv', rows)
        head = table('a', directory / 'time.csv', COLUMNS)
        check_cumulate(head, rows)
        check_sessions(head, rows)
        check_over(head, rows)
        check_top_of_windows(head, rows)
        check_order(head, rows)
        check_joins_by_time(directory, rand)
    print('windows, OVER and joins by time are right')


# ---- 3. Changelogs ----
KILLED = ["SELECT k, COUNT(*) AS n, SUM(v) AS s, MAX(d) AS m FROM (SELECT a.k, a.v, b.d FROM a LEFT JOIN b ON a.k = b.k AND a.v = b.v) x GROUP BY k",
          "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, d) AS n FROM a) WHERE n <= 3",
          "SELECT k, v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v = a.v)",
          "SELECT k, v FROM a EXCEPT SELECT k, v FROM b",
          "SELECT k, v FROM a WHERE v NOT IN (SELECT v FROM b WHERE v > 5)",
          "SELECT k, v FROM a WHERE v > (SELECT AVG(v) FROM b)",
          "SELECT k, v % 2 AS w, COUNT(*) AS n, SUM(d) AS m FROM a GROUP BY CUBE(k, v % 2)",
          "SELECT k, v, n FROM (SELECT k, v, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM a) WHERE n <= 3",
          "SELECT k, v, n FROM (SELECT k, v, DENSE_RANK() OVER (ORDER BY v) AS n FROM (SELECT k, SUM(v) AS v FROM a GROUP BY k)) WHERE n = 2"]
RANKED = ("SELECT k, n, v, d FROM (SELECT k, v, d, RANK() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM (SELECT k, v, MAX(d) AS d FROM a "
          "GROUP BY ROLLUP(k, v)) x) y WHERE n <= 3")
VALUES = ("SELECT k, COUNT(*) AS n, SUM(v) + (SELECT MAX(v) FROM b) AS s, CAST(STDDEV_POP(DISTINCT v) + MEDIAN(d) AS DECIMAL(10, 2)) AS m "
          "FROM a GROUP BY k")


def check_changelogs(head):
    for query in KILLED:
        left = collections.Counter()
        for op, *row in rows_of(run(head + query).stdout):
            left[tuple(row)] += 1 if op in ('+I', '+U') else -1
            assert left[tuple(row)] >= 0, (query, op, row)
        final = collections.Counter(map(tuple, rows_of(run(head + query, '--final').stdout)))
        assert +left == final, query
    refused = run(head + "CREATE TABLE o (k STRING, n BIGINT, s BIGINT, m DECIMAL(10, 2)) WITH ('connector' = 'filesystem', 'path' = "
                  "'/nowhere', 'format' = 'csv'); INSERT INTO o " + KILLED[0], code=2)
    assert 'its rows change' in refused.stderr and 'table o' in refused.stderr, refused.stderr
    open_rank = run(head + 'SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) FROM a', code=2)
    assert 'without a bound' in open_rank.stderr
    for query, code, said in (
            ('SELECT k, (SELECT v FROM b) FROM a', 2, 'more than one row'),
            ('SELECT k, (SELECT k, v FROM b) FROM a', 2, 'has one column'),
            ('SELECT SUM(v + (SELECT MAX(v) FROM b)) FROM a', 2, 'outside of aggregates'),
            ('SELECT LISTAGG(k) FROM (SELECT k, COUNT(*) FROM a GROUP BY k) x', 2, 'of rows that change'),
            ('SELECT LAG(v) FROM a', 2, 'LAG wants OVER'), ('SELECT PERCENTILE(v, 2) FROM a', 2, 'literal of 0 to 1'),
            ('SELECT k FROM a INTERSECT ALL SELECT k FROM b', 2, 'INTERSECT ALL is not supported'),
            ('SELECT k FROM a EXCEPT SELECT v FROM b', 2, 'column 1 of EXCEPT is STRING and BIGINT')):
        refused = run(head + query, code=code)
        assert said in refused.stderr, (query, refused.stderr)


# ---- 'table.exec.state.ttl' ----
IDLE = {  # What a, b and a give where the first a is forgotten, and where it is not.
    'SELECT k, COUNT(*) FROM t GROUP BY k': (['+I,a,1', '+I,b,1', '+I,a,1'], ['+I,a,1', '+I,b,1', '-U,a,1', '+U,a,2']),
    'SELECT DISTINCT k FROM t': (['a', 'b', 'a'], ['a', 'b']),
    'SELECT x.k FROM t x JOIN t y ON x.k = y.k': (['a', 'b', 'a'], ['a', 'b', 'a', 'a', 'a']),
    'SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY k) AS n FROM t) x WHERE n = 1':
        (['+I,a', '+I,b', '+I,a'], ['+I,a', '+I,b']),
}


def check_idle_state(directory):
    """Interpreted, compiled, and where no entry stays in memory beside the region."""
    compiled = ['--compile', 'wait']
    ways = {'interpreted': ['--compile', 'never'], 'compiled': compiled,
            'fetched': [*compiled, '--state', 'kv', '--state-memory', '1', '--checkpoint', '20ms']}
    for query, answers in IDLE.items():
        for way, (ttl, wanted) in itertools.product(ways, zip(('300 ms', '1 h'), answers)):
            listener = socket.create_server(('127.0.0.1', 0))
            text = (f"SET 'table.exec.state.ttl' = '{ttl}';\nCREATE TABLE t (k STRING) WITH ('connector' = 'socket', 'hostname' = "
                    f"'127.0.0.1', 'port' = '{listener.getsockname()[1]}', 'format' = 'csv');\n{query}")
            region = ['--region', f'{directory}/idle{listener.getsockname()[1]}'] if way == 'fetched' else []
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--watch', *ways[way], *region, '-e', text],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            listener.settimeout(60)
            connection, _ = listener.accept()
            connection.sendall(b'a\n')
            while ' 1 in ' not in process.stderr.readline():  # It has been taken before the time begins.
                assert process.poll() is None
            time.sleep(0.4)
            connection.sendall(b'b\na\n')
            connection.close()
            listener.close()
            seen, said = process.communicate(timeout=60)
            seen = seen.split()[1:]
            assert process.returncode == 0 and seen == wanted, (query, way, ttl, seen)
            assert 'interpreted:' not in said and (', compiled' in said) == (way != 'interpreted'), (query, way, said)
    assert run("SET 'execution.runtime-mode' = 'streaming'; SELECT 1 AS n").stdout == 'n\n1\n'
    assert 'Nowhere/At' in run("SET 'table.local-time-zone' = 'Nowhere/At'; SELECT 1", code=2).stderr
    refused = run("SET 'table.exec.state.ttl' = 'soon'; SELECT 1", code=2)
    assert "table.exec.state.ttl = 'soon'" in refused.stderr, refused.stderr
    print('state that nobody changes is forgotten')


# ---- 4. Kills ----
APPENDED = [
    "SELECT a.ts, a.v, b.ts, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND AND b.ts + INTERVAL '3' SECOND",
    "SELECT window_start, COUNT(*), window_end, CAST(NULL AS BIGINT) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY window_start, window_end, k",
    "SELECT ts, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW), ts, v FROM a",
    "SELECT x.window_start, x.m, x.window_end, y.n FROM (SELECT window_start, window_end, MAX(v) AS m FROM TABLE(HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end) x JOIN (SELECT window_start, window_end, COUNT(*) AS n FROM TABLE(HOP(TABLE b, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end) y ON x.window_start = y.window_start AND x.window_end = y.window_end",
    "SELECT l.ts, l.v, r.ts, r.v FROM (SELECT * FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND))) l FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '10' SECOND))) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end",
    "SELECT ts, LAG(v, 2) OVER (PARTITION BY k ORDER BY ts), ts, SUM(v) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM a",
    "SELECT window_start, COUNT(*), window_end, GROUPING_ID(k, v) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, ROLLUP(k, v)",
    "SELECT window_start, FIRST_VALUE(v), window_end, CAST(CHAR_LENGTH(LISTAGG(k)) + PERCENTILE(v, 0.3) AS BIGINT) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, window_end, k",
    "SELECT window_start, v, window_end, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY v DESC) AS r FROM TABLE(HOP(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '20' SECOND))) WHERE r <= 3",
    "SELECT window_start, v, window_end, CHAR_LENGTH(k) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND))",
    'SELECT a.ts, a.v, c.ts, c.v FROM a LEFT JOIN c FOR SYSTEM_TIME AS OF a.ts ON a.k = c.k',
    'SELECT ts, v, ts, CHAR_LENGTH(k) FROM a ORDER BY v DESC, k',
    'SELECT CAST(NULL AS TIMESTAMP(3)), n, CAST(NULL AS TIMESTAMP(3)), v FROM (SELECT k, v, COUNT(*) AS n FROM a GROUP BY k, v) LIMIT 200 OFFSET 30',
]


def command_of(directory, head, state, query, final):
    columns = 'k STRING, n BIGINT, s BIGINT, m DECIMAL(10, 2)' if final else 't TIMESTAMP(3), x BIGINT, u TIMESTAMP(3), y BIGINT'

    def command(name):
        out = directory / f'out_{name}'
        text = (head + f"CREATE TABLE o ({columns}) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');\n"
                f"INSERT INTO o {query}")
        return out, [HOLDFAST, 'stream', 'run', '--compile', 'never', '--checkpoint', '3ms', *where(state, directory, name), *(['--final'] if final else []),
                     '-e', text]
    return command


def check_kills_by_the_clock(directory, state, rand):
    """Windows of processing time, killed, interpreted and compiled in turn: each row is in one window, whichever."""
    rows = events(rand, 30_000)
    write(directory / 'clock.csv', rows)
    text = (f"CREATE TABLE t ({COLUMNS}, p AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = '{directory}/clock.csv', 'format' = "
            f"'csv');\nCREATE TABLE o (k STRING, n BIGINT, s BIGINT, t TIMESTAMP(3), u TIMESTAMP(3)) WITH ('connector' = 'filesystem', "
            f"'path' = '{directory}/out', 'format' = 'csv');\nINSERT INTO o SELECT k, COUNT(*), SUM(v), window_start, window_end FROM "
            "TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '0.005' SECOND)) GROUP BY window_start, window_end, k")
    kills, taken_over = 0, collections.Counter()
    run(text.replace("/out'", "/first'"), compiled='wait')  # Compiles.
    while True:
        mode = ('never', 'wait')[kills % 2]
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '--checkpoint', '3ms', *where(state, directory, 'clock'), '-e', text],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if kills < KILLS:
            before = len(list((directory / 'out').glob('part-*.csv')))
            while process.poll() is None and len(list((directory / 'out').glob('part-*.csv'))) == before:
                time.sleep(0.001)  # A checkpoint is complete.
            time.sleep(rand.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
        _, message = process.communicate(timeout=300)
        assert process.returncode in (0, -signal.SIGKILL), message
        taken_over[mode] += b'resumed from checkpoint' in message
        if process.returncode == 0:
            assert mode == 'never' or b', compiled' in message or b'it had finished' in message, message
            break
        kills += 1
    assert kills < 2 or min(taken_over['never'], taken_over['wait']) > 0, (kills, taken_over)
    wanted, got, windows = collections.Counter(), collections.Counter(), set()
    for _, key, value, _ in rows:
        wanted[key or '\\N', 'n'] += 1
        wanted[key or '\\N', 's'] += value or 0
    for key, count, total, start, end in csv.reader(io.StringIO(parts(directory / 'out'))):
        assert (key, start) not in windows and end > start, (key, start)
        windows.add((key, start))
        got[key, 'n'] += int(count)
        got[key, 's'] += 0 if total == '\\N' else int(total)
    assert got == wanted and len(windows) > 10, (got, wanted, len(windows))
    print(f'windows of the clock, {state}: {kills} kills, {len(windows)} rows')


def check_by_hand(directory):
    """What reviews found: each gave another answer, or none."""
    def both(rows, columns, query, *wanted, code=0, compiled='never'):
        path = directory / 'by_hand.csv'
        path.write_text(rows)
        text = f"CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n{query}"
        done = run(text, *(['--final'] if code == 0 else []), code=code, compiled=compiled)
        if code == 0:
            assert sorted(done.stdout.splitlines()[1:]) == sorted(wanted), (query, done.stdout)
        else:
            assert all(words in done.stderr for words in wanted), (query, done.stderr)

    timed = 'ts TIMESTAMP(3), k STRING, v BIGINT, p AS PROCTIME(), WATERMARK FOR ts AS ts'
    at = lambda second: f'2020-01-01 00:00:{second:02d}'
    shown = lambda second: at(second) + '.000'
    # A condition beside a session does not split it.
    rows = f'{at(0)},a,1\n{at(4)},a,0\n{at(8)},a,1\n'
    for partition in ('', ' PARTITION BY k'):
        both(rows, timed, f"SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE t{partition}, DESCRIPTOR(ts), INTERVAL '5' SECOND)) "
             'WHERE v > 0 GROUP BY window_start, window_end', f'{shown(0)},{shown(13)},2')
    # To keep the last row is to keep the later one of equal times; the first is the earlier one.
    rows = f'{at(1)},a,1\n{at(2)},a,2\n{at(2)},a,3\n{at(1)},a,4\n'
    first = lambda order, of='t', by='k': (f'SELECT v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS n FROM {of}) '
                                           'WHERE n = 1')
    both(rows, timed, first('ts DESC'), '3')
    both(rows, timed, first('ts'), '1')
    both(rows, timed, first('p DESC'), '4')
    both(rows, timed, first('p'), '1')
    # The first that came is never another one: a sink that takes no changes takes it.
    into = f"CREATE TABLE o (v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{directory}/arrival', 'format' = 'csv');\nINSERT INTO o "
    both(rows, timed, into + first('p'))
    assert parts(directory / 'arrival').split() == ['1']
    both(rows, timed, into + first('p DESC'), 'chang', code=2)
    both(rows, timed, first('v DESC, ts'), '4')
    window = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    both(rows.replace(f'{at(1)},a,4\n', ''), timed, first('ts DESC', window, 'window_start, window_end, k'), '3')
    # Aggregates of all rows are one row, also where there is none.
    both(rows, timed, 'SELECT v FROM t WHERE EXISTS (SELECT COUNT(*) FROM t AS u WHERE u.v = t.v + 9)', 'EXISTS of aggregates', code=2)
    both(rows, timed, 'SELECT v FROM t WHERE v IN (SELECT MAX(v) FROM t)', '4')
    both(rows, timed, 'SELECT v FROM t WHERE v NOT IN (SELECT MAX(v) FROM t)', '1', '2', '3')
    both(rows, timed, 'SELECT v FROM t WHERE v IN (SELECT * FROM (SELECT v FROM t WHERE v < 2))', '1')
    # Arguments of windows by their names.
    sums = lambda call: f'SELECT window_start, window_end, SUM(v) FROM TABLE({call}) GROUP BY window_start, window_end'
    rows = f'{at(1)},a,1\n{at(3)},a,2\n{at(7)},a,3\n'
    both(rows, timed, sums("TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), OFFSET => INTERVAL '1' SECOND, SIZE => INTERVAL '5' SECOND)"),
         f'{shown(1)},{shown(6)},3', f'{shown(6)},{shown(11)},3')
    both(rows, timed, sums("HOP(DATA => TABLE t, SIZE => INTERVAL '10' SECOND, SLIDE => INTERVAL '5' SECOND, TIMECOL => DESCRIPTOR(ts))"),
         f'2019-12-31 23:59:55.000,{shown(5)},3', f'{shown(0)},{shown(10)},6', f'{shown(5)},{shown(15)},3')
    for call, said in (("TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' SECOND)", 'TUMBLE has no argument GAP'),
                       ("TUMBLE(FOO => TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)", 'the first argument of TUMBLE is DATA'),
                       ("HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '5' SECOND)", 'HOP wants SLIDE'),
                       ("TUMBLE(TABLE t, DESCRIPTOR(ts), SIZE => INTERVAL '5' SECOND, SIZE => INTERVAL '5' SECOND)", 'SIZE is there twice')):
        both(rows, timed, sums(call), said, code=2)
    # OVER may be by aggregates that are not shown, and such that differ in DISTINCT only.
    rows = f'{at(1)},a,1\n{at(2)},a,1\n{at(3)},b,1\n{at(4)},b,2\n{at(5)},c,7\n'
    top = 'SELECT * FROM (SELECT k{}, {} AS r FROM t GROUP BY k) WHERE r <= 2'
    by_sum, minute = 'ROW_NUMBER() OVER (ORDER BY SUM(v) DESC)', "FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    bounds = 'GROUP BY window_start, window_end'
    over = 'COUNT(*) OVER (PARTITION BY COUNT({}v) ORDER BY window_time)'
    for compiled in ('never', 'wait'):
        both(rows, timed, top.format('', by_sum), 'c,1', 'b,2', compiled=compiled)
        both(rows, timed, top.format(', COUNT(*) AS c', by_sum), 'c,1,1', 'b,2,2', compiled=compiled)
        both(rows, timed, top.format('', 'RANK() OVER (PARTITION BY COUNT(*) ORDER BY MAX(v))'), 'a,1', 'b,2', 'c,1', compiled=compiled)
        both(rows, timed, 'SELECT * FROM (SELECT k, window_start, window_end, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY '
             f'SUM(v) DESC) AS r {minute} {bounds}, k) WHERE r <= 2', f'c,{shown(0)},2020-01-01 00:01:00.000,1',
             f'b,{shown(0)},2020-01-01 00:01:00.000,2', compiled=compiled)
        both(rows, timed, f"SELECT k, {over.format('')}, {over.format('DISTINCT ')} {minute} {bounds}, k", 'a,2,2', 'b,2,1', 'c,1,2', compiled=compiled)
    # A column may be called like an expression.
    both('1,2,9\n30,40,1\n', 'a BIGINT, b BIGINT, `(a + b)` BIGINT', "SELECT 'column' AS w, COUNT(*) AS n FROM t WHERE `(a + b)` > 5 UNION ALL "
         "SELECT 'sum', SUM(a) FROM t WHERE a + b > 5", 'column,1', 'sum,30')
    print('what was found by hand')


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_graph_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    compilers.be_quick(directory)
    try:
        check_duckdb(directory)
        check_by_hand(directory)
        check_time(directory)
        check_idle_state(directory)
        rand = random.Random(9)
        for state in stores(HOLDFAST):
            (directory / f'clock_{state}').mkdir()
            check_kills_by_the_clock(directory / f'clock_{state}', state, rand)
        for name in 'ab':
            write(directory / f'{name}.csv', events(rand, 300))
        head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
        check_changelogs(head)
        for name in 'ab':
            write(directory / f'{name}.csv', events(rand, 1500))
        head += table('c', directory / 'b.csv', COLUMNS).replace('(', '(PRIMARY KEY (k) NOT ENFORCED, ', 1)
        for number, query in enumerate([KILLED[0], VALUES, RANKED, *APPENDED]):
            for state in stores(HOLDFAST):
                place = directory / f'kills_{number}_{state}'
                place.mkdir()
                kills = check_kills(command_of(place, head, state, query, number <= 2), rand, KILLS)
                print(f'query {number}, {state}: {kills} kills', flush=True)
                shutil.rmtree(place)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
