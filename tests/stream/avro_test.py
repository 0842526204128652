"""The format avro of `holdfast stream run`, as a user would use it, beside Avro's own library of Java.

    avro_test.py HOLDFAST

Rows of every type there and back, by each codec; files of others, with other schemas; schemas that do not fit; files that are
cut or damaged at any byte; bombs; runs that are killed. Skipped, and says so, where neither this Python nor the one that
HOLDFAST_TEST_PYTHON names has fastavro. What Java's Avro says is left out where Maven finds no jars (java/avro), and it says so.
"""
import base64
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
import zlib

import test_python  # By the Python that has the packages.
from compilers import ROUNDS, be_quick
from kills import check_kills
from typed_rows import COLUMNS, files as files_of, run as run_holdfast, write_json

try:
    import cramjam  # What fastavro packs and unpacks snappy by.
    import fastavro
except ImportError as error:
    print(f'skipped: {error} (HOLDFAST_TEST_PYTHON names a Python that has it)')
    sys.exit(77)

HOLDFAST = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
JARS = ROOT / 'build' / 'java' / 'avro' / 'lib'
os.environ['HOLDFAST_PEER_PYTHON'] = sys.executable


def find_jars():
    if not list(JARS.glob('avro-*.jar')) and shutil.which('mvn') and shutil.which('java'):
        options = os.environ.get('HOLDFAST_MAVEN_OPTIONS', '').split()
        subprocess.run(['mvn', '-q', '-B', '-ntp', *options, '-f', ROOT / 'java' / 'avro' / 'pom.xml', 'package'], capture_output=True, timeout=120)
    if list(JARS.glob('avro-*.jar')) and shutil.which('java'):
        return True
    print('no jars of Avro, or no Java: what it says of our files is left out')
    return False


HAS_JAVA = find_jars()


def java(*words, text=None):
    command = ['java', '-cp', f'{JARS}/*', ROOT / 'java' / 'avro' / 'AvroRows.java', *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, input=text, text=True, encoding='utf-8', timeout=120)
    assert done.returncode == 0, (words, done.stderr[-2000:])
    return done.stdout.splitlines()


def run(*arguments, code=0):
    return run_holdfast(HOLDFAST, *arguments, code=code)


def files(path, columns, name='t', format='avro', **options):
    return files_of(path, columns, name, format, **options)


def rows_of(path, columns, select='*', **options):
    done = run('--format', 'json', '-e', files(path, columns, **options) + f'SELECT {select} FROM t')
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_there_and_back(directory):
    source = directory / 'rows.json'
    write_json(source, random.Random(1), 3000)
    wanted = rows_of(source, COLUMNS, format='json')
    for codec in (None, 'null', 'deflate', 'bzip2', 'xz'):
        out = directory / f'out_{codec}'
        options = {'avro__codec': codec} if codec else {}
        run('-e', files(source, COLUMNS, format='json') + files(out, COLUMNS, 'o', **options) + 'INSERT INTO o SELECT * FROM t')
        part = out / 'part-0000000001.avro'
        assert [path.name for path in out.iterdir()] == [part.name], list(out.iterdir())
        assert rows_of(out, COLUMNS) == wanted and rows_of(part, COLUMNS) == wanted, codec
        # Some columns, in another order, and one that the file has not.
        assert rows_of(part, 'r ROW<w ARRAY<ROW<y BIGINT, more INT>>>, none STRING, i BIGINT', 'i, none') == [
            {'i': row['i'], 'none': None} for row in wanted]
        with open(part, 'rb') as file:
            reader = fastavro.reader(file)
            assert reader.metadata['avro.codec'] == (codec or 'snappy')
            schema = json.loads(reader.metadata['avro.schema'])
        assert schema['name'] in ('record', 'org.apache.flink.avro.generated.record'), schema
        assert schema['fields'][2] == {'name': 'n', 'type': ['null', 'long'], 'default': None}, schema
        if HAS_JAVA:
            assert [json.loads(line) for line in java('show', part)] == wanted, codec
            copy = directory / f'copy_{codec}.avro'
            java('copy', part, copy, codec or 'snappy')
            assert rows_of(copy, COLUMNS) == wanted, codec
    wrong = run('-e', files(source, COLUMNS, format='json') + files(directory / 'x', COLUMNS, 'o', avro__codec='lzo')
                + 'INSERT INTO o SELECT * FROM t', code=2)
    assert "'snappy', 'deflate', 'null', 'bzip2', 'xz' or 'zstandard' is wanted" in wrong.stderr, wrong.stderr
    wrong = run('-e', files(source, COLUMNS, avro__encoding='json') + 'SELECT * FROM t', code=2)
    assert "'avro.encoding' = 'json', 'binary': Avro in JSON is neither read nor written" in wrong.stderr, wrong.stderr


