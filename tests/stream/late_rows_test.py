"""Rows that operators drop as late: SET 'late-rows.table'.

    late_rows_test.py HOLDFAST

  1. Each operator that drops rows, interpreted and compiled: the same rows in the table, as many as are counted. What they should
     be says an evaluation in Python, where the rule is short.
  2. Records are read again as JSON. What is refused, and what is said.
  3. Runs that are killed at any moment and run again, on each state store: the query's rows and the late ones are those of the
     undisturbed run.
"""
import csv
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import compilers
from graph_grammar import COLUMNS, DELAY, events, rows_of, stamp, table, write
from kills import check_kills, parts, stores, where

HOLDFAST = sys.argv[1]
KILLS = 6
WINDOWS = "TABLE({}(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND{}))"
TUMBLE = WINDOWS.format('TUMBLE', 'a', '')
COUNTS = 'SELECT window_start, window_end, k, COUNT(*), SUM(v) FROM {} GROUP BY window_start, window_end, k'
OF_WINDOWS = 'SELECT l.ts, r.ts FROM (SELECT * FROM {}) l {} JOIN (SELECT * FROM {}) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end'
NEAR = "SELECT a.ts, a.v, b.ts, b.v FROM a {} JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '2' SECOND"
QUERIES = {
    'Group': COUNTS.format(TUMBLE),
    'Hop': COUNTS.format(WINDOWS.format('HOP', 'a', ", INTERVAL '20' SECOND")),
    'Cumulate': COUNTS.format(WINDOWS.format('CUMULATE', 'a', ", INTERVAL '20' SECOND")),
    'Sessions': "SELECT window_start, k, COUNT(*) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)) "
                'GROUP BY window_start, window_end, k',
    'Over': 'SELECT ts, k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM a',
    'Bounded over': 'SELECT ts, k, v, COUNT(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM a',
    'First': 'SELECT ts, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, v ORDER BY ts) AS n FROM a) x WHERE n = 1',
    'Top of windows': 'SELECT window_start, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS n '
                      f'FROM {TUMBLE}) x WHERE n <= 2',
    'Join of windows': OF_WINDOWS.format(TUMBLE, '', WINDOWS.format('TUMBLE', 'b', '')),
    'Near rows': NEAR.format(''),
    'Near rows, and left ones': NEAR.format('LEFT'),
}
LATE = 'operator STRING, watermark TIMESTAMP(3), record STRING'


def run(text, *options, code=0):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *options, '-e', text], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (text, done.returncode, done.stderr)
    return done


def late_table(directory, columns=LATE, form='csv'):
    """Its definition, and that late rows go there."""
    return (f"CREATE TABLE late ({columns}) WITH ('connector' = 'filesystem', 'path' = '{directory}', 'format' = '{form}');\n"
            "SET 'late-rows.table' = 'late';\n")


def late_rows(directory):
    return list(csv.reader(io.StringIO(parts(directory))))


def record(row):
    second, key, value, cents = row
    return {'ts': stamp(second), 'k': key, 'v': value, 'd': None if cents is None else cents / 100}


def judged(rows):
    """Each row with the second of the watermark before it."""
    mark = None
    for row in rows:
        yield row, mark
        mark = row[0] - DELAY if mark is None else max(mark, row[0] - DELAY)


# Of one table: whether a row is late, by the watermark before it.
RULES = {'Group': lambda second, mark: second // 10 * 10 + 10 <= mark,
         'Hop': lambda second, mark: second // 10 * 10 + 20 <= mark,
         'Over': lambda second, mark: second <= mark,
         'First': lambda second, mark: second < mark}


