"""The format parquet of `holdfast stream run`, as a user would use it, beside pyarrow and DuckDB.

    parquet_test.py HOLDFAST

Rows of every type there and back; files of pyarrow with other types, row groups and compressions; what does not fit, is damaged
or is not there; runs that are killed. Skipped, and says so, where neither this Python nor the one that HOLDFAST_TEST_PYTHON
names has pyarrow.
"""
import datetime
import decimal
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import compilers
from kills import check_kills
from test_python import duckdb
from typed_rows import COLUMNS, files, plain, run as run_holdfast, write_json

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print('skipped: no pyarrow (HOLDFAST_TEST_PYTHON names a Python that has it)')
    sys.exit(77)

HOLDFAST = sys.argv[1]
os.environ['HOLDFAST_PEER_PYTHON'] = sys.executable


def run(*arguments, code=0):
    return run_holdfast(HOLDFAST, *arguments, code=code)


def table(path, columns, name='t', **options):
    return files(path, columns, name, 'parquet', **options)


def rows_of(path, columns, select='*', format='parquet', **options):
    done = run('--format', 'json', '-e', files(path, columns, 't', format, **options) + f'SELECT {select} FROM t')
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_there_and_back(directory):
    source = directory / 'rows.json'
    write_json(source, random.Random(1), 20000)  # More than one batch.
    wanted = rows_of(source, COLUMNS, format='json')
    for compression in (None, 'UNCOMPRESSED', 'GZIP', 'zstd'):
        out = directory / f'out_{compression}'
        options = {'parquet__compression': compression} if compression else {}
        run('-e', files(source, COLUMNS, 't', 'json') + table(out, COLUMNS, 'o', **options) + 'INSERT INTO o SELECT * FROM t')
        part = out / 'part-0000000001.parquet'
        assert [path.name for path in out.iterdir()] == [part.name], list(out.iterdir())
        meta = pq.ParquetFile(part).metadata
        assert meta.row_group(0).column(0).compression == (compression or 'SNAPPY').upper(), compression
        assert rows_of(out, COLUMNS) == wanted and rows_of(part, COLUMNS) == wanted, compression
        assert rows_of(part, 'r ROW<w ARRAY<ROW<y BIGINT, more INT>>>, none STRING, i BIGINT', 'i, none') == [
            {'i': row['i'], 'none': None} for row in wanted]
        theirs = pq.read_table(part).to_pylist()
        assert len(theirs) == len(wanted)
        for their, our in zip(theirs, wanted):
            assert plain(their) == our, (their, our)
    schema = pq.read_schema(part)
    assert str(schema.field('t').type) == 'int8' and str(schema.field('at').type) == 'timestamp[ms]', schema
    assert str(schema.field('m').type) == 'decimal128(20, 4)' and str(schema.field('day').type) == 'date32[day]', schema
    if duckdb:
        found = duckdb.sql(f"SELECT COUNT(*), SUM(i), COUNT(s), SUM(m), SUM(len(v)) FROM '{part}'").fetchall()[0]
        assert found[:3] == (20000, sum(row['i'] or 0 for row in wanted), sum(row['s'] is not None for row in wanted)), found
        assert found[4] == sum(len(row['v'] or []) for row in wanted)
        exact = run('-e', table(part, 'm DECIMAL(20, 4)') + 'SELECT SUM(m) AS m FROM t', '--final').stdout.split()
        assert decimal.Decimal(exact[1]) == found[3], (exact, found)
    wrong = run('-e', files(source, COLUMNS, 't', 'json') + table(directory / 'x', COLUMNS, 'o', parquet__compression='LZO')
                + 'INSERT INTO o SELECT * FROM t', code=2)
    assert "'SNAPPY', 'GZIP'" in wrong.stderr, wrong.stderr


