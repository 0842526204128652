"""NEXMark's queries (workloads/stream/nexmark) over the made-up auction house, against DuckDB on the same events.

    nexmark_test.py HOLDFAST WORKLOADS

The events are those that `SELECT * FROM person` and so on show. Where DuckDB has no word for a window, the query that means
the same stands here. Skipped, and says so, without the package duckdb (HOLDFAST_TEST_PYTHON names a Python that has it).
"""
import collections
import csv
import datetime
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from test_python import duckdb

if duckdb is None:
    print('skipped: this Python has no package duckdb')
    sys.exit(77)

HOLDFAST, WORKLOADS = sys.argv[1], pathlib.Path(sys.argv[2])
EVENTS = 20_000
TYPES = {'BIGINT': 'BIGINT', 'STRING': 'VARCHAR', 'TIMESTAMP(3)': 'TIMESTAMP'}

TUMBLE = "time_bucket(INTERVAL '10 seconds', dateTime, TIMESTAMP '1970-01-01')"
COUNTS = ("SELECT auction, COUNT(*) AS num, s FROM (SELECT auction, unnest([time_bucket(INTERVAL '2 seconds', dateTime, TIMESTAMP "
          "'1970-01-01') - to_seconds(2 * i) for i in range(5)]) AS s FROM bid) GROUP BY auction, s")
MEANING = {
    'q5': f'WITH c AS ({COUNTS}) SELECT c.auction, c.num FROM c JOIN (SELECT s, MAX(num) AS m FROM c GROUP BY s) x ON c.s = x.s AND '
          'c.num >= x.m',
    'q7': f"SELECT B.auction, B.price, B.bidder, B.dateTime, B.extra FROM bid B JOIN (SELECT MAX(price) AS m, {TUMBLE} + INTERVAL '10 "
          f"seconds' AS e FROM bid GROUP BY {TUMBLE}) x ON B.price = x.m WHERE B.dateTime BETWEEN x.e - INTERVAL '10 seconds' AND x.e",
    'q8': f'SELECT P.id, P.name, P.s FROM (SELECT DISTINCT id, name, {TUMBLE} AS s FROM person) P JOIN (SELECT DISTINCT seller, {TUMBLE} '
          'AS s FROM auction) A ON P.id = A.seller AND P.s = A.s',
    'q11': "SELECT bidder, COUNT(*), MIN(dateTime), MAX(dateTime) + INTERVAL '10 seconds' FROM (SELECT *, SUM(fresh) OVER (PARTITION BY "
           "bidder ORDER BY dateTime) AS session FROM (SELECT *, CASE WHEN dateTime - LAG(dateTime) OVER (PARTITION BY bidder ORDER BY "
           "dateTime) <= INTERVAL '10 seconds' THEN 0 ELSE 1 END AS fresh FROM bid) x) y GROUP BY bidder, session",
    'q12': 'SELECT bidder, COUNT(*) FROM bid GROUP BY bidder',
    'q13': 'SELECT B.auction, B.bidder, B.price, B.dateTime, S.city FROM bid B JOIN person S ON B.bidder = S.id',
}


def run(text, *options):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *options, '-e', text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (text[-400:], done.stderr)
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


def shown(value):
    if value is None:
        return '\\N'
    if hasattr(value, 'isoformat'):
        return value.isoformat(' ', 'milliseconds')
    return str(value)


def in_duckdb(name, text):
    if name in MEANING:
        return MEANING[name]
    text = re.sub(r'--[^\n]*', '', text).strip().rstrip(';').replace('`', '"')
    text = re.sub(r'AVG\(([\w.]+)\)', r'(SUM(\1) // COUNT(\1))', text)  # Of whole numbers, cut off.
    text = re.sub(r"REGEXP_EXTRACT\(.*?\d\)", r"NULLIF(\g<0>, '')", text)  # No match is an empty text there.
    return text.replace('ORDER BY price DESC)', 'ORDER BY price DESC, dateTime)')  # Equal ones as they came.


def same(ours, theirs):
    if ours == theirs:
        return True
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return False


def without_windows(rows):
    """Of q12, whose windows are of the time of processing: the counts of a bidder in all of them, once they are windows."""
    counts, seen = collections.Counter(), set()
    for bidder, count, start, end in rows:
        begins, ends = (datetime.datetime.fromisoformat(time) for time in (start, end))
        assert ends - begins == datetime.timedelta(seconds=10) and begins.second % 10 == 0 and (bidder, start) not in seen
        seen.add((bidder, start))
        counts[bidder] += int(count)
    return sorted([bidder, str(count)] for bidder, count in counts.items())


def load(base, tables, directory):
    for name, columns in re.findall(r'CREATE TABLE (\w+) \((.*?)WATERMARK', tables, re.S):
        fields = [f.strip() for f in columns.split(',\n') for f in re.split(r',\s*(?![^(]*\))', f) if f.strip() and ' AS ' not in f]
        kinds = {field.split(' ', 1)[0]: TYPES[field.split(' ', 1)[1]] for field in fields}
        path = directory / f'{name}.csv'
        with open(path, 'w', newline='') as out:
            csv.writer(out).writerows(run(tables + f"SELECT {', '.join(kinds)} FROM {name};"))
        listed = ', '.join(f"'{column}': '{kind}'" for column, kind in kinds.items())
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{path}', header=false, columns={{{listed}}})")
    counts = [base.execute(f'SELECT COUNT(*) FROM {name}').fetchone()[0] for name in ('person', 'auction', 'bid')]
    assert counts == [EVENTS // 50, EVENTS // 50 * 3, EVENTS // 50 * 46], counts


def main():
    tables = re.sub(r"'number-of-events' = '\d+'", f"'number-of-events' = '{EVENTS}'", (WORKLOADS / 'tables.sql').read_text())
    queries = sorted(WORKLOADS.glob('q*.sql'), key=lambda path: int(path.stem[1:]))
    assert [path.stem for path in queries] == [f'q{i}' for i in range(23)]
    base, directory = duckdb.connect(), pathlib.Path(tempfile.mkdtemp(prefix='holdfast_nexmark_'))
    try:
        load(base, tables, directory)
        base.execute("CREATE MACRO date_format(t, f) AS strftime(t, CASE f WHEN 'yyyy-MM-dd' THEN '%Y-%m-%d' ELSE '%H:%M' END)")
        base.execute('CREATE MACRO split_index(s, d, i) AS string_split(s, d)[i + 1]')
        for path in queries:
            text = path.read_text()
            ours = sorted(run(tables + text, '--final', '--compile', 'never'))
            if path.stem == 'q12':
                ours = without_windows(ours)
            theirs = sorted([shown(value) for value in row] for row in base.execute(in_duckdb(path.stem, text)).fetchall())
            assert len(ours) > 0, path.stem
            equal = len(ours) == len(theirs) and all(same(x, y) for a, b in zip(ours, theirs) for x, y in zip(a, b))
            assert equal, f'{path.stem}: {len(ours)} and {len(theirs)} rows\n{ours[:4]}\n{theirs[:4]}'
        print(f'{len(queries)} queries of NEXMark agree with DuckDB')
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
