"""Windows whose rows late rows still change: SET 'table.exec.emit.late-fire.enabled' and '.allow-lateness'.

    late_fire_test.py HOLDFAST

  1. The changelog, row by row, against an evaluation in Python that knows one row after the other: TUMBLE, HOP and CUMULATE, with
     more and with less lateness than rows need; interpreted and compiled.
  2. What is left at the end: with enough lateness no row is late, so it is what DuckDB answers. Of windows, of windows and groups
     behind them, of rankings and joins of their rows. Compiled the same bytes. Skipped, and says so, if neither this Python nor
     HOLDFAST_TEST_PYTHON has the package.
  3. The same with 'table.exec.emit.late-fire.delay': row by row where the clock never comes to the end of the delay, the same rows left
     where it does, and rows of a socket that go out when it has passed.
  4. What is refused, and what is said.
  5. Runs that are killed at any moment and run again, on each state store, interpreted and compiled: the undisturbed run's rows.
"""
import collections
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from compilers import ROUNDS, be_quick
from graph_grammar import COLUMNS, DELAY, events, rows_of, same, stamp, table, write
from kills import check_kills, stores, where
from test_python import duckdb

HOLDFAST = sys.argv[1]
KILLS = 6
SIZES = {'TUMBLE': (10, 10), 'HOP': (10, 30), 'CUMULATE': (10, 30)}


def late_fire(seconds, delay=None):
    wait = f"SET 'table.exec.emit.late-fire.delay' = '{delay}';\n" if delay else ''
    return f"SET 'table.exec.emit.late-fire.enabled' = 'true';\nSET 'table.exec.emit.allow-lateness' = '{seconds} s';\n{wait}"


def window(kind, name='a'):
    more = '' if kind == 'TUMBLE' else ", INTERVAL '30' SECOND"
    return f"TABLE({kind}(TABLE {name}, DESCRIPTOR(ts), INTERVAL '10' SECOND{more}))"


