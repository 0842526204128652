"""OVER in the order of processing time: ORDER BY a column that is PROCTIME().

    clock_over_test.py HOLDFAST

  1. All rows before, so many rows, and LAG: rows as they come, whatever the times of their events. Against an evaluation in Python, in
     the order of the rows; interpreted and compiled the same bytes.
  2. A time before: each row beside all that its own times, which the query shows, say. Interpreted and compiled.
  3. What is refused, with its place; what EXPLAIN says.
  4. Runs that are killed at any moment and run again, on each state store, interpreted and compiled: the undisturbed run's rows, and of a
     time before each row once, beside those that its times say.
"""
import collections
import csv
import datetime
import io
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
from graph_grammar import COLUMNS, events, rows_of, stamp, table, write
from kills import check_kills, parts, stores, where

HOLDFAST = sys.argv[1]
KILLS = 6
WITH_CLOCK = COLUMNS + ', p AS PROCTIME()'
ALL = ['', 'RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW', 'ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW']


def run(text, *options, code=0, compiled='never'):
    done = subprocess.run([HOLDFAST, 'stream', 'run', '--compile', compiled, *options, '-e', text], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, (text, done.returncode, done.stderr)
    assert compiled != 'wait' or code != 0 or ', compiled' in done.stderr, (text, done.stderr)
    return done


def text_of(value):
    return '\\N' if value is None else str(value)


# ---- 1. Rows as they come ----
def as_they_come(rows, before, by_key=True):
    """[ts, k, COUNT(*), SUM(v), MAX(k), COUNT(DISTINCT v), LAG(v, 2)] of each row and so many before it; None: all."""
    of_key = collections.defaultdict(list)
    for second, key, value, _ in rows:
        mine = of_key[key if by_key else 0]
        mine.append((key, value))
        frame = mine if before is None else mine[-before - 1:]
        known = [value for _, value in frame if value is not None]
        keys = [key for key, _ in frame if key is not None]
        yield [stamp(second), text_of(key), str(len(frame)), text_of(sum(known) if known else None), text_of(max(keys, default=None)),
               str(len(set(known))), text_of(mine[-3][1] if len(mine) > 2 else None)]


def query_of(frame, by_key=True):
    partition = 'PARTITION BY k ' if by_key else ''
    return (f'SELECT ts, k, COUNT(*) OVER w, SUM(v) OVER w, MAX(k) OVER w, COUNT(DISTINCT v) OVER w, LAG(v, 2) OVER ({partition}ORDER BY p) '
            f'FROM a WINDOW w AS ({partition}ORDER BY p {frame})')


def check_rows(directory, rand):
    rows = events(rand, 600)
    write(directory / 'a.csv', rows)
    heads = [table('a', directory / 'a.csv', WITH_CLOCK, watermark) for watermark in (True, False)]
    frames = [(frame, None) for frame in ALL] + [(f'ROWS BETWEEN {n} PRECEDING AND CURRENT ROW', n) for n in (0, 3, 1000)]
    for number, (frame, before) in enumerate(frames):
        by_key, head = number % 3 != 1, heads[number % 2]
        shown = run(head + query_of(frame, by_key))
        assert rows_of(shown.stdout) == list(as_they_come(rows, before, by_key)), frame
        assert 'late' not in shown.stderr, shown.stderr
        compiled = run(head + query_of(frame, by_key), compiled='wait')
        assert compiled.stdout == shown.stdout, frame
    # What only gives sums has frames that are merged; the times of events go on as they were.
    merged = ("SELECT window_start, k, SUM(s) FROM TABLE(TUMBLE((SELECT ts, k, SUM(v) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 2 PRECEDING AND CURRENT "
              "ROW) AS s FROM a), DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end, k")
    wanted = collections.Counter()
    for second, key, _, total, *_ in as_they_come(rows, 2):
        wanted[second[:13], key] += 0 if total == '\\N' else int(total)
    for compiled in ('never', 'wait'):
        done = run(heads[0] + merged, compiled=compiled)
        got = {(start[:13], key): int(total) for start, key, total in rows_of(done.stdout)}
        assert got == dict(wanted), (compiled, got, wanted)
    # Two frames in a query; expressions in it.
    both = ('SELECT v, SUM(v) OVER (ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) + COUNT(*) OVER (PARTITION BY k ORDER BY p), COUNT(*) OVER '
            "(ORDER BY p RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) > 0 FROM a WHERE v IS NOT NULL")
    done = run(heads[0] + both)
    counts, last = collections.Counter(), 0
    wanted = []
    for _, key, value, _ in rows:
        if value is not None:
            counts[key] += 1
            wanted.append([str(value), str(value + last + counts[key]), 'true'])
            last = value
    assert sorted(rows_of(done.stdout)) == sorted(wanted), done.stdout[:400]
    assert sorted(rows_of(run(heads[0] + both, compiled='wait').stdout)) == sorted(wanted)
    print('rows as they come are right')


# ---- 2. Times of the clock ----
def check_frames(shown, rows, ms):
    """Of rows [p, k, COUNT(*), SUM(v), v]: those of a key whose time is at most so much before that of the row, and not behind it."""
    at = lambda text: int(datetime.datetime.fromisoformat(text.replace(' ', 'T')).replace(tzinfo=datetime.timezone.utc).timestamp() * 1000 + 0.5)
    of_key, times, last = collections.defaultdict(list), [], 0
    for p, key, _, _, value in shown:
        times.append(at(p))
        assert times[-1] >= last, p
        last = times[-1]
        of_key[key].append((last, value))
    for now, (p, key, count, total, _) in zip(times, shown):
        frame = [value for time, value in of_key[key] if now - ms <= time <= now]
        known = [int(value) for value in frame if value != '\\N']
        assert (count, total) == (str(len(frame)), str(sum(known)) if known else '\\N'), (p, key, count, total)
    wanted = collections.Counter((text_of(key), text_of(value)) for _, key, value, _ in rows)
    assert collections.Counter((key, value) for _, key, _, _, value in shown) == wanted
    return len({p for p, *_ in shown})


def range_query(ms):
    return (f"SELECT p, k, COUNT(*) OVER w, SUM(v) OVER w, v FROM a WINDOW w AS (PARTITION BY k ORDER BY p RANGE BETWEEN INTERVAL '{ms / 1000:.3f}' "
            'SECOND PRECEDING AND CURRENT ROW)')


def check_ranges(directory, rand):
    rows = events(rand, 3000)
    write(directory / 'a.csv', rows)
    for watermark in (True, False):
        head = table('a', directory / 'a.csv', WITH_CLOCK, watermark)
        for ms in (0, 2, 3600_000):
            for compiled in ('never', 'wait'):
                done = run(head + range_query(ms), compiled=compiled)
                times = check_frames(rows_of(done.stdout), rows, ms)
                assert (times > 1 or compiled == 'wait') and 'late' not in done.stderr, (times, done.stderr)
    print('frames of times of the clock are right')


# ---- 3. Words ----
def check_words(directory):
    head = table('a', directory / 'a.csv', WITH_CLOCK)
    over = lambda order, frame='': f'SELECT SUM(v) OVER (PARTITION BY k ORDER BY {order} {frame}) FROM a'
    lines = head.count('\n') + 1
    for query, column, said in (
            (over('p DESC'), 15, 'ORDER BY the column of WATERMARK FOR, or one of PROCTIME()'),
            (over('p, v'), 15, 'another order than that of a time attribute'),
            (over('v'), 15, 'another order than that of a time attribute'),
            (over('p', 'RANGE BETWEEN 5 PRECEDING AND CURRENT ROW'), 61, 'RANGE wants an INTERVAL'),
            (over('p', 'ROWS BETWEEN v PRECEDING AND CURRENT ROW'), 60, 'ROWS wants a number of rows'),
            ('SELECT LAG(v) OVER (ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM a', 0, 'LAG has no ROWS and no RANGE'),
            ('SELECT SUM(v) OVER (ORDER BY ts), SUM(v) OVER (ORDER BY p) FROM a', 0, 'OVER by processing time beside OVER by event time is not supported'),
            ('SELECT SUM(n) OVER (ORDER BY p) FROM (SELECT k, PROCTIME() AS p, COUNT(*) AS n FROM a GROUP BY k) x', 0, 'OVER rows that change')):
        done = run(head + query, code=2)
        assert said in done.stderr and f'line {lines}, column {column or ""}' in done.stderr, (query, done.stderr)
    for frame, said in (('', '"rows"'), ('ROWS BETWEEN 4 PRECEDING AND CURRENT ROW', '"rows"'), ("RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW", '')):
        shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', head + over('p', frame)], capture_output=True, text=True, timeout=60)
        assert shown.returncode == 0, shown.stderr
        assert ('as they come' in shown.stdout and 'ProcessingTime' not in shown.stdout) == bool(said), (frame, shown.stdout)
        assert ('ProcessingTime p' in shown.stdout) == (not said) and 'interpreted' not in shown.stdout.split('\n\n')[0], shown.stdout
    # A query in the FROM has the one order, and the query around it the other.
    nested = 'SELECT v, s, SUM(v) OVER (ORDER BY ts) FROM (SELECT ts, v, SUM(v) OVER (ORDER BY p) AS s FROM a) x'
    assert run(head + nested).stdout == run(head + nested, compiled='wait').stdout
    # A partition that no row comes to is forgotten.
    ttl = run("SET 'table.exec.state.ttl' = '1 h';\n" + head + over('p'))
    assert rows_of(ttl.stdout) == rows_of(run(head + over('p')).stdout)
    print('words about OVER by the clock')


# ---- 4. Kills ----
KILLED = ['SELECT ts, SUM(v) OVER (PARTITION BY k ORDER BY p), k, v FROM a',
          'SELECT ts, SUM(v) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 5 PRECEDING AND CURRENT ROW), k, COUNT(DISTINCT v) OVER (PARTITION BY k ORDER BY p '
          'ROWS BETWEEN 20 PRECEDING AND CURRENT ROW) FROM a',
          'SELECT ts, LAG(v, 2) OVER (PARTITION BY k ORDER BY p), MAX(k) OVER (ORDER BY p ROWS BETWEEN 4 PRECEDING AND CURRENT ROW), v FROM a']


def command_of(place, head, state, query):
    def made(name):
        out = place / name
        text = (head + f"CREATE TABLE o (t TIMESTAMP(3), s BIGINT, k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{out}', "
                f"'format' = 'csv');\nINSERT INTO o {query}")
        mode = random.choice(['never', 'wait'])
        return out, [HOLDFAST, 'stream', 'run', '--compile', mode, '--checkpoint', '3ms',
                     *where(state, place, name), '-e', text]
    return made


def check_killed(directory, rand):
    rows = events(rand, 3000)
    write(directory / 'a.csv', rows)
    for number, query in enumerate(KILLED):
        head = table('a', directory / 'a.csv', WITH_CLOCK, number != 1)
        for state in stores(HOLDFAST):
            place = directory / f'kills_{number}_{state}'
            place.mkdir()
            kills = check_kills(command_of(place, head, state, query), rand, KILLS)
            print(f'query {number}, {state}: {kills} kills', flush=True)
            shutil.rmtree(place)


def check_killed_by_the_clock(directory, state, rand):
    rows = events(rand, 20_000)
    write(directory / 'a.csv', rows)
    text = (table('a', directory / 'a.csv', WITH_CLOCK) + "CREATE TABLE o (p TIMESTAMP_LTZ(3), k STRING, n BIGINT, s BIGINT, v BIGINT) WITH ('connector' = "
            f"'filesystem', 'path' = '{directory}/out', 'format' = 'csv');\nINSERT INTO o {range_query(20)}")
    kills = 0
    run(text.replace("/out'", "/first'"), compiled='wait')  # Compiles.
    while True:
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', ('never', 'wait')[kills % 2], '--checkpoint', '3ms',
                                    *where(state, directory, 'clock'), '-e', text], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if kills < KILLS:
            before = len(list((directory / 'out').glob('part-*.csv')))
            while process.poll() is None and len(list((directory / 'out').glob('part-*.csv'))) == before:
                time.sleep(0.001)  # A checkpoint is complete.
            time.sleep(rand.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
        _, message = process.communicate(timeout=300)
        assert process.returncode in (0, -signal.SIGKILL), message
        if process.returncode == 0:
            break
        kills += 1
    assert kills > 0
    times = check_frames(list(csv.reader(io.StringIO(parts(directory / 'out')))), rows, 20)
    print(f'frames of the clock, {state}: {kills} kills, {times} times', flush=True)


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_clock_over_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    compilers.be_quick(directory)
    try:
        rand = random.Random(11)
        check_rows(directory, rand)
        check_ranges(directory, rand)
        check_words(directory)
        check_killed(directory, rand)
        for state in stores(HOLDFAST):
            place = directory / f'clock_{state}'
            place.mkdir()
            check_killed_by_the_clock(place, state, rand)
            shutil.rmtree(place)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