def check_operators(directory, head, tables):
    for number, (name, query) in enumerate(QUERIES.items()):
        seen = []
        for mode in ('never', 'wait'):
            place = directory / f'{number}_{mode}'
            done = run(head + late_table(place) + query, '--compile', mode)
            assert ('compiled' in done.stderr) == (mode == 'wait'), (name, done.stderr)
            counted = re.search(r'([\d,]+) late row', done.stderr)
            rows = late_rows(place)
            assert int(counted[1].replace(',', '')) == len(rows) if counted else not rows, (name, done.stderr, len(rows))
            seen.append((done.stdout, rows))
            assert run(head + query, '--compile', mode).stdout == done.stdout, name
        assert seen[0] == seen[1], name
        assert seen[0][1] or 'left' in name, name
        if name in RULES:
            wanted = [[stamp(mark), record(row)] for row, mark in judged(tables['a'])
                      if mark is not None and RULES[name](row[0], mark)]
            fields = ['ts', 'k', 'v', 'd'] if name in ('Group', 'Hop') else json.loads(seen[0][1][0][2]).keys()
            shown = [[mark, json.loads(text)] for _, mark, text in seen[0][1]]
            assert shown == [[mark, {field: row[field] for field in fields}] for mark, row in wanted], (name, shown[:3], wanted[:3])
    print('each operator tells of its late rows')


def check_near_rows(directory):
    """A row for which no partner can come any more is shown with those that are there. If there is none, it is late."""
    def rows(path, *seconds):
        (directory / path).write_text(''.join(f'{stamp(second)},{key},{value},\\N\n' for second, key, value in seconds))
    rows('na.csv', (100, 'a', 1), (140, 'a', 2), (101, 'a', 3), (102, '\\N', 4), (103, 'b', 5), (150, 'a', 6), (166, 'c', 7), (159, 'a', 8))
    rows('nb.csv', (100, 'a', 1), (101, 'b', 2), (160, 'a', 3))
    head = ''.join(table(name, directory / f'n{name}.csv', COLUMNS) for name in 'ab')
    for mode in ('never', 'wait'):
        place = directory / f'near_{mode}'
        done = run(head + late_table(place) + NEAR.format(''), '--compile', mode)
        # 101 and 103 of `a` come when the watermark of both is 135: their partners have gone. NULL is near nothing, and not late.
        late = [(mark, json.loads(text)['v']) for _, mark, text in late_rows(place)]
        assert late == [(stamp(135), 3), (stamp(135), 5)], late
        # 159 comes behind 161: no partner is to come, one is there.
        assert rows_of(done.stdout) == [[stamp(100), '1', stamp(100), '1'], [stamp(159), '8', stamp(160), '3']], done.stdout
    print('rows of joins by near times')


def check_again(directory, head, rows):
    """The records as they are, one per line: a table of JSON."""
    place = directory / 'again'
    run(head + late_table(place, 'record STRING', 'raw') + QUERIES['Group'])
    again = f"CREATE TABLE again ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = '{place}', 'format' = 'json');\n"
    shown = rows_of(run(again + 'SELECT ts, k, v, d FROM again').stdout)
    show = lambda value: '\\N' if value is None else str(value)
    wanted = [[stamp(row[0]), show(row[1]), show(row[2]), '\\N' if row[3] is None else f'{row[3] / 100:.2f}']
              for row, mark in judged(rows) if mark is not None and RULES['Group'](row[0], mark)]
    assert wanted and shown == wanted, (shown[:3], wanted[:3])
    print('late rows are read again')


