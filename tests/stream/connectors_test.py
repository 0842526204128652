"""Sources, sinks and formats of `holdfast stream run`, each as a user would use it.

    connectors_test.py HOLDFAST

JSON with Flink's options, malformed records (an error, ignored, or in a file of their own), directories, files that appear,
gzip, sockets, raw and binary records, the formats of a plain SELECT; and runs over directories and JSON that are killed.
"""
import gzip
import json
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import compilers

HOLDFAST = sys.argv[1]


def run(*arguments, code=0):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout[-500:], done.stderr)
    return done


def table(columns, name='t', **options):
    # In Flink's options a point stands where a Python name has two underlines, a hyphen where it has one.
    options = {key.replace('__', '.').replace('_', '-'): value for key, value in options.items()}
    return (f'CREATE TABLE {name} ({columns}) WITH ('
            + ', '.join(f"'{key}' = '{value}'" for key, value in options.items()) + ');\n')


def files(path, columns, name='t', format='json', **options):
    return table(columns, name, connector='filesystem', path=path, format=format, **options)


def check_json(directory):
    path = directory / 'a.json'
    path.write_text('{"i": 1, "s": "x\\u00e9\\n", "d": 1.50, "b": true, "r": 0.1, "at": "2026-01-02 03:04:05.678"}\n'
                    '{"at": null, "s": {"nested": [1, "two", {"k": null}]}, "more": {"i": 9}, "i": 2}\r\n'
                    '{"s": 12, "i": "3", "d": "7", "b": "false", "r": 2, "at": "2026-01-02 03:04:05"}\n')
    columns = 'i INT, s STRING, d DECIMAL(10, 2), b BOOLEAN, r DOUBLE, `at` TIMESTAMP(3)'
    done = run('--format', 'json', '-e', files(path, columns) + 'SELECT i, s, d, b, r, `at` FROM t')
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [
        {'i': 1, 's': 'xé\n', 'd': 1.5, 'b': True, 'r': 0.1, 'at': '2026-01-02 03:04:05.678'},
        {'i': 2, 's': '{"nested":[1,"two",{"k":null}]}', 'd': None, 'b': None, 'r': None, 'at': None},
        {'i': 3, 's': '12', 'd': 7, 'b': False, 'r': 2, 'at': '2026-01-02 03:04:05.000'}], rows
    assert '"d":1.50' in done.stdout, 'decimals have their scale'
    missing = run('-e', files(path, columns, json__fail_on_missing_field='true') + 'SELECT i FROM t', code=1)
    assert 'record 2: it has no member d' in missing.stderr, missing.stderr
    iso = directory / 'iso.json'
    iso.write_text('{"at": "2026-01-02T03:04:05.678Z"}\n')
    text = files(iso, '`at` TIMESTAMP(3)', json__timestamp_format__standard='ISO-8601')
    assert run('-e', text + 'SELECT `at` FROM t').stdout == 'at\n2026-01-02 03:04:05.678\n'
    out = directory / 'iso_out'
    run('-e', text + files(out, '`at` TIMESTAMP(3), n INT', 'o', json__timestamp_format__standard='ISO-8601',
                           json__encode__ignore_null_fields='true')
        + 'INSERT INTO o SELECT `at`, CAST(NULL AS INT) FROM t')
    assert (out / 'part-0000000001.json').read_text() == '{"at":"2026-01-02T03:04:05.678"}\n'
    wrong = run('-e', files(iso, '`at` TIMESTAMP(3)') + 'SELECT `at` FROM t', code=1)
    assert "'2026-01-02T03:04:05.678Z' is no TIMESTAMP(3) for column at" in wrong.stderr, wrong.stderr


MALFORMED = ['{"i": 1}', '{"i": "one"}', 'nonsense', '{"i": 2', '[1]', '{"i": 1.5}', '{"i": 99999999999}', '{"i": 3} {}',
             '\ufffd', '', '{"i":' * 500, '{"i": [1]}', '17', '{"i": 6}\0{"i": 7}',
             '{"i": ' + '[' * 2000 + ']' * 2000 + '}', '{"i": 4}']