def run(text, *options, code=0, compiled='never'):
    done = subprocess.run([HOLDFAST, 'stream', 'run', '--compile', compiled, *options, '-e', text], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == code, (text, done.returncode, done.stderr)
    assert compiled != 'wait' or code != 0 or ', compiled' in done.stderr, (text, done.stderr)
    return done


# ---- 1. Row by row ----
def windows_of(kind, second):
    slide, size = SIZES[kind]
    start = second // slide * slide
    if kind == 'CUMULATE':
        start = second // size * size
        return [(start, end) for end in range(start + slide, start + size + 1, slide) if end > second]
    return [(begin, begin + size) for begin in range(start - size + slide, start + 1, slide)]


class Groups:
    """COUNT(*), SUM(v), MAX(v) of windows and k. `waits`: what late rows change goes out when the window changes no more."""

    def __init__(self, kind, lateness, waits=False):
        self.waiting = {} if waits else None  # What was shown, of groups that have changed.
        self.kind, self.lateness, self.mark, self.late = kind, lateness * 1000, -10**12, 0
        self.groups, self.log = collections.defaultdict(list), []

    def show(self, op, place, values):
        end, start, key = place
        known = [value for value in values if value is not None]
        aggregates = [str(len(values))] + ([str(sum(known)), str(max(known))] if known else ['\\N', '\\N'])
        self.log.append((op, [stamp(start), stamp(end), key[1] if key[0] else '\\N', *aggregates]))

    def take(self, row):
        for start, end in windows_of(self.kind, row[0]):
            last = end * 1000 - 1
            if last + self.lateness <= self.mark:
                self.late += 1
                continue
            place = (end, start, (row[1] is not None, row[1] or ''))
            values = self.groups[place]
            before = list(values)
            values.append(row[2])
            if last > self.mark:
                continue
            if self.waiting is None:
                self.change(place, before, values)
            else:
                self.waiting.setdefault(place, before)
        self.advance((row[0] - DELAY) * 1000)

    def change(self, place, before, values):
        if not before:
            return self.show('+I', place, values)
        self.show('-U', place, before)
        self.show('+U', place, values)
        if self.log[-1][1] == self.log[-2][1]:
            del self.log[-2:]

    def advance(self, mark):
        if mark <= self.mark:
            return
        ended = [place for place in self.groups if self.mark < place[0] * 1000 - 1 <= mark]
        for place in ended:
            self.show('+I', place, self.groups[place])
        for place in sorted(self.waiting or ()):
            if place[0] * 1000 - 1 + self.lateness <= mark:
                self.change(place, self.waiting.pop(place), self.groups[place])
        self.mark = mark


def steps(log):
    """Changes one after the other; of rows that are shown together the order is ours."""
    all, together = [], []
    for op, row in log:
        if op == '+I':
            together.append((op, row))
            continue
        all += sorted(together) + [(op, row)]
        together = []
    return all + sorted(together)


def check_changelogs(directory, rand):
    saved = 0  # Changes that went out with others.
    for seed in range(2):
        rows = events(rand, 500)
        for place in range(60, len(rows), 25):  # Some that are very late.
            rows[place] = (rows[place - rand.randrange(10, 50)][0], *rows[place][1:])
            rows[place + 1] = (*rows[place][:2], *rows[place + 1][2:])  # Another one of its group.
        write(directory / 'a.csv', rows)
        head = table('a', directory / 'a.csv', COLUMNS)
        for kind in SIZES:
            for lateness in (7, 25):
                model = Groups(kind, lateness)
                for row in rows:
                    model.take(row)
                model.advance(10**12)
                assert any(op == '-U' for op, _ in model.log) and model.late
                query = (f'SELECT window_start, window_end, k, COUNT(*), SUM(v), MAX(v) FROM {window(kind)} GROUP BY window_start, '
                         'window_end, k')
                text = head + late_fire(lateness) + query
                shown = run(text)
                log = [(op, row) for op, *row in rows_of(shown.stdout)]
                assert steps(log) == steps(model.log), (kind, lateness, seed)
                assert f'{model.late} late row' in shown.stderr, (model.late, shown.stderr)
                compiled = run(text, compiled='wait')
                assert compiled.stdout == shown.stdout, (kind, lateness)
                assert f'{model.late} late row' in compiled.stderr, (model.late, compiled.stderr)
                waits = Groups(kind, lateness, waits=True)
                for row in rows:
                    waits.take(row)
                waits.advance(10**12)
                for compile in ('never', 'wait'):
                    delayed = run(head + late_fire(lateness, '1 h') + query, compiled=compile)
                    assert steps([(op, row) for op, *row in rows_of(delayed.stdout)]) == steps(waits.log), (kind, lateness, compile)
                    assert f'{waits.late} late row' in delayed.stderr, delayed.stderr
                saved += len(model.log) - len(waits.log)
                if kind != 'CUMULATE':  # The older form is the same.
                    arguments = "ts, INTERVAL '10' SECOND" + (", INTERVAL '30' SECOND" if kind == 'HOP' else '')
                    older = (f'SELECT {kind}_START({arguments}), {kind}_END({arguments}), k, COUNT(*), SUM(v), MAX(v) FROM a GROUP BY '
                             f'{kind}({arguments}), k')
                    assert rows_of(run(head + late_fire(lateness) + older).stdout) == rows_of(shown.stdout), kind
    assert saved > 0
    print('changelogs of windows are right')


# ---- 2. What is left ----
COUNTS = 'SELECT window_start, window_end, window_time, k, COUNT(*) AS n, SUM(v) AS s FROM {} GROUP BY window_start, window_end, window_time, k'
BATCH = ("SELECT w AS window_start, w + INTERVAL 10 SECOND AS window_end, k, COUNT(*) AS n, SUM(v) AS s FROM (SELECT *, "
         "TIME_BUCKET(INTERVAL 10 SECOND, ts) AS w FROM {}) x GROUP BY ALL")
OUTER = 'SELECT window_start, window_end, {} FROM {} GROUP BY window_start, window_end'
# Of `wa` and `wb`, windows of ten seconds by k: the query, and what DuckDB is asked instead.
QUERIES = [
    ('SELECT window_start, k, n, s FROM wa', None),
    ('SELECT k, SUM(n) AS m, MAX(s) AS t, COUNT(*) AS c FROM wa GROUP BY k', None),
    ('SELECT window_start, MAX(n) AS m, COUNT(DISTINCT s) AS c, MIN(s) AS t FROM wa GROUP BY window_start, window_end', None),
    ("SELECT window_start, SUM(n) AS m, MAX(s) AS t FROM TABLE(TUMBLE((SELECT window_time AS rt, k, n, s FROM wa), DESCRIPTOR(rt), INTERVAL '30' SECOND)) GROUP BY "
     'window_start, window_end',
     "SELECT TIME_BUCKET(INTERVAL 30 SECOND, window_start) AS w, SUM(n), MAX(s) FROM wa GROUP BY w"),
    ("SELECT window_start, k, COUNT(*) AS c, MIN(s) AS t FROM TABLE(HOP((SELECT window_time AS rt, k, n, s FROM wa), DESCRIPTOR(rt), INTERVAL '10' SECOND, INTERVAL '20' "
     'SECOND)) WHERE s > 2 GROUP BY window_start, window_end, k',
     'SELECT w, k, COUNT(*), MIN(s) FROM (SELECT *, window_start AS w FROM wa UNION ALL SELECT *, window_start - INTERVAL 10 SECOND AS w '
     'FROM wa) x WHERE s > 2 GROUP BY w, k'),
    ('SELECT window_start, k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n DESC, k NULLS FIRST) AS r '
     'FROM wa) x WHERE r <= 2', None),
    ('SELECT wa.window_start, wa.k, wa.n, wb.n AS m FROM wa LEFT JOIN wb ON wa.window_start = wb.window_start AND wa.window_end = wb.window_end '
     'AND wa.k = wb.k', None),
    ('SELECT window_start, k, n FROM wa WHERE n > 2 UNION ALL SELECT window_start, k, n FROM wb WHERE n <= 2', None),
    ('SELECT DISTINCT k, n FROM wa', None),
    ('SELECT window_start, k, s FROM wa WHERE k IN (SELECT k FROM wb WHERE n > 3)', None),
]


def check_final_states(directory, rand):
    if duckdb is None:
        print('skipped: no package duckdb (HOLDFAST_TEST_PYTHON names a Python that has it)')
        return
    base = duckdb.connect()
    head = ''
    for name in 'ab':
        path = directory / f'{name}.csv'
        rows = events(rand, 250)
        for place in range(40, len(rows), 20):
            rows[place] = (rows[place - rand.randrange(10, 40)][0], *rows[place][1:])
        write(path, rows)
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{path}', header=false, nullstr='\\N', columns={{'ts': "
                     "'TIMESTAMP', 'k': 'VARCHAR', 'v': 'BIGINT', 'd': 'DECIMAL(10,2)'})")
        base.execute(f'CREATE VIEW w{name} AS {BATCH.format(name)}')
        head += table(name, path, COLUMNS)
    views = ''.join(f"CREATE VIEW w{name} AS {COUNTS.format(window('TUMBLE', name))};\n" for name in 'ab')
    for number, (query, batch) in enumerate(QUERIES):
        shown = lambda value: '\\N' if value is None else f'{value}.000' if hasattr(value, 'isoformat') else str(value)
        theirs = sorted([shown(value) for value in row] for row in base.execute(batch or query).fetchall())
        text = head + views + late_fire(3600) + query
        final = run(text, '--final')
        ours = sorted(rows_of(final.stdout))
        equal = len(ours) == len(theirs) and all(same(x, y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
        assert equal, f'{query}\n{ours[:8]}\n{theirs[:8]}'
        assert 'late row' not in final.stderr, final.stderr
        changes = run(text)
        left = collections.Counter()
        for op, *row in rows_of(changes.stdout):
            left[tuple(row)] += 1 if op in ('+I', '+U') else -1
            assert left[tuple(row)] >= 0, (query, op, row)
        assert +left == collections.Counter(map(tuple, ours)), query
        assert run(text, compiled='wait').stdout == changes.stdout, query
        for place, delay in enumerate(('1 ms', '1 h')):
            for compile in ('never', 'wait'):
                if compile == 'wait' and ROUNDS == 1 and number % 2 != place:
                    continue
                delayed = run(head + views + late_fire(3600, delay) + query, '--final', compiled=compile)
                assert sorted(rows_of(delayed.stdout)) == ours, (query, delay, compile)
        without = run(head + views + query, '--final')
        assert 'late row' in without.stderr and sorted(rows_of(without.stdout)) != ours, query
        # Few are so late, and all agree on which.
        some = head + views + late_fire(9) + query
        if ROUNDS > 1 or number % 3 == 0:
            assert run(some, compiled='wait').stdout == run(some).stdout, query
    print(f'{len(QUERIES)} queries agree with DuckDB')


# ---- 3. By the clock ----
def check_clock():
    for compile in ('never', 'wait'):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            text = ("CREATE TABLE t (ts TIMESTAMP(3), k STRING, WATERMARK FOR ts AS ts) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1', "
                    f"'port' = '{listener.getsockname()[1]}', 'format' = 'csv');\n" + late_fire(3600, '300 ms') +
                    "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k")
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', compile, '-e', text],
                                       stdout=subprocess.PIPE, text=True)
            listener.settimeout(60)
            connection, _ = listener.accept()
        assert process.stdout.readline().startswith('op,k,')
        send = lambda *rows: connection.sendall(''.join(f'{stamp(second)},{key}\n' for second, key in rows).encode())
        seen = lambda count: [process.stdout.readline().strip() for _ in range(count)]
        send((1, 'a'), (2, 'b'), (20, 'c'))
        assert sorted(seen(2)) == ['+I,a,1', '+I,b,1']
        started = time.monotonic()
        send((3, 'a'), (4, 'a'), (5, 'd'), (5, 'd'), (6, 'a'))
        assert seen(3) == ['-U,a,1', '+U,a,4', '+I,d,2'], compile
        assert time.monotonic() - started >= 0.3
        send((7, 'b'))
        assert seen(2) == ['-U,b,1', '+U,b,2'], compile
        send((8, 'b'))  # What waits at the end goes out with it.
        connection.close()
        rest, _ = process.communicate(timeout=60)
        assert rest.split() in (['-U,b,2', '+U,b,3', '+I,c,1'], ['+I,c,1', '-U,b,2', '+U,b,3']) and process.returncode == 0, rest
    print('changes wait by the clock')


# ---- 4. Words ----
def check_words(directory, head):
    enabled, allowed = late_fire(5).splitlines(keepends=True)
    query = COUNTS.format(window('TUMBLE'))
    gap = "SELECT COUNT(*) FROM TABLE(SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY window_start, window_end, k"
    sink = f"CREATE TABLE o (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{directory}/o', 'format' = 'csv');\nINSERT INTO o "
    counts = f"SELECT COUNT(*) FROM {window('TUMBLE')} GROUP BY window_start, window_end"
    for text, said in (
            (enabled + query, 'table.exec.emit.late-fire.enabled wants table.exec.emit.allow-lateness'),
            (allowed + query, 'without it late rows are dropped, as in Flink'),
            (enabled.replace('true', 'yes'), 'there are true and false'),
            (allowed.replace('5 s', 'long'), 'a time such as'),
            ("SET 'table.exec.emit.late-fire.delay' = 'soon';\n", 'a time such as'),
            (late_fire(5, '1 s') + sink + counts, 'its rows change'),
            (late_fire(5, '1 s') + gap, 'SESSION with'),
            ("SET 'table.exec.emit.early-fire.enabled' = 'true';\n", 'is not supported'),
            (late_fire(5) + gap, 'SESSION with'),
            (late_fire(5) + sink + counts, 'its rows change'),
            (late_fire(5) + f"SELECT window_time, SUM(n) OVER (ORDER BY window_time) FROM ({query}) x", 'OVER rows that change')):
        assert said in run(head + text, code=2).stderr, text
    # The last two settings hold; without windows there is nothing to be late; windows of the clock have no late rows.
    for none in ('0 s', '0ms', '0'):
        run(head + late_fire(5) + f"SET 'table.exec.emit.late-fire.delay' = '{none}';\n" + query)
    one, workers = (run(head + late_fire(5) + query, '--workers', number) for number in '12')
    assert 'one worker' not in workers.stderr and sorted(workers.stdout.splitlines()) == sorted(one.stdout.splitlines()), workers.stderr
    plain = run(head + late_fire(5) + enabled.replace('true', 'false') + allowed.replace('5 s', '0 s') + sink + counts)
    assert 'late row' in plain.stderr, plain.stderr
    clock = head.replace('WATERMARK', 'p AS PROCTIME(), WATERMARK', 1)
    out = sink.replace('/o', '/clock')
    run(clock + late_fire(5) + out + "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(p), INTERVAL '1' SECOND)) GROUP BY window_start, window_end")
    # A row that stays is no change: any sink takes it.
    keys = sink.replace('/o', '/keys').replace('n BIGINT', 's TIMESTAMP(3), k STRING')
    done = run(head + late_fire(5) + keys + f"SELECT window_start, k FROM {window('TUMBLE')} GROUP BY window_start, window_end, k")
    assert 'late row' in done.stderr, done.stderr
    shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', head + late_fire(5) + query], capture_output=True, text=True, timeout=60)
    assert 'changed for 5000 ms' in shown.stdout and 'CorrectedGroups<' in shown.stdout, shown.stdout
    shown = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', head + late_fire(5, '2 s') + query], capture_output=True, text=True, timeout=60)
    assert 'by 2000 ms, at most for 5000 ms' in shown.stdout and 'DelayedChanges<' in shown.stdout, shown.stdout
    # A delay alone says nothing.
    alone = run(head + "SET 'table.exec.emit.late-fire.delay' = '1 s';\n" + query)
    assert alone.stdout == run(head + query).stdout
    # What is later still goes to the table of late rows, once for each of its windows.
    late = (f"CREATE TABLE late (record STRING) WITH ('connector' = 'filesystem', 'path' = '{directory}/late', 'format' = 'raw');\n"
            "SET 'late-rows.table' = 'late';\n")
    done = run(head + late_fire(5) + late + COUNTS.format(window('HOP')))
    lines = ''.join(part.read_text() for part in sorted((directory / 'late').glob('part-*'))).splitlines()
    assert f'{len(lines)} late row' in done.stderr and lines and all('window_end' in line for line in lines), done.stderr
    print('words about late rows that change windows')


# ---- 5. Kills ----
def command_of(place, head, state, query, delay):
    def made(name):
        out = place / name
        text = (head + late_fire(8, delay) + f"CREATE TABLE o (s TIMESTAMP(3), k STRING, n BIGINT, m BIGINT) WITH ('connector' = 'filesystem', 'path' = "
                f"'{out}', 'format' = 'csv');\nINSERT INTO o {query}")
        mode = random.choice(['never', 'wait'])
        return out, [HOLDFAST, 'stream', 'run', '--final', '--compile', mode, '--checkpoint', '5ms',
                     *where(state, place, name), '-e', text]
    return made


KILLED = ['SELECT window_start, k, n, s FROM wa',
          "SELECT window_start, k, MAX(n), COUNT(DISTINCT s) FROM TABLE(TUMBLE((SELECT window_time AS rt, k, n, s FROM wa), DESCRIPTOR(rt), INTERVAL '30' SECOND)) GROUP BY "
          'window_start, window_end, k']


def check_killed(directory, head):
    rand = random.Random(4)
    views = f"CREATE VIEW wa AS {COUNTS.format(window('TUMBLE'))};\n"
    for number, query in enumerate(KILLED):
        for place, state in enumerate(stores(HOLDFAST)):
            for delay in ('0 s', '4 ms') if ROUNDS > 1 else (('0 s', '4 ms')[(number + place) % 2],):
                here = directory / f'kills_{number}_{state}'
                here.mkdir()
                kills = check_kills(command_of(here, head + views, state, query, delay), rand, KILLS)
                print(f'query {number}, {state}, delay {delay}: {kills} kills', flush=True)
                shutil.rmtree(here)


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_late_fire_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    be_quick(directory)
    try:
        rand = random.Random(7)
        check_changelogs(directory, rand)
        check_final_states(directory, rand)
        rows = events(rand, 1500)
        for place in range(40, len(rows), 20):
            rows[place] = (rows[place - rand.randrange(10, 40)][0], *rows[place][1:])
        write(directory / 'a.csv', rows)
        head = table('a', directory / 'a.csv', COLUMNS)
        check_clock()
        check_words(directory, head)
        check_killed(directory, head)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
