"""`holdfast bench run` as a person uses it: exit codes, messages, and that nothing is left behind.

    bench_run_test.py HOLDFAST [unittest arguments]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))

GOOD = """
scan:
  matrix: { number_threads: [1, 2] }
  args: { memory_range: 4M, access_size: 4096, run_time: 20ms }
update:
  args: { custom_operations: "r_256,w_64_cache_128", memory_range: 4M, number_operations: 20000 }
"""
# 24 runs of a third of a second: long enough to be interrupted, and so many that progress is written.
MANY = """
scan:
  matrix: { access_size: [64, 128, 192, 256, 320, 384], exec_mode: [sequential, random], operation: [read, write] }
  args: { memory_range: 3840K, run_time: 100ms, repetitions: 3 }
"""
LONG = "scan:\n  matrix: { access_size: [64, 256, 512, 4096] }\n  args: { memory_range: 4M, run_time: 1 }\n"
BAD = "scan:\n  args: { acess_size: 64, operation: raed }\nother:\n  args: { memory_range: 1x }\n"


class BenchRun(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='holdfast-bench-run-', dir='/dev/shm')
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.json = self.path('result.json')

    def path(self, name, content=None):
        path = os.path.join(self.directory, name)
        if content is not None:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(content)
        return path

    def run_command(self, *words, code=0):
        done = subprocess.run([HOLDFAST, 'bench', 'run', *words], capture_output=True, text=True, timeout=300,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def files(self):
        return sorted(os.listdir(self.directory))

    def test_result_on_a_file_that_leaves_no_file(self):
        workload = self.path('w.yaml', GOOD)
        out, _ = self.run_command(workload, '--target', self.path('memory') + '?granularity=line', '--repeat', '2',
                                  '--seed', '7', '--json', self.json)
        self.assertIn('scan', out)
        self.assertEqual(self.files(), ['result.json', 'w.yaml'])
        with open(self.json, encoding='utf-8') as file:
            result = json.load(file)
        self.assertEqual([row['operation'] for row in result['rows']], ['scan', 'scan', 'update'])
        self.assertTrue(all(row['valid'] is True for row in result['rows']), result['rows'])
        self.assertEqual(result['command']['seed'], 7)
        self.assertEqual(result['regions'][0]['durability'], 'power')
        shown = subprocess.run([HOLDFAST, 'bench', 'show', self.json], capture_output=True, text=True, check=True)
        self.assertIn('update', shown.stdout)

    def test_all_mistakes_at_once_and_nothing_left(self):
        workload = self.path('w.yaml', BAD)
        out, err = self.run_command(workload, '--target', self.path('memory'), '--json', self.json, code=2)
        self.assertEqual(out, '')
        self.assertIn(f'{workload}:2:11: "acess_size" is unknown; did you mean "access_size"?', err)
        self.assertIn(f'{workload}:2:38: operation: the word "raed" is unknown; did you mean "read"?', err)
        self.assertIn(f'{workload}:4:25: memory_range: "1x" is not a number of bytes', err)
        self.assertIn('3 mistakes; nothing was measured', err)
        self.assertEqual(self.files(), ['w.yaml'])

    def test_requests_that_cannot_be_meant(self):
        workload = self.path('w.yaml', GOOD)
        occupied = self.path('occupied')
        os.mkdir(occupied)
        self.path('occupied/thing', 'x')
        for words, said in [
                ([workload], '--target: is missing'),
                ([workload, '--target', occupied], 'is a directory that is not empty'),
                ([workload, '--target', workload], 'exists; the benchmark would overwrite it'),
                ([workload, '--target', '/dev/dax77.0'], 'there is no such device'),
                ([workload, '--target', '/dev/null'], 'allow it with --erase-device'),
                ([workload, '--target', 'node:77'], 'there is no NUMA node 77'),
                ([workload, '--target', 'dram?huge=3M'], 'huge=3M is none of 2M, 1G, off'),
                ([workload, '--dram', '--target', 'dram'], 'exclude each other'),
                ([workload, '--dram', '--filter', 'scna'], 'did you mean "scan"?'),
                ([workload, '--dram', '--scale', 'much'], 'neither auto nor none'),
                ([workload, '--dram', '--time-budget', 'soon'], 'is no time'),
                ([workload, '--dram', '--numa', '5'], 'does not exist'),
                ([workload, '--dram', '--json', '/no/such/place/r.json'], 'there is no directory /no/such/place'),
                (['/no/such/file.yaml', '--dram'], '/no/such/file.yaml'),
                ([self.path('wide.yaml', 'x:\n  args: { memory_range: 900T, access_size: 1M }\n'), '--target',
                  '/var/tmp/holdfast-none?granularity=none'], 'too little space'),
                ([self.path('huge.yaml', 'x:\n  args: { memory_range: 900G }\n'), '--dram'], 'too little memory')]:
            _, err = self.run_command(*words, code=2)
            self.assertIn(said, err, words)
            self.assertNotIn('calibrating', err, words)
        self.assertEqual(self.files(), ['huge.yaml', 'occupied', 'w.yaml', 'wide.yaml'])

    def test_list_and_dry_run_measure_nothing(self):
        workload = self.path('w.yaml', GOOD)
        out, _ = self.run_command(workload, '--list')
        self.assertIn('scan', out)
        self.assertIn('3 runs', out)
        out, _ = self.run_command(workload, '--dram', '--dry-run', '--filter', 'number_threads=2')
        self.assertIn('scan number_threads=2', out)
        self.assertNotIn('update', out)

    def test_interrupt_leaves_a_valid_partial_result(self):
        workload = self.path('w.yaml', MANY)
        running = subprocess.Popen(
            [HOLDFAST, 'bench', 'run', workload, '--target', self.path('memory'), '--json', self.json],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = ''
        for line in running.stderr:
            seen += line.decode()
            if line.startswith(b'run '):
                break
        self.assertRegex(seen, r'24 runs, about .*; calibrating\n(.*\n)*run \d+ of 24, about .* left\n')
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
        self.assertEqual(running.returncode, 1, err)
        self.assertIn(b'interrupted', err)
        with open(self.json, encoding='utf-8') as file:
            result = json.load(file)
        self.assertTrue(result['command']['interrupted'])
        self.assertTrue(any('interrupted' in warning for warning in result['warnings']), result['warnings'])
        self.assertGreater(len(result['rows']), 0)
        self.assertLess(len(result['rows']), 24)
        self.assertTrue(all(row['valid'] is True for row in result['rows']))
        self.assertEqual(self.files(), ['result.json', 'w.yaml'])
        # What reads results takes it.
        report = self.path('report.html')
        subprocess.run([HOLDFAST, 'bench', 'report', self.json, '-o', report], capture_output=True, check=True)
        with open(report, encoding='utf-8') as file:
            self.assertIn('interrupted: rows hold the repetitions that were complete', file.read())

    def test_interrupt_before_anything_was_measured(self):
        workload = self.path('w.yaml', MANY)
        running = subprocess.Popen(
            [HOLDFAST, 'bench', 'run', workload, '--target', self.path('memory'), '--json', self.json],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(b'calibrating', running.stderr.readline())
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=120)
        self.assertEqual(running.returncode, 1)
        with open(self.json, encoding='utf-8') as file:
            self.assertEqual(json.load(file)['rows'], [])
        self.assertEqual(self.files(), ['result.json', 'w.yaml'])

    def test_a_path_without_dax_is_not_measured_by_mistake(self):
        workload = self.path('w.yaml', GOOD)
        with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
            kind = subprocess.run(['stat', '-f', '-c', '%T', directory], capture_output=True, text=True, check=True)
            if kind.stdout.strip() in ('tmpfs', 'ramfs'):
                self.skipTest('/var/tmp is no disk here')
            path = os.path.join(directory, 'memory')
            for target in (path, directory):
                _, err = self.run_command(workload, '--target', target, code=2)
                self.assertIn('lies on a file system without DAX', err)
                self.assertIn('?granularity=none', err)
                self.assertEqual(err.count('\n'), 1, err)
                self.assertEqual(os.listdir(directory), [])
            # The page cache, if that is what is meant.
            self.run_command(workload, '--target', path + '?granularity=none', '--repeat', '2')
            self.assertEqual(os.listdir(directory), [])

    def test_killed_leaves_no_file(self):
        workload = self.path('w.yaml', LONG)
        running = subprocess.Popen([HOLDFAST, 'bench', 'run', workload, '--target', self.path('memory')],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        running.kill()
        running.wait()
        self.assertEqual(self.files(), ['w.yaml'])


if __name__ == '__main__':
    unittest.main()