def check_what_is_missing(directory):
    """Without fastavro, without Python, without the package of a codec: what to install."""
    path = directory / 'missing.avro'
    write_avro(path, json.loads(LONGS), [{'n': 1}])
    for python in ('/usr/bin/false', directory / 'no-python', 'bare'):
        if python == 'bare':
            python = directory / 'bare'
            python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
            python.chmod(0o755)
        done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', files(path, 'n BIGINT') + 'SELECT n FROM t'], capture_output=True, text=True,
                              env={**os.environ, 'HOLDFAST_PEER_PYTHON': str(python)}, timeout=60)
        assert done.returncode == 1, done
        assert 'pip install pyarrow fastavro cramjam' in done.stderr or str(python) == '/usr/bin/false' and 'ended with 1' in done.stderr, done.stderr
    try:
        fastavro.writer(open(os.devnull, 'wb'), 'null', [None], codec='zstandard')
    except ValueError:
        source = directory / 'missing.json'
        source.write_text('{"n": 1}\n')
        done = run('-e', files(source, 'n INT', format='json') + files(directory / 'z', 'n INT', 'o', avro__codec='zstandard')
                   + 'INSERT INTO o SELECT * FROM t', code=1)
        assert 'zstandard codec is supported but you need to install' in done.stderr, done.stderr
        path.write_bytes(path.read_bytes().replace(b'\x08null', b'\x12zstandard', 1))
        assert 'zstandard codec is supported but you need to' in run('-e', files(path, 'n BIGINT') + 'SELECT n FROM t', code=1).stderr


def write_avro(path, schema, rows, **options):
    with open(path, 'wb') as out:
        fastavro.writer(out, fastavro.parse_schema(schema), rows, **options)


