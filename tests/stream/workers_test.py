"""Queries on several workers.

    workers_test.py HOLDFAST

  1. Windowed queries over events that come out of order, rows exactly on the watermark among them: the bytes that two,
     three and four workers write are those that one writes, merged late or shared out by key, interpreted or compiled.
  2. Runs that are killed, each time with another number of workers and now and then with state elsewhere, taken over
     by a savepoint: the parts together are what one worker writes.
  3. Workers that have little to do rest.
  4. What cannot be split says so and gives the same; a row that fails is named, the first of several; what is refused.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import compilers
from kills import stores, where

HOLDFAST = sys.argv[1]
DELAY_MS = 5000
COMPILER = subprocess.run(['sh', '-c', 'command -v ${CXX:-g++} || command -v clang++'],
                          capture_output=True).returncode == 0


def write_events(path, seed, count, keys=40):
    """ms, key, value, weight: some NULL, some late, some exactly on the watermark."""
    rand = random.Random(seed)
    now, newest = 1_703_980_000_000, 0
    with open(path, 'w') as out:
        for _ in range(count):
            now += rand.randrange(0, 60)
            ms = now - rand.choice([0, 0, rand.randrange(0, 9000), rand.randrange(0, 40_000)])
            if rand.random() < 0.05:
                ms = newest - DELAY_MS + rand.choice([0, 1, -1])
            if rand.random() < 0.03:
                ms = ms // 60_000 * 60_000 - rand.choice([0, 1])
            newest = max(newest, ms)
            key = rand.choice(['\\N', f'"key ""{rand.randrange(keys)}"', f'k{rand.randrange(keys)}'])
            value = '\\N' if rand.random() < 0.1 else rand.randrange(-99, 99)
            at = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(ms // 1000)) + f'.{ms % 1000:03d}'
            out.write(f'{at if rand.random() < 0.98 else chr(92) + "N"},{key},{value},{rand.randrange(1000)}\n')


def table(path, more=''):
    return ("CREATE TABLE events (ts TIMESTAMP(3), k STRING, v BIGINT, w INT,"
            f" WATERMARK FOR ts AS ts - INTERVAL '{DELAY_MS // 1000}' SECOND)"
            f" WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'{more});\n")


QUERIES = [
    "SELECT window_start, k, COUNT(*) AS n, SUM(v) AS s, COUNT(DISTINCT v) AS d, MIN(v) AS l, AVG(w) AS a"
    " FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '20' SECOND)) WHERE w < 900"
    " GROUP BY k, window_start, window_end HAVING COUNT(*) > 1",
    "SELECT window_end, k, SUM(v) AS s, MAX(w) AS h"
    " FROM TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '30' SECOND))"
    " GROUP BY k, window_start, window_end",
    "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECOND))"
    " GROUP BY window_start, window_end",
]


def run(arguments, code=0):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *arguments], capture_output=True, text=True, timeout=240)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


def late_of(done):
    return sorted(line for line in done.stderr.splitlines() if 'dropped' in line)


def check_equal(directory):
    modes = ['never', 'wait'] if COMPILER else ['never']
    for seed in range(3):
        path = directory / 'events.csv'
        write_events(path, seed, 30_000)
        for query in QUERIES:
            text = ['-e', table(path) + query]
            one = run([*text, '--compile', 'never'])
            assert 'late rows dropped' in one.stderr and 'without a time' in one.stderr, one.stderr
            for mode in modes:
                for workers in ('2', '3', '4'):
                    for sharing in ('merge', 'keys', 'auto'):
                        done = run([*text, '--compile', mode, '--workers', workers, '--sharing', sharing])
                        assert done.stdout == one.stdout, (seed, query, mode, workers, sharing)
                        assert late_of(done) == late_of(one), (done.stderr, one.stderr)
    final = ['-e', table(path) + 'SELECT k, COUNT(*) AS n, SUM(w) AS s FROM events GROUP BY k', '--final']
    one = run([*final, '--compile', 'never'])
    for mode in modes:
        done = run([*final, '--compile', mode, '--workers', '3'])
        assert done.stdout == one.stdout and 'one worker' not in done.stderr, done.stderr


def parts_of(directory):
    return ''.join(path.read_text() for path in sorted(directory.glob('part-*')))


def run_until_killed(arguments, seconds):
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', *arguments], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    stderr = process.communicate()[1]
    assert process.returncode in (0, -signal.SIGKILL), (process.returncode, stderr)
    return process.returncode == 0


def check_kills(directory):
    """Until enough kills have hit, each with another number of workers."""
    path = directory / 'events.csv'
    write_events(path, 77, 60_000)
    rand = random.Random(5)

    def text(out):
        columns = 'w TIMESTAMP(3), k STRING, s BIGINT, h INT'
        return (table(path) + f"CREATE TABLE sums ({columns}) WITH ('connector' = 'filesystem', 'path' = '{out}',"
                " 'format' = 'csv');\nINSERT INTO sums " + QUERIES[1])
    begun = time.monotonic()
    run(['-e', text(directory / 'one'), '--compile', 'never'])
    undisturbed = time.monotonic() - begun
    wanted = parts_of(directory / 'one')
    kills = round_ = 0
    while kills < 8:
        round_ += 1
        assert round_ < 60, 'runs are over before they can be killed'
        out = directory / f'round-{round_}'
        state = where(rand.choice(stores(HOLDFAST)), directory, round_)
        if 'kv' in state:
            state[-1] += '?granularity=line'
        while True:
            arguments = ['-e', text(out), '--checkpoint', '10ms', *state, '--workers', rand.choice('1234'),
                         '--compile', rand.choice(['never', 'background']),
                         '--sharing', rand.choice(['merge', 'keys', 'auto'])]
            if run_until_killed(arguments, rand.uniform(0.1, 1.2) * undisturbed):
                break
            kills += 1
        assert parts_of(out) == wanted, (round_, kills)
    return kills


def check_other_state(directory):
    """A run that was interrupted goes on from its savepoint, elsewhere and with other workers."""
    path = directory / 'events.csv'
    write_events(path, 78, 60_000)
    text = table(path) + QUERIES[0]
    wanted = run(['-e', text, '--compile', 'never']).stdout.splitlines()
    first = ['--checkpoint-dir', f'{directory}/first', '--workers', '3']
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '-e', text, *first, '--compile', 'never', '--checkpoint',
                                '10ms'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = [process.stdout.readline() for _ in range(5)]
    process.send_signal(signal.SIGINT)
    seen += process.stdout.read().splitlines()
    process.communicate()
    saved = subprocess.run([HOLDFAST, 'stream', 'savepoint', '-e', text, *first[:2], '--to', f'{directory}/saved'],
                           capture_output=True, text=True)
    assert saved.returncode == 0, saved.stderr
    for workers in '1', '2', '4':
        for state in stores(HOLDFAST)[1:]:
            done = run(['-e', text, '--from', f'{directory}/saved', *where(state, directory, f'second_{workers}'), '--workers', workers])
            rest = done.stdout.splitlines()[1:]
            assert wanted[len(seen):] == rest, (state, workers, len(wanted), len(seen), len(rest), done.stderr)


def metrics_of(url):
    with urllib.request.urlopen(url + 'metrics', timeout=10) as answer:
        return answer.read().decode()


def check_rest(directory):
    """A socket without rows: one worker is enough. What the others had is not lost, and rows go on."""
    if not (pathlib.Path(HOLDFAST).parent / 'holdfast-peers-httplib.so').exists():
        return print('skipped: the module httplib was not built')
    path = directory / 'events.csv'
    write_events(path, 5, 20_000)
    rows = path.read_bytes().splitlines(keepends=True)
    for mode in ['never', 'wait'] if COMPILER else ['never']:
        for query in QUERIES[:2]:
            wanted = run(['-e', table(path) + query, '--compile', 'never']).stdout
            with socket.create_server(('127.0.0.1', 0)) as listener:
                options = f"'connector' = 'socket', 'hostname' = '127.0.0.1', 'port' = '{listener.getsockname()[1]}'"
                text = table(path).replace(f"'connector' = 'filesystem', 'path' = '{path}'", options) + query
                process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--workers', '4', '--ui', '0', '--compile', mode, '-e', text],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                listener.settimeout(120)
                connection, _ = listener.accept()
            shown = []
            reader = threading.Thread(target=lambda: shown.append(process.stdout.read()))
            reader.start()
            url = process.stderr.readline().strip()
            connection.sendall(b''.join(rows[:10_000]))
            deadline = time.monotonic() + 150
            while True:
                metrics = metrics_of(url)
                number = int(float(re.search(r'holdfast_stream_workers{query="1",split=""} (\S+)', metrics)[1]))
                taken = int(float(re.search(r'holdfast_stream_rows_in_total{query="1",split=""} (\S+)', metrics)[1]))
                if number == 1 and taken >= 9_999:
                    break
                assert time.monotonic() < deadline, metrics
                time.sleep(0.1)
            with urllib.request.urlopen(url + 'state.json', timeout=10) as answer:
                state = json.loads(answer.read())['queries'][0]
            known = {one['what'].split()[0]: (one['rows_in'] is not None, one['rows_out'] is not None) for one in state['operators']}
            assert state['workers'] == 1 and known['Group'][0] is False and known['Project'][1], state
            if mode == 'never':
                group = next(one for one in state['operators'] if one['what'].startswith('Group'))
                assert group['state_entries'] > 0 and group['state_bytes'] > 0, group
            connection.sendall(b''.join(rows[10_000:]))
            connection.close()
            reader.join()
            assert process.wait(60) == 0 and shown[0] == wanted, (mode, query, process.stderr.read())


def check_words(directory):
    path = directory / 'events.csv'
    write_events(path, 3, 2_000)
    rows = run(['-e', table(path) + 'SELECT ts, v FROM events WHERE v > 90', '--workers', '4'])
    assert 'query 1: one worker: its rows are not grouped' in rows.stderr, rows.stderr
    assert rows.stdout == run(['-e', table(path) + 'SELECT ts, v FROM events WHERE v > 90']).stdout
    for query, option, said in (('SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM events GROUP BY k) x GROUP BY n', 'background',
                                 'some of its operators have no such keys'),
                                ('SELECT COUNT(*), SUM(v) FROM events', 'never', 'no columns of the tables as common keys')):
        done = run(['-e', table(path) + query, '--workers', '2', '--compile', option])
        assert f'query 1: one worker: ' in done.stderr and said in done.stderr, done.stderr
    for name in 'parallelism.default', 'table.exec.resource.default-parallelism':
        text = f"SET '{name}' = '3';\n" + table(path) + 'SELECT v FROM events'
        assert 'one worker' in run(['-e', text]).stderr
        wrong = run(['-e', text.replace("'3'", "'0'")], code=2).stderr
        assert 'allowed are 1 to 256' in wrong and '1:' in wrong, wrong
    run(['-e', table(path) + QUERIES[0], '--workers', '257'], code=2)
    # The first row that fails is named, whichever worker comes first.
    lines = path.read_text().splitlines()
    for number in (1500, 700, 1999):
        fields = lines[number].split(',')
        lines[number] = ','.join([*fields[:2], fields[2], '0'])
    path.write_text('\n'.join(lines) + '\n')
    text = table(path) + QUERIES[2].replace('COUNT(*) AS n', 'SUM(1000 / w) AS n')
    one = run(['-e', text, '--compile', 'never'], code=2).stderr
    assert 'division by zero (at record ' in one, one
    for arguments in ['--workers', '2'], ['--workers', '4', '--sharing', 'keys']:
        several = run(['-e', text, '--compile', 'never', *arguments], code=2).stderr
        assert several == one, (arguments, one, several)


def main():
    directory = pathlib.Path(tempfile.mkdtemp())
    compilers.be_quick(directory)
    try:
        check_equal(directory)
        print('several workers write what one writes')
        print(f'{check_kills(directory)} kills: nothing was lost, nothing came twice')
        check_other_state(directory)
        check_rest(directory)
        check_words(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)  # A compiler may still write, whose run was killed.


if __name__ == '__main__':
    main()