def check_malformed(directory):
    path, kept = directory / 'bad.json', directory / 'kept'
    unread = b'{"other": ' + b'[' * 2000 + b']' * 2000 + b', "i": 5}'  # No column wants it.
    path.write_bytes('\n'.join(MALFORMED).encode() + b'\n{"i": "\xff"}\n' + unread + b'\n')
    strict = run('-e', files(path, 'i INT') + 'SELECT i FROM t', code=1)
    assert "record 2: 'one' is no INT for column i" in strict.stderr, strict.stderr
    lenient = run('-e', files(path, 'i INT', json__ignore_parse_errors='true') + 'SELECT i FROM t WHERE i IS NOT NULL')
    assert lenient.stdout == 'i\n1\n4\n5\n', lenient.stdout
    assert '15 malformed rows' in lenient.stderr and "record 3: it is no JSON" in lenient.stderr, lenient.stderr
    aside = run('-e', files(path, 'i INT', malformed_records__path=kept) + 'SELECT i FROM t')
    assert aside.stdout == 'i\n1\n4\n5\n', aside.stdout
    assert kept.read_bytes() == '\n'.join(MALFORMED[1:-1]).encode() + b'\n{"i": "\xff"}\n'
    # A file that is read and gets what cannot be read would grow without end.
    for read, rejected in ((path, path), (directory, directory / 'rejected.json'), (directory, f'{directory}/../{directory.name}/r.json')):
        refused = run('-e', files(read, 'i INT', malformed_records__path=rejected) + 'SELECT i FROM t', code=2)
        assert 'a file that is not read itself is wanted' in refused.stderr, refused.stderr
    # Nor does a stretch of them keep checkpoints waiting, or a signal.
    stretch = directory / 'stretch'
    stretch.write_bytes(b'x\n' * 400_000)
    long = run('-e', files(stretch, 'i INT', format='csv', csv__ignore_parse_errors='true', malformed_records__path=kept)
               + 'SELECT i FROM t', '--checkpoint', '1ms', '--checkpoint-dir', directory / 'long')
    assert '400,000 malformed rows' in long.stderr, long.stderr
    assert int(re.search(r'([0-9,]+) checkpoints', long.stderr)[1].replace(',', '')) > 2, long.stderr
    both = run('-e', files(path, 'i INT', json__ignore_parse_errors='true', json__fail_on_missing_field='true')
               + 'SELECT i FROM t', code=2)
    assert 'json.fail-on-missing-field' in both.stderr
    # Random bytes, and good records with bytes changed: rows or errors, never a signal.
    rand = random.Random(11)
    for format in ('json', 'csv', 'raw', 'binary'):
        for _ in range(25):
            junk = bytearray(b'{"i": 12, "s": "text"}\n12,"text"\n' * 20)
            for _ in range(rand.randrange(1, 40)):
                junk[rand.randrange(len(junk))] = rand.randrange(256)
            path.write_bytes(junk)
            column = 's STRING' if format == 'raw' else 'i INT' if format == 'binary' else 'i INT, s STRING'
            done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', files(path, column, format=format,
                                   malformed_records__path=kept) + 'SELECT * FROM t'], capture_output=True, timeout=60)
            assert done.returncode in (0, 1), (format, bytes(junk), done.stderr)