def check_files_of_others(directory):
    """Types that others write: units of time, fixed decimals, enums, promotions, unions, records named once and used twice."""
    path = directory / 'others.avro'
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
    point = {'type': 'record', 'name': 'Point', 'namespace': 'a.b', 'fields': [{'name': 'x', 'type': 'int'}]}
    schema = {'type': 'record', 'name': 'Row', 'namespace': 'a.b', 'fields': [
        {'name': 'skipped', 'type': {'type': 'array', 'items': {'type': 'map', 'values': ['null', 'string', {'type': 'fixed', 'name': 'F', 'size': 3}]}}},
        {'name': 'micros', 'type': {'type': 'long', 'logicalType': 'timestamp-micros'}},
        {'name': 'local', 'type': ['null', {'type': 'long', 'logicalType': 'local-timestamp-millis'}]},
        {'name': 'bare', 'type': 'long'},
        {'name': 'fixed', 'type': {'type': 'fixed', 'name': 'Money', 'size': 20, 'logicalType': 'decimal', 'precision': 30, 'scale': 2}},
        {'name': 'colour', 'type': {'type': 'enum', 'name': 'Colour', 'symbols': ['RED', 'BLUE']}},
        {'name': 'bytes', 'type': 'bytes'}, {'name': 'wide', 'type': ['int', 'long', 'null']},
        {'name': 'real', 'type': ['float', 'int']}, {'name': 'p', 'type': point}, {'name': 'q', 'type': ['null', 'a.b.Point']},
        {'name': 'tree', 'type': {'type': 'record', 'name': 'Tree', 'fields': [{'name': 'next', 'type': ['null', 'Tree']}]}},
        {'name': 'nothing', 'type': {'type': 'array', 'items': 'null'}}]}
    row = {'skipped': [{'k': 'v', 'l': None, 'm': b'abc'}, {}], 'micros': at, 'local': None, 'bare': 1767323045678,
           'fixed': decimal.Decimal('-12345678901234567890.12'), 'colour': 'BLUE', 'bytes': 'tëxt'.encode(), 'wide': 2**40, 'real': 1.5,
           'p': {'x': 1}, 'q': {'x': 2}, 'tree': {'next': {'next': None}}, 'nothing': [None] * 5}
    columns = ('micros TIMESTAMP(3), `local` TIMESTAMP(3), bare TIMESTAMP(3), fixed DECIMAL(38, 4), colour STRING, bytes STRING, '
               'wide BIGINT, `real` DOUBLE, p ROW<x INT>, q ROW<x BIGINT>')
    wanted = {'micros': '2026-01-02 03:04:05.678', 'local': None, 'bare': '2026-01-02 03:04:05.678', 'colour': 'BLUE', 'bytes': 'tëxt',
              'wide': 2**40, 'real': 1.5, 'p': {'x': 1}, 'q': {'x': 2}}
    in_java = {**row, 'skipped': [{'k': {'string': 'v'}, 'l': None, 'm': {'a.b.F': 'abc'}}, {}], 'micros': int(at.timestamp()) * 1000000 + 678901,
               'fixed': (-1234567890123456789012).to_bytes(20, 'big', signed=True).decode('latin-1'), 'bytes': 'tëxt'.encode().decode('latin-1'),
               'wide': {'long': 2**40}, 'real': {'float': 1.5}, 'q': {'a.b.Point': {'x': 2}}, 'tree': {'next': {'a.b.Tree': {'next': None}}}}
    for codec in ('null', 'deflate', 'bzip2', 'by Java') if HAS_JAVA else ('null', 'deflate', 'bzip2'):
        if codec == 'by Java':
            (directory / 'others.avsc').write_text(json.dumps(schema))
            java('make', directory / 'others.avsc', path, 'snappy', 5, text=json.dumps(in_java))
        else:
            write_avro(path, schema, [row] * 5, codec=codec, sync_interval=100)
        shown = run('--format', 'json', '-e', files(path, columns) + 'SELECT * FROM t').stdout
        assert '"fixed":-12345678901234567890.1200' in shown, shown
        for line in shown.splitlines():
            line = json.loads(line)
            del line['fixed']
            assert line == wanted, line
    # Values that are none of their columns: NULL, or kept aside, or the end.
    write_avro(path, {'type': 'record', 'name': 'R', 'fields': [{'name': 't', 'type': 'int'}, {'name': 's', 'type': 'bytes'}]},
               [{'t': 1, 's': b'a'}, {'t': 300, 's': b'b'}, {'t': 3, 's': b'\xff'}])
    strict = run('-e', files(path, 't TINYINT, s STRING') + 'SELECT * FROM t', code=1)
    assert 'record 2: it has no TINYINT for column t' in strict.stderr and 'others.avro' in strict.stderr, strict.stderr
    lenient = run('-e', files(path, 't TINYINT, s STRING', avro__ignore_parse_errors='true') + 'SELECT * FROM t')
    assert lenient.stdout == 't,s\n1,a\n\\N,b\n3,\\N\n' and '2 malformed rows' in lenient.stderr, lenient
    aside = run('-e', files(path, 't TINYINT, s STRING', malformed_records__path=directory / 'kept') + 'SELECT * FROM t')
    kept = (directory / 'kept').read_text().splitlines()
    assert aside.stdout == 't,s\n1,a\n' and '2 malformed rows' in aside.stderr, aside
    assert len(kept) == 2 and kept[0].endswith(', record 2: it has no TINYINT for column t') and 'no STRING for column s' in kept[1], kept


def check_schemas_that_do_not_fit(directory):
    path = directory / 'fit.avro'
    schema = {'type': 'record', 'name': 'R', 'fields': [
        {'name': 'n', 'type': 'long'}, {'name': 's', 'type': ['null', 'string']}, {'name': 'd', 'type': 'double'},
        {'name': 'm', 'type': {'type': 'bytes', 'logicalType': 'decimal', 'precision': 9, 'scale': 3}},
        {'name': 'r', 'type': {'type': 'record', 'name': 'S', 'fields': [{'name': 'x', 'type': 'boolean'}]}}]}
    write_avro(path, schema, [])
    for column, words in (('n INT', 'column n: the file has long, the table INT; BIGINT reads it'),
                          ('s BIGINT', 'column s: the file has string, the table BIGINT'),
                          ('d FLOAT', 'column d: the file has double, the table FLOAT; DOUBLE reads it'),
                          ('m DECIMAL(9, 2)', 'column m: the file has bytes (decimal 9, 3), the table DECIMAL(9, 2); a scale of at least 3'),
                          ('r ROW<x INT>', 'column r.x: the file has boolean, the table INT'),
                          ('n ARRAY<BIGINT>', 'column n: the file has long, the table ARRAY<BIGINT>'),
                          ('other INT', "none of the table's columns; it has n, s, d, m, r")):
        refused = run('-e', files(path, column) + 'SELECT * FROM t', code=2)
        assert words in refused.stderr and 'fit.avro' in refused.stderr, refused.stderr
    write_avro(path, {'type': 'record', 'name': 'R', 'fields': [
        {'name': 'n', 'type': {'type': 'long', 'logicalType': 'time-micros'}}, {'name': 'i', 'type': {'type': 'int', 'logicalType': 'time-millis'}}]}, [])
    for column, words in (('n TIMESTAMP(3)', 'column n: the file has long (time-micros), the table TIMESTAMP(3)'),
                          ('i DATE', 'column i: the file has int (time-millis), the table DATE')):
        assert words in run('-e', files(path, column) + 'SELECT * FROM t', code=2).stderr
    assert run('-e', files(path, 'n BIGINT, i INT') + 'SELECT * FROM t').stdout == 'n,i\n'
    write_avro(path, 'long', [1])
    assert 'the file has long for each row, a record is wanted' in run('-e', files(path, 'n BIGINT') + 'SELECT * FROM t', code=2).stderr
    path.write_bytes(path.read_bytes().replace(b'null', b'zstd', 1))
    assert "its codec is 'zstd', which fastavro has not" in run('-e', files(path, 'n BIGINT') + 'SELECT n FROM t', code=2).stderr
    # Two types of a union that are read, but not alike.
    money = [{'type': 'fixed', 'name': f'F{scale}', 'size': 5, 'logicalType': 'decimal', 'precision': 9, 'scale': scale} for scale in (1, 2)]
    write_avro(path, {'type': 'record', 'name': 'R', 'fields': [{'name': 'm', 'type': money}]}, [])
    assert 'a union of types that are read differently' in run('-e', files(path, 'm DECIMAL(9, 2)') + 'SELECT m FROM t', code=2).stderr


