"""`holdfast ssb run --compare`: ssb_compare_test.py HOLDFAST. Peers that tell the truth, that lie and that fail are
played by a script; real ones are asked where HOLDFAST_TEST_PYTHON has them, in every layout and order, by every
kernel.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = sys.argv.pop(1)
PYTHON = os.environ.get('HOLDFAST_TEST_PYTHON', sys.executable)
PEERS = ['duckdb', 'chdb', 'datafusion', 'polars']
QUERIES = ['q1.1', 'q2.1', 'q3.1', 'q4.1']

# Stands in for the Python that --python names; gets "-c SCRIPT NAME TABLES THREADS ORDER SCRATCH".
PLAYER = '''#!{python}
import csv, json, os, pathlib, sys, time
name, tables, threads, order, scratch = sys.argv[3:8]
manner, answers = {manner!r}, pathlib.Path({answers!r})
say = lambda **message: print(json.dumps(message), flush=True)
assert os.path.getsize(tables + '/lineorder.tbl') > 0 and os.path.isdir(scratch)
if manner == 'silent':
    sys.exit(0)
if manner == 'babble':
    print('hello', flush=True)
    sys.exit(0)
say(version='7', configuration=threads + ' threads, ' + order)
for number, line in enumerate(sys.stdin):
    rows = list(csv.reader(open(answers / (line.strip().replace('.', '_') + '.csv'))))[1:]
    if manner == 'wrong' and line == 'q3.1\\n':
        rows[5][-1] = str(int(rows[5][-1]) + 1)
    if manner == 'short' and line == 'q3.1\\n':
        rows.pop()
    if manner == 'later' and number == 9:  # In a timed round.
        rows[0][-1] = 'x'
    if manner == 'shape':
        rows = [[1]]
    if manner == 'error':
        say(error='no such table')
    elif manner == 'ends' and number == 2:
        sys.exit(3)
    else:
        time.sleep(0.02)  # More than it says that it took.
        say(seconds=0.01, rows=rows)
'''


def has(package):
    return subprocess.run([PYTHON, '-c', f'import {package}'], capture_output=True).returncode == 0


class Compare(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix='ssb-compare-')
        self.dir = pathlib.Path(self.place.name)
        self.addCleanup(self.place.cleanup)
        # Its own, to see that nothing is left there.
        self.scratch = self.dir / 'tmp'
        self.scratch.mkdir()

    def ssb(self, *words, expect=0):
        environment = {**os.environ, 'TMPDIR': str(self.scratch)}
        done = subprocess.run([HOLDFAST, 'ssb', *map(str, words)], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, expect, (words, done.stdout, done.stderr))
        self.assertEqual(list(self.scratch.iterdir()), [])
        return done

    def played(self, manner, *words, expect=0):
        answers = self.dir / 'answers'
        if not answers.exists():
            self.ssb('run', '--sf', 0.01, '--repeat', 1, '--out', answers)
        player = self.dir / 'player'
        player.write_text(PLAYER.format(python=sys.executable, manner=manner, answers=str(answers)))
        player.chmod(0o755)
        return self.ssb('run', '--sf', 0.01, '--compare', 'duckdb', '--python', player, '--queries', ','.join(QUERIES),
                        '--repeat', 3, *words, expect=expect)

    def test_one_that_tells_the_truth_is_in_table_and_json(self):
        text = self.played('truth', '--threads', 2, '--order', 'date').stdout
        self.assertIn('duckdb 7 (2 threads, date): answers equal, row by row; 3 rounds', text)
        self.assertRegex(text, r'q3\.1 .* 10\.000 \[10\.000, 10\.000\] ')
        self.assertRegex(text, r'duckdb takes [0-9.]+ times as long \(geometric mean\)')
        document = json.loads(self.played('truth', '--json').stdout)
        rows = {(row['subject'], row['operation']): row for row in document['rows']}
        self.assertEqual(len(rows), 2 * len(QUERIES))
        product = 1
        for query in QUERIES:
            ours, theirs = rows['holdfast', query], rows['duckdb', query]
            self.assertEqual((theirs['ns_per_op_median'], theirs['repetitions']), (1e7, 3))
            self.assertAlmostEqual(theirs['time_x_holdfast_median'] * ours['ns_per_op_median'] / 1e7, 1)
            product *= theirs['time_x_holdfast_median']
        self.assertAlmostEqual(document['others'][0]['time_x_holdfast_geometric_mean'] / product ** 0.25, 1)

    def test_another_answer_ends_the_run_with_its_place(self):
        self.assertRegex(self.played('wrong', expect=1).stderr, r"q3\.1: duckdb gives another answer: row 6 is '.*' there")
        self.assertRegex(self.played('short', expect=1).stderr, r'q3\.1: duckdb .* \d+ rows there and \d+ here')
        self.assertIn('another answer', self.played('later', expect=1).stderr)

    def test_one_that_fails_says_how(self):
        for manner, text in [('silent', 'ended without an answer'), ('babble', 'no JSON: hello'),
                             ('error', 'q1.1: no such table'), ('ends', 'ended'), ('shape', 'without seconds or rows')]:
            self.assertIn(text, self.played(manner, expect=1).stderr)

    def test_what_is_missing_is_named_before_anything_is_loaded(self):
        bare = self.dir / 'bare'
        bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')  # A Python without packages.
        bare.chmod(0o755)
        for peer, packages in [('duckdb', 'duckdb'), ('chdb', 'chdb'), ('polars', 'polars'),
                               ('datafusion', 'datafusion pyarrow')]:
            text = self.ssb('run', '--sf', 0.001, '--compare', peer, '--python', bare, expect=1).stderr
            self.assertIn(f'pip install {packages}, then --python', text)
            self.assertNotIn('rows in', text)
        self.assertIn('/absent', self.ssb('run', '--sf', 0.001, '--compare', 'duckdb', '--python', '/absent',
                                          expect=1).stderr)

    def test_requests_that_cannot_be_meant(self):
        self.assertIn("'oracle'", self.ssb('run', '--sf', 0.001, '--compare', 'row,oracle', expect=2).stderr)
        self.assertIn('twice', self.ssb('run', '--sf', 0.001, '--compare', 'row,row', expect=2).stderr)
        star = self.dir / 'star'
        self.ssb('load', '--sf', 0.001, '--region', star)
        self.assertIn('--sf F or --data', self.ssb('run', '--region', star, '--compare', 'row', expect=2).stderr)

    def test_the_published_design_is_one_of_them(self):
        document = json.loads(self.ssb('run', '--sf', 0.02, '--compare', 'row', '--repeat', 1, '--json').stdout)
        self.assertEqual([other['subject'] for other in document['others']], ['row'])
        self.assertEqual(len(document['rows']), 26)

    def test_real_ones_give_our_answers(self):
        there = [peer for peer in PEERS if has(peer) and (peer != 'datafusion' or has('pyarrow'))]
        if not there:
            self.skipTest('this Python has no duckdb, chdb, datafusion or polars')
        tables = self.dir / 'tables'
        self.ssb('generate', '--sf', 0.05, '--tbl', tables)
        words = ['run', '--data', tables, '--repeat', 1, '--python', PYTHON, '--compare']
        for order in ['loaded', 'date']:
            self.assertEqual(self.ssb(*words, ','.join(there), '--order', order).stdout.count('answers equal'), len(there))
        for kernel in ['portable', 'avx2', 'avx512']:
            for threads in [1, 4]:
                self.ssb(*words, there[0], '--kernel', kernel, '--threads', threads)
        self.ssb(*words, there[0], '--layout', 'row')
        self.ssb(*words, ','.join(there), '--queries', 'q1.3p,q2.3p')

    def test_real_ones_take_lines_without_a_last_bar(self):
        """Our own load takes them; the others were told of one column too many."""
        there = [peer for peer in PEERS if has(peer) and (peer != 'datafusion' or has('pyarrow'))]
        if not there:
            self.skipTest('this Python has no duckdb, chdb, datafusion or polars')
        tables = self.dir / 'tables'
        self.ssb('generate', '--sf', 0.01, '--tbl', tables)
        for number, table in enumerate(sorted(tables.glob('*.tbl'))):
            end = b'\r\n' if number % 2 else b'\n'
            table.write_bytes(table.read_bytes().replace(b'|\n', end))
        for order in ['loaded', 'date']:
            text = self.ssb('run', '--data', tables, '--repeat', 1, '--python', PYTHON, '--compare', ','.join(there),
                            '--order', order).stdout
            self.assertEqual(text.count('answers equal'), len(there))


unittest.main()
