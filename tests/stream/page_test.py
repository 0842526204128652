"""`holdfast stream run --ui`, --watch, and `stream shell`.

    page_test.py HOLDFAST [--browser] [--png DIRECTORY]

Without --browser: the numbers of /metrics and /state.json, which hosts may read them, what the terminal shows, the shell. With it: the
page in a headless Chromium, on a screen and on a phone, in the light and in the dark. Exit code 77: there is no browser.
"""
import argparse
import base64
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'results'))
import browser  # noqa: E402

ENDLESS = """
CREATE TABLE clicks (n BIGINT, page INT, ms AS n * 20 + 1700000000000, ts AS TO_TIMESTAMP_LTZ(n * 20 + 1700000000000, 3),
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'datagen', 'rows-per-second' = '2000', 'fields.n.kind' = 'sequence', 'fields.page.min' = '1', 'fields.page.max' = '3');
CREATE TABLE sums (s TIMESTAMP(3), page INT, n BIGINT, word STRING) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');
INSERT INTO sums SELECT window_start, page, COUNT(*), '<img src=x onerror=alert(1)>'
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, page;
"""


class Run:
    def __init__(self, holdfast, directory, *words, limit=None):
        text = ENDLESS.replace('{out}', str(directory / 'out'))
        self.process = subprocess.Popen([holdfast, 'stream', 'run', '--ui', '0', '--checkpoint-dir', directory / 'c', '--checkpoint',
                                         '200ms', *words, '-e', text], stderr=subprocess.PIPE, text=True,
                                        preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))))
        self.url = self.process.stderr.readline().strip()
        assert re.fullmatch(r'http://127.0.0.1:\d+/', self.url), self.url + self.process.stderr.read()

    def get(self, path, **headers):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers), timeout=10) as answer:
            return answer.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)[1]


def values(text):
    found = {}
    for line in text.splitlines():
        if not line.startswith('#'):
            name, value = line.rsplit(' ', 1)
            found[name] = float(value)
    return found


def first_query(state):
    """Of state.json's text, or None: at the very beginning there is no query yet."""
    return next(iter(json.loads(state)['queries']), None)


