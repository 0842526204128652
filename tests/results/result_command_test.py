"""The verbs of `holdfast bench` that work on results, as a person or a CI job uses them: what they print, their exit codes.

result_command_test.py HOLDFAST
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import report_example

HOLDFAST = sys.argv[1] if len(sys.argv) > 1 else 'holdfast'
ROOT = pathlib.Path(__file__).resolve().parents[2]


class ResultCommandTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix='holdfast-results-')
        self.addCleanup(directory.cleanup)
        self.at = pathlib.Path(directory.name)

    def write(self, name, speed=1.0, keep_invalid=False):
        document = report_example.document(speed)
        if not keep_invalid:
            document['rows'] = [row for row in document['rows'] if row['valid'] is True]
        path = self.at / name
        path.write_text(json.dumps(document))
        return path

    def bench(self, *words):
        return subprocess.run([HOLDFAST, 'bench', *map(str, words)], capture_output=True, text=True, timeout=60)

    def test_show_prints_the_table_and_says_what_is_invalid(self):
        good, bad = self.write('good.json'), self.write('bad.json', keep_invalid=True)
        shown = self.bench('show', good)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn('sequential_reads', shown.stdout)
        shown = self.bench('show', bad)
        self.assertEqual(shown.returncode, 3)
        self.assertIn('INVALID', shown.stdout)

    def test_compare_ends_with_what_ci_needs(self):
        before, same, slower = self.write('before.json'), self.write('same.json'), self.write('slower.json', 0.8)
        invalid = self.write('invalid.json', 0.8, keep_invalid=True)
        self.assertEqual(self.bench('compare', before, same).returncode, 0)
        worse = self.bench('compare', before, slower)
        self.assertEqual(worse.returncode, 1)
        self.assertIn('0 better, 27 worse, 0 the same, 0 unsure, 0 INVALID', worse.stdout)
        self.assertIn('changed: kernel: Linux 6.1 -> Linux 6.18', worse.stdout)
        self.assertEqual(self.bench('compare', slower, before).returncode, 0)
        self.assertEqual(self.bench('compare', before, slower, '--threshold', '40%').returncode, 0)
        self.assertEqual(self.bench('compare', invalid, invalid).returncode, 3)
        # An INVALID row that only one of them has.
        self.assertEqual(self.bench('compare', before, self.write('new.json', keep_invalid=True)).returncode, 3)
        rows = json.loads(self.bench('compare', before, slower, '--json').stdout)['rows']
        self.assertEqual({row['verdict'] for row in rows}, {'worse'})
        self.assertTrue(all(row['ratio_low'] <= 0.8 <= row['ratio_high'] for row in rows))

    def test_what_cannot_be_meant_is_refused_with_a_reason(self):
        good = self.write('good.json')
        other = self.at / 'other.json'
        other.write_text(json.dumps(report_example.document() | {'rows': []}))
        nonsense = self.at / 'nonsense.json'
        nonsense.write_text('{"schema": {"name": "holdfast.bench", "version": 99}}')
        for words, reason in (
            (('compare', good, other), 'no measurement is in both'),
            (('compare', good, good, '--threshold', 'much'), "'much' is neither"),
            (('compare', good, good, '--threshold', '500%'), 'allowed are 0 to 1'),
            (('show', self.at / 'missing.json'), 'No such file'),
            (('show', nonsense), 'use a newer holdfast'),
            (('show', good, '--against', 'nobody'), "--against nobody: no row has this subject; there are "),
            (('compare', nonsense), 'use a newer holdfast'),
            (('report', good, '-o', self.at / 'no' / 'where.html'), 'No such file'),
            (('report', good, '-o', self.at), 'is a directory'),
            (('report', nonsense, '-o', self.at / 'x.html'), 'use a newer holdfast'),
            (('convert', self.at / 'missing.json'), 'No such file'),
            (('price', ROOT / 'data/prices/table-3.2.yaml', good), 'say which system'),
            (('price', good), 'good.json:1:'),
            (('prize', good), "did you mean 'price'?"),
        ):
            with self.subTest(words=words):
                refused = self.bench(*words)
                self.assertIn(refused.returncode, (1, 2), refused.stdout)
                self.assertIn(reason, refused.stderr)
                self.assertNotIn(': : ', refused.stderr)  # Nothing of a file that nobody named.
                self.assertEqual(refused.stdout, '')
        self.assertEqual(sorted(os.listdir(self.at)), ['good.json', 'nonsense.json', 'other.json'])

    def test_csv_is_read_by_others(self):
        out = self.at / 'out.csv'
        self.assertEqual(self.bench('convert', self.write('a.json', keep_invalid=True), '-o', out).returncode, 0)
        rows = list(csv.DictReader(io.StringIO(out.read_text(), newline='')))
        document = report_example.document()
        self.assertEqual(len(rows), len(document['rows']))
        for row, made in zip(rows, document['rows']):
            self.assertEqual(float(row['bytes_per_s_median']), made['bytes_per_s_median'])
            self.assertEqual(row['valid'], 'true' if made['valid'] is True else made['valid'])
            self.assertEqual([float(x) for x in row['bytes_per_s_samples'].split(';')], made['bytes_per_s_samples'])

    def test_to_perma_bench_and_back_keeps_the_numbers(self):
        theirs, back = self.at / 'theirs.json', self.at / 'back.json'
        ours = self.write('ours.json')
        self.assertEqual(self.bench('convert', ours, '-o', theirs).returncode, 0)
        self.assertEqual(json.loads(theirs.read_text())[0]['bm_name'], 'sequential_reads')
        self.assertEqual(self.bench('convert', theirs, '-o', back).returncode, 0)
        made = {
            (
                r['operation'],
                r['threads'],
                r.get('access_bytes'),
                r.get('persist_instruction'),
                r.get('custom_operations'),
            ): r
            for r in json.loads(ours.read_text())['rows']
        }
        read = json.loads(back.read_text())['rows']
        self.assertEqual(len(read), len(made))
        for row in read:
            was = made[
                (
                    row['operation'],
                    row['threads'],
                    row.get('access_bytes'),
                    row.get('persist_instruction'),
                    row.get('custom_operations'),
                )
            ]
            field = 'ops_per_s_median' if 'custom_operations' in row else 'bytes_per_s_median'
            self.assertAlmostEqual(row[field] / was[field], 1, places=12)

    def test_prices_of_the_paper_and_of_a_result(self):
        paper = self.bench('price', ROOT / 'data/prices/table-3.2.yaml')
        self.assertEqual(paper.returncode, 0, paper.stderr)
        for cell in ('9.21*', '59.37', '0.22*', '64.49', '7080 (768)'):
            self.assertIn(cell, paper.stdout)
        prices = self.at / 'prices.yaml'
        prices.write_text('systems: {box: {dimms: 2, price_per_dimm: 64, bytes_per_dimm: 16GiB}}')
        mine = self.bench('price', prices, self.write('mine.json'), '--json')
        self.assertEqual(mine.returncode, 0, mine.stderr)
        table = {line['label']: line['cells'] for line in json.loads(mine.stdout)['lines']}
        best = max(
            row['bytes_per_s_median']
            for row in report_example.document()['rows']
            if row['operation'] == 'sequential_reads' and row['access_bytes'] == 4096
        )
        self.assertEqual(table['EUR/GB capacity'], ['4.00'])
        self.assertAlmostEqual(float(table['EUR/(GB/s) seq. read'][0]), 4 / (best / 2**30), delta=0.005)
        self.assertIn('no valid row for rnd. read', mine.stderr)

    def test_convert_makes_a_table_unless_the_output_is_called_json(self):
        source = self.write('a.json')
        for name in ('b.xlsx', 'b.csv', 'b'):
            self.assertEqual(self.bench('convert', source, '-o', self.at / name).returncode, 0)
            self.assertTrue((self.at / name).read_text().startswith('subject,operation,threads'), name)
        self.assertTrue(self.bench('convert', source).stdout.startswith('subject,operation,threads'))
        self.assertEqual(self.bench('convert', source, '-o', self.at / 'b.json').returncode, 0)
        self.assertIn('bm_name', (self.at / 'b.json').read_text())

    def test_a_report_is_written_into_a_pipe_and_through_a_link(self):
        source = self.write('a.json')
        pipe, link = self.at / 'pipe', self.at / 'link.html'
        os.mkfifo(pipe)
        link.symlink_to('real.html')
        reader = subprocess.Popen(['cat', pipe], stdout=subprocess.PIPE, text=True)
        self.assertEqual(self.bench('report', source, '-o', pipe).returncode, 0)
        self.assertTrue(reader.communicate(timeout=30)[0].startswith('<!DOCTYPE html>'))
        self.assertTrue(pipe.is_fifo())
        self.assertEqual(self.bench('report', source, '-o', link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertTrue((self.at / 'real.html').read_text().startswith('<!DOCTYPE html>'))
        self.assertTrue(self.bench('report', source, '-o', '/dev/stdout').stdout.startswith('<!DOCTYPE html>'))

    def test_a_measurement_that_cannot_be_kept_is_not_begun(self):
        workload = self.at / 'w.yaml'
        workload.write_text('b: {args: {memory_range: 4M, access_size: 64, run_time: 50ms, number_threads: 1}}')
        run = ('run', workload, '--dram', '--repeat', '1', '--quiet', '--json')
        for target, reason in ((self.at / 'no' / 'x.json', 'No such file'), (self.at, 'is a directory')):
            refused = self.bench(*run, target)
            self.assertEqual((refused.returncode, refused.stdout), (2, ''))
            self.assertIn(f'--json {target}', refused.stderr)
            self.assertIn(reason, refused.stderr)
        full = self.bench(*run, '/dev/full')
        self.assertEqual(full.returncode, 1)
        self.assertIn('No space left', full.stderr)
        self.assertIn('GiB/s', full.stdout)  # The table is there all the same.
        self.assertTrue(pathlib.Path('/dev/full').is_char_device())
        only = self.bench(*run, '/dev/stdout')
        self.assertEqual(len(json.loads(only.stdout)['rows']), 1, only.stderr)

    def test_a_report_is_written_whole_or_not_at_all(self):
        out = self.at / 'report.html'
        made = self.bench('report', self.write('a.json'), '-o', out, '--title', 'Ours & <theirs>')
        self.assertEqual(made.returncode, 0, made.stderr)
        text = out.read_text()
        self.assertIn('<title>Ours &amp; &lt;theirs&gt;</title>', text)
        self.assertTrue(text.rstrip().endswith('</html>'))
        self.assertEqual(self.bench('report', self.write('b.json'), '-o', '-').stdout[:15], '<!DOCTYPE html>')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
