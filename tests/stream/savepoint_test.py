"""Savepoints: `holdfast stream savepoint`, `stream run --from`, on the same and on another state store; several INSERTs side by side.

    savepoint_test.py HOLDFAST
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import compilers
from kills import stopped_once, stores, where

HOLDFAST = sys.argv[1]


def command(verb, *words, code=0, **environment):
    done = subprocess.run([HOLDFAST, 'stream', verb, *map(str, words)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    assert done.returncode == code, (verb, words, done.returncode, done.stdout[-500:], done.stderr)
    return done


def parts(directory):
    return ''.join(part.read_text() for part in sorted(pathlib.Path(directory).glob('part-*.csv')))


def sums(directory, out, aggregate='SUM(v)'):
    return (f"CREATE TABLE t (ms BIGINT, k INT, v INT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts) WITH ('connector' = "
            f"'filesystem', 'path' = '{directory}/inbox', 'format' = 'csv', 'source.monitor-interval' = '20ms');\n"
            f"CREATE TABLE o (s TIMESTAMP(3), k INT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');\n"
            f"INSERT INTO o SELECT window_start, k, {aggregate} FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
            "GROUP BY window_start, window_end, k")


def put(directory, name, rows):
    (directory / 'inbox' / f'.{name}').write_text(''.join(f'{ms},{k},{v}\n' for ms, k, v in rows))
    (directory / 'inbox' / f'.{name}').rename(directory / 'inbox' / name)


def until(what, condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def stopped(process):
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=60)[1]


STARTED = []


def start(*words):
    process = subprocess.Popen([HOLDFAST, 'stream', 'run', '--checkpoint', '20ms', *map(str, words)], stderr=subprocess.PIPE, text=True)
    STARTED.append(process)
    return process


def check_savepoints(directory):
    (directory / 'inbox').mkdir()
    # Window 0 gets 1 + 2 + 4 of key 1; it ends with the third file.
    put(directory, 'a', [(1000, 1, 1), (2000, 1, 2)])
    first = start('--checkpoint-dir', directory / 'c', '-e', sums(directory, directory / 'out'))
    until('a checkpoint', lambda: (directory / 'c' / 'query-1.checkpoint').exists())
    time.sleep(1)
    # While it runs.
    saved = directory / 'saved'
    command('savepoint', '--checkpoint-dir', directory / 'c', '--to', saved, '-e', sums(directory, directory / 'out'))
    twice = command('savepoint', '--checkpoint-dir', directory / 'c', '--to', saved, '-e', sums(directory, directory / 'out'), code=1)
    assert 'there is a checkpoint already' in twice.stderr, twice.stderr
    put(directory, 'b', [(3000, 1, 4), (10_000, 2, 8)])
    until('a window', lambda: parts(directory / 'out') != '')
    stopped(first)
    assert parts(directory / 'out') == '1970-01-01 00:00:00.000,1,7\n', parts(directory / 'out')

    # From the savepoint, on each store: the second file is read once more, the first is not.
    changed = sums(directory, directory / 'never', 'MAX(v)')
    refused = command('run', '--from', saved, '--checkpoint-dir', directory / 'c2', '-e', changed, code=2)
    assert 'of another query' in refused.stderr and not parts(directory / 'never')
    for number, store in enumerate(stores(HOLDFAST), 2):
        words = where(store, directory, 'third')
        out = directory / f'out_{store}'
        # The same query: its sink is the same table, with what the first run showed moved away.
        shutil.rmtree(directory / 'out')
        again = start('--from', saved, *words, '-e', sums(directory, directory / 'out'))
        until('a window', lambda: parts(directory / 'out') != '')
        said = stopped(again)
        assert 'resumed from checkpoint 1,' in said, said
        assert parts(directory / 'out').startswith('1970-01-01 00:00:00.000,1,7\n'), (store, parts(directory / 'out'))
        # Its own checkpoint goes before the savepoint now.
        put(directory, f'c_{number}', [(number * 10_000, 3, 16)])
        more = start('--from', saved, *words, '-e', sums(directory, directory / 'out'))
        until('the next window', lambda: len(parts(directory / 'out').splitlines()) >= 2)
        stopped(more)
        assert parts(directory / 'out').splitlines()[1] == '1970-01-01 00:00:10.000,2,8', parts(directory / 'out')
        shutil.copytree(directory / 'out', out)
    # From each store that keeps entries into each of all.
    for store in stores(HOLDFAST)[1:]:
        command('savepoint', *where(store, directory, 'third'), '--to', directory / f'saved_{store}', '-e', sums(directory, directory / 'out'))
    put(directory, 'z', [(90_000, 4, 0)])
    for number, store in enumerate(stores(HOLDFAST)[1:], 3):
        for to in stores(HOLDFAST):
            shutil.rmtree(directory / 'out')
            last = start('--from', directory / f'saved_{store}', *where(to, directory, f'from_{store}'), '-e', sums(directory, directory / 'out'))
            until('the last window', lambda: f'1970-01-01 00:00:{number}0.000,3,16' in parts(directory / 'out'))
            stopped(last)
    none = command('run', '--from', directory / 'nowhere', '--checkpoint-dir', directory / 'c5', '-e',
                   sums(directory, directory / 'out'), code=1)
    assert 'nowhere/query-1.checkpoint is not there' in none.stderr, none.stderr
    # A place that is not there was made.
    for words in (('--checkpoint-dir', directory / 'typo'), *(('--state', store, '--region', directory / 'typo') for store in stores(HOLDFAST)[1:])):
        command('savepoint', *words, '--to', directory / 'none', '-e', sums(directory, directory / 'out'), code=1)
        assert not (directory / 'typo').exists(), words


def check_the_state_of_final_is_of_another_query(directory):
    """It is kept by other operators than those that show each change. A run of the other kind called it corrupt."""
    (directory / 'inbox').mkdir()
    text = (f"CREATE TABLE t (k INT, v INT) WITH ('connector' = 'filesystem', 'path' = '{directory}/inbox', 'format' = 'csv', "
            "'source.monitor-interval' = '20ms'); SELECT k, SUM(v) AS v FROM t GROUP BY k")
    (directory / 'inbox' / 'a').write_text('1,2\n1,3\n')
    for number, (before, after) in enumerate((([], ['--final']), (['--final'], []))):
        place = ['--checkpoint-dir', directory / f'c{number}']
        first = start(*place, *before, '-e', text)
        until('a checkpoint', lambda: (directory / f'c{number}' / 'query-1.checkpoint').exists())
        stopped(first)
        refused = command('run', *place, *after, '-e', text, code=2)
        assert 'of another query' in refused.stderr and 'Shown when the input has ended' in refused.stderr, refused.stderr


def check_deltas_of_several_checkpoints(directory):
    """A key that changed in several epochs has an entry of each in kv: a savepoint into kv kept the last one only."""
    for store in stores(HOLDFAST)[1:]:
        (directory / store).mkdir()
        check_deltas(directory / store, store)


def check_deltas(directory, store):
    (directory / 'inbox').mkdir()
    text = sums(directory, directory / 'out')
    first = start(*where(store, directory, 'first'), '-e', text)
    for number in range(4):
        put(directory, f'{number}', [(1000 + number, 1, 1 << number), (1000 + number, 2 + number, 1)])
        time.sleep(0.5)
    stopped(first)
    command('savepoint', *where(store, directory, 'first'), '--to', directory / 'saved', '-e', text)
    put(directory, 'end', [(20_000, 1, 0)])
    for name in stores(HOLDFAST):
        shutil.rmtree(directory / 'out', ignore_errors=True)
        again = start('--from', directory / 'saved', *where(name, directory, 'again'), '-e', text)
        until('the window', lambda: parts(directory / 'out') != '')
        stopped(again)
        shown = parts(directory / 'out').splitlines()
        assert shown == [f'1970-01-01 00:00:00.000,{k},{v}' for k, v in ((1, 15), (2, 1), (3, 1), (4, 1), (5, 1))], (name, shown)


def die_at_a_rename_to_a_part(directory):
    """A library: the process is killed between a checkpoint and its sink."""
    source, library = directory / 'die.c', directory / 'die.so'
    source.write_text('#include <signal.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n'
                      'int renameat(int from, const char* name, int to, const char* new_name) {\n'
                      '  if (strncmp(new_name, "part-", 5) == 0) raise(SIGKILL);\n'
                      '  return syscall(SYS_renameat, from, name, to, new_name);\n}\n')
    subprocess.run([shutil.which('gcc') or 'cc', '-shared', '-fPIC', '-o', library, source], check=True)
    return library


def check_a_run_without_its_savepoint(directory):
    """A run with a checkpoint of its own was refused where the savepoint had gone."""
    (directory / 'n.csv').write_text('1\n2\n')
    text = (f"CREATE TABLE n (v INT) WITH ('connector' = 'filesystem', 'path' = '{directory}/n.csv', 'format' = 'csv');\nSELECT SUM(v) AS s FROM n")
    command('run', '--checkpoint-dir', directory / 'c', '-e', text)
    command('savepoint', '--checkpoint-dir', directory / 'c', '--to', directory / 'saved', '-e', text)
    words = ('--from', directory / 'saved', '--checkpoint-dir', directory / 'again', '-e', text)
    assert 'it had finished' in command('run', *words).stderr
    shutil.rmtree(directory / 'saved')
    assert 'it had finished' in command('run', *words).stderr


def check_a_query_that_has_not_begun(directory):
    """A script in its first query: its savepoint failed, left half of its files, and they were in the way of the next."""
    (directory / 'inbox').mkdir()
    (directory / 'inbox' / 'a').write_text('1\n2\n')
    (directory / 'b.csv').write_text('3\n')
    table = "CREATE TABLE {} (v INT) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv'{});\n"
    text = (table.format('a', directory / 'inbox', ", 'source.monitor-interval' = '20ms'") + table.format('b', directory / 'b.csv', '')
            + table.format('o', directory / 'out', '') + 'INSERT INTO o SELECT v FROM a;\nINSERT INTO o SELECT v FROM b')
    none = command('savepoint', '--checkpoint-dir', directory / 'c', '--to', directory / 'saved', '-e', text, code=1)
    assert 'there is no completed checkpoint' in none.stderr and not list((directory / 'saved').iterdir()), none.stderr
    first = start('--checkpoint-dir', directory / 'c', '-e', text)
    until('its rows', lambda: parts(directory / 'out') == '1\n2\n')
    stopped(first)
    saved = command('savepoint', '--checkpoint-dir', directory / 'c', '--to', directory / 'saved', '-e', text).stdout
    assert saved.splitlines() == [f'{directory}/saved/query-1.checkpoint', f'{directory}/saved/query-2.checkpoint.none'], saved
    assert 'already' in command('savepoint', '--checkpoint-dir', directory / 'c', '--to', directory / 'saved', '-e', text, code=1).stderr
    assert len(list((directory / 'saved').iterdir())) == 2
    # All of it goes on from there, side by side: the second query begins.
    (directory / 'inbox' / '.c').write_text('4\n')
    (directory / 'inbox' / '.c').rename(directory / 'inbox' / 'c')
    both = text.replace('INSERT INTO o SELECT v FROM a;', 'EXECUTE STATEMENT SET BEGIN INSERT INTO o SELECT v FROM a; ') + '; END'
    both = both.replace('INSERT INTO o SELECT v FROM b', 'INSERT INTO p SELECT v FROM b').replace(
        'EXECUTE', table.format('p', directory / 'second', '') + 'EXECUTE')
    again = start('--from', directory / 'saved', '--checkpoint-dir', directory / 'd', '-e', both)
    until('what came later', lambda: parts(directory / 'out') == '1\n2\n4\n' and parts(directory / 'second') == '3\n')
    stopped(again)
    # A file that is missing is no query that had not begun.
    (directory / 'saved' / 'query-2.checkpoint.none').unlink()
    refused = start('--from', directory / 'saved', '--checkpoint-dir', directory / 'e', '-e', both)
    assert 'query-2.checkpoint is not there' in refused.communicate(timeout=60)[1]


def check_what_the_sinks_had_not_shown(directory):
    """A run that is killed between a checkpoint and its sinks: those rows were in no savepoint, and lost."""
    (directory / 'n.csv').write_text('ada,1\nbob,2\nada,4\n')
    table = f"CREATE TABLE n (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{directory}/n.csv', 'format' = 'csv');\n"
    rows = table + (f"CREATE TABLE o (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{directory}/out', 'format' = 'csv');\n"
                    'INSERT INTO o SELECT k, v FROM n')
    totals = table + (f"CREATE TABLE o (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'kv', 'path' = '{directory}/kv');\n")
    killer = die_at_a_rename_to_a_part(directory)
    for store in stores(HOLDFAST):
        # The checkpoint is there; its part has its hidden name still.
        command('run', *where(store, directory, 'rows'), '-e', rows, code=-signal.SIGKILL, LD_PRELOAD=str(killer))
        assert parts(directory / 'out') == '', store
        command('savepoint', *where(store, directory, 'rows'), '--to', directory / f'rows_{store}', '-e', rows)
        # One of a savepoint, from which no run began yet.
        command('savepoint', '--checkpoint-dir', directory / f'rows_{store}', '--to', directory / f'twice_{store}', '-e', rows)
        command('run', '--from', directory / f'twice_{store}', *where(store, directory, 'rows_again'), '-e', rows)
        assert parts(directory / 'out') == 'ada,1\nbob,2\nada,4\n', (store, parts(directory / 'out'))
        # What was shown is not shown again.
        command('run', '--from', directory / f'rows_{store}', '--checkpoint-dir', directory / f'third_{store}', '-e', rows)
        assert parts(directory / 'out') == 'ada,1\nbob,2\nada,4\n', (store, parts(directory / 'out'))
        shutil.rmtree(directory / 'out')
        # The checkpoint is there; the store does not have its changes.
        inbox = directory / 'totals_inbox'
        inbox.mkdir(exist_ok=True)
        shutil.copy(directory / 'n.csv', inbox / 'n.csv')
        insert = (totals.replace(f"{directory}/n.csv', 'format' = 'csv'", f"{inbox}', 'format' = 'csv', 'source.monitor-interval' = '20ms'", 1)
                  + 'INSERT INTO o SELECT k, SUM(v) FROM n GROUP BY k')
        stopped_once([HOLDFAST, 'stream', 'run', '--checkpoint', '1h', *where(store, directory, 'totals'), '-e', insert], ' 3 rows in')
        shutil.rmtree(directory / 'kv')
        command('savepoint', *where(store, directory, 'totals'), '--to', directory / f'totals_{store}', '-e', insert)
        stopped_once([HOLDFAST, 'stream', 'run', '--from', directory / f'totals_{store}', *where(store, directory, 'totals_again'), '-e', insert],
                     'interrupted')
        shown = command('run', '-e', totals + 'SELECT k, v FROM o').stdout
        assert shown == 'k,v\nada,5\nbob,2\n', (store, shown)
        shutil.rmtree(directory / 'kv')


NEAR = ("SELECT x.ts, y.k, x.v FROM t x FULL JOIN t y ON x.k = y.k AND x.v <> y.v AND x.ts BETWEEN y.ts - INTERVAL '4' SECOND AND y.ts + INTERVAL '6' SECOND")
WINDOWS = ("SELECT l.ts, r.k, l.v FROM (SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))) l FULL JOIN (SELECT * FROM "
           "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))) r ON l.k = r.k AND l.v < r.v AND l.window_start = r.window_start AND "
           "l.window_end = r.window_end")
CASCADE = ("SELECT window_start, k, SUM(n) FROM (SELECT window_start, window_end, k, v, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
           "INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k, v) GROUP BY window_start, window_end, k")
OVER = ("SELECT ts, k, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '7' SECOND PRECEDING AND CURRENT ROW) FROM t")


def check_state_that_memory_does_not_have(directory):
    """Of joins by times, groups of windows and OVER in kv, with no memory: each store goes on from a savepoint of it, and shows what one run shows.
    It has checkpoints before the next rows come: what a savepoint brought was lost with them where memory did not have it."""
    # How many rows the first half of the input shows, and all of it.
    shown = ((NEAR, 608, 1305), (WINDOWS, 333, 664), (CASCADE, 14, 28), (OVER, 120, 240))
    for number, (query, half, all_rows) in enumerate(shown):
        place = directory / str(number)
        (place / 'inbox').mkdir(parents=True)
        text = lambda out: sums(place, out).partition('INSERT')[0] + 'INSERT INTO o ' + query
        rows = [(200 * i, i % 7, i * i % 31) for i in range(240)]
        put(place, 'a', rows[:120])
        first = start('--state', 'kv', '--state-memory', '1', '--region', place / 'first', '-e', text(place / 'out'))
        until('the rows of the first half', lambda: parts(place / 'out').count('\n') == half)
        stopped(first)
        begun = parts(place / 'out')
        command('savepoint', '--state', 'kv', '--region', place / 'first', '--to', place / 'saved', '-e', text(place / 'out'))
        put(place, 'b', rows[120:])
        whole = start('--checkpoint-dir', place / 'whole_state', '-e', text(place / 'whole'))
        until('all rows', lambda: parts(place / 'whole').count('\n') == all_rows)
        stopped(whole)
        wanted = parts(place / 'whole')
        assert wanted.startswith(begun), query
        for store in stores(HOLDFAST):
            shutil.rmtree(place / 'out')
            (place / 'inbox' / 'b').unlink()
            words = where(store, place, f'again_{store}')
            small = ['--state-memory', '1'] if store == 'kv' and '--state-memory' not in words else []
            again = start('--from', place / 'saved', *words, *small, '-e', text(place / 'out'))
            time.sleep(0.5)
            put(place, 'b', rows[120:])
            until(f'all rows, {store}', lambda: half + parts(place / 'out').count('\n') == all_rows)
            stopped(again)
            assert begun + parts(place / 'out') == wanted, (store, query)


def check_two_runs_of_one_place(directory):
    """The second run took the first one's hidden parts away, whose rows were lost, and replaced its checkpoints."""
    endless = "CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '200', 'fields.n.kind' = 'sequence');\n"
    insert = endless + (f"CREATE TABLE o (n INT) WITH ('connector' = 'filesystem', 'path' = '{directory}/out', 'format' = 'csv');\n"
                        'INSERT INTO o SELECT n FROM s')
    first = start('--checkpoint-dir', directory / 'c', '-e', insert)
    until('rows', lambda: parts(directory / 'out') != '')
    same_sink = command('run', '-e', insert, code=1)
    assert f'{directory}/out is in use by process {first.pid} (holdfast-bench); end that run, or name another' in same_sink.stderr, same_sink.stderr
    same_state = command('run', '--checkpoint-dir', directory / 'c', '-e', endless + 'SELECT n FROM s', code=1)
    assert f'{directory}/c is in use by process {first.pid} (holdfast-bench); end that run, or name another' in same_state.stderr, same_state.stderr
    # A command that only reads the state may run.
    command('savepoint', '--checkpoint-dir', directory / 'c', '--to', directory / 'saved', '-e', insert)
    stopped(first)
    rows = [int(line) for line in parts(directory / 'out').split()]
    assert rows == list(range(len(rows))) and rows, rows[:10]


