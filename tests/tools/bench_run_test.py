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
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

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
# A result without anything.
EMPTY = {'schema': {'name': 'holdfast.bench', 'version': 2}, 'environment': {}, 'calibration': {}, 'command': {},
         'regions': [], 'parameters': [], 'warnings': [], 'rows': []}
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
        self.assertEqual(result['regions'][0]['durability'], 'assumed')
        self.assertIn('durability: assumed', out)
        shown = subprocess.run([HOLDFAST, 'bench', 'show', self.json], capture_output=True, text=True, check=True)
        self.assertIn('update', shown.stdout)

    def test_mem14_the_region_line_says_how_large_ranges_were(self):
        """It said 1 GiB where most rows had used 2 GiB."""
        ranges = 'small:\n  args: { memory_range: 1M, run_time: 20ms }\nlarge:\n  args: { memory_range: 4M, run_time: 20ms }\n'
        workload = self.path('w.yaml', ranges)
        out, _ = self.run_command(workload, '--dram', '--json', self.json)
        lines = [line for line in out.splitlines() if line.startswith('region ')]
        self.assertEqual(len(lines), 1, out)
        self.assertIn('ranges up to 4 MiB', lines[0])
        with open(self.json, encoding='utf-8') as file:
            result = json.load(file)
        self.assertEqual([region['bytes'] for region in result['regions']], [4 << 20])

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
                ([workload, '--target', '/dev/null'], 'is a character device but not a devdax'),
                ([workload, '--dram', '--region', 'slow=dram'], 'no benchmark here uses a region of that name'),
                ([workload, '--target', 'node:77'], 'there is no NUMA node 77'),
                ([workload, '--target', 'dram?huge=3M'], 'huge=3M is none of 2M, 1G, off'),
                ([workload, '--dram', '--target', 'dram'], 'exclude each other'),
                ([workload, '--dram', '--filter', 'scna'], 'did you mean "scan"?'),
                ([workload, '--dram', '--scale', 'much'], 'neither auto nor none'),
                ([workload, '--dram', '--time-budget', 'soon'], 'is no time'),
                ([workload, '--dram', '--numa', '5'], 'does not exist'),
                ([workload, '--dram', '--json', '/no/such/place/r.json'], 'No such file or directory'),
                ([self.path('wide.yaml', 'x:\n  args: { memory_range: 900T, access_size: 1M }\n'), '--target',
                  '/var/tmp/holdfast-none?granularity=none'], 'too little space'),
                ([self.path('huge.yaml', 'x:\n  args: { memory_range: 900G }\n'), '--dram'], 'too little memory')]:
            _, err = self.run_command(*words, code=2)
            self.assertIn(said, err, words)
            self.assertNotIn('calibrating', err, words)
        self.assertEqual(self.files(), ['huge.yaml', 'occupied', 'w.yaml', 'wide.yaml'])
        _, err = self.run_command('/no/such/file.yaml', '--dram', code=2)
        self.assertTrue(err.startswith('/no/such/file.yaml: open: No such file'), err)

    def test_list_and_dry_run_measure_nothing(self):
        workload = self.path('w.yaml', GOOD)
        large = self.path('large.yaml', 'b:\n  args: { memory_range: 900T, access_size: 1M }\n')
        out, _ = self.run_command(large, '--dram', '--list')  # Needs no memory (BEN-1).
        self.assertIn('1 run', out)
        # Says no where a run would (BEN-2).
        _, err = self.run_command(workload, '--target', '/dev/null', '--dry-run', code=2)
        self.assertIn('not a devdax', err)
        out, _ = self.run_command(workload, '--list')
        self.assertIn('scan', out)
        self.assertIn('3 runs', out)
        listed = subprocess.run([HOLDFAST, 'bench', 'list', workload], capture_output=True, text=True, timeout=60)
        self.assertEqual((listed.returncode, listed.stdout), (0, out))  # BEN-12.
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
        running.send_signal(signal.SIGHUP)  # A connection that is lost (BEN-8).
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
                self.assertEqual(err.count('\n'), 2, err)
                self.assertEqual(os.listdir(directory), [])
            # The page cache, if that is what is meant.
            self.run_command(workload, '--target', path + '?granularity=none', '--repeat', '2')
            self.assertEqual(os.listdir(directory), [])

    def threads_at_the_end(self, pinning):
        """Where the kernel lets the two threads run that `holdfast bench run` measures with, seen from outside."""
        workload = self.path(pinning + '.yaml', 'scan:\n  args: { memory_range: 4M, number_threads: 2, run_time: 1, '
                             f'repetitions: 1, thread_pinning: {pinning} }}\n')
        running = subprocess.Popen([HOLDFAST, 'bench', 'run', workload, '--dram', '--json', self.json],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = {}
        while running.poll() is None:
            tasks = f'/proc/{running.pid}/task'
            for task in os.listdir(tasks) if os.path.isdir(tasks) else []:
                try:
                    with open(f'{tasks}/{task}/stat', encoding='utf-8') as file:
                        began = int(file.read().rsplit(')', 1)[1].split()[19])
                    seen[(began, int(task))] = frozenset(os.sched_getaffinity(int(task)))
                except (FileNotFoundError, ProcessLookupError):
                    pass  # It has ended.
            time.sleep(0.02)
        self.assertEqual(running.returncode, 0)
        seen = {task: cpus for task, cpus in seen.items() if task[1] != running.pid}
        self.assertGreaterEqual(len(seen), 2)
        # The last that began are those of the one repetition: calibration and filling come before.
        return [seen[task] for task in sorted(seen)[-2:]]

    def test_threads_are_where_pinning_puts_them(self):
        usable = frozenset(os.sched_getaffinity(0))
        if len(usable) < 2:
            self.skipTest('needs two CPUs')
        with open('/sys/devices/system/node/online', encoding='utf-8') as file:
            one_node = file.read().strip() == '0'
        self.assertEqual(self.threads_at_the_end('none'), [usable, usable])
        first, second = self.threads_at_the_end('core')
        self.assertEqual((len(first), len(second)), (1, 1))
        self.assertNotEqual(first, second)
        with open(self.json, encoding='utf-8') as file:
            said = json.load(file)['rows'][0]['thread_cpus']
        self.assertEqual(said, [str(*first), str(*second)] if str(*first) == said[0] else [str(*second), str(*first)])
        first, second = self.threads_at_the_end('node')
        self.assertEqual(first, second)
        self.assertTrue(first == usable if one_node else first <= usable)

    def test_a_row_beyond_the_limits_is_invalid_and_the_exit_code_is_3(self):
        workload = self.path('w.yaml', GOOD)
        words = (workload, '--dram', '--repeat', '2', '--filter', 'scan')
        self.run_command(*words, '--json', self.json)
        with open(self.json, encoding='utf-8') as file:
            good = json.load(file)
        # A machine that is a thousand times slower cannot have measured that.
        calibration = {name: value / 1000 for name, value in good['calibration'].items() if name.endswith('per_thread')}
        limits = self.path('limits.json', json.dumps(good | {'calibration': calibration, 'rows': []}))
        out, err = self.run_command(*words, '--limits', limits, '--json', self.json, code=3)
        self.assertIn('INVALID', out)
        self.assertIn('beyond this machine', out)
        self.assertIn('some rows are INVALID', err)
        with open(self.json, encoding='utf-8') as file:
            bad = json.load(file)
        self.assertEqual(bad['calibration']['stricter_limits_of'], limits)
        for name, value in calibration.items():
            self.assertEqual(bad['calibration'][name], value)
        self.assertEqual(len(bad['rows']), 2)
        for row in bad['rows']:
            self.assertRegex(row['valid'], r'^beyond this machine: .*GiB/s, and the first-level cache gives .*/s$')
        # Whatever reads it is told, too.
        for words in (('show', self.json), ('compare', self.json, self.json),
                      ('report', self.json, '-o', self.path('report.html'))):
            done = subprocess.run([HOLDFAST, 'bench', *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 3, words)
            self.assertIn('INVALID', done.stdout, words)

    def test_limits_only_get_stricter(self):
        workload = self.path('w.yaml', GOOD)
        loose = self.path('loose.json', json.dumps(EMPTY | {
            'calibration': {'memory_read_bytes_per_s': 1e18, 'dependent_read_ns': 1e-9}}))
        self.run_command(workload, '--dram', '--repeat', '1', '--filter', 'update', '--limits', loose, '--json', self.json)
        with open(self.json, encoding='utf-8') as file:
            calibration = json.load(file)['calibration']
        self.assertLess(calibration['memory_read_bytes_per_s'], 1e15)
        self.assertGreater(calibration['dependent_read_ns'], 0.1)
        empty = self.path('empty.json', json.dumps(EMPTY))
        for limits, said in ((self.path('none.json'), 'No such file'), (workload, 'w.yaml'),
                             (empty, 'has no limit of `bench run`')):
            _, err = self.run_command(workload, '--dram', '--limits', limits, code=2)
            self.assertIn(said, err)
            self.assertIn('--limits', err)

    def test_a_time_budget_is_kept_and_what_it_cut_is_said(self):
        workload = self.path('w.yaml', 'scan:\n  matrix: { access_size: [64, 256], operation: [read, write] }\n'
                             '  args: { memory_range: 4M, run_time: 30 }\n')
        budget = 12.0
        self.run_command(workload, '--dram', '--repeat', '3', '--time-budget', f'{budget:g}s', '--json', self.json)
        with open(self.json, encoding='utf-8') as file:
            result = json.load(file)
        # As written it takes 4 x 3 x 30 s. What is timed must fit: however busy the machine is, no repetition is
        # longer than its share, but for the block that a thread without its CPU ends late.
        share = result['command']['seconds_per_repetition']
        self.assertLessEqual(12 * share, budget)
        self.assertEqual(len(result['rows']), 4)
        for row in result['rows']:
            self.assertEqual(row['repetitions'], 3)
            self.assertLess(min(row['seconds_samples']), share * 1.5 + 0.1, row['seconds_samples'])
        self.assertLess(result['command']['seconds'], 10 * budget)
        took = result['command']['seconds']
        self.assertEqual(any('longer than the time budget of 12 s' in warning for warning in result['warnings']),
                         took > 1.1 * budget, (took, result['warnings']))
        self.assertTrue(any('(--time-budget): of 4 runs 4 have a longer run_time' in warning
                            for warning in result['warnings']), result['warnings'])

    def test_two_sockets_on_a_machine_with_one_says_what_it_skipped(self):
        with open('/sys/devices/system/node/online', encoding='utf-8') as file:
            if file.read().strip() != '0':
                self.skipTest('here are several nodes')
        file = os.path.join(ROOT, 'workloads/olap/two_sockets.yaml')
        # As written it cannot run: one message for the region, and one for each place that wants far CPUs.
        _, err = self.run_command(file, '--dram', '--json', self.json, code=2)
        self.assertRegex(err, r'two_sockets\.yaml:\d+:\d+: region "socket1" is wanted, but there is no NUMA node 1; this machine has node 0')
        self.assertEqual(err.count('far is wanted, but no CPU of this machine is far from the memory'), 2)
        self.assertIn('3 mistakes; nothing was measured', err)
        # With --scale auto nothing of it is left, and the reasons are the message.
        _, err = self.run_command(file, '--dram', '--scale', 'auto', '--json', self.json, code=2)
        skipped = ('region "socket1" is wanted, but there is no NUMA node 1; this machine has node 0: '
                   'left out of olap_read_two_near, olap_write_two_near')
        self.assertIn('nothing in it can run on this machine: ' + skipped, err)
        self.assertEqual(self.files(), [])
        # Beside others it is left out, and the result says so.
        both = self.path('both')
        os.mkdir(both)
        shutil.copy(file, both)
        self.path('both/w.yaml', GOOD)
        self.run_command(both, '--dram', '--scale', 'auto', '--repeat', '1', '--json', self.json)
        with open(self.json, encoding='utf-8') as file:
            result = json.load(file)
        self.assertEqual({row['operation'] for row in result['rows']}, {'scan', 'update'})
        self.assertIn(skipped, result['warnings'])
        self.assertTrue(any('olap_read_two_far' in warning for warning in result['warnings']))

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
