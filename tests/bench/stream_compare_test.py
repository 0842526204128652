"""`holdfast stream bench --compare`. Peers that tell the truth, that lie and that fail are played by a script:

    stream_compare_test.py HOLDFAST

Real ones, of which HOLDFAST_TEST_PYTHON has the packages; without them it is skipped, with exit code 77:

    stream_compare_test.py HOLDFAST engines

Apache Flink, if `./run bench stream --compare flink-sql` has built its jars, else skipped:

    stream_compare_test.py HOLDFAST flink
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))
ENGINES, FLINK = (sys.argv[1:] == [kind] for kind in ('engines', 'flink'))
MODULE_OF_PATTERNS = pathlib.Path(HOLDFAST).parent / 'holdfast-peers-re2.so'  # q21 wants it.
PYTHON = os.environ.get('HOLDFAST_TEST_PYTHON', sys.executable)

# Stands in for the Python that --python names; gets "-c SCRIPT NAME THREADS". It answers from the files of columns.
PLAYER = '''#!{python}
import array, collections, json, os, pathlib, sys, time
name, threads = sys.argv[3:5]
manner, columns, asked = {manner!r}, {{}}, 0
say = lambda **message: print(json.dumps(message), flush=True)

def numbers(path):
    column = array.array('q')
    column.frombytes(path.read_bytes())
    return column

if manner == 'silent':
    sys.exit(0)
if manner == 'nameless':
    say()
else:
    say(version='7', configuration=threads + ' threads')
for line in sys.stdin:
    word, *words = line.rstrip('\\n').split(' ', 2 if line.startswith('load') else 1)
    asked += 1
    time.sleep(0.02)  # More than it says that it took.
    if manner in ('killed', 'garbage', 'untimed', 'flat', 'twice') and word != 'queries':
        if manner == 'killed':
            os.kill(os.getpid(), 9)
        if manner == 'garbage':
            print('what?', flush=True)
        if manner == 'untimed':
            say(rows=[])
        if manner == 'flat':
            say(seconds=0.01, rows=['1'])
        if manner == 'twice':
            print('{{"seconds": 0.01, "rows": []}}\\n{{"seconds": 0.01, "rows": []}}', flush=True)
        continue
    if manner == 'error' and word != 'queries':
        say(error='no such table')
    elif word == 'queries':
        say(seconds=0, rows=[['window-sum'], ['nexmark-q2'], ['nexmark-q22']])
    elif word == 'load':
        place = pathlib.Path(words[1])
        files = list(place.glob(words[0] + '.*'))
        assert len(files) == {{'events': 3, 'bid': 7 + 3}}[words[0]], files
        columns |= {{path.name: numbers(path) for path in files if path.suffix in
                    ('.ts', '.sensor', '.value', '.auction', '.price', '.ends')}}
        say(seconds=0.01, rows=[])
    elif word == 'window-sum':
        sums = collections.Counter()
        for ts, sensor, value in zip(columns['events.ts'], columns['events.sensor'], columns['events.value']):
            sums[ts // 60000 * 60000, sensor] += value
        rows = [[start, sensor, total] for (start, sensor), total in sums.items()]
        if manner == 'wrong':
            rows[70][2] += 1
        if manner == 'other':
            rows[70][1] += 1
        if manner == 'later' and asked > 3:  # Behind the first answer of a subject.
            rows[70][2] -= 1
        if manner == 'fewer':
            rows.pop()
        if manner == 'moved':
            rows[0][0] += 1
        if manner == 'nothing' and asked > 3:
            say(seconds=0.01, rows=[])
            continue
        with open(words[0], 'wb') as file:
            for column in zip(*rows):
                file.write(array.array('q', column).tobytes())
            if manner == 'torn':
                file.write(b'8 bytes.')
        say(seconds={{'timeless': 0, 'slow': 3600, 'quick': -1, 'none': float('nan')}}.get(manner, 0.01), rows=[])
    elif word == 'nexmark-q2':
        assert words[0] == 'NN'
        rows = [(a, p) for a, p in zip(columns['bid.auction'], columns['bid.price']) if a % 123 == 0]
        sums = [len(rows), sum(a for a, p in rows), sum(p for a, p in rows) + (manner == 'wrong')]
        say(seconds=0.005, rows=[['one' if manner == 'text' else str(number) for number in sums]])
    else:
        say(seconds=0.01, rows=[])
'''


def has(package):
    return subprocess.run([PYTHON, '-c', f'import {package}, pyarrow'], capture_output=True).returncode == 0


class Bench(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix='stream-compare-')
        self.dir = pathlib.Path(self.place.name)
        self.addCleanup(self.place.cleanup)
        # Its own, to see that nothing is left there.
        self.scratch = self.dir / 'with a space'
        self.scratch.mkdir()

    def bench(self, *words, expect=0):
        environment = {**os.environ, 'TMPDIR': str(self.scratch)}
        words = [HOLDFAST, 'stream', 'bench', '--keys', 100, '--rate', 1, '--windows', 2, '--seconds', 0.001, '--state',
                 'floor', '--repeat', 1, '--quiet', *words]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment, cwd=self.dir)
        self.assertEqual(done.returncode, expect, (words, done.stdout, done.stderr))
        self.assertEqual(list(self.scratch.iterdir()), [])
        return done


class Compare(Bench):
    def played(self, manner, *words, expect=0):
        player = self.dir / 'player'
        player.write_text(PLAYER.format(python=sys.executable, manner=manner))
        player.chmod(0o755)
        return self.bench('--compare', 'duckdb', '--python', player, *words, expect=expect)

    def test_one_that_tells_the_truth_has_rows_with_its_own_seconds(self):
        done = self.played('truth', '--query', 'window-sum,nexmark-q2', '--events', 20_000, '--threads', '1,2', '--json', '-')
        document = json.loads(done.stdout)
        rows = {(row['subject'], row['operation'], row['threads']): row for row in document['rows']}
        self.assertEqual(set(rows), {(subject, query, threads) for query in ['window-sum', 'nexmark-q2']
                                     for subject, threads in [('floor', 1), ('duckdb', 1), ('duckdb', 2)]})
        row = rows['duckdb', 'window-sum', 2]
        self.assertEqual((row['valid'], row['peer'], row['peer_configuration']), (True, 'duckdb 7', '2 threads'))
        self.assertAlmostEqual(row['ops_per_s_median'], 120_000 / 0.01)
        self.assertAlmostEqual(rows['duckdb', 'nexmark-q2', 1]['ops_per_s_median'], 18_400 / 0.005)
        self.assertIn('window-sum, floor: one thread only: a loop by hand', document['warnings'])

    def test_another_answer_makes_its_row_invalid(self):
        for manner, words in [('wrong', 'wrong: window 0 with 100 rows'), ('other', 'wrong: window 0 with 100 rows'),
                              ('later', 'wrong: window 0 with 100 rows'), ('fewer', 'wrong: window 1 with 99 rows'),
                              ('moved', 'wrong: a window begins at 1'), ('torn', 'is no three columns'),
                              ('nothing', 'reading the answer')]:
            self.assertIn(words, self.played(manner, expect=3).stdout)
        for manner, words in [('timeless', 'it says that it took no time'), ('slow', 'it says that it took 3600 s'),
                              ('quick', 'it says that it took -1 s'), ('none', 'no JSON')]:
            self.assertIn(words, self.played(manner, expect=3).stdout)
        query = ['--query', 'nexmark-q2', '--events', 20_000]
        self.assertRegex(self.played('wrong', *query, expect=3).stdout, r'INVALID duckdb .*wrong: \d+ rows, sums .*; interpreted')
        self.assertIn("'one' is no number", self.played('text', *query, expect=3).stdout)
        self.assertIn('without numbers', self.played('truth', '--query', 'nexmark-q22', '--events', 1_000, expect=3).stdout)

    def test_a_query_that_a_peer_has_not_is_named(self):
        text = self.played('truth', '--query', 'nexmark-q0', '--events', 1_000).stdout
        self.assertIn('nexmark-q0: duckdb has no row: the query is not written for it', text)

    def test_one_that_fails_says_how(self):
        self.assertIn('ended without an answer', self.played('silent', expect=1).stderr)
        self.assertIn('without a version', self.played('nameless', expect=1).stderr)
        # What was measured before, and beside it, is kept.
        for manner, words in [('error', 'no such table'), ('killed', 'ended without an answer'), ('garbage', 'no JSON: what?'),
                              ('untimed', 'without seconds or rows'), ('flat', 'without seconds or rows'),
                              ('twice', 'more than one answer')]:
            done = self.played(manner, '--query', 'window-sum,nexmark-q2', '--events', 20_000, expect=3)
            self.assertIn(words, done.stdout)
            self.assertEqual(done.stdout.count('INVALID duckdb'), 2, done.stdout)
            self.assertRegex(done.stdout, r'window-sum +floor +1 +\d')
        bare = self.dir / 'bare'
        bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')  # A Python without packages.
        bare.chmod(0o755)
        for peer in ['duckdb', 'polars']:
            text = self.bench('--compare', peer, '--python', bare, expect=1).stderr
            self.assertIn(f'pip install {peer} pyarrow, then --python', text)
        self.assertIn('/absent', self.bench('--compare', 'polars', '--python', '/absent', expect=1).stderr)

    def test_requests_that_cannot_be_meant(self):
        self.assertIn("--compare 'oracle': there are duckdb", self.bench('--compare', 'oracle', expect=2).stderr)
        self.assertIn('twice', self.bench('--compare', 'duckdb,duckdb', expect=2).stderr)
        self.assertIn("--threads '0'", self.bench('--threads', '1,0', expect=2).stderr)

    def test_a_signal_ends_one_that_does_not_answer(self):
        player = self.dir / 'player'
        asked = self.dir / 'asked'
        player.write_text(PLAYER.format(python=sys.executable, manner='truth').replace(
            'time.sleep(0.02)', f'pathlib.Path({str(asked)!r}).touch(); time.sleep(600)'))
        player.chmod(0o755)
        environment = {**os.environ, 'TMPDIR': str(self.scratch)}
        with subprocess.Popen([HOLDFAST, 'stream', 'bench', '--state', 'floor', '--compare', 'duckdb', '--python', player, '--quiet'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as bench:
            while not asked.exists() and bench.poll() is None:
                time.sleep(0.01)
            bench.terminate()
            _, errors = bench.communicate(timeout=60)
        self.assertEqual(bench.returncode, 1, errors)
        self.assertIn('interrupted', errors)
        self.assertEqual(list(self.scratch.iterdir()), [])


class PlayedFlink(Bench):
    """Flink's process is started as java, and talks as the others do."""

    def flink(self, manner, *words, expect=0):
        player = self.dir / 'player'
        player.write_text(PLAYER.format(python=sys.executable, manner=manner))
        player.chmod(0o755)
        java = self.dir / 'jdk' / 'bin' / 'java'
        java.parent.mkdir(parents=True, exist_ok=True)
        java.write_text(f'#!/bin/sh\nwhile [ "$1" != org.holdfast.flink.peer.StreamPeer ]; do shift; done\n'
                        f'echo "$@" >>{self.dir}/started\nexec {player} -c script "$2" "$3"\n')
        java.chmod(0o755)
        jars = self.dir / 'jars'
        jars.mkdir(exist_ok=True)
        (jars / 'holdfast-flink-peer-0.jar').touch()
        os.environ['JAVA_HOME'] = str(self.dir / 'jdk')
        self.addCleanup(os.environ.pop, 'JAVA_HOME', None)
        done = self.bench('--flink', jars, '--region', self.dir / 'state', *words, expect=expect)
        self.assertEqual(list(self.dir.glob('holdfast-peers-*')), [], 'its state is removed')
        return done

    def test_each_state_of_flink_is_a_subject(self):
        done = self.flink('truth', '--compare', 'flink-sql,flink-ds-heap', '--threads', '1,2', '--checkpoint', 0.5, '--json', '-')
        rows = {(row['subject'], row['threads']): row for row in json.loads(done.stdout)['rows']}
        subjects = ['flink-sql-rocksdb', 'flink-sql-heap', 'flink-ds-heap']
        self.assertEqual(set(rows), {('floor', 1)} | {(subject, threads) for subject in subjects for threads in (1, 2)})
        self.assertTrue(all(row['valid'] is True for row in rows.values()), rows)
        started = [line.split() for line in (self.dir / 'started').read_text().splitlines()]
        self.assertEqual([words[1:3] for words in started], [[subject, threads] for subject in subjects for threads in '12'])
        for words in started:
            self.assertTrue(words[3].startswith(f'{self.dir}/holdfast-peers-'), words)
            self.assertEqual(words[4], '500')

    def test_a_flink_that_lies_or_dies_is_invalid(self):
        self.assertRegex(self.flink('wrong', '--compare', 'flink-sql-heap', expect=3).stdout, 'INVALID flink-sql-heap .*wrong: window 0')
        self.assertIn('ended without an answer', self.flink('killed', '--compare', 'flink-ds-rocksdb', expect=3).stdout)

    def test_what_builds_it_is_said(self):
        text = self.bench('--compare', 'flink-sql', '--flink', self.dir, expect=1).stderr
        self.assertIn('./run bench stream --compare flink-sql builds it', text)
        self.flink('truth', '--compare', 'flink-ds-heap')
        (self.dir / 'jdk' / 'bin' / 'java').unlink()
        self.assertIn('starting', self.bench('--compare', 'flink-ds-heap', '--flink', self.dir / 'jars', expect=1).stderr)
        self.assertIn('twice', self.bench('--compare', 'flink-sql,flink-sql-heap', expect=2).stderr)