def check_zones(directory):
    """Of instants the watermark is shown as the session's zone does, before the wall clock of the windows and behind it."""
    path = directory / 'instants.csv'
    path.write_text(''.join(f'{second}000,{value}\n' for value, second in enumerate((0, 40, 5))))
    head = (f"SET 'table.local-time-zone' = 'Asia/Tokyo';\nCREATE TABLE i (ms BIGINT, v INT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts) "
            f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n")
    for name, query in (('over', 'SELECT v, SUM(v) OVER (ORDER BY ts) FROM i'),
                        ('windows', "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE i, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end"),
                        ('older', "SELECT TUMBLE_END(ts, INTERVAL '10' SECOND), LISTAGG('x') FROM i GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)")):
        place = directory / f'zone_{name}'
        text = head + late_table(place) + query
        run(text, '--compile', 'never')
        shown = [(mark, json.loads(record)) for _, mark, record in late_rows(place)]
        wanted = {'ms': 5000, 'v': 2, 'ts': '1970-01-01 09:00:05.000'}
        if name == 'older':  # Its windows are row by row.
            wanted.update({f'window_{bound}': f'1970-01-01 09:00:{time}' for bound, time in (('start', '00.000'), ('end', '10.000'), ('time', '09.999'))})
        assert len(shown) == 1 and shown[0][0] == '1970-01-01 09:00:40.000', (name, shown)
        # Columns that the query does not read are not there.
        told = shown[0][1]
        assert told.items() <= wanted.items() and told.keys() >= wanted.keys() - {'ms', 'v'}, (name, told)
    print('times of late rows are those of the zone')


def check_words(directory, head):
    place = directory / 'words'
    query = QUERIES['Group']
    for text, code, said in (
            (head + "SET 'late-rows.table' = 'nowhere';\n" + query, 2, 'nowhere'),
            (head + late_table(place, 'operator STRING, k STRING'), 2, 'column k: a table of late rows has some of the columns'),
            (head + late_table(place, 'watermark STRING'), 2, 'watermark TIMESTAMP(3)'),
            ("SET 'table.local-time-zone' = 'Asia/Tokyo';\n" + late_table(place, 'watermark TIMESTAMP_LTZ(3)'), 2, 'watermark TIMESTAMP(3)'),
            (head + "CREATE VIEW v AS SELECT k FROM a;\nSET 'late-rows.table' = 'v';\n" + query, 2, 'v is a view; a table is wanted'),
            (head + late_table(place) + f"INSERT INTO late SELECT k, ts, k FROM a", 2, 'its own go to another one')):
        assert said in run(text, code=code).stderr, text
    workers = run(head + late_table(place) + query, '--workers', '2')
    assert 'one worker: its late rows go to a table' in workers.stderr, workers.stderr
    shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', head + late_table(place) + query], capture_output=True, text=True, timeout=60)
    assert 'Late rows to late(operator STRING' in shown.stdout, shown.stdout
    ended = run(head + late_table(directory / 'ended') + "SET 'late-rows.table' = '';\n" + query)
    assert 'late rows' in ended.stderr and not (directory / 'ended').exists()
    printed = run(head + "CREATE TABLE late (watermark TIMESTAMP(3)) WITH ('connector' = 'print');\nSET 'late-rows.table' = 'late';\n"
                  "CREATE TABLE o (s TIMESTAMP(3), e TIMESTAMP(3), k STRING, n BIGINT, v BIGINT) WITH ('connector' = 'blackhole');\nINSERT INTO o " + query)
    assert printed.stdout.startswith('+I[2026-01-01 00:0'), printed.stdout
    print('words about late rows')


def command_of(place, head, state, query, what):
    def made(name):
        sinks = place / name
        types = 'ts1 TIMESTAMP(3), v1 BIGINT, ts2 TIMESTAMP(3), v2 BIGINT' if query == 'Near rows' else 's TIMESTAMP(3), e TIMESTAMP(3), k STRING, n BIGINT, v BIGINT'
        text = (head + late_table(sinks / 'late') + f"CREATE TABLE o ({types}) WITH ('connector' = 'filesystem', 'path' = '{sinks / 'main'}', "
                f"'format' = 'csv');\nINSERT INTO o {QUERIES[query]}")
        mode = random.choice(['never', 'wait'])
        return sinks / what, [HOLDFAST, 'stream', 'run', '--compile', mode, '--checkpoint', '5ms',
                              *where(state, place, name), '-e', text]
    return made


def check_killed(directory, head):
    rand = random.Random(3)
    for query in ('Group', 'Near rows'):
        for state in stores(HOLDFAST):
            for what in ('late', 'main'):
                place = directory / f'kills_{query[0]}_{state}_{what}'
                place.mkdir()
                kills = check_kills(command_of(place, head, state, query, what), rand, KILLS)
                print(f'{query}, {state}, {what}: {kills} kills', flush=True)
                shutil.rmtree(place)


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_late_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    compilers.be_quick(directory)
    try:
        rand = random.Random(11)
        tables = {name: events(rand, 600) for name in 'ab'}
        for name, rows in tables.items():
            # A few that are much too late.
            rows[200:200] = [(rows[150][0], 'a', 1, None), (rows[20][0], None, 2, 150), (rows[60][0], 'b', None, None)]
            write(directory / f'{name}.csv', rows)
        head = ''.join(table(name, directory / f'{name}.csv', COLUMNS) for name in 'ab')
        check_operators(directory, head, tables)
        check_near_rows(directory)
        check_again(directory, head, tables['a'])
        check_zones(directory)
        check_words(directory, head)
        check_killed(directory, head)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