def check_files_of_others(directory):
    path = directory / 'others.parquet'
    at = datetime.datetime(1969, 12, 31, 23, 59, 59, 999001)
    rows = 1000
    columns = {
        'u8': pa.array([200, None] * 500, pa.uint8()), 'u32': pa.array([4_000_000_000, 1] * 500, pa.uint32()),
        'seconds': pa.array([at.replace(microsecond=0)] * rows, pa.timestamp('s')), 'micros': pa.array([at] * rows, pa.timestamp('us')),
        'nanos': pa.array([at] * rows, pa.timestamp('ns', 'UTC')), 'word': pa.array(['red', 'blue'] * 500).dictionary_encode(),
        'large': pa.array(['x'] * rows, pa.large_string()), 'bytes': pa.array([b'b'] * (rows - 1) + [b'\xff'], pa.binary()),
        'small': pa.array([decimal.Decimal('1.5')] * rows, pa.decimal128(3, 1)), 'half': pa.array([1.5] * rows, pa.float32()),
        'lists': pa.array([[1, None], []] * 500, pa.large_list(pa.int16())), 'pair': pa.array([[1, 2]] * rows, pa.list_(pa.int32(), 2)),
        'days': pa.array([datetime.date(2026, 1, 2)] * rows, pa.date64()), 'nothing': pa.nulls(rows),
        'map': pa.array([[('a', 1)], None] * 500, pa.map_(pa.string(), pa.int32())), 'unread': pa.array([b'\xff'] * rows)}
    sql = ('u8 INT, u32 BIGINT, seconds TIMESTAMP(3), micros TIMESTAMP(3), nanos TIMESTAMP(3), word STRING, `large` STRING, bytes STRING, '
           'small DECIMAL(10, 3), half DOUBLE, lists ARRAY<INT>, pair ARRAY<INT>, days DATE, nothing DOUBLE, `map` MAP<STRING, BIGINT>')
    for options in ({}, {'row_group_size': 7, 'compression': 'zstd'}, {'use_dictionary': False, 'data_page_version': '2.0'}):
        pq.write_table(pa.table(columns), path, **options)
        shown = rows_of(path, sql, parquet__ignore_parse_errors='true')
        assert len(shown) == rows and shown[-1]['bytes'] is None  # It is no UTF-8.
        assert shown[0] == {'u8': 200, 'u32': 4000000000, 'seconds': '1969-12-31 23:59:59.000', 'micros': '1969-12-31 23:59:59.999',
                            'nanos': '1969-12-31 23:59:59.999', 'word': 'red', 'large': 'x', 'bytes': 'b', 'small': 1.5, 'half': 1.5,
                            'lists': [1, None], 'pair': [1, 2], 'days': '2026-01-02', 'nothing': None, 'map': {'a': 1}}, shown[0]
        assert shown[1]['u8'] is None and shown[1]['map'] is None and shown[1]['lists'] == [], shown[1]
    # What one value is not costs no other one of its row group.
    days = pa.array([0, -86400000, 86400000], pa.date64())
    texts, inner = pa.array([b'a', b'\xff', b'c']).view(pa.string()), pa.array([b'x', b'\xfe', b'z']).view(pa.string())
    money = pa.array([decimal.Decimal('1.5'), decimal.Decimal(10)**36, decimal.Decimal(-2)], pa.decimal128(38, 1))
    pq.write_table(pa.table({'n': pa.array([1, 2, 3], pa.int32()), 's': texts, 'r': pa.StructArray.from_arrays([inner], ['x']), 'm': money, 'd': days}), path)
    sql = 'n INT, s STRING, r ROW<x STRING>, m DECIMAL(38, 4), d DATE'
    done = run('--format', 'json', '-e', table(path, sql, parquet__ignore_parse_errors='true') + 'SELECT * FROM t')
    assert done.stdout.splitlines() == [
        '{"n":1,"s":"a","r":{"x":"x"},"m":1.5000,"d":"1970-01-01"}',
        '{"n":2,"s":null,"r":null,"m":null,"d":"1969-12-31"}',
        '{"n":3,"s":"c","r":{"x":"z"},"m":-2.0000,"d":"1970-01-02"}'], done.stdout
    assert '1 malformed row' in done.stderr, done.stderr
    # Rows that are large together: in smaller batches, until they fit.
    pq.write_table(pa.table({'n': pa.array(range(16384), pa.int32()), 's': ['x' * 40000] * 16384}), path)
    small = subprocess.run([HOLDFAST, 'stream', 'run', '--final', '-e', table(path, 'n INT, s STRING', parquet__ignore_parse_errors='true')
                            + 'SELECT COUNT(*), SUM(n), SUM(CHAR_LENGTH(s)) FROM t'], capture_output=True, text=True, timeout=300,
                           env={**os.environ, 'HOLDFAST_PEER_GIB': '1'})
    assert small.stdout.split()[1:] == [f'16384,{sum(range(16384))},{16384 * 40000}'] and 'malformed' not in small.stderr, small
    # A value that is none of its column: NULL, or left out, or the end.
    pq.write_table(pa.table({'n': [1, 300, 3]}, schema=pa.schema([('n', pa.int32())])), path)
    strict = run('-e', table(path, 'n TINYINT') + 'SELECT n FROM t', code=1)
    assert 'others.parquet, row group 0, record 2: it has no TINYINT for column n' in strict.stderr, strict.stderr
    assert run('-e', table(path, 'n TINYINT', parquet__ignore_parse_errors='true') + 'SELECT n FROM t').stdout == 'n\n1\n\\N\n3\n'
    aside = run('-e', table(path, 'n TINYINT', malformed_records__path=directory / 'kept') + 'SELECT n FROM t')
    assert aside.stdout == 'n\n1\n3\n' and '1 malformed row' in aside.stderr, aside.stderr