class Engines(Bench):
    def test_they_give_our_answers(self):
        (self.dir / 'json.py').write_text('raise SystemExit(7)')  # No module of the current directory is run.
        words = ['--compare', ','.join(THERE), '--python', PYTHON, '--threads', '1,2', '--query']
        self.bench(*words, 'window-sum')
        queries = ','.join(f'nexmark-q{number}' for number in range(23) if number != 21)
        self.bench(*words, queries, '--events', 10_000)
        if MODULE_OF_PATTERNS.exists():
            self.bench(*words, 'nexmark-q21', '--events', 10_000)
        # Sixteen seconds: windows of ten end on the way.
        self.bench(*words, 'nexmark-q5,nexmark-q7,nexmark-q8,nexmark-q11', '--events', 160_000)


class Flink(Bench):
    def test_it_gives_our_answers(self):
        os.environ['HOLDFAST_FLINK_WARM_UP'] = '0'
        done = self.bench('--compare', 'flink-sql,flink-ds', '--threads', '1,2', '--checkpoint', 0.1, '--region', self.dir / 'state',
                          '--json', '-')
        rows = json.loads(done.stdout)['rows']
        self.assertEqual(len([row for row in rows if row['valid'] is True]), 1 + 4 * 2, rows)
        self.assertEqual({row['peer'].split()[1] for row in rows if 'peer' in row}, {'2.3.0'})
        self.assertEqual(list(self.dir.glob('holdfast-peers-*')), [])

    def test_it_gives_our_answers_to_nexmark(self):
        os.environ['HOLDFAST_FLINK_WARM_UP'] = '0'
        numbers = [n for n in range(23) if n not in (12, 13) and (n != 21 or MODULE_OF_PATTERNS.exists())]
        for threads, queries in ((1, numbers), (2, [4, 5, 8, 9])):
            done = self.bench('--compare', 'flink-sql-heap', '--threads', threads, '--events', 30_000, '--region', self.dir / 'state',
                              '--query', ','.join(f'nexmark-q{n}' for n in queries), '--json', '-')
            rows = [row for row in json.loads(done.stdout)['rows'] if row['subject'] == 'flink-sql-heap']
            self.assertEqual(len([row for row in rows if row['valid'] is True]), len(queries), rows)


FLINK_JARS = pathlib.Path(HOLDFAST).resolve().parents[1] / 'java' / 'flink-peer'
if FLINK and not list(FLINK_JARS.glob('holdfast-flink-peer-*.jar')):
    print('skipped: ./run bench stream --compare flink-sql builds', FLINK_JARS)
    sys.exit(77)
THERE = [peer for peer in ['duckdb', 'polars'] if ENGINES and has(peer)]
if ENGINES and not THERE:
    print('skipped: this Python has no duckdb or polars, or no pyarrow:', PYTHON)
    sys.exit(77)
unittest.main(argv=sys.argv[:1], defaultTest=['Flink'] if FLINK else ['Engines'] if ENGINES else ['Compare', 'PlayedFlink'])
