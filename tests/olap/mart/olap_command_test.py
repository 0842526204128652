"""`holdfast olap` as a stranger uses it: olap_command_test.py HOLDFAST."""
import csv
import io
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import star_data  # noqa: E402

HOLDFAST = sys.argv.pop(1)
PYTHON = os.environ.get('HOLDFAST_TEST_PYTHON', sys.executable)


class OlapCommand(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix='olap-command-')
        self.addCleanup(place.cleanup)
        self.dir = pathlib.Path(place.name)
        self.region = str(self.dir / 'star')

    def run_olap(self, *words, code=0, **more):
        done = subprocess.run([HOLDFAST, 'olap', *words], capture_output=True, text=True, check=False, **more)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def load(self, rows=500):
        star_data.write(self.dir, rows)
        return self.run_olap('load', '--schema', f'{self.dir}/star.yaml', '--region', self.region)

    def ask(self, sql, *words, code=0):
        return self.run_olap('query', sql, '--region', self.region, *words, code=code)

    def rows(self, sql):
        return list(csv.reader(io.StringIO(self.ask(sql, '--format', 'csv').stdout)))[1:]

    def test_what_is_loaded_comes_back_in_all_formats(self):
        said = self.load().stderr
        self.assertIn('sales: 500 rows', said)
        lines = (self.dir / 'sales.csv').read_text()
        self.assertEqual(self.ask('SELECT * FROM sales', '--format', 'csv').stdout, lines)
        answer = json.loads(self.ask('SELECT channel, COUNT(*) AS n, SUM(price) FROM sales GROUP BY channel ORDER BY n',
                                     '--format', 'json').stdout)
        self.assertEqual([column['type'] for column in answer['columns']], ['STRING', 'BIGINT', 'DECIMAL(38, 2)'])
        self.assertEqual(sum(row[1] for row in answer['rows']), 500)
        self.assertIn(None, [row[0] for row in answer['rows']])
        table = self.ask("SELECT category, COUNT(*) FROM sales JOIN products ON product = pkey GROUP BY category "
                         "ORDER BY 1").stdout.splitlines()
        self.assertEqual(table[0].split(), ['category', 'EXPR$1'])
        self.assertEqual(len(table), 6)
        shown = self.run_olap('schema', '--region', self.region).stdout
        self.assertIn("  sold DATE, key of days", shown)

    def test_a_chart_is_a_page_that_opens_offline(self):
        self.load()
        page = self.dir / 'page.html'
        sql = "SELECT region, COUNT(*) AS n, SUM(price) AS '<b>' FROM sales JOIN customers ON customer = ckey GROUP BY region"
        sql = sql.replace("'<b>'", '`<b>`')
        for kind, element in (('bars', '<rect '), ('lines', 'stroke-width="2"')):
            self.ask(sql, '--chart', kind, '--out', str(page))
            text = page.read_text()
            self.assertIn(element, text)
            self.assertIn('<meta name="viewport"', text)  # Without it a phone shows a page of 980 pixels.
            self.assertNotIn('<b>', text)
            self.assertNotIn('http', text.replace('http-equiv', ''))
        # Values whose distance no double can hold.
        extremes = ("SELECT region, CASE WHEN region < 'B' THEN -1.7E308 ELSE 1.7E308 END AS x FROM customers "
                    "GROUP BY region")
        for kind in ('bars', 'lines'):
            self.ask(extremes, '--chart', kind, '--out', str(page))
            picture = page.read_text().split('<svg')[1].split('</svg>')[0]
            self.assertNotIn('nan', picture)
            self.assertNotIn('inf', picture)
            for place in re.findall(r'[yM]="?([-0-9.e+]+)', picture):
                self.assertLess(abs(float(place)), 1000)
        # A number between NULLs is a point, not nothing; a long text does not make the page wider.
        lone = "SELECT id, CASE WHEN id = 3 THEN 1 END AS x, LPAD('x', 300, 'x') AS t FROM sales ORDER BY id LIMIT 6"
        self.ask(lone, '--chart', 'lines', '--out', str(page))
        text = page.read_text()
        self.assertRegex(text, r'd="M[-0-9.]+ [-0-9.]+h0" fill="none" stroke="#[0-9a-f]+" stroke-width="2" '
                               r'stroke-linecap="round"')
        self.assertIn('overflow-x:auto', text)
        self.assertIn('at least one column of numbers', self.ask(
            'SELECT region FROM customers', '--chart', 'bars', '--out', str(page), code=2).stderr)

    def test_errors_say_where_and_what_to_do(self):
        self.load(10)
        self.assertIn('ends with this command', self.run_olap('load', '--schema', f'{self.dir}/star.yaml', '--region', 'dram',
                                                              code=2).stderr)
        self.assertIn('over streams it can', self.ask('SELECT 1 FROM sales WHERE id IN (SELECT 1)', code=1).stderr)
        self.assertIn('0 of numbers behind the first, and 1 row', self.ask('SELECT COUNT(*) FROM sales', '--chart', 'bars', '--out',
                                                                          'x', code=2).stderr)
        self.assertIn('line 2, column 3: there is no table', self.ask('SELECT 1 FROM\n  salse', code=2).stderr)
        self.assertIn('no tables are loaded', self.run_empty())
        description = self.dir / 'star.yaml'
        good = description.read_text()
        for wrong, message in (
                (good.replace('key: ckey', 'key: kcey'), 'has no column "kcey"'),
                (good.replace('price: "DECIMAL(12, 2)"', 'price: MONEY'), '"price": a type is wanted'),
                (good.replace('sold: days', 'sold: dyas'), '"sold": the name of a dimension is wanted'),
                (good.replace('order:', 'oder:'), 'did you mean "order"?'),
                (good.replace('customer: BIGINT', 'customer: STRING'), "and the key of customers is BIGINT"),
                (good.replace('key: ckey', 'key: [ckey, region]'), 'a key of several columns is not supported'),
                (good.replace('name: sales', 'name: ""'), 'star: a table without a name'),
                ('fact: 7', 'fact: a map is wanted')):
            description.write_text(wrong)
            said = self.run_olap('load', '--schema', str(description), '--region', self.region, code=2).stderr
            self.assertIn(message, said)
            self.assertFalse(said.endswith('\n\n'), said)  # An empty line stood behind the mistakes.
        for delimiter in ('""', '"||"'):
            description.write_text(good.replace('csv: {', f'csv: {{delimiter: {delimiter}, '))
            self.assertIn('delimiter: one character is wanted', self.run_olap(
                'load', '--schema', str(description), '--region', self.region, code=2).stderr)
        description.write_text(good)
        (self.dir / 'sales.csv').write_text((self.dir / 'sales.csv').read_text() + '1,2\n')
        self.assertIn('sales.csv:12: 2 fields; 11 are wanted', self.run_olap(
            'load', '--schema', str(description), '--region', self.region, code=1).stderr)
        self.assertEqual(self.rows('SELECT COUNT(*) FROM sales'), [['10']])

    def test_a_description_that_is_no_file_of_text_is_refused(self):
        for path, message, code in ((str(self.dir), 'Is a directory', 1), ('/dev/zero', 'is larger than', 2),
                                    (str(self.dir / 'none.yaml'), 'No such file', 1)):
            done = self.run_olap('load', '--schema', path, '--region', self.region, code=code)
            self.assertIn(f'--schema {path}: ', done.stderr)
            self.assertIn(message, done.stderr)

    def test_an_answer_that_cannot_be_kept_is_not_asked_for(self):
        self.load(10)
        for words in (('--format', 'csv'), ('--chart', 'bars'), ('--format', 'parquet')):
            done = self.ask('SELECT id, id FROM sales', *words, '--out', f'{self.dir}/no/where', code=1)
            self.assertNotIn('passed', done.stderr)
            self.assertIn(f'--out {self.dir}/no/where: open: No such file or directory', done.stderr)

    # A user who is told that an append failed appends again: the rows would be there twice.
    def test_an_append_whose_merge_finds_no_room_is_there_and_says_so(self):
        def no_file_grows():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

        columns = 'fact: {name: sales, file: sales.csv, columns: {a: BIGINT, b: BIGINT}}\n'
        (self.dir / 'one.yaml').write_text(columns)
        lines = [f'{(i * 2654435761) % (1 << 62)},{(i * 40503) ** 3 % (1 << 62)}\n' for i in range(6500)]
        (self.dir / 'sales.csv').write_text('a,b\n' + ''.join(lines))
        with open(self.region, 'wb') as place:
            place.truncate(2 << 20)
        self.run_olap('load', '--schema', f'{self.dir}/one.yaml', '--region', self.region)
        for rows in range(2, 40):
            done = self.run_olap('append', '--table', 'sales', '--file', f'{self.dir}/sales.csv', '--region', self.region,
                                 preexec_fn=no_file_grows)
            self.assertEqual(self.rows('SELECT COUNT(*) FROM sales'), [[str(6500 * rows)]])
            if 'not merged' in done.stderr:
                self.assertIn('sales: 6,500 rows more', done.stderr)
                self.assertRegex(done.stderr, r'the rows are there, but \d+ blocks of appends are not merged: ')
                return
        self.fail('every merge found room')

    def run_empty(self):
        subprocess.run([HOLDFAST, 'olap', 'load', '--schema', f'{self.dir}/none.yaml', '--region', f'{self.dir}/empty'],
                       capture_output=True, check=False)
        star_data.write(self.dir, 10)
        bad = self.dir / 'bad'
        bad.mkdir()
        star_data.write(bad, 1)
        (bad / 'days.csv').write_text('day\n')
        self.run_olap('load', '--schema', f'{bad}/star.yaml', '--region', f'{self.dir}/empty', code=2)
        return self.run_olap('query', 'SELECT 1 FROM sales', '--region', f'{self.dir}/empty', code=1).stderr

    def test_appends_and_the_merge_that_comes_by_itself(self):
        self.load(100)
        more = self.dir / 'more.csv'
        chance = random.Random(5)
        header = (self.dir / 'sales.csv').read_text().splitlines()[0]
        (self.dir / 'customer.csv').write_text('ckey,region,nation,credit\n5000,OCEANIA,nation 1,1.00\n')
        self.run_olap('append', '--region', self.region, '--table', 'customers', '--file', f'{self.dir}/customer.csv')
        merged = False
        for part in range(20):
            lines = [star_data.sale(chance, 1000 + 10 * part + i) for i in range(9)] + [
                f'{1009 + 10 * part},5000,p-1,2026-02-01,,1,1.00,,,,']
            more.write_text('\n'.join([header, *lines]) + '\n')
            merged |= 'merged' in self.run_olap('append', '--region', self.region, '--table', 'sales', '--file',
                                                str(more)).stderr
        self.assertTrue(merged)
        self.assertEqual(self.rows('SELECT COUNT(*), MAX(id) FROM sales'), [['300', '1199']])
        self.assertEqual(self.rows("SELECT COUNT(*) FROM sales JOIN customers ON customer = ckey WHERE region = 'OCEANIA'"),
                         [['20']])
        self.run_olap('merge', '--region', self.region)
        self.assertIn('all is well', self.run_olap('verify', '--region', self.region).stderr)
        more.write_text(header + '\n1,77777,,2026-02-01,,,,,,,\n')
        self.assertIn("customers has no row with this key", self.run_olap(
            'append', '--region', self.region, '--table', 'sales', '--file', str(more), code=1).stderr)
        lenient = self.dir / 'lenient.yaml'
        lenient.write_text((self.dir / 'star.yaml').read_text().replace('unknown_keys: refuse', '') + '\nunknown_keys: "null"\n')
        self.assertIn('\n1 key that no dimension has became NULL', self.run_olap(
            'append', '--region', self.region, '--table', 'sales', '--file', str(more), '--schema', str(lenient)).stderr)

    def test_loads_and_appends_that_are_killed(self):
        self.load(2000)
        chance = random.Random(int(os.environ.get('SEED', '7')))
        header = (self.dir / 'sales.csv').read_text().splitlines()[0]
        more = self.dir / 'more.csv'
        more.write_text('\n'.join([header, *(star_data.sale(chance, i) for i in range(3000))]) + '\n')
        begun = time.monotonic()
        self.run_olap('append', '--region', self.region, '--table', 'sales', '--file', str(more))
        undisturbed = time.monotonic() - begun
        sure = 5000
        killed = 0
        for _ in range(200):
            if killed == 10:
                break
            process = subprocess.Popen([HOLDFAST, 'olap', 'append', '--region', self.region, '--table', 'sales', '--file',
                                        str(more)], stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * undisturbed)
            process.send_signal(signal.SIGKILL)
            done = process.wait() == 0
            killed += not done
            count = int(self.rows('SELECT COUNT(*) FROM sales')[0][0])
            self.assertIn(count, [sure + 3000] if done else [sure, sure + 3000])
            sure = count
            self.assertIn('all is well', self.run_olap('verify', '--region', self.region).stderr)
        self.assertEqual(killed, 10)

    def test_parquet_there_and_back(self):
        if subprocess.run([PYTHON, '-c', 'import pyarrow'], capture_output=True).returncode != 0:
            said = self.no_pyarrow()
            self.assertIn('pip install pyarrow', said)
            self.skipTest('no pyarrow')
        self.load(300)
        # Each table out as Parquet, and a star of these files: the same rows.
        for table in star_data.TYPES:
            self.ask(f'SELECT * FROM {table}', '--format', 'parquet', '--out', f'{self.dir}/{table}.parquet',
                     '--python', PYTHON)
        before = self.ask('SELECT * FROM sales', '--format', 'csv').stdout
        description = self.dir / 'star.yaml'
        description.write_text(description.read_text().replace('.csv,', '.parquet,').replace('sales.csv', 'sales.parquet'))
        self.run_olap('load', '--schema', str(description), '--region', f'{self.dir}/second', '--python', PYTHON)
        after = self.run_olap('query', 'SELECT * FROM sales', '--region', f'{self.dir}/second', '--format', 'csv').stdout
        self.assertEqual(before, after)
        (self.dir / 'days.parquet').write_text('no parquet')
        self.assertIn('days.parquet: ', self.run_olap('load', '--schema', str(description), '--region',
                                                     f'{self.dir}/second', '--python', PYTHON, code=1).stderr)

    def has_pyarrow(self):
        if subprocess.run([PYTHON, '-c', 'import pyarrow'], capture_output=True).returncode != 0:
            self.skipTest('no pyarrow')

    def test_times_of_parquet_are_cut_to_milliseconds(self):
        self.has_pyarrow()
        times = ['2026-01-01 01:02:03.456789', '1969-12-31 23:59:59.999999', '0001-01-01 00:00:00.0009']
        subprocess.run([PYTHON, '-c', 'import pyarrow as a, pyarrow.parquet as p, sys\n'
                        'times = [*map(str, sys.argv[2:]), None]\n'
                        'us = a.array(times).cast(a.timestamp("us"))\n'
                        'ns = a.array([times[0], times[1], None, None]).cast(a.timestamp("ns"))\n'
                        'p.write_table(a.table({"us": us, "ns": ns}), sys.argv[1])',
                        str(self.dir / 't.parquet'), *times], check=True)
        (self.dir / 'one.yaml').write_text(
            'fact: {name: f, file: t.parquet, columns: {us: TIMESTAMP(3), ns: TIMESTAMP(3)}}')
        self.run_olap('load', '--schema', f'{self.dir}/one.yaml', '--region', self.region, '--python', PYTHON)
        cut = [time[:23] for time in times]
        self.assertEqual(self.rows('SELECT * FROM f'),
                         [[cut[0], cut[0]], [cut[1], cut[1]], [cut[2], ''], ['', '']])

    def test_a_column_of_parquet_that_no_row_can_hold_is_named(self):
        self.has_pyarrow()
        subprocess.run([PYTHON, '-c', 'import pyarrow as a, pyarrow.parquet as p, sys\n'
                        'p.write_table(a.table({"id": [1], "tags": [["x", "y"]]}), sys.argv[1] + "/list.parquet")\n'
                        'p.write_table(a.table({"id": [1], "raw": [b"\\xff"]}), sys.argv[1] + "/bytes.parquet")\n'
                        'p.write_table(a.table({"id": [1], "raw": [b"text"]}), sys.argv[1] + "/text.parquet")',
                        str(self.dir)], check=True)

        def load(name, column, code):
            (self.dir / 'one.yaml').write_text(
                f'fact: {{name: f, file: {name}.parquet, columns: {{id: INT, {column}: STRING}}}}')
            return self.run_olap('load', '--schema', f'{self.dir}/one.yaml', '--region', f'{self.dir}/{name}',
                                 '--python', PYTHON, code=code).stderr

        self.assertIn("list.parquet: column 'tags' is list<", load('list', 'tags', 1))
        self.assertIn("bytes.parquet: column 'raw' (binary): ", load('bytes', 'raw', 1))
        self.assertIn('f: 1 row\n', load('text', 'raw', 0))

    def test_a_first_load_that_was_killed_while_it_began_is_done_again(self):
        for command in (('olap', 'load', '--schema', f'{self.dir}/star.yaml'), ('ssb', 'load', '--sf', '0.001')):
            star_data.write(self.dir, 100)
            region = self.dir / command[0]
            again = [HOLDFAST, *command, '--region', str(region)]
            subprocess.run(again, check=True, capture_output=True)
            (segment,) = region.glob('segment-*')
            with open(segment, 'r+b') as file:
                header = file.read(64)
                file.seek(0)  # The process was killed before it wrote the first word, the last one of a creation.
                file.write(bytes(8) + header[8:] + bytes(segment.stat().st_size - 64))
            done = subprocess.run(again, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    # Once in some thirty times pyarrow's threads end Python with SIGABRT when all is written.
    def test_parquet_is_there_though_its_process_ends_badly_behind_its_work(self):
        self.has_pyarrow()
        self.load(300)
        python = self.dir / 'python'
        python.write_text(f'#!{PYTHON}\nimport atexit, os, sys\natexit.register(os.abort)\n'
                          'code = sys.argv[2]\nsys.argv = sys.argv[1:2] + sys.argv[3:]\nexec(code)\n')
        python.chmod(0o755)
        out = str(self.dir / 'days.parquet')
        self.ask('SELECT * FROM days', '--format', 'parquet', '--out', out, '--python', str(python))
        (self.dir / 'one.yaml').write_text('fact: {name: days, file: days.parquet, columns: {day: DATE}}')
        self.run_olap('load', '--schema', f'{self.dir}/one.yaml', '--region', f'{self.dir}/one', '--python', str(python))
        self.assertIn('28', self.run_olap('query', 'SELECT COUNT(*) FROM days', '--region', f'{self.dir}/one').stdout)

    def test_one_column_of_parquet_keeps_its_nulls(self):
        self.has_pyarrow()
        self.load(300)
        out = self.dir / 'channel.parquet'
        self.ask('SELECT channel AS `a\nb` FROM sales', '--format', 'parquet', '--out', str(out), '--python', PYTHON)
        counted = subprocess.run([PYTHON, '-c', 'import pyarrow.parquet as p, sys; t = p.read_table(sys.argv[1])\n'
                                  'print(t.num_rows, t.column_names)', str(out)], capture_output=True, text=True).stdout
        self.assertEqual(counted, "300 ['a\\nb']\n")
        self.ask('SELECT channel FROM sales', '--format', 'parquet', '--out', str(out), '--python', PYTHON)
        (self.dir / 'one.yaml').write_text('fact: {name: f, file: channel.parquet, columns: {channel: STRING}}')
        self.run_olap('load', '--schema', f'{self.dir}/one.yaml', '--region', f'{self.dir}/one', '--python', PYTHON)
        query = 'SELECT channel, COUNT(*) FROM {} GROUP BY channel ORDER BY 1'
        self.assertEqual(self.run_olap('query', query.format('f'), '--region', f'{self.dir}/one').stdout,
                         self.ask(query.format('sales')).stdout)

    def test_parquet_without_a_column_ends_and_says_so(self):
        self.has_pyarrow()
        star_data.write(self.dir, 20_000)  # More than a pipe holds.
        subprocess.run([PYTHON, '-c', 'import pyarrow.csv as c, pyarrow.parquet as p, sys\n'
                        'p.write_table(c.read_csv(sys.argv[1] + "/sales.csv").drop_columns(["gift"]), '
                        'sys.argv[1] + "/sales.parquet")', str(self.dir)], check=True)
        description = self.dir / 'star.yaml'
        description.write_text(description.read_text().replace('sales.csv', 'sales.parquet'))
        said = subprocess.run([HOLDFAST, 'olap', 'load', '--schema', str(description), '--region', self.region, '--python',
                               PYTHON], capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 2)
        self.assertIn('sales.parquet: its first line has no column gift of table sales; it has id, ', said.stderr)

    def no_pyarrow(self):
        self.load(10)
        return self.ask('SELECT * FROM sales', '--format', 'parquet', '--out', f'{self.dir}/x.parquet', '--python', PYTHON,
                        code=1).stderr


if __name__ == '__main__':
    unittest.main()