def check_side_by_side(directory):
    made = ''.join(f"CREATE TABLE o{i} (n INT) WITH ('connector' = 'filesystem', 'path' = '{directory}/side{i}', 'format' = 'csv');\n"
                   for i in range(2))
    endless = "CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '200', 'fields.n.kind' = 'sequence');\n"
    text = "SET 'table.dml-sync' = 'false';\n" + made + endless + ''.join(f'INSERT INTO o{i} SELECT n FROM s;\n' for i in range(2))
    process = start('--checkpoint-dir', directory / 'side', '-e', text)
    until('rows of both', lambda: all(parts(directory / f'side{i}') for i in range(2)))
    stopped(process)
    for _ in range(3):
        process = start('--checkpoint-dir', directory / 'side', '-e', text)
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start('--checkpoint-dir', directory / 'side', '-e', text)
    time.sleep(0.5)
    stopped(process)
    for i in range(2):
        rows = [int(line) for line in parts(directory / f'side{i}').split()]
        assert rows == list(range(len(rows))) and len(rows) > 100, rows[:10]
    # One that fails ends the others, each with a checkpoint.
    (directory / 'bad.csv').write_text('1\nx\n')
    bad = text.replace('INSERT INTO o1 SELECT n FROM s', 'INSERT INTO o1 SELECT n FROM bad').replace(
        'INSERT', f"CREATE TABLE bad (n INT) WITH ('connector' = 'filesystem', 'path' = '{directory}/bad.csv', 'format' = 'csv');\nINSERT", 1)
    failed = command('run', '-e', bad, code=1)
    assert "'x' is no INT" in failed.stderr, failed.stderr


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_savepoint_'))
    compilers.be_quick(directory)
    try:
        for check in (check_savepoints, check_a_run_without_its_savepoint, check_a_query_that_has_not_begun, check_the_state_of_final_is_of_another_query, check_deltas_of_several_checkpoints, check_what_the_sinks_had_not_shown,
                      check_two_runs_of_one_place, check_state_that_memory_does_not_have):
            (directory / check.__name__).mkdir()
            check(directory / check.__name__)
        check_side_by_side(directory)
    finally:
        for process in STARTED:
            process.kill()
        shutil.rmtree(directory, ignore_errors=True)


main()