def check_directories(directory):
    many = directory / 'many'
    (many / 'b').mkdir(parents=True)
    (many / 'a.csv').write_text('n\n1\n2\n')
    (many / 'b' / 'c.csv').write_bytes(gzip.compress(b'n\n3\n4'))
    (many / 'd.csv').write_text('n\n5\n')
    for hidden in ('.e.csv', '_f.csv'):
        (many / hidden).write_text('n\n99\n')
    text = files(many, 'n INT', format='csv', csv__header='true')
    assert run('-e', text + 'SELECT n FROM t').stdout == 'n\n1\n2\n3\n4\n5\n'
    # As gzip, zeros behind the last member are no data; others are damage.
    (many / 'b' / 'c.csv').write_bytes(gzip.compress(b'n\n3\n4') + bytes(1024))
    assert run('-e', text + 'SELECT n FROM t').stdout == 'n\n1\n2\n3\n4\n5\n'
    (many / 'b' / 'c.csv').write_bytes(gzip.compress(b'n\n3\n4\n') + bytes(1024) + b'x')
    assert 'is a damaged gzip file' in run('-e', text + 'SELECT n FROM t', code=1).stderr
    # What a damaged gzip file still had is read; it is one malformed record, however its end is met.
    packed = gzip.compress(b''.join(b'%d\n' % (n % 10) for n in range(100000)))
    (many / 'b' / 'c.csv').write_bytes(packed[:len(packed) // 2])
    damaged = run('-e', text + 'SELECT n FROM t', code=1)
    assert 'file b/c.csv, record' in damaged.stderr and 'is a damaged gzip file' in damaged.stderr, damaged.stderr
    on = run('-e', files(many, 'n INT', format='csv', csv__header='true', csv__ignore_parse_errors='true') + 'SELECT n FROM t')
    assert on.stdout.startswith('n\n1\n2\n') and on.stdout.endswith('\n5\n') and '1 malformed row' in on.stderr, on.stderr
    # What comes before damage in the middle is read to the last byte, as zcat does: a block of it was thrown away.
    data = b'n\n' + b''.join(b'%d\n' % n for n in range(100_000))
    packed = bytearray(gzip.compress(data, compresslevel=0))
    at, whole = 10, 0  # Blocks that are stored as they are: a byte, their length, and its complement.
    while whole < 300_000:
        length = int.from_bytes(packed[at + 1:at + 3], 'little')
        at, whole = at + 5 + length, whole + length
    packed[at + 3] ^= 1
    (many / 'b' / 'c.csv').write_bytes(packed)
    on = run('-e', files(many, 'n INT', format='csv', csv__header='true', csv__ignore_parse_errors='true') + 'SELECT n FROM t')
    wanted = data[:whole].decode().split('\n')[1:-1]
    assert on.stdout.split() == ['n', '1', '2', *wanted, '5'], (len(on.stdout.split()), len(wanted))
    (many / 'b' / 'c.csv').unlink()
    (many / 'd.csv').write_text('n\nfive\n')
    wrong = run('-e', text + 'SELECT n FROM t', code=1)
    assert "file d.csv, record 2: 'five' is no INT" in wrong.stderr, wrong.stderr
    gone = run('-e', files(directory / 'nowhere', 'n INT') + 'SELECT n FROM t', code=1)
    assert 'nowhere: No such file' in gone.stderr, gone.stderr


def check_files_that_appear(directory):
    inbox, checkpoints = directory / 'inbox', directory / 'inbox_checkpoints'
    inbox.mkdir()
    text = (files(inbox, 'n INT', format='csv', source__monitor_interval='50ms')
            + files(directory / 'seen', 'n INT', 'o', format='csv') + 'INSERT INTO o SELECT n FROM t')
    total, rand, runs = 0, random.Random(5), 0
    process = None
    for number in range(30):
        if process is None:
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--checkpoint-dir', checkpoints, '--checkpoint', '20ms',
                                        '-e', text], stderr=subprocess.PIPE)
            runs += 1
        # Names come in no order. A file is there whole: by a rename.
        (inbox / f'.{number}').write_text(''.join(f'{number * 100 + i}\n' for i in range(100)))
        (inbox / f'.{number}').rename(inbox / f'{rand.randrange(10**9)}.csv')
        total += 100
        time.sleep(rand.uniform(0, 0.1))
        if rand.random() < 0.3:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            process = None
    if process is None:
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--checkpoint-dir', checkpoints, '--checkpoint', '20ms',
                                    '-e', text], stderr=subprocess.PIPE)

    def shown():
        return [int(line) for part in sorted((directory / 'seen').glob('part-*.csv')) for line in part.read_text().split()]
    for _ in range(300):
        if len(shown()) >= total:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert sorted(shown()) == list(range(total)), f'{len(shown())} of {total}'
    assert runs > 3


