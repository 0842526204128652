"""Whole queries of `holdfast stream run`.

    stream_query_test.py HOLDFAST

  1. Windowed queries over events that come out of order, rows exactly on the watermark among them, against a dull
     evaluation that knows nothing of slices: every window is a list of rows.
  2. Rows on standard output: a checkpoint covers none that is not out.
  3. Runs that are killed at any moment and run again: the parts together are the output of the undisturbed run.
  4. What is refused, and that nothing in an SQL text or a CSV file ends the process by a signal.
"""
import collections
import datetime
import decimal
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kills as killing

HOLDFAST = sys.argv[1]
DELAY_MS = 5000
EPOCH = datetime.datetime(1970, 1, 1)


def text_of(ms):
    return (EPOCH + datetime.timedelta(milliseconds=ms)).isoformat(' ', 'milliseconds')


def events(seed, count):
    """(ms, key, value, price in cents), some of them NULL, some late, some exactly on the watermark."""
    rand = random.Random(seed)
    now, newest, rows = 1_703_980_000_000, 0, []
    for _ in range(count):
        now += rand.randrange(0, 60)
        ms = now - rand.choice([0, 0, rand.randrange(0, 9000), rand.randrange(0, 40_000)])
        if rand.random() < 0.05:
            ms = newest - DELAY_MS + rand.choice([0, 1, -1])
        if rand.random() < 0.03:
            ms = ms // 60_000 * 60_000 - rand.choice([0, 1])
        newest = max(newest, ms)
        rows.append((ms, rand.choice(['a', 'b', 'c,"', None]), rand.choice([None, rand.randrange(-99, 99)]),
                     rand.choice([None, rand.randrange(-9999, 9999)])))
    return rows


def write_csv(path, rows):
    def field(value):
        return '\\N' if value is None else '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)
    with open(path, 'w') as out:
        for ms, key, value, cents in rows:
            price = None if cents is None else decimal.Decimal(cents).scaleb(-2)
            out.write(f'{text_of(ms)},{field(key)},{field(value)},{field(price)}\n')


def table(path):
    return ("CREATE TABLE events (ts TIMESTAMP(3), k STRING, v BIGINT, price DECIMAL(12, 2),"
            f" WATERMARK FOR ts AS ts - INTERVAL '{DELAY_MS // 1000}' SECOND)"
            f" WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n")


def run(arguments, code=0):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


def windows_of(ms, size, slide):
    start = ms // slide * slide
    while start > ms - size:
        yield start
        start -= slide


def dull_answer(rows, size, slide):
    """Lines of window start, key, count, sum, distinct, min price, average price; and how many rows were late."""
    gathered, late, watermark = collections.defaultdict(list), 0, -10**18
    for row in rows:
        open_windows = [start for start in windows_of(row[0], size, slide) if start + size - 1 > watermark]
        late += not open_windows
        for start in open_windows:
            gathered[start, row[1]].append(row)
        watermark = max(watermark, row[0] - DELAY_MS)
    decimal.getcontext().prec = 60
    lines = []
    for (start, key), group in gathered.items():
        values = [v for _, _, v, _ in group if v is not None]
        cents = [c for _, _, _, c in group if c is not None]
        average = '\\N'
        if cents:
            exact = decimal.Decimal(sum(cents)) / len(cents) / 100
            average = str(exact.quantize(decimal.Decimal('0.000001'), decimal.ROUND_HALF_UP))
        low = '\\N' if not cents else f'{decimal.Decimal(min(cents)) / 100:.2f}'
        shown = '\\N' if key is None else '"c,"""' if key == 'c,"' else key
        lines.append(f'{text_of(start)},{shown},{len(group)},{sum(values) if values else chr(92) + "N"},'
                     f'{len(set(values))},{low},{average}')
    return sorted(lines), late


QUERY = ("SELECT window_start, k, COUNT(*), SUM(v), COUNT(DISTINCT v), MIN(price), AVG(price) FROM TABLE({}) "
         "GROUP BY k, window_start, window_end")


def check_windows(directory):
    for seed in range(6):
        rows = events(seed, 3000)
        path = directory / 'events.csv'
        write_csv(path, rows)
        for size, slide in ((60_000, 60_000), (10_000, 10_000), (30_000, 10_000)):
            tumble = f"TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '{size // 1000}' SECOND)"
            hop = (f"HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '{slide // 1000}' SECOND, "
                   f"INTERVAL '{size // 1000}' SECOND)")
            done = run(['-e', table(path) + QUERY.format(tumble if size == slide else hop)])
            wanted, late = dull_answer(rows, size, slide)
            lines = done.stdout.splitlines()
            assert lines[0] == 'window_start,k,EXPR$2,EXPR$3,EXPR$4,EXPR$5,EXPR$6', lines[0]
            assert sorted(lines[1:]) == wanted, (seed, size, slide)
            starts = [line[:23] for line in lines[1:]]
            assert starts == sorted(starts), 'windows come in the order of their ends'
            assert late > 0 or size > 10_000
            assert (f'{late:,} late rows' in done.stderr) == (late > 0), (late, done.stderr)