def number(value):
    value, out = (value << 1) ^ (value >> 63), bytearray()
    value &= 2**64 - 1
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return number(len(value)) + value


MARKER = bytes(range(200, 216))


def container(schema, *blocks, codec='null', marker=MARKER):
    """A file by hand: what no library would write."""
    header = b'Obj\1' + number(2) + text('avro.schema') + text(schema) + text('avro.codec') + text(codec) + number(0) + MARKER
    return header + b''.join(number(count) + number(len(data)) + data + marker for count, data in blocks)


# A column of numbers, and one of another type.
BESIDE = '{"type":"record","name":"R","fields":[{"name":"n","type":"long"},{"name":"x","type":%s}]}'
LONGS = '{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}'


def check_damage(directory):
    """Blocks that cannot be read are left behind at the next marker, or end the query with their byte."""
    path, kept = directory / 'bad.avro', directory / 'bad_kept'
    good = [(2, number(1) + number(2)), (1, number(3)), (2, number(4) + number(5))]

    def check(content, reason, wanted, code=1):
        path.write_bytes(content)
        strict = run('-e', files(path, 'n BIGINT') + 'SELECT n FROM t', code=code)
        assert reason in strict.stderr and 'bad.avro' in strict.stderr, strict.stderr
        for options in ({'avro__ignore_parse_errors': 'true'}, {'malformed_records__path': kept}) if code == 1 else ():
            done = run('-e', files(path, 'n BIGINT', **options) + 'SELECT n FROM t')
            assert done.stdout.split() == ['n', *map(str, wanted)], (reason, done.stdout)
            assert 'malformed' in done.stderr and reason in done.stderr, done.stderr

    whole = container(LONGS, *good)
    begin = len(container(LONGS))
    path.write_bytes(whole)
    assert run('-e', files(path, 'n BIGINT') + 'SELECT n FROM t').stdout == 'n\n1\n2\n3\n4\n5\n'
    wrong_marker = bytearray(whole)
    wrong_marker[begin + 10] ^= 1
    check(bytes(wrong_marker), f'block at byte {begin}: expected sync marker not found', [4, 5])
    check(container(LONGS, good[0]) + number(1) + number(2**40), 'it takes more memory than the process of Python may have', [1, 2])
    check(container(LONGS, good[0]) + number(1) + number(2**27) + b'x' * 9 + MARKER + container(LONGS, good[1])[begin:], 'Expected 134217728 bytes', [1, 2, 3])
    check(container(LONGS, good[0]) + b'\x80', 'a number does not end', [1, 2])
    check(container(LONGS, good[0], (-1, b''), good[1]), 'says that it has -1 records', [1, 2, 3])
    check(container(LONGS, (2**50, b'\2'), good[1]), f'says that it has {2**50} records in 1 bytes', [3])
    check(container(LONGS, (2, number(1) + b'\x80'), good[1]), 'record 2: a number does not end', [1, 3])
    check(container(LONGS, (1, b'\xff' * 11), good[1]), 'record 1: a number does not end', [3])
    check(container(LONGS, (1, number(1) + b'zz'), good[1]), '2 bytes are left behind its last record', [1, 3])
    check(container(LONGS, (1, b'\xff' * 4), codec='deflate'), 'while decompressing', [])
    check(container(LONGS, (1, b'junk and more'), codec='snappy'), f'block at byte {len(container(LONGS, codec="snappy"))}: ', [])
    packed = bytes(cramjam.snappy.compress_raw(number(7)))
    check(container(LONGS, (1, packed + b'wxyz'), codec='snappy'), 'the checksum of a block is not that of its bytes', [])
    check(b'not avro', 'it is no file of Avro', [])
    check(b'', 'it is no file of Avro', [])
    check(whole[:30], 'its header is damaged: ', [])
    for schema in ('{"type":', '"money"'):
        check(container(schema, (1, b'\0')), 'its header is damaged: ', [])
    # What little bytes claim may cost the process of Python its memory, its time or its life, and no more.
    empty = '{"type":"record","name":"R","fields":[{"name":"x","type":"null"},{"name":"n","type":["null","long"]}]}'
    check(container(empty, (2**40, b'')), f'says that it has {2**40} records in 0 bytes', [])
    tree = '{"type":"record","name":"T","fields":[{"name":"t","type":["null","T"]}]}'
    path.write_bytes(container(BESIDE % tree, (1, number(7) + number(1) * 100000 + number(0))))
    deep = run('-e', files(path, 'n BIGINT') + 'SELECT n FROM t', code=1)
    assert 'bad.avro: the process of Python' in deep.stderr and 'was ended by signal 11' in deep.stderr, deep.stderr
    check(container('"\\ud800"', (1, b'\0')), 'its header is damaged: ', [])
    # A damaged file among others.
    many = directory / 'many'
    many.mkdir()
    (many / 'a.avro').write_bytes(container(LONGS, good[0]))
    (many / 'b.avro').write_bytes(b'Obj\1 and then nothing of it')
    (many / 'c.avro').write_bytes(container(LONGS, good[1]))
    done = run('-e', files(many, 'n BIGINT', avro__ignore_parse_errors='true') + 'SELECT n FROM t')
    assert done.stdout == 'n\n1\n2\n3\n' and 'file b.avro, the header: its header is damaged: ' in done.stderr, done