def check_what_does_not_fit(directory):
    path = directory / 'fit.parquet'
    pq.write_table(pa.table({'n': pa.array([1]), 's': pa.array(['a']), 'd': pa.array([1.5]), 'r': pa.array([{'x': True}]),
                             'm': pa.array([decimal.Decimal('1.125')]), '\x1b[31mred': pa.array([1])}), path)
    for column, words in (('n INT', 'column n: the file has int64, the table INT; BIGINT reads it'),
                          ('s BIGINT', 'column s: the file has string, the table BIGINT'),
                          ('d FLOAT', 'column d: the file has double, the table FLOAT; DOUBLE reads it'),
                          ('m DECIMAL(9, 2)', 'the table DECIMAL(9, 2); a scale of at least 3 reads it'),
                          ('r ROW<x INT>', 'column r.x: the file has bool, the table INT'),
                          ('n ARRAY<BIGINT>', 'column n: the file has int64, the table ARRAY<BIGINT>'),
                          ('other INT', "none of the table's columns; it has n, s, d, r, m, \\x1b[31mred")):
        refused = run('-e', table(path, column) + 'SELECT * FROM t', code=2)
        assert words in refused.stderr and 'fit.parquet' in refused.stderr, refused.stderr
    twice = directory / 'twice.parquet'
    pq.write_table(pa.table([pa.array([1]), pa.array([2]), pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ['x', 'x'])], ['n', 'n', 'r']), twice)
    for column in ('n BIGINT', 'r ROW<x BIGINT>'):
        refused = run('-e', table(twice, column) + 'SELECT * FROM t', code=2)
        assert f"the file has two columns {'n' if column[0] == 'n' else 'r.x'}" in refused.stderr, refused.stderr
    gone = run('-e', table(directory / 'nowhere', 'n INT') + 'SELECT n FROM t', code=1)
    assert 'nowhere: No such file' in gone.stderr, gone.stderr
    for kind in ('socket', 'kv'):
        more = "'port' = '9'" if kind == 'socket' else f"'path' = '{directory / 'store'}'"
        done = run('-e', f"CREATE TABLE t (n INT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = '{kind}', {more}, 'format' = 'parquet'); "
                   'SELECT n FROM t', code=2)
        assert "'parquet' is for files" in done.stderr, done.stderr
    # Without pyarrow, without Python: what to install.
    for python in ('/usr/bin/false', directory / 'no-python', 'bare'):
        if python == 'bare':
            python = directory / 'bare'
            python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
            python.chmod(0o755)
        done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', table(path, 'n BIGINT') + 'SELECT n FROM t'], capture_output=True, text=True,
                              env={**os.environ, 'HOLDFAST_PEER_PYTHON': str(python)}, timeout=60)
        assert done.returncode == 1, done
        assert ('pip install pyarrow' in done.stderr) or str(python) == '/usr/bin/false' and 'ended with 1' in done.stderr, done.stderr