def check_kills_over_json(directory):
    """JSON from a directory into JSON by windows, killed on the way: the parts are the undisturbed run's."""
    source = directory / 'events'
    source.mkdir()
    rand, ms = random.Random(3), 1_700_000_000_000
    for number in range(8):
        with gzip.open(source / f'{number}.json', 'wt') as out:
            for _ in range(4000):
                ms += rand.randrange(0, 100)
                out.write(json.dumps({'ms': ms - rand.randrange(0, 3000), 'k': rand.randrange(20), 'v': rand.randrange(1000)}) + '\n')

    def text(to):
        return (files(source, "ms BIGINT, k INT, v INT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND")
                + files(to, 's TIMESTAMP(3), k INT, n BIGINT, v BIGINT', 'o')
                + "INSERT INTO o SELECT window_start, k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
                  "INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k")

    def parts(to):
        return ''.join(part.read_text() for part in sorted(to.glob('part-*.json')))
    whole, broken = directory / 'whole', directory / 'broken'
    begun = time.monotonic()
    run('--checkpoint-dir', directory / 'c_whole', '--checkpoint', '5ms', '-e', text(whole))
    took = time.monotonic() - begun
    wanted = parts(whole)
    assert len(wanted.splitlines()) > 2000
    kills = 0
    for round_ in range(200):  # On an idle machine many a run is over before its kill.
        shutil.rmtree(broken, ignore_errors=True)
        while True:
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--checkpoint-dir', directory / f'c_{round_}', '--checkpoint',
                                        '5ms', '-e', text(broken)], stderr=subprocess.PIPE)
            if kills < 10:
                time.sleep(rand.uniform(0, took))
                process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            if process.returncode == 0:
                break
            kills += 1
        assert parts(broken) == wanted
        if kills >= 10:
            return
    assert False, f'only {kills} kills hit'


def check_rows_appear():
    """In a pipe a row is there while the query waits for the next one."""
    listener = socket.create_server(('127.0.0.1', 0))
    text = table('n INT', connector='socket', hostname='127.0.0.1', port=listener.getsockname()[1], format='csv') + 'SELECT n FROM t'
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    hang = threading.Timer(60, process.kill)
    hang.start()
    client, _ = listener.accept()
    client.sendall(b'7\n')
    seen = [process.stdout.readline(), process.stdout.readline()]
    client.close()
    listener.close()
    rest = process.communicate(timeout=60)[0]
    hang.cancel()
    assert (seen, rest, process.returncode) == (['n\n', '7\n'], '', 0), (seen, rest)


def check_socket():
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]

    def serve():
        client, _ = listener.accept()
        for piece in (b'{"n": 1}\n{"n', b'": 2}\n', b'{"n": 3}'):
            client.sendall(piece)
            time.sleep(0.15)
        client.close()
    server = threading.Thread(target=serve)
    server.start()
    done = run('-e', table('n INT', connector='socket', hostname='127.0.0.1', port=port, format='json') + 'SELECT n FROM t')
    server.join()
    listener.close()
    assert done.stdout == 'n\n1\n2\n3\n', done.stdout
    check_rows_appear()
    refused = run('-e', table('n INT', connector='socket', hostname='127.0.0.1', port=port, format='json')
                  + 'SELECT n FROM t', code=1)
    assert f'connect tcp://127.0.0.1:{port}: Connection refused' in refused.stderr, refused.stderr