def check_bombs(directory):
    """Bytes that say they are many: an error, soon. Each takes the process of Python its memory or its minute."""
    path = directory / 'bomb.avro'
    levels = '{"type":"record","name":"L0","fields":[]}'
    for level in range(1, 40):
        levels = f'{{"type":"record","name":"L{level}","fields":[{{"name":"a","type":{levels}}},{{"name":"b","type":"L{level - 1}"}}]}}'
    zeros = zlib.compressobj(9, wbits=-15)
    packed = zeros.compress(bytes(1 << 26)) + zeros.flush()
    nulls = container(BESIDE % '{"type":"array","items":"null"}', (1, number(7) + number(2**62) + number(0)))
    for content, limits, words in ((nulls, (1, 60), 'HOLDFAST_PEER_GIB'), (nulls, (4, 2), 'HOLDFAST_PEER_SECONDS'),
                                   (container(BESIDE % levels, (1, number(7))), (4, 2), 'HOLDFAST_PEER_SECONDS'),
                                   (container(BESIDE % '"bytes"', (1, number(7) + number(2**40))), (1, 60), 'record 1: '),
                                   (container(LONGS, (1, packed), codec='deflate'), (1, 60), 'bytes are left behind')):
        path.write_bytes(content)
        done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', files(path, 'n BIGINT') + 'SELECT n FROM t'], capture_output=True, text=True,
                              env={**os.environ, 'HOLDFAST_PEER_GIB': str(limits[0]), 'HOLDFAST_PEER_SECONDS': str(limits[1])}, timeout=100)
        assert done.returncode == 1 and words in done.stderr and 'bomb.avro' in done.stderr, done.stderr


def check_one_large_row(directory):
    """A row that takes more memory than there is costs no other one."""
    path = directory / 'large.avro'
    large = number(2) + number(4 * 10**7) + number(0)
    path.write_bytes(container(BESIDE % '{"type":"array","items":"null"}', (3, number(1) + number(0) + large + number(3) + number(0))))
    done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', files(path, 'n BIGINT, x ARRAY<INT>', avro__ignore_parse_errors='true') + 'SELECT n FROM t'],
                          capture_output=True, text=True, env={**os.environ, 'HOLDFAST_PEER_GIB': '1'}, timeout=100)
    assert done.stdout == 'n\n1\n3\n' and 'record 2: it takes more memory' in done.stderr, done


