"""Random star queries of a grammar, `holdfast olap query` against DuckDB: olap_duckdb_test.py HOLDFAST. Skipped where
the Python that HOLDFAST_TEST_PYTHON names has no duckdb.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get('HOLDFAST_TEST_PYTHON', sys.executable)


def main():
    import duckdb

    sys.path.insert(0, str(HERE))
    import many_groups
    import star_data
    import star_grammar
    import star_peer

    holdfast = sys.argv.pop(1)

    class RandomQueries(unittest.TestCase):
        def setUp(self):
            place = tempfile.TemporaryDirectory(prefix='olap-duckdb-')
            self.addCleanup(place.cleanup)
            self.dir = pathlib.Path(place.name)
            self.region = str(self.dir / 'star')
            self.duckdb = duckdb.connect()

        def run_holdfast(self, *words):
            done = subprocess.run([holdfast, *words], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr

        def compare(self, star, count):
            with_rows = 0
            for seed in range(count):
                sql = star_grammar.Grammar(star, seed).query()
                theirs, _ = star_peer.ask_duckdb(self.duckdb, sql)
                ours, _ = star_peer.ask_holdfast(holdfast, self.region, sql, threads=1 + seed % 3,
                                                 kernel=['auto', 'portable'][seed % 2])
                self.assertEqual(star_peer.difference(ours, theirs, 'ORDER BY' in sql), '', f'seed {seed}: {sql}')
                with_rows += len(ours) > 1
            self.assertGreater(with_rows, count // 4)

        def test_a_star_with_nulls(self):
            star_data.write(self.dir, 20_000)
            self.run_holdfast('olap', 'load', '--schema', f'{self.dir}/star.yaml', '--region', self.region)
            for table in star_data.TYPES:
                star_peer.sales_table(self.duckdb, table, self.dir / f'{table}.csv')
            self.compare(star_grammar.SALES, 150)
            for sql in ("SELECT 'x', COUNT(*) FROM sales GROUP BY 'x'", "SELECT 'x' AS c, COUNT(*) FROM sales GROUP BY 1",
                        "SELECT COUNT(*) FROM sales WHERE 1 = 2 GROUP BY TRUE", "SELECT COUNT(*) FROM sales GROUP BY NULL, DATE '2020-01-01'",
                        "SELECT DISTINCT 'x' FROM sales", "SELECT 'x' AS c, COUNT(*) FROM sales GROUP BY c ORDER BY c"):
                theirs, _ = star_peer.ask_duckdb(self.duckdb, sql)
                ours, _ = star_peer.ask_holdfast(holdfast, self.region, sql)
                self.assertEqual(star_peer.difference(ours, theirs, False), '', sql)  # Constant keys were refused.

        def test_many_groups(self):
            """More than arrays or caches hold, of keys of every form: by each kernel, by one thread and by several."""
            many_groups.write(self.dir, 60_000)
            self.run_holdfast('olap', 'load', '--schema', f'{self.dir}/star.yaml', '--region', self.region)
            for table, columns in many_groups.TYPES.items():
                self.duckdb.execute(f'create table {table} ({columns})')
                self.duckdb.execute(f"copy {table} from '{self.dir}/{table}.csv' (header true, nullstr '')")
            for number, sql in enumerate(many_groups.QUERIES):
                theirs, _ = star_peer.ask_duckdb(self.duckdb, sql)
                for threads, kernel in [(1, 'auto'), (2, 'portable'), (3, 'auto'), (8, 'auto')][number % 2::2]:
                    ours, _ = star_peer.ask_holdfast(holdfast, self.region, sql, threads=threads, kernel=kernel)
                    self.assertEqual(star_peer.difference(ours, theirs, 'ORDER BY' in sql), '',
                                     f'{threads} threads, {kernel}: {sql}')

        def test_the_star_schema_benchmark(self):
            self.run_holdfast('ssb', 'generate', '--sf', '0.02', '--tbl', str(self.dir))
            self.run_holdfast('olap', 'load', '--schema', str(HERE.parents[2] / 'examples/star/ssb.yaml'), '--data',
                              str(self.dir), '--region', self.region)
            for table in star_peer.SSB_TYPES:
                star_peer.ssb_table(self.duckdb, table, self.dir / f'{table}.tbl')
            self.compare(star_grammar.SSB, 150)

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(RandomQueries)
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())


if __name__ == '__main__':
    if 'OLAP_DUCKDB_INSIDE' not in os.environ:
        if subprocess.run([PYTHON, '-c', 'import duckdb'], capture_output=True).returncode != 0:
            print('skipped: no duckdb (HOLDFAST_TEST_PYTHON names a Python that has it)')
            sys.exit(0)
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]], env={**os.environ, 'OLAP_DUCKDB_INSIDE': '1'}).returncode)
    main()
