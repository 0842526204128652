"""Functions and aggregates that users wrote in C++, in whole queries.

    functions_test.py HOLDFAST LIBRARY      the library of tests/sql/user_functions_library.cpp

  1. Random queries: interpreted and compiled give the same, and what built-in functions give.
  2. Aggregates without merge() or take_back(), of rows that change, with OVER, in windows of every kind.
  3. Runs that are killed and go on, interpreted and compiled by turns, on all state stores.
  4. Errors: of a function, of a library, of a version that has changed, of state that cannot be written; explain.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import compilers
from kills import check_kills, parts, stores, where

HOLDFAST, LIBRARY = sys.argv[1], sys.argv[2]
SEED = int(os.environ.get('HOLDFAST_SEED', '1'))
NAMES = ['plus', 'half', 'checked', 'total', 'weighted_mean', 'mode', 'sequence', 'unwritten']
HAS_COMPILER = shutil.which(os.environ.get('CXX') or 'g++') or shutil.which('clang++')
MODES = ['never', 'wait'] if HAS_COMPILER else ['never']


def functions(**symbols):
    symbols = {**{name: name for name in NAMES}, **symbols}
    return ''.join(f"CREATE FUNCTION {name} AS '{symbol}' LANGUAGE CPP USING LIBRARY '{LIBRARY}';\n" for name, symbol in symbols.items())


def table(path):
    return ('CREATE TABLE e (ts TIMESTAMP(3), k STRING, v BIGINT, w INT, WATERMARK FOR ts AS ts - INTERVAL \'2\' SECOND) '
            f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n")


def write(path, rand, count):
    rows = []
    with open(path, 'w') as out:
        for i in range(count):
            ms = i * 40 + rand.randrange(-900, 900) if i > 30 else i * 40
            row = (ms, rand.choice('abcd'), rand.choice([None, *range(-9, 9)]), rand.randrange(0, 4))
            rows.append(row)
            out.write(f"2026-01-01 00:{ms // 60000:02}:{ms // 1000 % 60:02}.{ms % 1000:03},{row[1]},{'' if row[2] is None else row[2]},{row[3]}\n"
                      .replace(',,', ',\\N,'))
    return rows


def run(mode, text, *more):
    return subprocess.run([HOLDFAST, 'stream', 'run', '--compile', mode, '-e', text, *more],
                          capture_output=True, text=True, timeout=300)


def rows_of(text, *more, compiled=True):
    """The rows, the same in each mode."""
    seen = []
    for mode in MODES:
        done = run(mode, text, *more)
        assert done.returncode == 0, (text, done.stderr)
        assert mode == 'never' or (', compiled' in done.stderr) == compiled, (text, done.stderr)
        assert 'interpreted:' not in done.stderr or not compiled, (text, done.stderr)
        seen.append(done.stdout)
    assert len(set(seen)) == 1, (text, seen)
    return seen[0].splitlines()[1:]


def twins(directory, rand):
    """Each pair of queries gives the same: the one by functions of users, the other by built-in ones."""
    write(directory / 'twins.csv', rand, 1500)
    head = functions() + table(directory / 'twins.csv')
    pairs = [('plus(v, w)', 'v + w'), ('plus(k, k)', "k || '+' || k"), ('half(v)', 'CAST(v AS DOUBLE) / 2'),
             ('plus(plus(v, 1), plus(w, v))', 'v + 1 + w + v'), ('half(half(w)) + 1', 'CAST(w AS DOUBLE) / 4 + 1'),
             ("checked(UPPER(k) || 'x')", "'<' || UPPER(k) || 'x>'"), ('checked(CAST(NULL AS STRING))', 'CAST(NULL AS STRING)'),
             ('CASE WHEN v > 3 THEN checked(k) ELSE plus(k, \'\') END', "CASE WHEN v > 3 THEN '<' || k || '>' ELSE k || '+' END")]
    for mine, built_in in pairs:
        condition = rand.choice(['', ' WHERE plus(v, 1) > 0', " WHERE checked(k) <> '<a>'"])
        plain = condition.replace('plus(v, 1)', 'v + 1').replace('checked(k)', "'<' || k || '>'")
        assert rows_of(f'{head}SELECT {mine} AS x FROM e{condition}') == rows_of(f'{head}SELECT {built_in} AS x FROM e{plain}'), mine
    window = 'FROM TABLE({}(TABLE e, DESCRIPTOR(ts), INTERVAL {})) GROUP BY k, window_start, window_end'
    froms = [window.format('TUMBLE', "'3' SECOND"), window.format('HOP', "'2' SECOND, INTERVAL '6' SECOND"),
             window.format('CUMULATE', "'2' SECOND, INTERVAL '6' SECOND"), window.format('SESSION', "'1' SECOND"), 'FROM e GROUP BY k',
             'FROM (SELECT k, w, MAX(v) AS v FROM e GROUP BY k, w) GROUP BY k']
    aggregates = [('total(v)', 'SUM(v)'), ('total(plus(v, w)) FILTER (WHERE half(w) < 1)', 'SUM(v + w) FILTER (WHERE w < 2)'),
                  ('weighted_mean(v, w)', 'CAST(SUM(v * w) AS DOUBLE) / NULLIF(SUM(CASE WHEN v IS NULL THEN 0 ELSE w END), 0)')]
    for source in froms:
        for mine, built_in in aggregates:
            mine, built_in = (f'{head}SELECT k, {one} AS x, COUNT(*) AS n {source} HAVING COUNT(*) > 1' for one in (mine, built_in))
            assert sorted(rows_of(mine)) == sorted(rows_of(built_in)), mine
        # Not compiled: the interpreter does it.
        mine, built_in = f'{head}SELECT k, total(DISTINCT v) AS x {source}', f'{head}SELECT k, SUM(DISTINCT v) AS x {source}'
        assert sorted(rows_of(mine, compiled=False)) == sorted(rows_of(built_in)), mine
    over = f"{head}SELECT k, {{}} OVER (PARTITION BY k ORDER BY ts {{}}) AS x FROM e"
    for frame in '', 'ROWS BETWEEN 2 PRECEDING AND CURRENT ROW', "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW":
        assert rows_of(over.format('total(v)', frame)) == rows_of(over.format('SUM(v)', frame)), frame
    assert rows_of(f'{functions()}SELECT plus(a, 1) AS x FROM (VALUES (1), (plus(1, 1))) AS t (a)', compiled=False) == ['2', '3']


def other_aggregates(directory, rand):
    rows = write(directory / 'other.csv', rand, 800)
    head = functions() + table(directory / 'other.csv')
    # Without merge(): the order of rows counts, also in windows that overlap.
    shown = rows_of(f"{head}SELECT k, sequence(v) AS s FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
                    'GROUP BY k, window_start, window_end')
    wanted = {k: ''.join(f"{'-' if v is None else v};" for _, of, v, _ in rows if of == k) for k in 'abcd'}
    assert sorted(shown) == sorted(f'{k},{text}' for k, text in wanted.items()), shown
    rows_of(f"{head}SELECT k, sequence(v) AS s FROM TABLE(HOP(TABLE e, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '4' SECOND)) "
            'GROUP BY k, window_start, window_end')
    # State with a map of its own; without take_back() the values of rows that change are all kept.
    most = rows_of(f'{head}SELECT mode(k) AS m FROM e', '--final')
    count = {k: sum(of == k for _, of, _, _ in rows) for k in 'abcd'}
    assert most == [min(count, key=lambda k: (-count[k], k))], (most, count)
    changing = f'{head}SELECT mode(x) AS m FROM (SELECT w, v, MAX(k) AS x FROM e GROUP BY w, v)'
    last = {}
    for _, k, v, w in rows:
        last[w, v] = max(k, last.get((w, v), k))
    count = {k: sum(x == k for x in last.values()) for k in 'abcd'}
    assert rows_of(changing, '--final', compiled=False) == [min(count, key=lambda k: (-count[k], k))]
    done = run('never', f'{head}SELECT sequence(v) FROM (SELECT w, MAX(v) AS v FROM e GROUP BY w)')
    assert done.returncode != 0 and 'SEQUENCE[version 1] of rows that change is not supported' in done.stderr, done.stderr


def kills(directory, rand):
    write(directory / 'kills.csv', rand, 60_000)
    queries = {
        'windows': "SELECT k, window_start, total(v) AS t, weighted_mean(v, w) AS m, mode(checked(k)) AS o FROM TABLE(HOP(TABLE e, "
                   "DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY k, window_start, window_end",
        'order': "SELECT k, window_start, sequence(v) AS s FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '20' SECOND)) "
                 'GROUP BY k, window_start, window_end',
    }
    hit = 0
    for name, query in queries.items():
        for state in stores(HOLDFAST):
            turn = iter(range(10**6))

            def command_of(run_name):
                out = directory / f'out_{name}_{state}_{run_name}'
                text = (functions() + table(directory / 'kills.csv') +
                        f"CREATE TABLE o ({'k STRING, s TIMESTAMP(3), t BIGINT, m DOUBLE, o STRING' if name == 'windows' else 'k STRING, w TIMESTAMP(3), s STRING'}) "
                        f"WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');\nINSERT INTO o " + query)
                mode = MODES[next(turn) % len(MODES)]
                return out, [HOLDFAST, 'stream', 'run', '--compile', 'never' if mode == 'never' else 'wait', '-e', text,
                             '--checkpoint', '20ms', *where(state, directory, f'{name}_{state}_{run_name}')]
            hit += check_kills(command_of, rand, 3, parts)
    return hit


def errors(directory, rand):
    path = directory / 'errors.csv'
    path.write_text('2026-01-01 00:00:01,a,1,1\n2026-01-01 00:00:02,bad,2,1\n2026-01-01 00:00:03,throw,-999999,1\n')
    head = functions() + table(path)
    line = head.count('\n') + 1
    for query, wanted in [
            ('SELECT checked(k) AS x FROM e', f"line {line}, column 8: CHECKED('bad'): this text is bad"),
            ("SELECT checked(k) AS x FROM e WHERE k <> 'bad'", f"line {line}, column 8: CHECKED('throw'): thrown"),
            ('SELECT total(v) AS x FROM e', f'line {line}, column 8: TOTAL(-999999): -999999 is refused'),
            ('SELECT w, total(v) AS x FROM e GROUP BY w', f'line {line}, column 11: TOTAL(-999999): -999999 is refused'),
            ("SELECT total(v) AS x FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end",
             f'line {line}, column 8: TOTAL(-999999): -999999 is refused'),
            ('SELECT total(v) OVER (ORDER BY ts) AS x FROM e', f'line {line}, column 8: TOTAL(-999999): -999999 is refused')]:
        seen = set()
        for mode in MODES:
            done = run(mode, head + query)
            assert done.returncode != 0 and wanted in done.stderr, (mode, query, done.stderr)
            seen.add(done.stdout)
        assert len(seen) == 1, (query, seen)
    # A function of two names is called by each of them in errors.
    for mode in MODES:
        done = run(mode, head + f"CREATE FUNCTION again AS 'total' LANGUAGE CPP USING LIBRARY '{LIBRARY}';"
                   "SELECT total(v + 1) AS x, again(v) AS y FROM e GROUP BY k")
        assert done.returncode != 0 and 'AGAIN(-999999): -999999 is refused' in done.stderr, done.stderr
    done = run('never', "CREATE FUNCTION f AS 'half' LANGUAGE CPP USING LIBRARY '/nowhere/x.so'; SELECT f(1)")
    assert done.returncode != 0 and 'line 1, column 56: there is no library /nowhere/x.so' in done.stderr, done.stderr
    # Nothing of a path gets into the source.
    strange = directory / 'a";\n#error "$(touch x).so'
    shutil.copy(LIBRARY, strange)
    text = f"CREATE FUNCTION f AS 'half' LANGUAGE CPP USING LIBRARY '{strange}';" + table(path) + 'SELECT f(w) AS x FROM e'
    assert rows_of(text) == ['0.5'] * 3
    explained = subprocess.run([HOLDFAST, 'stream', 'explain', '-e', text], capture_output=True, text=True, timeout=60)
    assert explained.returncode == 0 and 'F[version 1]' in explained.stdout and '#error' not in explained.stdout, explained


def versions(directory, rand):
    """State of another version of a function is refused, of each store; the same version goes on from another place."""
    write(directory / 'versions.csv', rand, 500)
    moved = directory / 'moved.so'
    shutil.copy(LIBRARY, moved)
    for state in stores(HOLDFAST):
        for symbols, query in [({'total': 'total_2'}, 'SELECT k, total(v) AS x FROM e GROUP BY k'), ({'half': 'half_2'}, 'SELECT half(w) AS x, COUNT(*) AS n FROM e GROUP BY half(w)')]:
            name = f'versions_{state}_{next(iter(symbols))}'
            out = (f"CREATE TABLE o ({'k STRING, x BIGINT' if 'total' in symbols else 'x DOUBLE, n BIGINT'}) WITH ('connector' = 'blackhole');\n"
                   f'INSERT INTO o {query}')
            more = ['--checkpoint', '10ms', *where(state, directory, name)]
            done = run('never', functions() + table(directory / 'versions.csv') + out, *more)
            assert done.returncode == 0, done.stderr
            done = run('never', functions(**symbols) + table(directory / 'versions.csv') + out, *more)
            assert done.returncode != 0 and '[version 1]' in done.stderr and '[version 2]' in done.stderr, done.stderr
            again = (functions() + table(directory / 'versions.csv') + out).replace(LIBRARY, str(moved))
            done = run('never', again, *more)
            assert done.returncode == 0, done.stderr


def unwritten(directory):
    """A checkpoint without a state that cannot be written was completed, and nothing could go on from it."""
    path = directory / 'unwritten.csv'
    path.write_text(''.join(f'2026-01-01 00:00:{i:02},a,{i * 50},1\n' for i in range(60)))
    for state in stores(HOLDFAST):
        for mode in MODES:
            text = functions() + table(path) + "CREATE TABLE o (k STRING, x BIGINT) WITH ('connector' = 'blackhole');\nINSERT INTO o SELECT k, unwritten(v) AS x FROM e GROUP BY k"
            for _ in range(2):
                done = run(mode, text, '--checkpoint', '10ms', *where(state, directory, f'unwritten_{state}_{mode}'))
                assert done.returncode != 0 and 'UNWRITTEN: its state cannot be written: too much' in done.stderr, (state, mode, done.stderr)


def main():
    rand = random.Random(SEED)
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast-functions-'))
    compilers.be_quick(directory)
    try:
        twins(directory, rand)
        other_aggregates(directory, rand)
        errors(directory, rand)
        versions(directory, rand)
        unwritten(directory)
        hit = kills(directory, rand)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f'seed {SEED}: {hit} kills{"" if HAS_COMPILER else ", nothing compiled: there is no compiler"}')


main()