def check_damage(directory, rounds):
    """Files that are cut, or have bytes changed: rows or a message, and the files behind them."""
    good, many = directory / 'good.parquet', directory / 'damaged'
    many.mkdir()
    pq.write_table(pa.table({'n': list(range(1000)), 's': [f'text {i}' for i in range(1000)]}), good, row_group_size=100)
    whole, rand = good.read_bytes(), random.Random(5)
    (many / 'a.parquet').write_bytes(whole)
    (many / 'c.parquet').write_bytes(whole)
    for round_ in range(rounds):
        bad = bytearray(whole)
        for _ in range(rand.randrange(1, 5)):
            bad[rand.randrange(len(bad))] = rand.randrange(256)
        (many / 'b.parquet').write_bytes(b'' if round_ == 0 else bad[:rand.randrange(len(bad))] if round_ % 3 == 0 else bad)
        done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', table(many, 'n BIGINT, s STRING', parquet__ignore_parse_errors='true')
                               + 'SELECT n FROM t'], capture_output=True, text=True, timeout=60)
        # A byte in the names of columns makes it a file of another table; one in a length may end pyarrow.
        assert done.returncode in (0, 1, 2), (done.returncode, done.stderr)
        assert done.returncode == 0 or 'b.parquet' in done.stderr, done.stderr
        if done.returncode == 0:
            lines = done.stdout.split()
            assert lines[1:1001] == lines[-1000:] == [str(i) for i in range(1000)], (round_, len(lines))
    # A row group that is damaged, and the others of its file.
    bad = bytearray(whole)
    begin = pq.ParquetFile(good).metadata.row_group(4).column(0).dictionary_page_offset
    bad[begin:begin + 40] = b'\xff' * 40
    (many / 'b.parquet').write_bytes(bad)
    done = run('-e', table(many, 'n BIGINT', parquet__ignore_parse_errors='true') + 'SELECT n FROM t')
    assert len(done.stdout.split()) == 1 + 2900 and 'file b.parquet, row group 4: it is damaged' in done.stderr, done.stderr
    (many / 'b.parquet').write_bytes(whole[:500])
    strict = run('-e', table(many, 'n BIGINT') + 'SELECT n FROM t', code=1)
    assert 'file b.parquet, the header: it is damaged, or no file of Parquet' in strict.stderr, strict.stderr


def check_kills_over_parquet(directory):
    """A directory of Parquet into Parquet by windows, killed on the way: rows are those of the undisturbed run."""
    source, rand, ms = directory / 'events', random.Random(4), 1_700_000_000_000
    source.mkdir()
    for number in range(4):
        rows = []
        for _ in range(6000):
            ms += rand.randrange(0, 100)
            rows.append({'ms': ms - rand.randrange(0, 3000), 'k': rand.randrange(20), 'v': rand.randrange(1000)})
        pq.write_table(pa.Table.from_pylist(rows), source / f'{number}.parquet', row_group_size=rand.randrange(100, 3000))

    def command_of(name):
        out = directory / f'killed_{name}'
        sql = (table(source, "ms BIGINT, k BIGINT, v BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND")
               + table(out, 's TIMESTAMP(3), k BIGINT, n BIGINT, v BIGINT', 'o')
               + "INSERT INTO o SELECT window_start, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
                 "INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k")
        return out, [HOLDFAST, 'stream', 'run', '--checkpoint-dir', str(directory / f'state_{name}'), '--checkpoint', '5ms', '-e', sql]

    def rows_shown(out):
        shown = [pq.read_table(part).to_pylist() for part in sorted(out.glob('part-*'))]
        return ''.join(f'{row}\n' for part in shown for row in part)
    return check_kills(command_of, rand, 10, rows_shown)


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_parquet_'))
    compilers.be_quick(directory)
    try:
        check_there_and_back(directory)
        check_files_of_others(directory)
        check_what_does_not_fit(directory)
        check_damage(directory, 12)
        check_kills_over_parquet(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