def check_the_process(directory):
    """Its limits, what it prints and what it imports: an error that says what to do; no module of the current directory."""
    path = directory / 'process.avro'
    write_avro(path, json.loads(LONGS), [{'n': 1}])
    command = [HOLDFAST, 'stream', 'run', '-e', files(path, 'n BIGINT') + 'SELECT n FROM t']

    def outcome(**more):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=directory, env={**os.environ, **more})
    for name, value in (('HOLDFAST_PEER_GIB', '0.5'), ('HOLDFAST_PEER_GIB', '0'), ('HOLDFAST_PEER_SECONDS', '0'),
                        ('HOLDFAST_PEER_SECONDS', 'a')):
        done = outcome(**{name: value})
        assert done.returncode == 2 and f"{name} is '{value}', a whole number from 1 to " in done.stderr, done.stderr
    elsewhere = directory / 'site'
    elsewhere.mkdir()
    (elsewhere / 'sitecustomize.py').write_text('print("from its site")\n')
    assert outcome(PYTHONPATH=str(elsewhere)).stdout == 'n\n1\n'
    (elsewhere / 'sitecustomize.py').write_text('import os, sys\nprint("the last words", file=sys.stderr)\nos._exit(3)\n')
    done = outcome(PYTHONPATH=str(elsewhere))
    assert done.returncode == 1 and 'ended with 3: the last words' in done.stderr, done.stderr
    for name in ('json', 'struct', 'typing', 'fastavro'):
        (directory / f'{name}.py').write_text('raise SystemExit(7)\n')
        assert outcome().stdout == 'n\n1\n', name
        (directory / f'{name}.py').unlink()
    slow = directory / 'slow'
    slow.write_text('#!/bin/sh\nexec sleep 600\n')
    slow.chmod(0o755)
    done = outcome(HOLDFAST_PEER_PYTHON=str(slow), HOLDFAST_PEER_SECONDS='1')
    assert done.returncode == 1 and 'no answer within 10 seconds' in done.stderr, done.stderr
    # Where the scheduler wakes it to the microsecond it looked a moment before the end of that time, and waited for ever. It may not
    # be allowed to ask for that: then this is the same once more.
    exact = ['chrt', '-f', '1'] if subprocess.run(['chrt', '-f', '1', 'true'], capture_output=True).returncode == 0 else []
    done = subprocess.run([*exact, *command], capture_output=True, text=True, timeout=60, cwd=directory,
                          env={**os.environ, 'HOLDFAST_PEER_PYTHON': str(slow), 'HOLDFAST_PEER_SECONDS': '1'})
    assert done.returncode == 1 and 'no answer within 10 seconds' in done.stderr, done.stderr


def check_random_damage(directory, rounds):
    """Bytes changed and files cut, anywhere, each with a good one on either side: rows or a message, never a signal, never a long wait."""
    source, many, rand = directory / 'few.json', directory / 'random', random.Random(3)
    write_json(source, random.Random(2), 30)
    many.mkdir()
    endings = dict.fromkeys((0, 1, 2), 0)
    for codec in ('null', 'deflate', 'snappy'):
        out = directory / f'few_{codec}'
        run('-e', files(source, COLUMNS, format='json') + files(out, COLUMNS, 'o', avro__codec=codec) + 'INSERT INTO o SELECT * FROM t')
        good = (out / 'part-0000000001.avro').read_bytes()
        for name in 'az':
            (many / f'{name}.avro').write_bytes(good)
        for round_ in range(rounds):
            # Several damaged files a run: it is Python's beginning that takes time.
            bad = []
            for name in 'bcdef':
                bad.append(bytearray(good))
                for _ in range(rand.randrange(0, 6)):
                    bad[-1][rand.randrange(len(good))] = rand.randrange(256)
                if rand.random() < 0.3:
                    bad[-1] = bad[-1][:rand.randrange(len(good))]
                (many / f'{name}.avro').write_bytes(bad[-1])
            option = rand.choice(["'avro.ignore-parse-errors' = 'true'", f"'malformed-records.path' = '{directory / 'random_kept'}'"])
            sql = files(many, COLUMNS).replace(');\n', f', {option});\n')
            done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', sql + 'SELECT i FROM t'], capture_output=True, text=True, timeout=100)
            endings[done.returncode] = endings.get(done.returncode, 0) + 1
            assert done.returncode in (0, 1, 2), (done.returncode, bad, done.stderr)
            if done.returncode == 0:
                assert 60 <= len(done.stdout.split()) - 1 <= 7 * 30, (codec, round_, done.stdout)
            else:
                assert '.avro' in done.stderr, done.stderr
    print(f'{5 * 3 * rounds} files with damage: {endings[0]} runs had rows, {endings[1] + endings[2]} an error')