def until(what, condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def check_numbers(holdfast, directory):
    run = Run(holdfast, directory)
    label = '{query="1",split=""}'

    def metric(name):
        return values(run.get('metrics')).get(f'holdfast_stream_{name}{label}', 0)
    until('results', lambda: metric('rows_out_total') > 3 and metric('checkpoints_total') > 2)
    first = values(run.get('metrics'))
    assert metric('running') == 1 and metric('state_bytes') > 0 and metric('watermark_lag_seconds') > 10**6, first
    spent = sum(metric(name + '_seconds_total') for name in ('waiting', 'working', 'writing', 'checkpoint'))
    assert 0 < spent < 120, spent
    assert all(re.match(r'(# (HELP|TYPE) )?holdfast_stream_[a-z_]+', line) for line in run.get('metrics').splitlines())
    state = first_query(run.get('state.json'))
    assert state['state'] == 'running' and state['plan'].startswith('Sink sums') and state['sample'], state
    assert json.loads(state['sample'][-1])['word'].startswith('<img'), state['sample']
    # Each operator of the chain: what one gives the next one takes.
    operators = state['operators']
    assert [one['what'].split()[0] for one in operators] == ['Scan', 'Group', 'Project'], operators
    if not state['compiled']:
        assert operators[0]['rows_out'] == operators[1]['rows_in'] > 0 and operators[1]['rows_out'] == operators[2]['rows_in'] > 0
        assert 0 < operators[1]['state_entries'] and operators[1]['state_bytes'] > 8 * operators[1]['state_entries'], operators
    of_group = 'holdfast_stream_operator_rows_out_total{query="1",split="",node="2",operator="Project"}'
    assert values(run.get('metrics'))[of_group] > 3
    # A page of the web whose name leads to 127.0.0.1 gets nothing.
    for host, code in (('evil.example', 403), ('localhost', 200)):
        try:
            run.get('state.json', Host=host)
            seen = 200
        except urllib.error.HTTPError as error:
            seen = error.code
        assert seen == code, (host, seen)
    try:
        run.get('../etc/passwd')
        assert False
    except urllib.error.HTTPError as error:
        assert error.code == 404
    taken = subprocess.run([holdfast, 'stream', 'run', '--ui', run.url.rsplit(':')[-1].strip('/'), '-e',
                            "CREATE TABLE t (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1'); SELECT n FROM t"],
                           capture_output=True, text=True, timeout=60)
    assert taken.returncode == 1 and 'is taken' in taken.stderr, taken
    said = run.stop()
    rows = int(re.search(r'([\d,]+) rows in', said)[1].replace(',', ''))
    assert rows >= first[f'holdfast_stream_rows_in_total{label}'] > 0, said


JOINED = """
CREATE TABLE a (n BIGINT, k AS n % 50) WITH ('connector' = 'datagen', 'rows-per-second' = '3000', 'fields.n.kind' = 'sequence');
CREATE TABLE b (n BIGINT, k AS n % 50) WITH ('connector' = 'datagen', 'number-of-rows' = '50', 'fields.n.kind' = 'sequence');
CREATE TABLE o (k BIGINT, n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT a.k, COUNT(*) FROM a JOIN b ON a.k = b.k WHERE a.n % 2 = 0 GROUP BY a.k;
"""


def check_operators(holdfast, directory, *words):
    """Of a join: rows in are those that the inputs gave; the join's state grows; interpreted operators have their time."""
    process = subprocess.Popen([holdfast, 'stream', 'run', '--ui', '0', *words, '-e', JOINED], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    url = process.stderr.readline().strip()

    def operators():
        with urllib.request.urlopen(url + 'state.json', timeout=10) as answer:
            query = first_query(answer.read())
            return query['operators'] if query else []

    def busy():
        seen = operators()
        return seen and (seen[-1]['rows_out'] or 0) > 500
    try:
        until('rows of the join', busy)
        seen = operators()
        kinds = [one['what'].split()[0] for one in seen]
        join, group = (seen[next(i for i, kind in enumerate(kinds) if word in kind)] for word in ('Join', 'Group'))
        scans = [one for one, kind in zip(seen, kinds) if kind == 'Scan']
        assert len(scans) == 2 and scans[0]['rows_out'] + scans[1]['rows_out'] > join['rows_in'] > 0, seen
        assert group['rows_in'] == join['rows_out'] and group['rows_out'] > group['rows_in'], seen
        if '--compile' in words:
            assert join['state_entries'] == 75 and join['state_bytes'] > 9 * 75, seen  # Equal rows are one, with a count.
            assert group['state_entries'] == 25 and all(one['seconds'] is not None for one in seen), seen
            assert 0 < sum(one['seconds'] for one in seen) < 60, seen
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def check_terminal(holdfast, directory):
    run = subprocess.Popen([holdfast, 'stream', 'run', '--watch', '-e', ENDLESS.replace('{out}', str(directory / 'watched'))],
                           stderr=subprocess.PIPE, text=True)
    time.sleep(3.5)
    run.send_signal(signal.SIGTERM)
    said = run.communicate(timeout=60)[1]
    lines = re.findall(r'query 1 running: ([\d,]+) in \(([^)]*)\), ([\d,]+) out, watermark', said)
    assert len(lines) >= 2 and int(lines[-1][0].replace(',', '')) > int(lines[0][0].replace(',', '')), said


def visitor(run, text):
    connection = socket.create_connection(('127.0.0.1', int(run.url.rsplit(':')[-1].strip('/'))), timeout=30)
    connection.sendall(text.encode())
    return connection


def check_visitors(holdfast, directory):
    """Clients that come in crowds, send much or are slow: the query goes on, and ends when it is told to."""
    # Each of 200 had a file descriptor, and the query had none left for its checkpoint.
    run = Run(holdfast, directory, limit=64)
    crowd = []
    for _ in range(200):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(('127.0.0.1', int(run.url.rsplit(':')[-1].strip('/'))))
        crowd.append(one)
    time.sleep(2)
    assert run.process.poll() is None, run.process.communicate()
    for one in crowd:
        one.close()
    until('an answer', lambda: 'holdfast_stream' in run.get('metrics'))
    # A body was kept in memory as a whole.
    for method in ('POST', 'PRI', 'DELETE'):
        sender = visitor(run, f'{method} / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000000\r\n\r\n')
        assert sender.recv(100).startswith(b'HTTP/1.1 405'), method
        sender.close()
    # A client that sent a letter now and then held up the end.
    slow = [visitor(run, 'GET / HTTP/1.1\r\n') for _ in range(20)]
    ended = threading.Event()

    def say_letters():
        while not ended.wait(0.2):
            for one in slow:
                try:
                    one.sendall(b'x')
                except OSError:
                    pass
    letters = threading.Thread(target=say_letters)
    letters.start()
    try:
        time.sleep(1)
        assert 'interrupted' in run.stop()
    finally:
        ended.set()
        letters.join()
        run.process.kill()
    for one in slow:
        one.close()


def check_statements(holdfast):
    """Where a statement of the shell ends."""
    for typed, shown in (("SELECT /* it's; */ 1 AS a;\n", 'a\n1\n'), ('SELECT 1 AS a; -- the end', 'a\n1\n'),
                         ('/* ; */ -- ;\n\r\n', ''), ('SELECT 1 AS `;`;SELECT 2 AS b;', ';\n1\nb\n2\n')):
        done = subprocess.run([holdfast, 'stream', 'shell', '--format', 'csv'], input=typed, capture_output=True, text=True, timeout=60)
        assert done.stdout == shown and done.returncode == 0 and 'no ;' not in done.stderr, (typed, done)
    for typed in ('SELECT 1', '/* ;', "SELECT ';"):
        done = subprocess.run([holdfast, 'stream', 'shell', '--format', 'csv'], input=typed, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and 'has no ; at its end' in done.stderr, (typed, done)
    # Each line looked at all before it once more: this took minutes.
    long = 'SELECT 1 AS a\n' + '-- \n' * 200_000 + ';\n'
    done = subprocess.run([holdfast, 'stream', 'shell', '--format', 'csv'], input=long, capture_output=True, text=True, timeout=60)
    assert done.stdout == 'a\n1\n', done.stderr


def check_shell(holdfast, directory):
    path = directory / 'n.csv'
    path.write_text('1\n2\n')
    typed = (f"CREATE TABLE t (n INT) WITH ('connector' = 'filesystem',\n 'path' = '{path}', 'format' = 'csv');\n"
             "SELECT n FROM nowhere;\n-- a ; in a comment\nSELECT n, ';' AS s FROM t; SELECT n + 1 AS m FROM t;\n")
    done = subprocess.run([holdfast, 'stream', 'shell', '--format', 'csv'], input=typed, capture_output=True, text=True, timeout=60)
    assert done.stdout == 'n,s\n1,;\n2,;\nm\n2\n3\n', done
    assert 'there is no table nowhere' in done.stderr and done.returncode == 2, done
    # On a terminal, Ctrl-C ends a query, not the shell; also one that has not begun: 42 is in the echo of what is typed.
    ours, theirs = pty.openpty()
    shell = subprocess.Popen([holdfast, 'stream', 'shell'], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                             preexec_fn=lambda: __import__('fcntl').ioctl(0, __import__('termios').TIOCSCTTY, 0))
    os.close(theirs)
    seen = ''

    def read_until(text, again=b''):
        nonlocal seen
        end = time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < end, seen
            if select.select([ours], [], [], 2)[0]:
                seen += os.read(ours, 4096).decode()
            else:
                os.write(ours, again)
        seen = seen[seen.index(text) + len(text):]
    read_until('stream> ')
    os.write(ours, b"CREATE TABLE e (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100');\n")
    read_until('stream> ')
    os.write(ours, b'SELECT n, 42 AS answer FROM e;\n')
    read_until('42')
    # The terminal forgets what was typed and not read. A Ctrl-C between a prompt and its read waits for the next key.
    os.write(ours, b'\x03')
    read_until('stream> ', again=b'\x03')
    os.write(ours, b'quit;\n')
    assert shell.wait(30) == 0
    os.close(ours)


def check_page(holdfast, directory, png):
    run = Run(holdfast, directory)

    def rows_out():
        query = first_query(run.get('state.json'))
        return query['rows_out'] if query else 0
    until('results', lambda: rows_out() > 5)
    with browser.Browser() as chromium:
        for name, width, height, phone, dark in (('screen', 1200, 900, False, False), ('phone', 390, 844, True, False),
                                                 ('dark', 1200, 900, False, True)):
            page = chromium.open(run.url, width=width, height=height, phone=phone, dark=dark)
            page.wait_for("document.querySelectorAll('polyline').length && "
                          "document.querySelector('polyline').getAttribute('points').split(' ').length > 3")
            page.settle()
            text = page.evaluate('document.body.innerText')
            for word in ('query 1', 'running', 'rows in', 'watermark behind the clock', 'at work', 'Sink', 'Group', 'Scan',
                         'last checkpoint', 'window_start', '<img src=x onerror=alert(1)>'):
                assert word in text, (name, word, text)
            assert page.evaluate("document.querySelectorAll('img').length") == 0, 'a text became markup'
            assert page.evaluate('document.documentElement.scrollWidth <= innerWidth'), f'{name}: wider than the screen'
            strange = [said for said in page.complaints() if not said.startswith(f'asked for {run.url}')]
            assert not strange, strange
            rate = page.evaluate("document.querySelector('.rate:not(:empty)').textContent")
            assert re.match(r'[\d.]+ k?/s', rate), rate
            if png:
                shot = page.call('Page.captureScreenshot', format='png', captureBeyondViewport=True)
                pathlib.Path(f'{png}/stream-{name}.png').write_bytes(base64.b64decode(shot['data']))
        run.stop()
        page.wait_for("document.getElementById('about').className === 'bad'")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('holdfast')
    parser.add_argument('--browser', action='store_true')
    parser.add_argument('--png')
    arguments = parser.parse_args()
    if not (pathlib.Path(arguments.holdfast).parent / 'holdfast-peers-httplib.so').exists():
        print('the module httplib was not built')
        sys.exit(77)
    if arguments.browser and browser.find() is None:
        print('there is no browser')
        sys.exit(77)
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_page_'))
    try:
        if arguments.browser:
            check_page(arguments.holdfast, directory, arguments.png)
        else:
            check_numbers(arguments.holdfast, directory)
            check_operators(arguments.holdfast, directory, '--compile', 'never')
            check_operators(arguments.holdfast, directory)
            check_terminal(arguments.holdfast, directory)
            check_visitors(arguments.holdfast, directory)
            check_statements(arguments.holdfast)
            check_shell(arguments.holdfast, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
