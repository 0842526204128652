"""`holdfast stream run --state rocksdb`: what people do wrong, and processes that are killed. rocksdb_command_test.py HOLDFAST

Skipped, with exit code 77, without the module of RocksDB. The store itself: rocksdb_state_test.cpp.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from kills import check_kills, parts, stores

HOLDFAST = os.path.abspath(sys.argv[1])


def rows(path, count, keys=7):
    rand = random.Random(3)
    path.write_text(''.join(f'{at * 10 + rand.randrange(0, 3000)},{rand.randrange(keys)},{rand.randrange(100)}\n' for at in range(count)))


def source(path):
    return (f"CREATE TABLE t (ms BIGINT, k INT, v INT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
            f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n")


SUMS = ("SELECT window_start, k, SUM(v) FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end, k")


def sink(name, path):
    return f"CREATE TABLE {name} (s TIMESTAMP(3), k INT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n"


class RocksdbCommandTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix='holdfast_rocksdb_', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        rows(self.place / 'rows.csv', 20_000)
        self.text = source(self.place / 'rows.csv') + SUMS

    def run_stream(self, *words, code=0, verb='run', **environment):
        done = subprocess.run([HOLDFAST, 'stream', verb, *map(str, words)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, (words, done.stderr[-2000:]))
        return done

    def refused(self, *words, says, code=1, **environment):
        message = self.run_stream(*words, code=code, **environment).stderr
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, message)

    def test_without_the_module_it_says_what_to_install(self):
        self.refused('--state', 'rocksdb', '--region', self.place / 's', '-e', self.text,
                     says=('no holdfast-peers-rocksdb.so in', 'install librocksdb-dev'), HOLDFAST_PEERS=str(self.place))
        self.assertFalse((self.place / 's').exists())

    def test_wrong_words_are_refused_by_name(self):
        self.refused('--state', 'rocksdb', '-e', self.text, says='--state rocksdb wants --region DIR', code=2)
        self.refused('--state', 'rocksdb', '--region', self.place / 's', '--checkpoint-dir', self.place, '-e', self.text,
                     says='--checkpoint-dir belongs to --state dram', code=2)
        self.refused('--state', 'rocksdb', '--region', self.place / 's', '--members', self.place, '-e', self.text,
                     says='--members belongs to --state dram', code=2)
        self.refused('--region', self.place / 's', '-e', self.text, says='--region belongs to', code=2)
        self.refused('--state', 'rocksdb', '--region', f'{self.place}/s?cash=1M', '-e', self.text, says='unknown option "cash=1M"', code=2)
        self.refused('--state', 'rockdb', '-e', self.text, says='rockdb', code=2)
        self.assertIn('rocksdb', self.run_stream('--help').stdout)

    def test_what_is_something_else_stays_as_it_is(self):
        (self.place / 'mine').mkdir()
        (self.place / 'mine' / 'letter.txt').write_text('dear')
        self.refused('--state', 'rocksdb', '--region', self.place / 'mine', '-e', self.text, says='holds other files')
        self.refused('--state', 'rocksdb', '--region', self.place / 'rows.csv', '-e', self.text, says='is no directory')
        self.run_stream('--state', 'kv', '--region', self.place / 'kv', '-e', self.text)
        self.refused('--state', 'rocksdb', '--region', self.place / 'kv', '-e', self.text, says='holds other files')
        self.assertEqual([path.name for path in (self.place / 'mine').iterdir()], ['letter.txt'])
        self.assertIn('it had finished', self.run_stream('--state', 'kv', '--region', self.place / 'kv', '-e', self.text).stderr)

    def test_another_query_is_refused_and_the_same_one_has_finished(self):
        words = '--state', 'rocksdb', '--region', self.place / 's'
        whole = self.run_stream('-e', self.text)
        self.assertEqual(self.run_stream(*words, '-e', self.text).stdout, whole.stdout)
        self.assertIn('it had finished', self.run_stream(*words, '-e', self.text).stderr)
        self.refused(*words, '-e', self.text.replace('SUM', 'MAX'), says='of another query', code=2)

    def test_a_second_process_is_told_who_has_it(self):
        endless = ("CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '100', 'fields.n.kind' = 'sequence');\n"
                   "CREATE TABLE o (n INT) WITH ('connector' = 'blackhole');\nINSERT INTO o SELECT n FROM s")
        words = ['--state', 'rocksdb', '--region', str(self.place / 's'), '-e', endless]
        first = subprocess.Popen([HOLDFAST, 'stream', 'run', *words], stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        while not (self.place / 's' / 'CURRENT').exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        time.sleep(0.2)
        self.refused(*words, says=(str(self.place / 's'), f'in use by process {first.pid}'))
        done = subprocess.run([HOLDFAST, 'stream', 'savepoint', *words, '--to', self.place / 'saved'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('in use by process', done.stderr)
        first.send_signal(signal.SIGTERM)
        self.assertIn('interrupted', first.communicate(timeout=60)[1])
        self.run_stream(*words, '--to', self.place / 'saved', verb='savepoint')

    def test_statements_say_it_by_the_names_of_flink(self):
        head = (f"SET 'state.backend.type' = 'rocksdb';\nSET 'execution.checkpointing.dir' = 'file://{self.place}/s';\n"
                "SET 'state.backend.rocksdb.block.cache-size' = '64mb';\nSET 'execution.checkpointing.interval' = '20 ms';\n")
        whole = self.run_stream('-e', self.text).stdout
        self.assertEqual(self.run_stream('-e', head + self.text).stdout, whole)
        self.assertTrue((self.place / 's' / 'CURRENT').exists())
        self.run_stream('-e', head + self.text, '--to', self.place / 'saved', verb='savepoint')
        # The command line goes before.
        kv = self.run_stream('--state', 'kv', '--region', self.place / 'kv', '-e', head + self.text)
        self.assertEqual(kv.stdout, whole)
        self.assertFalse((self.place / 'kv' / 'CURRENT').exists())
        dram = head.replace("'rocksdb'", "'hashmap'").replace("/s'", "/files'")
        self.assertEqual(self.run_stream('-e', dram + self.text).stdout, whole)
        self.assertTrue((self.place / 'files' / 'query-1.checkpoint').exists())
        older = head.replace('backend.type', 'backend').replace('execution.checkpointing.dir', 'state.checkpoints.dir')
        self.assertIn('it had finished', self.run_stream('-e', older + self.text).stderr)
        for wrong, says in (("'state.backend.type' = 'forst'", 'there are hashmap, rocksdb, kv'),
                            ("'execution.checkpointing.dir' = 's3://b/c'", 'a path is wanted'),
                            ("'state.backend.rocksdb.block.cache-size' = 'much'", 'cache-size')):
            self.refused('-e', f'SET {wrong};\n' + self.text, says=(says, 'line 1, column'), code=2)

    def test_a_log_that_is_damaged_is_named(self):
        words = '--state', 'rocksdb', '--region', self.place / 's', '--checkpoint', '5ms'
        self.run_stream(*words, '-e', self.text)
        log = max((self.place / 's').glob('*.log'), key=lambda path: path.stat().st_size)
        damaged = bytearray(log.read_bytes())
        damaged[len(damaged) // 3] ^= 1
        log.write_bytes(damaged)
        self.refused(*words, '-e', self.text, says=('of query 1 was completed', 'a log is damaged'))
        self.assertEqual((self.place / 's' / 'kept-logs' / log.name).read_bytes(), damaged)

    def test_several_queries_share_a_database_and_are_killed(self):
        def command(name):
            out = self.place / f'out_{name}'
            text = "SET 'table.dml-sync' = 'false';\n" + source(self.place / 'rows.csv') + ''.join(
                sink(f'o{at}', out / f'{at}') + f'INSERT INTO o{at} ' + SUMS.replace('SUM(v)', what) + ';\n'
                for at, what in enumerate(('SUM(v)', 'CAST(MAX(v) AS BIGINT)', 'COUNT(*)')))
            return out, [HOLDFAST, 'stream', 'run', '--compile', 'never', '--checkpoint', '2ms', '--state', 'rocksdb',
                         '--region', str(self.place / f's_{name}'), '-e', text]

        _, whole = command('whole')
        subprocess.run(whole, check=True, capture_output=True, timeout=120)
        wanted = [parts(self.place / 'out_whole' / f'{at}') for at in range(3)]
        self.assertGreater(len(wanted[0].splitlines()), 100)
        rand, hit = random.Random(2), 0
        for attempt in range(100):
            out, killed = command(attempt)
            for _ in range(10):
                process = subprocess.Popen(killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(rand.uniform(0, 0.3))
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    hit += 1
                for at in range(3):
                    self.assertTrue(wanted[at].startswith(parts(out / f'{at}')))
            subprocess.run(killed, check=True, capture_output=True, timeout=120)
            self.assertEqual([parts(out / f'{at}') for at in range(3)], wanted)
            if hit >= 10:
                break
        self.assertGreaterEqual(hit, 10)

    def test_a_process_that_is_killed_while_it_makes_the_database_leaves_one_that_opens(self):
        rand = random.Random(4)
        seen = set()
        for attempt in range(40):
            state = self.place / f's_{attempt}'
            words = ['--state', 'rocksdb', '--region', str(state), '--compile', 'never', '-e', self.text]
            process = subprocess.Popen([HOLDFAST, 'stream', 'run', *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 10
            while not state.exists() and process.poll() is None:
                self.assertLess(time.monotonic(), end)
            time.sleep(rand.uniform(0, 0.02))
            process.kill()
            process.wait()
            seen.add(tuple(sorted(path.suffix for path in state.iterdir())))
            self.run_stream(*words)
            shutil.rmtree(state)
        self.assertGreater(len(seen), 1, 'the kills came at different moments')

    def test_an_epoch_of_many_entries_is_killed(self):
        """40 MB in one: more than waits in memory. Those that were written before are not counted twice."""
        rows(self.place / 'rows.csv', 100_000, keys=10**9)

        def command(name):
            out = self.place / f'out_{name}'
            text = (source(self.place / 'rows.csv') + "CREATE TABLE o (g STRING, n BIGINT) WITH ('connector' = 'filesystem', "
                    f"'path' = '{out}', 'format' = 'csv');\nINSERT INTO o SELECT SUBSTRING(g FROM 1 FOR 9), n FROM (SELECT g, COUNT(*) AS n "
                    "FROM TABLE(TUMBLE((SELECT ts, LPAD(CAST(k AS STRING), 400, '0') AS g FROM t), DESCRIPTOR(ts), INTERVAL '1' DAY)) "
                    'GROUP BY window_start, window_end, g)')
            return out, [HOLDFAST, 'stream', 'run', '--compile', 'never', '--checkpoint', '500ms', '--state', 'rocksdb',
                         '--region', str(self.place / f's_{name}?buffer=1M'), '-e', text]

        check_kills(command, random.Random(6), 6)


if 'rocksdb' not in stores(HOLDFAST):
    print('skipped: no holdfast-peers-rocksdb.so; install librocksdb-dev and build it')
    sys.exit(77)
unittest.main(argv=sys.argv[:1], verbosity=2)
