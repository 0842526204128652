"""holdfast ssb from outside: ssb_command_test.py HOLDFAST. Words, exit codes, files, messages."""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HOLDFAST = sys.argv.pop(1)
PYTHON = os.environ.get('HOLDFAST_TEST_PYTHON', sys.executable)
QUERIES = ['q1.1', 'q1.2', 'q1.3', 'q2.1', 'q2.2', 'q2.3', 'q3.1', 'q3.2', 'q3.3', 'q3.4', 'q4.1', 'q4.2', 'q4.3']


class Ssb(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix='ssb-test-')
        self.dir = pathlib.Path(self.place.name)
        self.addCleanup(self.place.cleanup)

    def ssb(self, *words, expect=0):
        done = subprocess.run([HOLDFAST, 'ssb', *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, expect, (words, done.stdout, done.stderr))
        return done

    def answers(self, *words):
        out = self.dir / 'out'
        self.ssb('run', *words, '--repeat', 1, '--out', out)
        return {name: (out / (name.replace('.', '_') + '.csv')).read_text() for name in QUERIES}

    def test_pinned_threads_give_the_same_answers(self):
        expected = self.answers('--sf', 0.01)
        for pin in ('none', 'node', 'core'):
            self.assertEqual(self.answers('--sf', 0.01, '--threads', 3, '--pin', pin), expected)

    def test_files_region_and_memory_give_the_same_answers(self):
        tables, star = self.dir / 'tables', self.dir / 'star'
        self.ssb('generate', '--sf', 0.02, '--tbl', tables, '--threads', 2)
        self.ssb('load', '--tbl', tables, '--region', star)
        expected = self.answers('--region', star)
        self.assertEqual(self.answers('--sf', 0.02), expected)
        self.assertEqual(self.answers('--data', tables, '--threads', 3), expected)
        for kernel in ['portable', 'avx2', 'avx512']:
            self.assertEqual(self.answers('--region', star, '--kernel', kernel), expected)
        self.assertIn('all is well', self.ssb('verify', '--region', star).stderr)
        self.assertEqual(self.answers('--sf', 0.02, '--layout', 'row'), expected)
        self.assertEqual(self.answers('--sf', 0.02, '--layout', 'row', '--order', 'date'), expected)
        self.assertEqual(self.answers('--data', tables, '--layout', 'row', '--threads', 3), expected)
        self.assertTrue(expected['q2.1'].startswith('sum(lo_revenue),d_year,p_brand1\n'))

    def test_csv_and_parquet_hold_what_the_tbl_files_hold(self):
        tables = ['customer', 'supplier', 'part', 'date', 'lineorder']
        words = ('generate', '--sf', 0.01, '--seed', 5, '--threads', 3)
        self.ssb(*words, '--tbl', self.dir / 'tbl')
        self.ssb(*words, '--csv', self.dir / 'csv')
        lines = {}
        for table in tables:
            lines[table] = (self.dir / 'tbl' / f'{table}.tbl').read_text().splitlines()
            with open(self.dir / 'csv' / f'{table}.csv', newline='') as file:
                header, *rows = list(csv.reader(file))
            self.assertEqual(['|'.join(row) + '|' for row in rows], lines[table])
            self.assertEqual(len(set(header)), lines[table][0].count('|'))
        self.assertIn('one of the three', self.ssb(*words, expect=2).stderr)
        self.assertIn('one of the three', self.ssb(*words, '--csv', 'a', '--parquet', 'b', expect=2).stderr)
        self.assertIn('no such place', self.ssb(*words, '--parquet', self.dir / 'x', '--python', 'no such place',
                                                expect=1).stderr)
        if subprocess.run([PYTHON, '-c', 'import pyarrow'], capture_output=True).returncode != 0:
            self.skipTest('no pyarrow')
        self.ssb(*words, '--parquet', self.dir / 'parquet', '--python', PYTHON)
        for table in tables:
            read = ('import sys, pyarrow.parquet as p\n'
                    'table = p.read_table(sys.argv[1])\n'
                    'for row in zip(*(column.to_pylist() for column in table)): print(*row, sep="|", end="|\\n")')
            rows = subprocess.run([PYTHON, '-c', read, self.dir / 'parquet' / f'{table}.parquet'], check=True,
                                  capture_output=True, text=True).stdout
            self.assertEqual(rows.splitlines(), lines[table])

    def test_the_suite_compares_media_and_writes_a_report(self):
        study = self.dir / 'study'
        done = self.ssb('suite', '--sf', 0.02, '--out', study, '--repeat', 2, '--threads', 2)
        self.check_published(done.stdout)
        rows = json.loads((study / 'suite.json').read_text())['rows']
        self.assertEqual({(row['subject'], row['medium']) for row in rows},
                         {('row', 'DRAM'), ('row', 'file'), ('column', 'DRAM'), ('column', 'file')})
        self.assertEqual({row['operation'] for row in rows if row['threads'] == 2} & set(QUERIES), set(QUERIES))
        self.assertIn('q2.1, 1 thread', {row['operation'] for row in rows})
        page = (study / 'suite.html').read_text()
        self.assertIn('Figure 14b', page)
        # On a phone words were cut, and the page was 980 pixels wide.
        self.assertIn('<meta name="viewport"', page)
        self.assertIn('</pre>\n<p>file over DRAM', page)
        # Neither the page nor the document said which machine it was.
        machine = json.loads((study / 'suite.json').read_text())['environment']
        self.assertIn(machine['cpu_model'], page)
        self.assertIn('utc_time', machine)
        self.ssb('suite', '--sf', 0.02, '--out', study, '--repeat', 0, expect=2)

    def test_a_study_shows_names_as_text_and_commands_that_run(self):
        study = self.dir / 'study'
        done = self.ssb('suite', '--sf', 0.002, '--out', study, '--repeat', 1, '--region', self.dir / '<i>&x')
        page = (study / 'suite.html').read_text()
        self.assertIn('&lt;i&gt;&amp;x', page)
        self.assertNotIn('<i>', page)
        self.assertIn('1 round in turn', done.stdout)
        for heading in ('row on ', 'column on '):  # They were cut, so that media of long names looked alike.
            self.assertEqual(done.stdout.count(f'{heading}{self.dir}/<i>&x'), 2)
        command = next(line for line in done.stdout.splitlines() if line.startswith('holdfast bench run'))
        listed = subprocess.run([HOLDFAST, *command.split()[1:], '--list'], capture_output=True, text=True, check=False,
                                cwd=pathlib.Path(__file__).parents[2])
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for price in ('nan', 'inf', '0', '-1'):
            self.assertIn(f'--dram-price {price}: a number above 0', self.ssb(
                'suite', '--sf', 0.002, '--out', study, '--dram-price', price, expect=2).stderr)

    # What the command prints as published is what data/published/numbers.csv says.
    def check_published(self, text):
        with open(pathlib.Path(__file__).parents[2] / 'data/published/numbers.csv') as file:
            numbers = {line['id'].removeprefix('ol-'): float(line['value']) for line in csv.DictReader(file)}
        per_row = lambda id, threads: f"{numbers[id] * 1e3 * threads / numbers['hand-rows']:.1f}"
        for step, id, threads in (('1 thread', '1thr', 1), ('all threads of a socket', '18thr', 18),
                                  ('both sockets', '2socket', 36), ('threads in NUMA regions', 'numa', 36),
                                  ('threads on cores', 'pinning', 36)):
            line = next(line for line in text.splitlines() if line.startswith(step))
            self.assertEqual(line.removeprefix(step).split()[:2],
                             [per_row(f'q21-{medium}-{id}', threads) for medium in ('pmem', 'dram')])
        price, speed = numbers['price-gap'], numbers['price-speed']
        for words in ('scale 100: {hand-avg:g} on average, {hand-min:g} (Q3.3) to {hand-max:g} (Q1.3)',
                      'flight 1: {hand-qf1-pmem:g} s and {hand-qf1-dram:g} s',
                      '{hyrise-avg:g} on average, {hyrise-min:g} to {hyrise-max:g}',
                      '{price-gap:g} times as dear and {price-speed:g} times as fast', f'{price / speed:.1f} times as much'):
            self.assertIn(words.format(**numbers), ' '.join(text.split()))

    def test_json_has_every_query_that_was_asked_for(self):
        done = self.ssb('run', '--sf', 0.001, '--queries', 'q1.1', '--repeat', 1)
        self.assertIn('GB/s (caches: ', done.stdout)  # No bandwidth of the memory.
        done = self.ssb('run', '--sf', 0.01, '--queries', 'q1.1,q3.1', '--repeat', 3, '--json')
        document = json.loads(done.stdout)
        self.assertEqual([query['name'] for query in document['queries']], ['q1.1', 'q3.1'])
        self.assertIn('cpu_model', document['environment'])
        for query in document['queries']:
            self.assertEqual(len(query['seconds']), 3)
            self.assertEqual(list(query['operator_seconds']), ['bind', 'scan', 'order'])
            self.assertTrue(all(seconds > 0 for seconds in query['operator_seconds'].values()))
            self.assertLess(query['operator_seconds']['scan'], max(query['seconds']))
            self.assertGreater(query['bytes_touched'], 0)
            self.assertGreaterEqual(query['bytes_read'], query['bytes_touched'])

    def test_the_time_of_each_operator_is_in_the_table(self):
        for layout in ('column', 'row'):
            text = self.ssb('run', '--sf', 0.01, '--queries', 'q1.1,q3.1', '--repeat', 3, '--layout', layout).stdout
            self.assertRegex(text, r'query +bind us +scan us +order us\nq1.1 +[0-9.]+ +[0-9.]+ +[0-9.]+\nq3.1 ')

    # The paper's prose and its SQL contradict each other; only the SQL could be asked.
    def test_the_prose_of_the_paper_has_queries_of_its_own(self):
        out = self.dir / 'out'
        self.ssb('run', '--sf', 0.1, '--queries', 'q1.3,q1.3p,q2.3,q2.3p', '--repeat', 1, '--out', out)
        text = {name: (out / f'{name}.csv').read_text() for name in ('q1_3', 'q1_3p', 'q2_3', 'q2_3p')}
        self.assertNotEqual(text['q1_3'], text['q1_3p'])
        self.assertIn('MFGR#2221', text['q2_3'])
        self.assertIn('MFGR#2339', text['q2_3p'])
        everything = json.loads(self.ssb('run', '--sf', 0.001, '--repeat', 1, '--json').stdout)
        self.assertEqual([query['name'] for query in everything['queries']], QUERIES)

    def test_a_damaged_star_is_named_and_not_asked(self):
        star = self.dir / 'star'
        self.ssb('load', '--sf', 0.02, '--region', star)
        segment = sorted(star.iterdir())[0]
        bytes_ = bytearray(segment.read_bytes())
        bytes_[8192 + 100] ^= 1  # In the first column of the first block.
        segment.write_bytes(bytes_)
        done = self.ssb('verify', '--region', star, expect=1)
        self.assertIn('block 0, column date.outer', done.stdout)
        self.assertIn('checksum', self.ssb('run', '--region', star, '--queries', 'q1.1', expect=1).stderr)

    def test_a_star_of_rows_is_what_it_is(self):
        star, index = self.dir / 'star', self.dir / 'index'
        self.ssb('load', '--sf', 0.01, '--layout', 'row', '--region', star)
        self.assertIn('1 run: all is well', self.ssb('verify', '--region', star).stderr)
        document = json.loads(self.ssb('run', '--region', star, '--queries', 'q2.1', '--json').stdout)
        self.assertEqual((document['layout'], document['kernel']), ('row', 'Dash'))
        self.assertGreaterEqual(document['queries'][0]['bytes_touched'], 64 * document['fact_rows'])
        tables, back = self.dir / 'tables', self.dir / 'back.tbl'
        self.ssb('generate', '--sf', 0.01, '--tbl', tables)
        self.ssb('export', '--region', star, '--tbl', back, '--threads', 2)
        self.assertEqual(back.read_bytes(), (tables / 'lineorder.tbl').read_bytes())
        words = ['run', '--region', star, '--queries', 'q2.1', '--index', str(index) + '?granularity=none']
        self.ssb(*words)
        self.assertIn(str(index), self.ssb(*words, expect=1).stderr)  # It is there now.
        self.assertIn('is by row', self.ssb('run', '--region', star, '--layout', 'column', expect=2).stderr)
        segment = sorted(star.iterdir())[0]
        bytes_ = bytearray(segment.read_bytes())
        place = bytes_.index(b'REG AIR')
        bytes_[place] ^= 1
        segment.write_bytes(bytes_)
        self.assertIn('of lineorder', self.ssb('verify', '--region', star, expect=1).stdout)
        self.assertIn('checksum', self.ssb('export', '--region', star, '--tbl', self.dir / 'no', expect=1).stderr)
        self.assertFalse((self.dir / 'no').exists())
        self.assertIn('checksum', self.ssb('run', '--region', star, '--queries', 'q1.1', expect=1).stderr)

    def test_lines_are_appended_and_merged(self):
        tables, star = self.dir / 'tables', self.dir / 'star'
        self.ssb('generate', '--sf', 0.02, '--tbl', tables)
        expected = self.answers('--data', tables)
        lines = (tables / 'lineorder.tbl').read_text().splitlines(keepends=True)
        parts = [lines[:50_000], lines[50_000:50_001], lines[50_001:]]
        for number, part in enumerate(parts):
            (tables / 'lineorder.tbl').write_text(''.join(part))
            if number == 0:
                self.ssb('load', '--tbl', tables, '--region', star)
            else:
                done = self.ssb('append', '--tbl', tables / 'lineorder.tbl', '--region', star)
                self.assertRegex(done.stderr, f'^{len(part):,} rows? appended')
        self.assertEqual(self.answers('--region', star), expected)
        self.assertIn('all is well', self.ssb('verify', '--region', star).stderr)
        self.assertIn('--layout row', self.ssb('export', '--region', star, '--tbl', self.dir / 'x', expect=1).stderr)
        self.assertIn('2 appends merged: 4 blocks before, 3 now', self.ssb('merge', '--region', star).stderr)
        self.assertEqual(self.answers('--region', star), expected)
        self.assertIn('0 appends merged', self.ssb('merge', '--region', star).stderr)
        (tables / 'more.tbl').write_text(lines[0] + 'x\n')
        self.assertIn('more.tbl:2: 17 fields', self.ssb('append', '--tbl', tables / 'more.tbl', '--region', star,
                                                        expect=1).stderr)
        self.assertEqual(self.answers('--region', star), expected)
        self.ssb('load', '--tbl', tables, '--layout', 'row', '--region', star)
        self.assertIn('star of rows', self.ssb('append', '--tbl', tables / 'more.tbl', '--region', star,
                                               expect=1).stderr)

    def test_a_star_whose_appends_are_killed_has_whole_ones(self):
        tables, star = self.dir / 'tables', self.dir / 'star'
        self.ssb('generate', '--sf', 0.02, '--tbl', tables)
        self.ssb('load', '--tbl', tables, '--region', star)
        count = lambda: int(re.match(r'([\d,]+) rows', self.ssb('verify', '--region', star).stderr)[1].replace(',', ''))
        each = count()
        seen = 1
        for number in range(12):
            words = ['append', '--tbl', tables / 'lineorder.tbl'] if number % 3 < 2 else ['merge']
            process = subprocess.Popen([HOLDFAST, 'ssb', *words, '--region', star], stderr=subprocess.DEVNULL)
            time.sleep(0.004 * number)
            process.kill()
            process.wait()
            now = count() / each
            self.assertIn(now, [seen, seen + 1])
            self.assertIn('all is well', self.ssb('verify', '--region', star).stderr)
            seen = now
        self.ssb('append', '--tbl', tables / 'lineorder.tbl', '--region', star)
        self.assertEqual(count() / each, seen + 1)

    def test_a_bad_line_ends_the_load_with_its_place(self):
        tables, star = self.dir / 'tables', self.dir / 'star'
        self.ssb('generate', '--sf', 0.001, '--tbl', tables)
        with open(tables / 'lineorder.tbl', 'a') as more:
            more.write('1|2\n')
        done = self.ssb('load', '--tbl', tables, '--region', star, expect=1)
        self.assertRegex(done.stderr, r'lineorder\.tbl:\d+: 17 fields are wanted')
        self.ssb('verify', '--region', star, expect=1)

    def test_a_region_that_is_too_small_says_how_much_is_needed(self):
        done = self.ssb('load', '--sf', 0.1, '--region', self.dir / 'star', '--size', '4M', expect=1)
        self.assertRegex(done.stderr, r'need a region of 1\d{7} bytes')

    def test_requests_that_cannot_be_meant(self):
        for words, text in [
                (['run'], 'what shall be asked'),
                (['run', '--sf', '1', '--data', 'x'], 'exclude each other'),
                (['run', '--sf', '-1'], 'scale factor'),
                (['run', '--sf', '1e-9'], 'scale factor 1e-09: allowed are'),
                (['run', '--region', 'star', '--order', 'date'], '--order date: rows get their order when they are loaded'),
                (['run', '--region', 'star', '--seed', '9'], '--seed 9 is of the generator: it goes with --sf'),
                (['run', '--data', 'x', '--seed', '9'], '--seed 9 is of the generator: it goes with --sf'),
                (['load', '--sf', '0', '--region', 'star'], 'scale factor 0: allowed are'),
                (['run', '--sf', '0.001', '--queries', 'q9.9'], "query 'q9.9'"),
                (['run', '--sf', '0.001', '--threads', '0'], 'threads'),
                (['load', '--sf', '1'], '--region'),
                (['load', '--region', 'dram'], '--sf F or --tbl DIR'),
                (['load', '--sf', '0.001', '--region', 'dram'], 'ends with this command'),
                (['generate', '--sf', '0', '--tbl', str(self.dir / 'x')], 'scale factor'),
                (['append', '--tbl', 'x'], '--region'),
                (['merge'], '--region'),
                (['export', '--tbl', 'x'], '--region'),
                (['verify'], '--region')]:
            self.assertIn(text, self.ssb(*words, expect=2).stderr, words)
        self.ssb('run', '--region', self.dir / 'absent', expect=1)
        # Before anything is loaded and measured.
        (self.dir / 'file').write_text('')
        done = self.ssb('run', '--sf', '0.001', '--out', self.dir / 'file' / 'x', expect=1)
        self.assertNotIn('loaded', done.stderr)
        self.assertIn('Not a directory', done.stderr)
        # Nothing is left where a region would have been.
        for words, code in ((['load', '--sf', '0'], 2), (['load', '--tbl', self.dir / 'absent'], 1)):
            self.ssb(*words, '--region', self.dir / 'unmade', expect=code)
            self.assertFalse((self.dir / 'unmade').exists(), words)
        self.ssb('run', '--data', self.dir / 'absent', expect=1)


unittest.main()