def check_random_messages(directory, rounds):
    """Values of a store that are damaged: each is a row, or one malformed record."""
    source, store, rand = directory / 'values.json', directory / 'values', random.Random(6)
    write_json(source, random.Random(5), 50)
    columns = 'k STRING, ' + COLUMNS
    with open(source) as lines:
        rows = [{'k': f'key {at:03}', **json.loads(line)} for at, line in enumerate(lines)]
    source.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    def table(format, **options):
        more = ''.join(f", '{key}' = '{value}'" for key, value in options.items())
        return f"CREATE TABLE o ({columns}, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'kv', 'path' = '{store}', 'format' = '{format}'{more});\n"
    run('-e', files(source, columns, format='json') + table('avro') + 'INSERT INTO o SELECT * FROM t')
    shown = run('--format', 'json', '-e', table('avro') + 'SELECT * FROM o').stdout
    assert [json.loads(line) for line in shown.splitlines()] == rows_of(source, columns, format='json')
    good = [subprocess.run([HOLDFAST, 'kv', store, 'get', row['k']], capture_output=True, timeout=60, check=True).stdout for row in rows[:10]]
    for at in range(rounds):
        bad = bytearray(rand.choice(good))
        for _ in range(rand.randrange(1, 4)):
            bad[rand.randrange(len(bad))] = rand.randrange(256)
        bad = bad[:rand.randrange(len(bad))] if rand.random() < 0.2 else bad
        (directory / 'value').write_bytes(bad)
        with open(directory / 'value', 'rb') as value:
            subprocess.run([HOLDFAST, 'kv', store, 'put', f'bad {at:04}', '-'], stdin=value, capture_output=True, timeout=60, check=True)
    done = run('--format', 'json', '-e', table('avro', **{'avro.ignore-parse-errors': 'true'}) + 'SELECT * FROM o')
    found = [line for line in done.stdout.splitlines() if '"k":"key' in line]
    assert len(found) >= 50 and 'malformed rows' in done.stderr, done.stderr
    print(f'{rounds} damaged values: {len(done.stdout.splitlines()) - 50} rows, {done.stderr.splitlines()[-1][:60]}')


def check_columns_that_avro_has_not(directory):
    source = directory / 'one.json'
    source.write_text('{}\n')
    for columns, words in (('`größe` INT', 'column größe has a name that Avro has not'), ('p MAP<INT, INT>', 'keys of its maps are STRING')):
        refused = run('-e', files(source, columns, format='json') + files(directory / 'no', columns, 'o') + 'INSERT INTO o SELECT * FROM t', code=2)
        assert words in refused.stderr, refused.stderr
    table = "CREATE TABLE t (n INT) WITH ('connector' = 'socket', 'port' = '9', 'format' = 'avro'); SELECT n FROM t"
    assert "'avro' is for files and messages" in run('-e', table, code=2).stderr


def check_store(directory):
    """A message of one record: as a value of a store."""
    source, store = directory / 'store.json', directory / 'store'
    source.write_text('{"k": "a", "n": 1, "v": [1, null]}\n{"k": "b", "n": null, "v": []}\n')
    table = f"CREATE TABLE o (k STRING, n BIGINT, v ARRAY<INT>, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'kv', 'path' = '{store}', 'format' = 'avro');\n"
    run('-e', files(source, 'k STRING, n BIGINT, v ARRAY<INT>', format='json') + table + 'INSERT INTO o SELECT * FROM t')
    done = run('--format', 'json', '-e', table + 'SELECT * FROM o')
    assert done.stdout == '{"k":"a","n":1,"v":[1,null]}\n{"k":"b","n":null,"v":[]}\n', done.stdout
    raw = subprocess.run([HOLDFAST, 'kv', str(store), 'get', 'a'], capture_output=True, timeout=60).stdout
    assert raw.rstrip(b'\n') == b'\x02\x02a\x02\x02\x02\x04\x02\x02\x00\x00', raw
    # Of every type, but maps, whose order is Java's own.
    source, store, columns = directory / 'every.json', directory / 'every', COLUMNS[:COLUMNS.rindex(', p MAP')]
    write_json(source, random.Random(7), 20)
    with open(source) as lines:
        rows = [json.loads(line) for line in lines]
    source.write_text(''.join(json.dumps({**row, 'i': at}) + '\n' for at, row in enumerate(rows)))
    table = f"CREATE TABLE o ({columns}, PRIMARY KEY (i) NOT ENFORCED) WITH ('connector' = 'kv', 'path' = '{store}', 'format' = 'avro', 'key.format' = 'csv');\n"
    run('-e', files(source, columns, format='json') + table + 'INSERT INTO o SELECT * FROM t')
    run('-e', files(source, columns, format='json') + files(directory / 'every_file', columns, 'o') + 'INSERT INTO o SELECT * FROM t')
    for at, theirs in enumerate(java('bytes', directory / 'every_file' / 'part-0000000001.avro') if HAS_JAVA else []):
        ours = subprocess.run([HOLDFAST, 'kv', str(store), 'get', str(at)], capture_output=True, timeout=60).stdout
        assert ours == base64.b64decode(theirs), (at, ours)


