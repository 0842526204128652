"""A store of `kv` as a table: 'connector' = 'kv'.

    kv_connector_test.py HOLDFAST

Groups go into a store, are read from it, by `holdfast kv` too, and looked up in it; runs are killed, and the store then
holds what the rows of a whole checkpoint give: the first so many of them.
"""
import collections
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from kills import stopped_once

HOLDFAST = sys.argv[1]


def run(*arguments, code=0):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout[-500:], done.stderr)
    return done


def store(*arguments, code=0):
    done = subprocess.run([HOLDFAST, 'kv', *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def contents(path):
    lines = store(path, 'scan').stdout.splitlines()
    return dict(line.split('\t', 1) for line in lines)


def begun(path):
    """Whether its making was killed: the next opening makes it anew."""
    done = subprocess.run([HOLDFAST, 'kv', path, 'count'], capture_output=True, text=True, timeout=60)
    unmade = ('there is no store in this region', 'holds no segment files')
    return done.returncode != 0 and any(words in done.stderr for words in unmade)


def csv_table(path, columns='name STRING, v BIGINT', name='t'):
    return f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n"


def kv_table(path, columns='name STRING, total BIGINT, n BIGINT, PRIMARY KEY (name) NOT ENFORCED', name='totals', more=''):
    return f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'kv', 'path' = '{path}'{more});\n"


TOTALS = 'INSERT INTO totals SELECT name, SUM(v), COUNT(*) FROM t GROUP BY name'


def check_rows_come_go_and_are_read(directory):
    rows, path = directory / 'rows.csv', directory / 'totals'
    rows.write_text('ada,1\n"b,o""b",2\nada,5\n\\u00e9,7\n')
    run('-e', csv_table(rows) + kv_table(path) + TOTALS)
    assert json.loads(store(path, 'get', 'ada').stdout) == {'name': 'ada', 'total': 6, 'n': 2}
    assert json.loads(store(path, 'get', 'b,o"b').stdout)['total'] == 2
    read = run('-e', kv_table(path) + 'SELECT name, total FROM totals WHERE n > 1')
    assert read.stdout == 'name,total\nada,6\n', read.stdout
    # A group whose rows no longer hold what HAVING asks goes from the store.
    rows.write_text('a,1\nb,1\nb,1\na,1\nc,1\na,1\n')
    once = directory / 'once'
    run('-e', csv_table(rows) + kv_table(once) + TOTALS + ' HAVING COUNT(*) < 3')
    assert {key: json.loads(value)['n'] for key, value in contents(once).items()} == {'b': 2, 'c': 1}
    # Other formats, and a key of two columns.
    two = directory / 'two'
    text = kv_table(two, 'a STRING, b INT, n BIGINT, PRIMARY KEY (a, b) NOT ENFORCED', 'o', ", 'format' = 'csv'")
    run('-e', csv_table(rows, 'a STRING, b INT') + text + 'INSERT INTO o SELECT a, b, COUNT(*) FROM t GROUP BY a, b')
    assert contents(two) == {'a,1': 'a,1,3', 'b,1': 'b,1,2', 'c,1': 'c,1,1'}, contents(two)
    assert run('-e', text + 'SELECT SUM(n) AS s FROM o', '--final').stdout == 's\n6\n'


def check_keys_that_are_not_the_query_s(directory):
    """A row may come before the one whose key it has is taken back: that took the new one away."""
    rows, board, counts = directory / 'scores.csv', directory / 'board', directory / 'counts'
    rows.write_text('A,10\nB,8\nC,6\nA,-9\n')
    ranked = ('SELECT player, place, points FROM (SELECT player, points, ROW_NUMBER() OVER (ORDER BY points DESC) AS place FROM '
              '(SELECT player, SUM(points) AS points FROM t GROUP BY player)) WHERE place <= 3')
    text = (csv_table(rows, 'player STRING, points BIGINT') +
            kv_table(board, 'player STRING, place BIGINT, points BIGINT, PRIMARY KEY (player) NOT ENFORCED', 'o') + 'INSERT INTO o ' + ranked)
    run('-e', text)
    assert {key: json.loads(value)['place'] for key, value in contents(board).items()} == {'B': 1, 'C': 2, 'A': 3}, contents(board)
    # The same row by row, with a checkpoint behind each.
    rows.write_text(''.join(f'{"ABC"[i % 3]},{(7 * i) % 11 - 5}\n' for i in range(400)))
    last = {}
    for i in range(400):
        last['ABC'[i % 3]] = last.get('ABC'[i % 3], 0) + (7 * i) % 11 - 5
    often = directory / 'often'
    text = (csv_table(rows, 'player STRING, points BIGINT') +
            kv_table(often, 'player STRING, place BIGINT, points BIGINT, PRIMARY KEY (player) NOT ENFORCED', 'o') + 'INSERT INTO o ' + ranked)
    run('--checkpoint', '1ms', '--checkpoint-dir', directory / 'often_state', '-e', text)
    assert {key: json.loads(value)['points'] for key, value in contents(often).items()} == last, (contents(often), last)
    # A key that changes often between two checkpoints costs no more than others.
    rows.write_text('A,1\n' * 300_000)
    hot = directory / 'hot'
    run('-e', csv_table(rows) + kv_table(hot) + TOTALS)
    assert json.loads(contents(hot)['A'])['n'] == 300_000
    rows.write_text('A\nA\nB\n')
    run('-e', csv_table(rows, 'k STRING') + kv_table(counts, 'n BIGINT, k STRING, PRIMARY KEY (n) NOT ENFORCED', 'o') +
        'INSERT INTO o SELECT COUNT(*) AS n, k FROM t GROUP BY k')
    assert {key: json.loads(value)['k'] for key, value in contents(counts).items()} == {'2': 'A', '1': 'B'}, contents(counts)


def check_look_ups(directory):
    path, rows = directory / 'names', directory / 'orders.csv'
    for key, name in ((1, 'one'), (2, 'two')):
        store(path, 'put', key, json.dumps({'id': key, 'name': name}))
    rows.write_text('2,20\n1,10\n3,30\n2,21\n')
    names = kv_table(path, 'id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED', 'names')
    done = run('-e', csv_table(rows, 'id INT, v INT, p AS PROCTIME()') + names +
               'SELECT t.v, names.name FROM t LEFT JOIN names FOR SYSTEM_TIME AS OF t.p ON t.id = names.id')
    assert done.stdout == 'v,name\n20,two\n10,one\n30,\\N\n21,two\n', done.stdout


def check_errors(directory):
    rows, path = directory / 'errors.csv', directory / 'errors'
    rows.write_text('ada,1\n\\N,2\n')
    null = run('-e', csv_table(rows) + kv_table(path) + TOTALS, code=2)
    assert 'NULL in column name of the primary key' in null.stderr, null.stderr
    no_key = run('-e', csv_table(rows) + kv_table(path, 'name STRING, total BIGINT, n BIGINT') + TOTALS, code=2)
    assert 'PRIMARY KEY (…) NOT ENFORCED is wanted' in no_key.stderr, no_key.stderr
    wrong = run('-e', csv_table(rows) + kv_table(path, more=", 'pth' = 'x'") + TOTALS, code=2)
    assert "did you mean 'path'?" in wrong.stderr, wrong.stderr
    no_path = run('-e', kv_table('') + 'SELECT * FROM totals', code=2)
    assert "'path'" in no_path.stderr, no_path.stderr
    missing = run('-e', kv_table(directory / 'nowhere') + 'SELECT * FROM totals', code=1)
    assert 'nowhere' in missing.stderr and not (directory / 'nowhere').exists(), missing.stderr
    bad = directory / 'bad'
    store(bad, 'put', 'a', '{"name": "a", "n": "many"}')
    store(bad, 'put', 'b', '{"name": "b", "n": 2}')
    named = run('-e', kv_table(bad) + 'SELECT n FROM totals', code=1)
    assert "key 'a'" in named.stderr and "'many' is no BIGINT for column n" in named.stderr, named.stderr
    kept = directory / 'kept'
    lenient = run('-e', kv_table(bad, more=f", 'malformed-records.path' = '{kept}'") + 'SELECT n FROM totals')
    assert lenient.stdout == 'n\n2\n' and 'many' in kept.read_text(), lenient.stdout
    # A byte that the medium changed is an error, and no other value.
    damaged = directory / 'damaged'
    store(damaged, 'put', 'a', '{"name": "ada", "n": 17}')
    segment = damaged / 'segment-000000'
    assert segment.read_bytes().count(b'"n": 17') == 1
    segment.write_bytes(segment.read_bytes().replace(b'"n": 17', b'"n": 97'))
    read = run('-e', kv_table(damaged) + 'SELECT n FROM totals', code=1)
    assert 'corrupt' in read.stderr and '97' not in read.stdout, (read.stdout, read.stderr)


def check_a_key_that_is_too_long_is_in_no_checkpoint(directory):
    """The checkpoint had it, the store refused it, and no run could go on from that checkpoint."""
    path = directory / 'long.csv'
    path.write_text('ada,1\n' + 'x' * 70_000 + ',2\n')
    text = csv_table(path) + kv_table(directory / 'long') + 'INSERT INTO totals SELECT name, SUM(v), COUNT(*) FROM t GROUP BY name'
    words = ('--compile', 'never', '--checkpoint-dir', directory / 'long_c', '-e', text)
    for _ in range(2):
        refused = run(*words, code=2)
        assert 'the primary key of a row has 70000 bytes; a store takes keys of at most 65536' in refused.stderr, refused.stderr
    path.write_text('ada,1\nbob,2\n')
    run(*words)
    assert set(contents(directory / 'long')) == {'ada', 'bob'}


def check_what_others_put_stays(directory):
    """A run that went on, or had nothing to do, wrote its last changes once more: over those of others."""
    first, second, path = directory / 'first.csv', directory / 'second.csv', directory / 'shared'
    first.write_text('k,1\nb,1\n')
    second.write_text('k,2\n')
    into = kv_table(path, 'name STRING, v BIGINT, PRIMARY KEY (name) NOT ENFORCED', 'o')
    text = csv_table(first) + csv_table(second, name='u') + into + 'INSERT INTO o SELECT * FROM t;\nINSERT INTO o SELECT * FROM u'
    words = ['--checkpoint-dir', directory / 'shared_state', '-e', text]
    run(*words)
    assert json.loads(contents(path)['k'])['v'] == 2
    assert run(*words).stderr.count('it had finished') == 2
    assert json.loads(contents(path)['k'])['v'] == 2
    # A query that goes on.
    inbox, other = directory / 'shared_inbox', directory / 'other'
    inbox.mkdir()
    (inbox / 'a').write_text('k,1\nb,1\n')
    text = (csv_table(inbox).replace("'csv')", "'csv', 'source.monitor-interval' = '20ms')")
            + kv_table(other, 'name STRING, v BIGINT, PRIMARY KEY (name) NOT ENFORCED', 'o') + 'INSERT INTO o SELECT * FROM t')
    command = [HOLDFAST, 'stream', 'run', '--checkpoint', '1h', '--checkpoint-dir', directory / 'other_state', '-e', text]
    stopped_once(command, ' 2 rows in')  # The last checkpoint is the one that has the changes.
    assert contents(other).keys() == {'k', 'b'}
    store(other, 'put', 'k', '{"name":"k","v":7}')
    store(other, 'erase', 'b')
    (inbox / '.b').write_text('c,3\n')
    (inbox / '.b').rename(inbox / 'b')
    assert 'resumed from checkpoint' in stopped_once(command, ' 1 row in')
    shown = {key: json.loads(value)['v'] for key, value in contents(other).items()}
    assert shown == {'k': 7, 'c': 3}, shown


def check_kills(directory):
    """Whatever a killed run leaves is the state after the first so many rows; the last run ends with all of them."""
    pick = random.Random(7)
    rows = [(f'k{pick.randrange(300)}', pick.randrange(1000)) for _ in range(60_000)]
    path = directory / 'killed.csv'
    path.write_text(''.join(f'{name},{v}\n' for name, v in rows))
    totals, checkpoints = directory / 'killed', directory / 'killed_checkpoints'
    text = csv_table(path) + kv_table(totals) + TOTALS
    command = [HOLDFAST, 'stream', 'run', '--checkpoint-dir', checkpoints, '--checkpoint', '5ms', '-e', text]

    def after(count):
        sums = collections.defaultdict(lambda: [0, 0])
        for name, v in rows[:count]:
            sums[name][0] += v
            sums[name][1] += 1
        return {name: (total, n) for name, (total, n) in sums.items()}

    kills = within = 0
    for round_ in range(200):
        if kills >= 8 and within:
            break
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(pick.uniform(0.01, 0.12 + 0.02 * (round_ % 20)))
        killed = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += killed
        found = {}
        if totals.exists() and not begun(totals):
            verified = store(totals, 'verify')
            found = {key: (json.loads(value)['total'], json.loads(value)['n']) for key, value in contents(totals).items()}
            count = sum(n for _, n in found.values())
            assert found == after(count), (round_, count, verified.stdout)
            within += 0 < count < len(rows)
        if not killed:  # It ended: once more from the beginning.
            assert process.returncode == 0, process.returncode
            assert found == after(len(rows)), round_
            shutil.rmtree(checkpoints)
            shutil.rmtree(totals) if totals.is_dir() else totals.unlink()
    assert kills >= 8 and within, (kills, within)
    run(*command[3:])
    found = {key: (json.loads(value)['total'], json.loads(value)['n']) for key, value in contents(totals).items()}
    assert found == after(len(rows))


def check_kills_of_a_reader(directory):
    """A store is read to its end by runs that are killed: each record is shown once, in the order of the keys."""
    path, lines = directory / 'read', directory / 'read.csv'
    lines.write_text(''.join(f'{i},{i * 3}\n' for i in range(60_000)))
    columns = 'id INT, v INT'
    text = kv_table(path, columns + ', PRIMARY KEY (id) NOT ENFORCED', 'stored')
    run('-e', csv_table(lines, columns) + text + 'INSERT INTO stored SELECT id, v FROM t')
    wanted = [f'{i},{i * 3}' for i in sorted(range(60_000), key=str)]
    pick = random.Random(8)
    kills = 0
    for round_ in range(200):
        out, checkpoints = directory / f'read_{round_}', directory / f'read_checkpoints_{round_}'
        command = [HOLDFAST, 'stream', 'run', '--checkpoint-dir', checkpoints, '--checkpoint', '5ms', '-e', text + csv_table(
            out, columns, 'o') + 'INSERT INTO o SELECT id, v FROM stored']
        killed = True
        while killed:
            process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if kills < 8:
                time.sleep(pick.uniform(0.01, 0.1))
                killed = process.poll() is None
                process.send_signal(signal.SIGKILL)
            _, message = process.communicate(timeout=60)
            killed = process.returncode == -signal.SIGKILL
            assert killed or process.returncode == 0, message
            kills += killed
        parts = sorted(out.glob('part-*'))
        assert [line for part in parts for line in part.read_text().splitlines()] == wanted, round_
        if kills >= 8:
            return
    assert False, kills


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_kv_connector_'))
    try:
        check_rows_come_go_and_are_read(directory)
        check_keys_that_are_not_the_query_s(directory)
        check_look_ups(directory)
        check_errors(directory)
        check_a_key_that_is_too_long_is_in_no_checkpoint(directory)
        check_what_others_put_stays(directory)
        check_kills(directory)
        check_kills_of_a_reader(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
