"""Compiled queries of `holdfast stream run` against the interpreter.

    compiled_query_test.py HOLDFAST

  1. Random queries over random events with NULL, late rows, texts and decimals: each run interpreted and compiled. The
     same with long stretches of rows that are alike, which compiled code takes in blocks, and one that fails in them.
  2. What `explain` shows. Errors of a row: the same words, the same place.
  3. Runs that are killed and go on, compiled and interpreted in turn, on both state stores.
  4. A query's texts and names, whatever is in them, stay what they are.
  5. Compilers that are missing, fail or lie, and caches of others: the interpreter answers.
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

import kills as kills_of
from compilers import read_headers

HOLDFAST = sys.argv[1]
SEED = int(os.environ.get('HOLDFAST_SEED', '1'))
ROUNDS = int(os.environ.get('HOLDFAST_ROUNDS', '1'))
TEXTS = ['', 'a', 'b', 'B', 'ab', ' a,b, c ', 'ÀßÿŸ άΣς Жџ', '"', "'", '\\', '*/', '//', '??/', '\t', 'ä€😀', '%', '_', 'a_b', '\\042', '${x}', '0']
NASTY = TEXTS + ['\\\\\n', '"; abort(); "', ')"', '\n#error\n', 'R"(', '\x01', '\x7f', '\u2028', "'''"]

FAR_DAYS = ['0001-01-01', '9999-12-31', '1969-12-31', '1900-03-01']
UNITS = ['YEAR', 'QUARTER', 'MONTH', 'WEEK', 'DAY', 'DOY', 'DOW', 'HOUR', 'MINUTE', 'SECOND', 'MILLISECOND', 'EPOCH']
DATE_PATTERNS = ['yyyy-MM-dd', 'HH:mm', "yyyyMMdd'T'HHmmss.SSS", '', '\'\'dd/MM\\"', 'SSS%']
LIKES = ["LIKE 'a%'", "LIKE '%b'", "LIKE '_'", "LIKE '%a_b%'", "LIKE 'a!_b' ESCAPE '!'", "LIKE ''", "LIKE '%'", "LIKE '_€%'", "NOT LIKE '%,_%'"]

COLUMNS = [('ts', 'TIMESTAMP(3)'), ('k', 'STRING'), ('t', 'TINYINT'), ('s', 'SMALLINT'), ('i', 'INT'), ('v', 'BIGINT'),
           ('p', 'DECIMAL(12, 2)'), ('q', 'DECIMAL(38, 6)'), ('f', 'FLOAT'), ('d', 'DOUBLE'), ('b', 'BOOLEAN'), ('day', 'DATE')]
KILLED = set()  # Runs, by their numbers.


def field_of(rand, name, ms):
    if name == 'ts':
        return None if rand.random() < 0.01 else time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ms // 1000)) + f'.{ms % 1000:03}'
    if rand.random() < 0.1:
        return None
    ends = {'t': 7, 's': 15, 'i': 31, 'v': 63}
    if name in ends:
        limit = 1 << ends[name]
        return rand.choice([0, 1, -1, 2, 7, limit - 1, -limit, rand.randrange(-limit, limit), rand.randrange(-9, 9)])
    return {'k': lambda: rand.choice(TEXTS), 'p': lambda: f'{rand.randrange(-99999, 99999) / 100:.2f}',
            'q': lambda: f'{rand.randrange(-10**12, 10**12)}.{rand.randrange(10**6):06}',
            'f': lambda: rand.choice(['0.0', '-0.0', 'NaN', '1.5', f'{rand.uniform(-9, 9):.3f}']),
            'd': lambda: rand.choice(['-0.0', 'NaN', 'Infinity', f'{rand.uniform(-1e9, 1e9)}', f'{rand.uniform(-1, 1)}']),
            'b': lambda: rand.choice(['true', 'false']),
            'day': lambda: rand.choice(FAR_DAYS + [f'20{rand.randrange(10, 30)}-02-{rand.randrange(1, 29):02}'] * 30)}[name]()


def write_events(path, rand, count):
    def quoted(value):
        return '\\N' if value is None else '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)
    now = 1_703_980_000_000
    with open(path, 'w') as out:
        for _ in range(count):
            now += rand.randrange(0, 60)
            ms = now - rand.choice([0, 0, rand.randrange(0, 9000), rand.randrange(0, 40_000)])
            out.write(','.join(quoted(field_of(rand, name, ms)) for name, _ in COLUMNS) + '\n')


def table(path):
    return (f"CREATE TABLE events ({', '.join(f'{name} {kind}' for name, kind in COLUMNS)}, w AS v / 2, "
            "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
            f" WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n")


class Grammar:
    """Expressions that cannot fail, by their type: 'n' integer, 'p' decimal, 'd' real, 'k' text, 'b' boolean."""

    def __init__(self, rand):
        self.rand = rand

    def of(self, kind, depth=3):
        pick = self.rand.choice
        if depth == 0 or self.rand.random() < 0.2:
            return pick({'n': ['t', 's', 'i', 'v', 'w', '0', '3', '-7', '127', '9223372036854775807', 'CAST(NULL AS INT)'],
                         'p': ['p', '1.50', '-0.05', 'CAST(i AS DECIMAL(12, 2))'], 'd': ['d', 'f', 'CAST(0.5 AS DOUBLE)', 'CAST(v AS DOUBLE)'],
                         'k': ['k', "''", "'a'", "'\"'", "'\\'", "'ä%'"],
                         'b': ['b', 'TRUE', 'FALSE', 'CAST(NULL AS BOOLEAN)', "ts > TIMESTAMP '2023-12-31 00:00:10'", "day < DATE '2020-02-05'"]}[kind])
        a = lambda k=kind: self.of(k, depth - 1)
        case = f'CASE WHEN {a("b")} THEN {a()} WHEN {a("b")} THEN {a()} ELSE {a()} END'
        if kind == 'n':
            return pick([f'({a()} + {a()})', f'({a()} - {a()})', f'({a()} * {a()})', f'(-{a()})', f'ABS({a()})', case,
                         f'COALESCE({a()}, {a()})', f'NULLIF({a()}, {a()})', f'CHAR_LENGTH({a("k")})', f'CAST({a()} AS SMALLINT)',
                         f'CAST({a("d")} AS INT)', f'({a()} / 7)', f'MOD({a()}, -3)', f'EXTRACT({pick(UNITS)} FROM ts)', f'EXTRACT({pick(UNITS)} FROM day)'])
        if kind == 'p':
            return pick([f'({self.of("p", 0)} + {self.of("p", 0)})', f'({self.of("p", 0)} * {self.of("p", 0)})', f'(p - 1.25)',
                         f'ABS({self.of("p", 0)})', f'COALESCE({self.of("p", 0)}, 0.25)', 'ROUND(p, 1)', '(p / 3)', 'CAST(p AS DECIMAL(20, 5))'])
        if kind == 'd':
            return pick([f'({a()} + {a()})', f'({a()} * {a()})', f'({a()} / {a()})', f'ABS({a()})', f'FLOOR({a()})', case,
                         f'CAST({a("n")} AS FLOAT)', f'(-{a()})'])
        if kind == 'k':
            time_text = "DATE_FORMAT({}, '{}')".format(pick(['ts', 'day']), pick(DATE_PATTERNS).replace("'", "''"))
            return pick([f'({a()} || {a()})', f'SUBSTRING({a()}, 1, 2)', f'SUBSTRING({a()}, {pick("-2 0 2 9".split())}, {a("n")})',
                         f'TRIM({a()})', f'UPPER({a()})', f'LOWER({a()})', time_text, case, f'CAST({a("n")} AS STRING)',
                         f'SPLIT_INDEX({a()}, {pick(["a", ", ", "", "€"])!r}, {a("n")})', f'SPLIT_INDEX({a()}, {a()}, {pick("01")})',
                         f'CAST({a("d")} AS STRING)', f'COALESCE({a()}, {a()})'])
        other = pick('npdk')
        return pick([f'({a()} AND {a()})', f'({a()} OR {a()})', f'(NOT {a()})', f'({a()} IS TRUE)', f'({a(other)} IS NULL)',
                     f'({a(other)} {pick(["=", "<>", "<", "<=", ">", ">="])} {a(other)})', f'({a(other)} IN ({a(other)}, {a(other)}))',
                     f"({a('k')} {pick(LIKES)})", f'({a("n")} BETWEEN {a("n")} AND {a("n")})', '(v > p)', '(p = q)', f'({a()} = {a()})'])

    def aggregate(self):
        pick = self.rand.choice
        kind = pick('nnpd')
        argument = self.of(pick('nnpdkb') if pick([0, 1]) else kind, 2)
        call = pick([f'COUNT(*)', f'COUNT({argument})', f'COUNT(DISTINCT {argument})', f'SUM({self.of(kind, 1)})', f'AVG({self.of(kind, 1)})',
                     f'SUM(DISTINCT {self.of(kind, 1)})', f'VAR_SAMP(DISTINCT {self.of(kind, 1)})',
                     f'MEDIAN(DISTINCT {self.of(kind, 1)})', f'MIN({argument})', f'MAX({argument})', 'MIN(ts)', 'MAX(day)'])
        return call + (f' FILTER (WHERE {self.of("b", 2)})' if pick([0, 0, 1]) else '')


def query_of(rand, shape):
    grammar = Grammar(rand)
    where = f' WHERE {grammar.of("b")}' if rand.random() < 0.7 else ''
    if shape == 'rows':
        return 'SELECT ts, ' + ', '.join(grammar.of(rand.choice('npdkb')) for _ in range(16)) + ' FROM events' + where
    keys = [f'{grammar.of(kind, 1)} AS g{i}' for i, kind in enumerate(rand.choice(['', 'n', 'k', 'kn', 'nb', 'dp']))]
    groups = [key.rsplit(' AS ', 1)[0] for key in keys]
    values = [grammar.aggregate() for _ in range(12)]
    having = f' HAVING COUNT(*) > {rand.randrange(3)}' if rand.random() < 0.5 else ''
    if shape == 'final':
        return 'SELECT ' + ', '.join(keys + values) + ' FROM events' + where + (' GROUP BY ' + ', '.join(groups) if groups else '') + having
    window = rand.choice(["TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
                          "HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND)"])
    return ('SELECT window_start, window_end, ' + ', '.join(keys + values) + f' FROM TABLE({window})' + where
            + ' GROUP BY window_start, window_end' + ''.join(', ' + group for group in groups) + having)


def run(cache, mode, text, *more, env=None):
    return subprocess.run([HOLDFAST, 'stream', 'run', '--final', '--compile', mode, '--cache', str(cache), '-e', text, *more],
                          capture_output=True, text=True, timeout=300, env=env)


def outcome(done):
    """What both must agree on: code, rows, and messages but for ", compiled"."""
    lines = [line.replace(', compiled', '') for line in done.stderr.splitlines()]
    return done.returncode, done.stdout, lines


def check_same(cache, text, refused=False):
    interpreted, compiled = run(cache, 'never', text), run(cache, 'wait', text)
    assert 'interpreted:' not in compiled.stderr, (text, compiled.stderr)
    if interpreted.returncode == 0:
        assert ', compiled' in compiled.stderr, compiled.stderr
    assert outcome(interpreted) == outcome(compiled), (text, first_difference(interpreted, compiled))
    assert interpreted.returncode in (0, 1, 2) and (interpreted.returncode != 2 or refused), (text, interpreted.stderr)
    return interpreted


def first_difference(a, b):
    for x, y in zip(a.stdout.splitlines() + a.stderr.splitlines(), b.stdout.splitlines() + b.stderr.splitlines()):
        if x != y.replace(', compiled', ''):
            return x, y
    return a.returncode, b.returncode


def check_random(directory, cache):
    rows = 0
    for round_ in range(ROUNDS):
        rand = random.Random(SEED * 1000 + round_)
        path = directory / f'events_{round_}.csv'
        write_events(path, rand, 3000)
        for shape in ('rows', 'rows', 'windows', 'windows', 'windows', 'final'):
            done, tries = None, 0
            while done is None or done.returncode == 2:  # A type that does not fit another: refused by both.
                text = table(path) + query_of(rand, shape)
                done = run(cache, 'never', text)
                tries += 1
                assert tries < 200, done.stderr
            done = check_same(cache, text)
            rows += len(done.stdout.splitlines())
    assert rows > 500, rows


def write_blocks(path, rand, count, keys):
    """Long stretches of rows that are alike; between them some of each kind that is not: late, NULL, without a time.
    Returns the numbers of rows that have 60 alike rows on each side, none of them late for a window of 10 s."""
    now, highest, rows, timely = 1_703_980_000_000, 0, [], []
    while len(rows) < count:
        odd = rand.choice([0, 0, 0.02, 0.3])
        for _ in range(rand.randrange(1, 500)):
            now += rand.choice([0, 0, 1, 20])
            kind = rand.choice(['late', 'k', 'v', 'time', 'ahead']) if rand.random() < odd else ''
            ms = now - {'late': rand.randrange(60_000), 'ahead': -rand.randrange(9_000)}.get(kind, 0)
            at = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ms // 1000)) + f'.{ms % 1000:03}'
            key = rand.randrange(keys)
            timely.append(kind == '' and ms - ms % 10_000 + 10_000 > highest - 5_000)
            highest = max(highest, 0 if kind == 'time' else ms)
            rows.append(['\\N' if kind == 'time' else at, '\\N' if kind == 'k' else f'key {key}', '\\N' if kind == 'v' else str(key), str(1 + len(rows))])
    path.write_text(''.join(','.join(row) + '\n' for row in rows))
    return [i for i in range(500, len(rows) - 500) if all(timely[i - 60:i + 60])]


BLOCK_QUERIES = [
    'SELECT window_start, v, COUNT(*), SUM(n) FROM TABLE({window}) GROUP BY window_start, window_end, v',
    "SELECT window_start, k, SUM(n), MIN(ts) FROM TABLE({window}) WHERE MOD(n, 3) > 0 AND k <> 'key 1' GROUP BY window_start, window_end, k",
    'SELECT v, k, COUNT(*), SUM(n), AVG(n) FROM events WHERE n < 50000 GROUP BY v, k']
# Each fails at the row {at}, and at no other: in what is gathered, a condition, a key, a watermark.
FAILING = [
    'SELECT v, SUM(100 / (n - {at})) FROM TABLE({window}) GROUP BY window_start, window_end, v',
    'SELECT v, COUNT(*) FILTER (WHERE 100 / (n - {at}) > 0) FROM TABLE({window}) GROUP BY window_start, window_end, v',
    'SELECT v, COUNT(*) FROM TABLE({window}) WHERE 100 / (n - {at}) < 1000 GROUP BY window_start, window_end, v',
    'SELECT 100 / (n - {at}) AS g, COUNT(*) FROM TABLE({window}) GROUP BY window_start, window_end, 100 / (n - {at})',
    'SELECT v, SUM(w) FROM TABLE({window}) GROUP BY window_start, window_end, v']


def check_blocks(directory, cache):
    """Rows are taken in blocks where they are alike: what is seen does not show it."""
    def table_of(path, at=0):
        return ("CREATE TABLE events (ts TIMESTAMP(3), k STRING, v BIGINT, n BIGINT, w AS 100 / (n - " + str(at) + "), "
                "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'filesystem', "
                f"'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = '\\N');\n")
    windows = ["TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
               "HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)"]
    rand = random.Random(SEED)
    for keys in (40, 60_000):  # The second has more groups than a cache.
        path = directory / f'blocks_{keys}.csv'
        alike = write_blocks(path, rand, 6_000 if keys == 40 else 90_000, keys)
        for number, query in enumerate(BLOCK_QUERIES):
            text = table_of(path).replace(", w AS 100 / (n - 0)", '') + query.format(window=windows[number % 2])
            done = check_same(cache, text)
            assert len(done.stdout.splitlines()) > keys / 2, done.stderr
            for sharing in ('merge', 'keys'):
                two = run(cache, 'wait', text, '--workers', '2', '--sharing', sharing)
                assert outcome(two)[1] == done.stdout, (text, first_difference(done, two))
        for query in FAILING:
            at = rand.choice(alike) + 1
            text = table_of(path, at) if 'SUM(w)' in query else table_of(path).replace(", w AS 100 / (n - 0)", '')
            done = check_same(cache, text + query.format(window=windows[0], at=at), refused=True)
            assert 'division by zero' in done.stderr and f'(at record {at},' in done.stderr, (query, at, done.stderr)
            for sharing in ('merge', 'keys'):
                two = run(cache, 'wait', text + query.format(window=windows[0], at=at), '--workers', '2', '--sharing', sharing)
                assert two.returncode == done.returncode and f'(at record {at},' in two.stderr, (query, sharing, two.stderr)
    # A block moves the watermark past a window that has no row: what comes for it then is late.
    path = directory / 'late.csv'
    path.write_text(''.join(f'2026-01-01 00:00:{second},a,1,1\n' for second in ['12'] * 32 + ['16'] * 32 + ['05'] + ['16'] * 31))
    text = table_of(path).replace(", w AS 100 / (n - 0)", '') + BLOCK_QUERIES[0].format(window=windows[0])
    assert '1 late row dropped' in check_same(cache, text).stderr
    # A watermark that lies before the year 1.
    path = directory / 'early.csv'
    path.write_text(''.join(f"{'0001-01-01 00:00:01' if i == 77 else '0001-01-01 00:00:09'},a,1,{i}\n" for i in range(1, 200)))
    text = table_of(path).replace(", w AS 100 / (n - 0)", '') + BLOCK_QUERIES[0].format(window=windows[0])
    assert '(at record 77,' in check_same(cache, text, refused=True).stderr


def check_explain(directory):
    def explain(query, *options):
        return subprocess.run([HOLDFAST, 'stream', 'explain', '-e', table(directory / 'events_0.csv') + query, *options],
                              capture_output=True, text=True, check=True).stdout
    shown = explain("SELECT window_start, k, SUM(v) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
                    "WHERE REPLACE(k, 'a', 'b') LIKE 'b%' AND i > 3 GROUP BY window_start, window_end, k")
    for words in ('-- query 1: plan', 'Group by (k)', "interpreter\nREPLACE(k, 'a', 'b')\n", 'like(', '-- query 1: source',
                  'greater(row.c4_i, some<std::int32_t>(3))', 'using Key = KeyOf<Text>;', 'StateOf<SumOfIntegers<std::int64_t>>'):
        assert words in shown, (words, shown)
    # Of a run without a state store and of one with it.
    join = 'SELECT a.k, b.v FROM events a JOIN events b ON a.k = b.k'
    assert 'kStored = false' in explain(join) and '_.put_state()' not in explain(join)
    for place in (('--checkpoint-dir', str(directory / 'none')), ('--state', 'kv', '--region', str(directory / 'none'))):
        shown = explain(join, *place)
        assert 'kStored = true' in shown and '_.put_state()' in shown and not (directory / 'none').exists(), shown
    # Where the state is.
    near = join + " AND a.ts BETWEEN b.ts - INTERVAL '1' MINUTE AND b.ts"
    versions = ('CREATE VIEW newest AS SELECT k, ts, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM events) '
                'WHERE n = 1;\nSELECT a.k, b.v FROM events a JOIN newest FOR SYSTEM_TIME AS OF a.ts AS b ON a.k = b.k')
    over = 'SELECT SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM events'
    window = "TABLE({}(TABLE events{}, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    ranks = ('SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v) AS n FROM '
             f"{window.format('TUMBLE', '')}) WHERE n < 3")
    sessions = f"SELECT window_start, k, v FROM {window.format('SESSION', ' PARTITION BY k')}"
    values = 'SELECT k, COUNT(DISTINCT v) FROM events GROUP BY k'
    most = ('SELECT window_start, window_end, MAX(n) FROM (SELECT window_start, window_end, k, COUNT(*) AS n FROM '
            f"{window.format('TUMBLE', '')} GROUP BY window_start, window_end, k) GROUP BY window_start, window_end")
    ordered = 'SELECT k, v FROM events ORDER BY v'
    waits = ("SET 'table.exec.emit.late-fire.enabled' = 'true';\nSET 'table.exec.emit.allow-lateness' = '1 min';\nSET 'table.exec.emit.late-fire.delay' = "
             f"'1 s';\nSELECT window_start, COUNT(*) FROM {window.format('TUMBLE', '')} GROUP BY window_start, window_end")
    for query, name in ((join, 'Join'), (near, 'IntervalJoin'), (over, 'Over'), (versions, 'TemporalJoin'), (ranks, 'Rank'),
                        (sessions, 'AssignSessions'), (values, 'Group'), (most, 'Group'), (ordered, 'Sort'),
                        (waits, 'Group')):
        in_kv = explain(query, '--state', 'kv', '--region', str(directory / 'none'))
        assert f'-- query 1: state in memory, and in kv what memory has no room for\n{name}' in in_kv, in_kv
        assert '-- query 1: state in memory\n' not in in_kv, in_kv
        assert f'-- query 1: state in memory\n{name}' in explain(query), query
    assert 'kForgets = false' in shown and 'kForgets = true' in explain("SET 'table.exec.state.ttl' = '1 h';" + join)
    shown = explain("SELECT v, window_start FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' MINUTE))")
    assert 'no source' in shown and 'a window without a GROUP BY of its windows is not compiled' in shown, shown


def check_errors(directory, cache):
    path = directory / 'events_0.csv'
    for expression in ('100 / (v - 7)', 'q * q * q', "CAST('x' || k AS INT)", "ts + INTERVAL '3000000' DAY", 'TO_TIMESTAMP_LTZ(v, 3)'):
        done = check_same(cache, table(path) + f'SELECT {expression} FROM events', refused=True)
        assert '(at ' in done.stderr, (expression, done.stderr)
    # A group's error when its window ends, and a sum that has too many digits.
    many = directory / 'many.csv'
    many.write_text('2026-01-01 00:00:00,99999999999999999999999999999999999999\n' * 3)
    text = (f"CREATE TABLE e (ts TIMESTAMP(3), x DECIMAL(38, 0), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', "
            f"'path' = '{many}', 'format' = 'csv');\nSELECT SUM(x), COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
            "GROUP BY window_start, window_end")
    assert 'more than 38 digits' in check_same(cache, text, refused=True).stderr


def check_far_years(directory, cache):
    """A window may end behind the year 9999, and begin before the year 1."""
    path = directory / 'far.csv'
    path.write_text('0001-01-01 00:00:00\n9999-12-31 23:59:59.999\n')
    shown = ', '.join(f"DATE_FORMAT({column}, 'yyyyMMdd HH yyyy')" for column in ('window_start', 'window_end'))
    done = check_same(cache, f"CREATE TABLE e (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'path' = '{path}', "
                      f"'format' = 'csv');\nSELECT {shown} FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '7' DAY)) "
                      'GROUP BY window_start, window_end')
    assert done.stdout.splitlines()[1:] == ['00001228 00 0000,00010104 00 0001', '99991230 00 9999,100000106 00 10000'], done.stdout


def check_kills(directory, cache, state):
    path, rand = directory / 'long.csv', random.Random(SEED)
    if not path.exists():
        write_events(path, rand, 40_000)

    def text(to):
        return (table(path) + "CREATE TABLE out (s TIMESTAMP(3), k STRING, n BIGINT, v BIGINT, p DECIMAL(38, 6), m STRING, d BIGINT)"
                f" WITH ('connector' = 'filesystem', 'path' = '{to}', 'format' = 'csv');\n"
                "INSERT INTO out SELECT window_start, k, COUNT(*), SUM(v), AVG(p), MIN(k), COUNT(DISTINCT i) FROM TABLE(HOP(TABLE events, "
                "DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, k")

    def where(name):
        return ['--checkpoint', '2ms', *kills_of.where(state, directory, name)]

    def parts(to):
        return ''.join(part.read_text() for part in sorted(pathlib.Path(to).glob('part-*.csv')))

    whole = directory / f'whole_{state}'
    begin = time.monotonic()
    done = run(cache, 'never', text(whole), *where(f'whole_{state}'))
    undisturbed = time.monotonic() - begin
    wanted = parts(whole)
    assert done.returncode == 0 and len(wanted.splitlines()) > 500
    assert run(cache, 'wait', text(directory / f'compiled_{state}')).returncode == 0
    assert parts(directory / f'compiled_{state}') == wanted
    kills, taken_over = 0, {'never': 0, 'wait': 0}  # Runs that went on where the other kind was killed.
    for round_ in range(80):
        to, turn = directory / f'broken_{state}_{round_}', 0
        while True:
            mode = ('never', 'wait')[(turn + round_) % 2]
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '--cache', str(cache), '-e', text(to),
                                        *where(f'{state}_{round_}')], stderr=subprocess.PIPE, text=True)
            if turn < 6:
                time.sleep(rand.uniform(0, undisturbed))
                if process.poll() is not None:
                    undisturbed *= 0.9  # The machine was busier when that was measured.
                process.send_signal(signal.SIGKILL)
                KILLED.add(process.pid)
            _, message = process.communicate(timeout=120)
            assert process.returncode in (0, -signal.SIGKILL), message
            assert wanted.startswith(parts(to)), 'what is shown is a prefix of the whole'
            taken_over[mode] += turn > 0 and 'resumed from checkpoint' in message
            if process.returncode == 0:
                break
            kills += 1
            turn += 1
        assert parts(to) == wanted
        if min(taken_over.values()) >= 4 and kills >= 10:
            return f'{kills} kills, taken over: {taken_over}'
    raise AssertionError(f'only {kills} kills, {taken_over}')


def check_texts(directory, cache):
    path = directory / 'texts.csv'
    path.write_text('1\n')
    # Line comments, the end of a comment, quotes, in names, texts and options; no byte of them may reach the compiler.
    columns = ', '.join(f'`{text}{i}` BIGINT' for i, text in enumerate(['*/', '"', '\\', '??/', 'int', '{}', '//', 'ä']))
    values = ', '.join("'" + text.replace("'", "''") + "'" + f' AS `{i}`' for i, text in enumerate(NASTY))
    path.write_text(','.join('1' * 8) + '\n')
    text = (f"CREATE TABLE `ta*/ble\\` ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n"
            f"SELECT `*/0` + `\"1` AS `sum\\`, {values} FROM `ta*/ble\\`")
    done = run(cache, 'never', text)
    assert done.returncode == 0, done.stderr
    check_same(cache, text)
    # A program is started with words: those of a query are none of them.
    told = directory / 'told'
    spy = directory / 'spy'
    spy.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo spy 1; exit; fi\nprintf "%s\\n" "$@" >> {told}\nexit 1\n')
    spy.chmod(0o755)
    done = run(cache, 'wait', text, '--compiler', str(spy))
    assert done.returncode == 0 and 'interpreted:' in done.stderr
    words = told.read_text().split('\n')[:-1]
    assert words[0].startswith('-') and all(word.startswith(('-', str(cache))) or word == 'c++-header' for word in words), words


def check_other_files(directory):
    """The same query of another file is the same code: it is compiled once."""
    cache = directory / 'cache_of_two'
    for name, value in (('one', 4), ('two', 5)):
        path = directory / f'{name}.csv'
        path.write_text(f'{value}\n')
        done = run(cache, 'wait', f"CREATE TABLE t (v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n"
                                  'SELECT v * v AS w FROM t')
        assert ', compiled' in done.stderr and done.stdout.split() == ['w', str(value * value)], done
    assert len(list(cache.glob('*.so'))) == len(list(cache.glob('[0-9a-f]*.cpp'))) == 1, list(cache.iterdir())


def check_precompiled(directory):
    """What a compiler has made of the runtime while a query ran, later queries begin with; where it is damaged, none does."""
    cache, told, compiler = directory / 'cache_of_headers', directory / 'told_of_headers', directory / 'telling'
    compiler.write_text(f'#!/bin/sh\necho "$*" >> {told}\nexec {"g++" if shutil.which("g++") else "clang++"} "$@" -O0\n')
    compiler.chmod(0o755)
    endless = ("CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100', 'fields.id.kind' = 'sequence', "
               "'fields.id.start' = '0', 'fields.id.end' = '1000000');\nSELECT id + 1 AS n FROM e")
    # Two of them, of which one is to make it.
    processes = [subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', 'wait', '--compiler', str(compiler), '--cache', str(cache), '-e',
                                   endless.replace('+ 1', f'+ {number}')], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for number in (1, 2)]

    # It is there while they still run.
    until = time.monotonic() + 600
    while not list(cache.glob('headers-*.gch')) or len(list(cache.glob('*.so'))) < 2:
        assert time.monotonic() < until and all(process.poll() is None for process in processes), list(cache.iterdir())
        time.sleep(0.05)
    for process in processes:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert told.read_text().count('c++-header') == 1, told.read_text()
    headers, = cache.glob('headers-*.gch')
    apart, = cache.glob('headers-*.o')
    whole = headers.read_bytes()
    path = directory / 'numbers.csv'
    path.write_text('4\n')

    def check(expression, value):
        done = run(cache, 'wait', f"CREATE TABLE t (v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n"
                                  f'SELECT {expression} AS w FROM t', '--compiler', str(compiler))
        assert ', compiled' in done.stderr and done.stdout.split() == ['w', value], done
        return [f'-include {headers.with_suffix("")} ' in line for line in told.read_text().splitlines() if '-shared' in line]

    assert check('v * v', '16') == [False, False, True]
    headers.write_bytes(whole[:100_000])
    assert check('v * v + 1', '17') == [False, False, True, True, False]
    assert not headers.exists()
    headers.write_bytes(whole)
    apart.unlink()
    assert check('v * v + 2', '18') == [False, False, True, True, False, True, False]
    assert not headers.exists()
    assert not list(cache.glob('own-*'))


def check_clang(directory):
    """The libraries of clang, too, are linked to what it has made of the runtime."""
    clang = shutil.which('clang++') or shutil.which('clang++-19')
    if clang is None:
        return
    cache, path = directory / 'cache_of_clang', directory / 'events_0.csv'
    before = os.environ.get('CXX')
    os.environ['CXX'] = clang
    read_headers(cache)
    text = table(path) + 'SELECT k, COUNT(*), MIN(v) FROM events GROUP BY k'
    done = run(cache, 'wait', text)
    os.environ.pop('CXX') if before is None else os.environ.update(CXX=before)
    assert ', compiled' in done.stderr and done.stdout == run(cache, 'never', text).stdout, done.stderr


def ends(process, within_seconds):
    until = time.monotonic() + within_seconds
    while time.monotonic() < until:
        try:
            if pathlib.Path(f'/proc/{process}/stat').read_text().split()[2] == 'Z':
                return True
        except OSError:  # It is gone, perhaps while it was looked at.
            return True
        time.sleep(0.05)
    return False


def check_compilers(directory, cache):
    path = directory / 'events_0.csv'
    text = table(path) + 'SELECT v + 41, k FROM events WHERE i > 0'
    wanted = run(cache, 'never', text).stdout
    fails = directory / 'fails'
    fails.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo fails 1; exit; fi\necho "x.cpp:1: error: \\033[31mno\\007 room"\nexit 3\n')
    lies = directory / 'lies'  # It ends well and writes nothing, or no library.
    lies.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo lies 1; exit; fi\nfor last; do :; done\n'
                    'while [ $# -gt 0 ]; do if [ "$1" = -o ]; then echo no library > "$2"; fi; shift; done\n')
    silent = directory / 'silent'
    silent.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo silent 1; exit; fi\nexit 0\n')
    slow = directory / 'slow'
    slow.write_text('#!/bin/sh\nif [ "$1" = --version ]; then echo slow 1; exit; fi\nsleep 100 & echo $! > ' + f'{directory}/slow.pid\nwait\n')
    for compiler in (fails, lies, silent, slow):
        compiler.chmod(0o755)
    for mode in ('wait', 'background'):
        for compiler, words in ((fails, 'the compiler ended with 3'), (lies, 'loading'), (silent, ''), ('/nowhere/c++', 'there is no compiler'),
                                ('/bin/false', '--version ended with 1')):
            done = run(cache, mode, text, '--compiler', str(compiler))
            assert done.returncode == 0 and done.stdout == wanted, (compiler, done.stderr)
            if mode == 'wait':
                assert 'query 1: interpreted:' in done.stderr and words in done.stderr, (compiler, done.stderr)
                assert '\x1b' not in done.stderr and '\x07' not in done.stderr
                if compiler == fails:
                    kept = done.stderr.split('its source is ')[1].split()[0].strip("'")
                    assert 'struct Row' in pathlib.Path(kept).read_text()
    # One that does not even say its version is not waited for by who stops the query.
    hangs = directory / 'hangs'
    began = directory / 'hangs.began'
    hangs.write_text(f'#!/bin/sh\ntouch {began}\nexec sleep 100\n')
    hangs.chmod(0o755)
    endless = "CREATE TABLE e (x BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');\nSELECT SUM(x) FROM e"
    for mode, compiler, file in (('wait', hangs, began), ('background', hangs, began), ('wait', slow, directory / 'slow.pid')):
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '--compiler', str(compiler), '--cache', str(cache), '-e', endless],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.01)
        file.unlink()
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        assert 'interrupted' in said and time.monotonic() - begun < 20, (mode, compiler, said)
    # A compiler that is not done when the query is, is ended with all it started.
    long = ("CREATE TABLE e (x BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '2000', 'number-of-rows' = '{}', "
            "'fields.x.kind' = 'sequence');\nSELECT SUM(x) FROM e")
    # Longer runs where the machine is busy.
    for seconds in (1, 5, 25):
        rows = 2000 * seconds
        done = run(cache, 'background', long.format(rows), '--compiler', str(slow))
        assert done.returncode == 0 and done.stdout.endswith(f'\n{rows * (rows - 1) // 2}\n'), done
        assert 'compiled' not in done.stderr, done.stderr
        if (directory / 'slow.pid').exists():
            break
    assert ends(int((directory / 'slow.pid').read_text()), within_seconds=30), 'it is still there'
    # In the background compiled code takes over on the way.
    for seconds in (1, 5, 25):
        rows = 2000 * seconds
        run(cache, 'wait', long.format(rows))
        done = run(cache, 'background', long.format(rows))
        assert done.stdout.endswith(f'\n{rows * (rows - 1) // 2}\n'), done
        if ', compiled' in done.stderr:
            break
    assert ', compiled' in done.stderr, done
    left = set(cache.glob('own-*'))  # By compilers that were killed.
    # $CXX is asked before the usual ones.
    done = run(cache, 'wait', text, env={**os.environ, 'CXX': '/nowhere/cxx'})
    assert '/nowhere/cxx' in done.stderr and done.stdout == wanted
    # Others could write into the cache; a library of it is damaged; no HOME.
    open_to_all = directory / 'open'
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    done = run(open_to_all, 'wait', text)
    assert 'yours alone' in done.stderr and done.stdout == wanted and not list(open_to_all.iterdir())
    assert ', compiled' in run(cache, 'wait', text).stderr
    for library in cache.glob('*.so'):
        library.write_bytes(library.read_bytes()[:100])
    done = run(cache, 'wait', text)
    assert ', compiled' in done.stderr and done.stdout == wanted, done.stderr
    assert (cache.stat().st_mode & 0o777) == 0o700
    check_old(directory / 'old', text)
    # The compiler of a run that was killed goes on to its end.
    own = {path for path in cache.glob('own-*') if int(path.name.split('-')[1]) not in KILLED}
    assert own <= left, own - left


# What nobody has read for 30 days goes when a query begins; what was read stays, and so does what is not the cache's.
def check_old(cache, text):
    assert ', compiled' in run(cache, 'wait', text).stderr
    library, = cache.glob('*.so')
    other = cache / ('0' * 32 + '.so')
    runtime = cache / ('runtime-' + '0' * 32)
    runtime.mkdir()
    mine = [cache / name for name in ('notes', 'abc.so', '0' * 32 + '.txt')]
    for path in (other, runtime / 'header.hpp', *mine):
        path.write_text('old')
    now = time.time()
    for days, there in (29, True), (31, False):
        for path in (other, runtime, *mine):
            os.utime(path, (now - days * 86400,) * 2)
        os.utime(library, (now, now - 31 * 86400))
        assert ', compiled' in run(cache, 'wait', text).stderr
        assert other.exists() == runtime.exists() == there and library.exists() and all(path.exists() for path in mine), days


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_compiled_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None))
    cache = directory / 'cache'
    try:
        if not shutil.which('g++') and not shutil.which('clang++') and 'CXX' not in os.environ:
            print('skipped: there is no compiler')
            sys.exit(77)
        read_headers(cache)
        check_random(directory, cache)
        check_blocks(directory, cache)
        check_explain(directory)
        check_errors(directory, cache)
        check_far_years(directory, cache)
        check_texts(directory, cache)
        check_other_files(directory)
        check_precompiled(directory)
        check_clang(directory)
        for state in kills_of.stores(HOLDFAST):
            print(state, check_kills(directory, cache, state))
        check_compilers(directory, cache)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