def check_raw_and_binary(directory):
    path = directory / 'raw'
    path.write_text('a line\nanother, with "signs"\n')
    assert run('--format', 'json', '-e', files(path, 'line STRING', format='raw') + 'SELECT line FROM t').stdout == (
        '{"line":"a line"}\n{"line":"another, with \\"signs\\""}\n')
    path.write_bytes(struct.pack('>qq', -1, 2**40))
    assert run('-e', files(path, 'n BIGINT', format='raw') + 'SELECT n FROM t').stdout == f'n\n-1\n{2**40}\n'
    records = [(1, -5, 2.5, True, 1_700_000_000_000), (2**31 - 1, 7, -0.125, False, 0)]
    path.write_bytes(b''.join(struct.pack('<ihd?q', *record) for record in records))
    columns = 'a INT, b SMALLINT, c DOUBLE, d BOOLEAN, e TIMESTAMP(3)'
    out = directory / 'binary_out'
    text = files(path, columns, format='binary') + files(out, columns, 'o', format='binary')
    assert run('-e', text + 'SELECT * FROM t').stdout == (
        'a,b,c,d,e\n1,-5,2.5,true,2023-11-14 22:13:20.000\n2147483647,7,-0.125,false,1970-01-01 00:00:00.000\n')
    run('-e', text + 'INSERT INTO o SELECT * FROM t')
    assert (out / 'part-0000000001.binary').read_bytes() == path.read_bytes()
    path.write_bytes(path.read_bytes()[:-1])
    cut = run('-e', text + 'SELECT * FROM t', code=1)
    assert 'record 2: the input ends within it, behind 22 of 23 bytes' in cut.stderr, cut.stderr
    (directory / 'empty.json').write_text('{}\n')
    null = run('-e', text.replace(str(path), str(directory / 'empty.json')).replace("'binary'", "'json'", 1)
               + 'INSERT INTO o SELECT NULLIF(1, 1), b, c, d, e FROM t', code=2)
    assert 'column a is NULL' in null.stderr, null.stderr
    text_column = run('-e', files(path, 's STRING', format='binary') + 'SELECT s FROM t', code=2)
    assert 'a format that has STRING' in text_column.stderr, text_column.stderr


def check_signs_of_csv(directory):
    """Quotes, escapes and comments by Flink's options, read and written; each was refused."""
    path, out = directory / 'signs.csv', directory / 'signs'
    path.write_text("# two rows\n1|'a|b\n'''\n2|!'c!|\n")
    signs = dict(csv__quote_character="''", csv__escape_character='!', csv__field_delimiter='|')
    run('-e', files(path, 'n INT, s STRING', format='csv', csv__allow_comments='true', **signs)
        + files(out, 'n INT, s STRING', 'o', format='csv', **signs) + 'INSERT INTO o SELECT n, s FROM t')
    assert ''.join(part.read_text() for part in out.glob('part-*')) == "1|'a|b\n!''\n2|'!'c|'\n"
    assert run('-e', files(out, 'n INT, s STRING', format='csv', **signs)
               + 'SELECT * FROM t').stdout == 'n,s\n1,"a|b\n\'"\n2,\'c|\n'
    plain = files(path, 'n INT, s STRING', 'p', format='csv', csv__disable_quote_character='true')
    path.write_text('1,"a\n2,b\n')
    assert run('-e', plain + 'SELECT * FROM p').stdout == 'n,s\n1,"""a"\n2,b\n'
    unquoted = files(directory / 'plain', 's STRING', 'o', format='csv', csv__disable_quote_character='true')
    assert 'without quotes' in run('-e', plain + unquoted + "INSERT INTO o SELECT s || ',' FROM p", code=2).stderr
    for wrong in (dict(csv__quote_character='ab'), dict(csv__escape_character=','), dict(csv__field_delimiter='"'),
                  dict(csv__quote_character='x', csv__disable_quote_character='true')):
        assert "'csv." in run('-e', files(path, 's STRING', format='csv', **wrong) + 'SELECT s FROM t', code=2).stderr, wrong


def check_a_sink_with_computed_columns(directory):
    """They are no part of what is written, so a table can be written and read."""
    columns = "n INT, twice AS n * 2, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts"
    text = files(directory / 'computed', columns, format='csv')
    first = "TIMESTAMP '2024-01-01 00:00:00'"
    run('-e', text + f'INSERT INTO t SELECT 1, {first}; INSERT INTO t (ts, n) SELECT {first}, 2')
    assert run('-e', text + 'SELECT n, twice FROM t').stdout == 'n,twice\n1,2\n2,4\n'
    assert 'twice is computed' in run('-e', text + 'INSERT INTO t (n, twice) SELECT 1, 2', code=2).stderr
    assert 'has 4 columns, t wants 2' in run('-e', text + f'INSERT INTO t SELECT 1, 2, {first}, {first}', code=2).stderr