def check_older_form(directory):
    path = directory / 'events.csv'
    new = run(['-e', table(path) + "SELECT window_start, window_end, SUM(v) s FROM TABLE(TUMBLE(TABLE events, "
               "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE k = 'a' GROUP BY window_start, window_end "
               "HAVING COUNT(*) > 5"]).stdout
    old = run(['-e', table(path) + "SELECT TUMBLE_START(ts, INTERVAL '60' SECOND) window_start, TUMBLE_END(ts, "
               "INTERVAL '60' SECOND) window_end, SUM(v) s FROM events WHERE k = 'a' "
               "GROUP BY TUMBLE(ts, INTERVAL '60' SECOND) HAVING COUNT(*) > 5"]).stdout
    assert old == new and len(new.splitlines()) > 2


def parts(directory):
    return ''.join(path.read_text() for path in sorted(pathlib.Path(directory).glob('part-*.csv')))


KILLS = 20


def check_kills(directory, state):
    """Runs a query from its beginning to its end, killed on the way, as often as it takes until KILLS have hit."""
    path, rand = directory / 'many.csv', random.Random(7)
    if not path.exists():
        write_csv(path, events(99, 60_000))
    def text(to):
        return (table(path) + f"CREATE TABLE out (s TIMESTAMP(3), k STRING, n BIGINT, v BIGINT, p DECIMAL(38, 6))"
                f" WITH ('connector' = 'filesystem', 'path' = '{to}', 'format' = 'csv');\n"
                "INSERT INTO out SELECT window_start, k, COUNT(*), SUM(v), AVG(price) FROM TABLE(HOP(TABLE events, "
                "DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, k")
    def where(round_):
        return ['--checkpoint', '2ms', *killing.where(state, directory, round_)]

    whole = directory / ('whole_' + state)
    started = time.monotonic()
    run(['-e', text(whole), *where('whole')])
    undisturbed = time.monotonic() - started
    wanted = parts(whole)
    assert len(wanted.splitlines()) > 500

    kills = 0
    for round_ in range(20 * KILLS):
        broken = directory / f'broken_{state}_{round_}'
        kills += kill_until_done(text(broken), where(round_), undisturbed, wanted, broken, rand)
        if kills >= KILLS:
            break
    assert kills >= KILLS, f'only {kills} kills hit'

    again = run(['-e', text(broken), *where(round_)])
    assert 'it had finished' in again.stderr and parts(broken) == wanted
    if state != 'dram':
        both = run(['-e', text(broken), *where(round_), '--checkpoint-dir', str(directory)], code=2)
        assert '--checkpoint-dir belongs to --state dram' in both.stderr, both.stderr
    changed = run(['-e', text(broken).replace('COUNT(*)', 'COUNT(v)'), *where(round_)], code=2)
    assert 'of another query' in changed.stderr
    return kills


def kill_until_done(text, where, undisturbed, wanted, broken, rand):
    """Kills at most KILLS runs, each at a moment of its undisturbed time, then lets one finish. Returns the kills."""
    kills = 0
    while True:
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', text, *where], stderr=subprocess.PIPE)
        if kills < KILLS:
            time.sleep(rand.uniform(0, undisturbed))
            process.send_signal(signal.SIGKILL)
        _, message = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), message
        assert wanted.startswith(parts(broken)), 'what is shown is a prefix of the whole'
        if process.returncode == 0:
            break
        kills += 1
    assert parts(broken) == wanted
    # Of runs that were killed before they had a checkpoint.
    left = [path.name for path in pathlib.Path(broken).glob('.part-*')]
    assert all(name.endswith('-0000000001.synced') for name in left), left
    return kills