def check_process_that_ends(directory):
    """The process of Python is killed once: of a file the query says so; messages are read by another one."""
    (directory / 'sitecustomize.py').write_text(
        'import os, signal, pathlib\n'
        'mark, setitimer, left = pathlib.Path(os.environ["MARK"]), signal.setitimer, [5]\n'
        'def count(*words):\n'
        '    left[0] -= 1\n'
        '    if left[0] == 0 and not mark.exists():\n'
        '        mark.touch()\n'
        '        os.kill(os.getpid(), 9)\n'
        '    return setitimer(*words)\n'
        'signal.setitimer = count\n')
    source, store, mark = directory / 'many.json', directory / 'many_values', directory / 'mark'
    source.write_text(''.join(f'{{"k": {at}, "s": "row {at}"}}\n' for at in range(1000)))
    table = f"CREATE TABLE o (k INT, s STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'kv', 'path' = '{store}', 'format' = 'avro', 'key.format' = 'csv');\n"
    for sink in (table, files(directory / 'many_out', 'k INT, s STRING', 'o')):
        run('-e', files(source, 'k INT, s STRING', format='json') + sink + 'INSERT INTO o SELECT * FROM t')
    for query, code, words in ((table + 'SELECT k FROM o', 0, 'row'), (files(directory / 'many_out', 'k INT') + 'SELECT k FROM t', 1, 'was ended by signal 9')):
        mark.unlink(missing_ok=True)
        done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', query], capture_output=True, text=True, timeout=60,
                              env={**os.environ, 'PYTHONPATH': str(directory), 'MARK': str(mark)})
        assert mark.exists() and done.returncode == code and words in done.stderr, done.stderr
        assert code == 1 or sorted(map(int, done.stdout.split()[1:])) == list(range(1000)), done.stdout


def check_kills_over_avro(directory):
    """A directory of Avro into Avro by windows, killed on the way: rows are those of the undisturbed run."""
    source, rand, ms = directory / 'events', random.Random(4), 1_700_000_000_000
    source.mkdir()
    lines = directory / 'lines'
    columns = 'ms BIGINT, k INT, v INT'
    for number_ in range(4):
        with open(lines, 'w') as out:
            for _ in range(8000):
                ms += rand.randrange(0, 100)
                out.write(json.dumps({'ms': ms - rand.randrange(0, 3000), 'k': rand.randrange(20), 'v': rand.randrange(1000)}) + '\n')
        to = directory / f'part_{number_}'
        run('-e', files(lines, columns, format='json') + files(to, columns, 'o', avro__codec=rand.choice(['null', 'deflate', 'snappy']))
            + 'INSERT INTO o SELECT * FROM t')
        (to / 'part-0000000001.avro').rename(source / f'{number_}.avro')

    def command_of(name):
        out = directory / f'killed_{name}'
        sql = (files(source, columns + ", ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND")
               + files(out, 's TIMESTAMP(3), k INT, n BIGINT, v BIGINT', 'o')
               + "INSERT INTO o SELECT window_start, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
                 "INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k")
        return out, [HOLDFAST, 'stream', 'run', '--checkpoint-dir', str(directory / f'state_{name}'), '--checkpoint', '5ms', '-e', sql]

    def rows_shown(out):
        if not list(out.glob('part-*')):
            return ''
        done = run('-e', files(out, 's TIMESTAMP(3), k INT, n BIGINT, v BIGINT') + 'SELECT * FROM t')
        return done.stdout.split('\n', 1)[1]
    return check_kills(command_of, rand, 10, rows_shown)


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_avro_'))
    be_quick(directory)
    try:
        for check in (check_there_and_back, check_what_is_missing, check_damage, check_columns_that_avro_has_not, check_store,
                      check_files_of_others, check_schemas_that_do_not_fit, check_bombs, check_one_large_row, check_the_process, lambda path: check_random_damage(path, 8 * ROUNDS),
                      lambda path: check_random_messages(path, 80 * ROUNDS), check_process_that_ends, check_kills_over_avro):
            check(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