def check_tables(directory):
    path = directory / 'shown.csv'
    path.write_text('1,a\n-2,\\N\n')
    done = run('--format', 'table', '-e', files(path, 'n INT, word STRING', format='csv') + 'SELECT n, word FROM t')
    assert done.stdout == ('          n  word            \n-----------  ----------------\n'
                           '          1  a\n         -2  NULL\n').replace('word            \n', 'word\n'), done.stdout
    for text, words in ((table('n INT', connector='kafkaa') + 'SELECT n FROM t', "'kafka'"),
                        (table('n INT', connector='datagen') + files(path, 'n INT', 'o', format='xml')
                         + 'INSERT INTO o SELECT n FROM t', "'avro', 'binary', 'csv', 'json'")):
        assert words in run('-e', text, code=2).stderr, text


def check_a_table_that_has_no_row_does_not_hold_up_others(directory):
    """It waited for a row, a tenth of a second, before each 64 rows of the other table."""
    watched = directory / 'idle'
    watched.mkdir()
    (watched / 'a.csv').write_text('2026-01-01 00:00:00,1\n')
    count = 60_000
    (directory / 'busy.csv').write_text(''.join(f'2026-01-01 {i // 3600:02}:{i // 60 % 60:02}:{i % 60:02},{i % 5}\n' for i in range(count)))
    columns = 'ts TIMESTAMP(3), k INT, WATERMARK FOR ts AS ts'
    text = (files(watched, columns, 'a', 'csv', source__monitor_interval='1s') + files(directory / 'busy.csv', columns, 'b', 'csv')
            + 'SELECT b.k FROM a JOIN b ON a.k = b.k')
    for mode in ('never', 'wait'):
        process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', mode, '-e', text],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout.readline() and process.stdout.readline() == '1\n', mode  # It is compiled.
        begun = time.monotonic()
        for _ in range(count // 5 - 1):
            assert process.stdout.readline(), mode
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert time.monotonic() - begun < 60, (mode, time.monotonic() - begun)
    # And what comes to it later is read.
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', 'never', '-e', text], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    for _ in range(1 + count // 5):
        assert process.stdout.readline()
    (watched / '.b').write_text('2026-01-01 00:00:00,2\n')
    (watched / '.b').rename(watched / 'b.csv')
    assert process.stdout.readline() == '2\n'
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def check_a_look_up_without_an_end_can_be_interrupted(directory):
    """The table was read to its end before anything else was looked at, Ctrl-C too."""
    (directory / 'c.csv').write_text('1\n')
    text = (table('k INT, PRIMARY KEY (k) NOT ENFORCED', 'l', connector='datagen', rows_per_second='1000')
            + files(directory / 'c.csv', 'k INT, p AS PROCTIME()', 'c', 'csv')
            + 'SELECT c.k FROM c JOIN l FOR SYSTEM_TIME AS OF c.p ON c.k = l.k')
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--compile', 'never', '-e', text], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    # It catches signals, and has begun to read the table.
    status = pathlib.Path(f'/proc/{process.pid}/status')
    while not int(re.search(r'SigCgt:\s*(\w+)', status.read_text())[1], 16) & 1 << signal.SIGINT - 1:
        time.sleep(0.02)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        assert 'interrupted' in process.communicate(timeout=30)[1]
    finally:
        process.kill()


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_connectors_'))
    compilers.be_quick(directory)
    try:
        check_json(directory)
        check_malformed(directory)
        check_directories(directory)
        check_files_that_appear(directory)
        check_kills_over_json(directory)
        check_socket()
        check_raw_and_binary(directory)
        check_signs_of_csv(directory)
        check_a_sink_with_computed_columns(directory)
        check_tables(directory)
        check_a_table_that_has_no_row_does_not_hold_up_others(directory)
        check_a_look_up_without_an_end_can_be_interrupted(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