def check_two_queries_of_one_directory(directory, state):
    """The first has finished, and the second is killed. The first one showed the part that the second was writing, or removed one of a
    checkpoint; and it could not begin where its input had gone meanwhile."""
    write_csv(directory / 'first.csv', events(5, 20_000))
    write_csv(directory / 'second.csv', events(6, 60_000))
    rand = random.Random(8)
    # Rows of the first query come with its first checkpoints only, so that numbers of parts and of checkpoints differ.
    def text(to):
        return (table(directory / 'first.csv') + table(directory / 'second.csv').replace('TABLE events', 'TABLE others')
                + f"CREATE TABLE out (v BIGINT, k STRING) WITH ('connector' = 'filesystem', 'path' = '{to}', 'format' = 'csv');\n"
                + f"INSERT INTO out SELECT v, k FROM events WHERE ts < TIMESTAMP '{text_of(1_703_980_000_000 + 40_000)}';\nINSERT INTO out SELECT v, k FROM others")
    where = ['--checkpoint', '2ms', *killing.where(state, directory, 'both')]
    run(['-e', text(directory / 'both_whole'), '--checkpoint', '2ms', *killing.where(state, directory, 'both_whole')])
    wanted, kills = sorted(parts(directory / 'both_whole').splitlines()), 0
    to, seconds = directory / 'both', 0.2
    while True:
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', text(to), *where], stderr=subprocess.PIPE, text=True)
        try:
            process.wait(rand.uniform(0.2, 1) * seconds if kills < KILLS // 2 else 120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        message = process.communicate()[1]
        assert process.returncode in (0, -signal.SIGKILL), message
        if process.returncode == 0:
            break
        kills += 1
        if 'query 1: it had finished' in message and (directory / 'first.csv').exists():
            (directory / 'first.csv').rename(directory / 'archived.csv')
    assert sorted(parts(to).splitlines()) == wanted, (len(parts(to).splitlines()), len(wanted))
    if (directory / 'archived.csv').exists():
        (directory / 'archived.csv').rename(directory / 'first.csv')
    return kills


def check_refusals(directory):
    bad = directory / 'bad.csv'
    bad.write_text('2026-01-01 00:00:00,a,1,1.00\n2026-01-01 00:00:00,a,one,1.00\n2026-01-01,a\n"x"y,,,\n2026-01-02,b,2,2\n')
    strict = run(['-e', table(bad) + 'SELECT v FROM events'], code=1)
    assert "record 2: 'one' is no BIGINT for column v" in strict.stderr, strict.stderr
    lenient = table(bad).replace("'csv')", "'csv', 'csv.ignore-parse-errors' = 'true')")
    done = run(['-e', lenient + 'SELECT v FROM events'])
    assert done.stdout == 'v\n1\n\\N\n2\n' and '3 malformed rows' in done.stderr, (done.stdout, done.stderr)
    for text, words in (("SELECT 1 FROM nowhere", 'line 1, column 15: there is no table nowhere'),
                        (table(bad).replace("'format'", "'fromat'") + 'SELECT v FROM events', "option 'format' is missing; is it 'fromat'?"),
                        (table(bad).replace("'csv')", "'csv', 'csv.null-litteral' = '')") + 'SELECT v FROM events',
                         "did you mean 'csv.null-literal'?"),
                        (table(bad) + f"CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{directory}/o', "
                         "'format' = 'csv'); INSERT INTO o SELECT k, COUNT(*) FROM events GROUP BY k", '--final'),
                        ('SELECT ' + '(' * 100_000, 'nested deeper')):
        assert words in run(['-e', text], code=2).stderr, text[:200]
    final = run(['--final', '-e', table(bad).replace('bad.csv', 'events.csv') + 'SELECT COUNT(*) c FROM events'])
    assert final.stdout == 'c\n3000\n'
    rand = random.Random(3)
    words = (table(bad) + QUERY).replace('(', ' ( ').replace(',', ' , ').split() + ['CASE', 'END', "'", '9' * 50, '--', 'NULL']
    for _ in range(150):
        text = ' '.join(rand.choice(words) for _ in range(rand.randrange(1, 40)))
        done = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', text], capture_output=True, timeout=60)
        assert done.returncode in (0, 2), (text, done.returncode)


def numbers(count='', rate=2000):
    rows = f"'number-of-rows' = '{count}', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '{count}', " if count else ''
    return f"CREATE TABLE g (n BIGINT) WITH ('connector' = 'datagen', {rows}'rows-per-second' = '{rate}');\nSELECT n FROM g"


def check_output(directory):
    """What a checkpoint covers is on standard output, whichever process is killed and whatever cannot be written."""
    rand, count, shown, kills = random.Random(5), 1500, '', 0
    where = ['--checkpoint', '5ms', '--checkpoint-dir', str(directory / 'of_output')]
    while True:
        with open(directory / 'shown', 'w+') as out:
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', numbers(count), *where], stdout=out, stderr=subprocess.PIPE)
            try:
                process.communicate(timeout=rand.uniform(0.1, 0.4) if kills < KILLS else 120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
            out.seek(0)
            shown += out.read()
        if process.returncode == 0:
            break
    assert {int(word) for word in shown.split() if word.isdigit()} == set(range(1, count + 1)), 'rows are missing'

    # A disk that is full: the run ends, nothing counts as shown, and the next one shows it.
    full = ['--checkpoint', '5ms', '--checkpoint-dir', str(directory / 'full')]
    with open('/dev/full', 'w') as out:
        done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', numbers(count, 100_000), *full], stdout=out, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and 'standard output: No space left' in done.stderr, done.stderr
    again = run(['-e', numbers(count, 100_000), *full])
    assert len(again.stdout.split()) >= count, len(again.stdout.split())

    # A reader that goes away ends a query that would go on without end.
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', numbers()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == 'n\n'
    process.stdout.close()
    message = process.stderr.read()
    assert process.wait(timeout=60) == 0 and 'nobody reads standard output' in message, message


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_stream_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    try:
        check_windows(directory)
        check_older_form(directory)
        check_refusals(directory)
        check_output(directory)
        for state in killing.stores(HOLDFAST):
            print(f'{state}: {check_kills(directory, state)} kills')
            print(f'{state}, two queries of one directory: {check_two_queries_of_one_directory(directory, state)} kills')
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
