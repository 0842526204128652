"""The peers of the benchmarks are modules: peers_test.py HOLDFAST. The command starts, says what to install and refuses
modules of another build; with the modules, all that could be measured before they were modules still can be."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import bench_lists

HOLDFAST = pathlib.Path(sys.argv[1]).resolve()
BEFORE = json.loads((pathlib.Path(__file__).parent / 'bench_lists.json').read_text())
BUILT = sorted(path.name[len('holdfast-peers-'):-3] for path in HOLDFAST.parent.glob('holdfast-peers-*.so'))


def run(*arguments, peers=None, command=HOLDFAST):
    environment = dict(os.environ)
    environment.pop('HOLDFAST_PEERS', None)
    if peers is not None:
        environment['HOLDFAST_PEERS'] = str(peers)
    return subprocess.run([command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment, timeout=300)


class PeersTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def bench(self, store, peers=None):
        """The row of one small measurement of `store`."""
        done = run('kv', 'bench', '--stores', store, '--ops', 'get', '--records', '1000', '--phase-operations', '100',
                   '--repeat', '1', '--threads', '1', '--quick', '--region', self.place / 'r', '--peer-directory', self.place,
                   '--json', '-', peers=peers)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(done.stdout)['rows'][0]

    def peer(self):
        peers = [name for name in ('lmdb', 'leveldb', 'rocksdb', 'tbb') if name in BUILT]
        if not peers:
            self.skipTest('no module of another store was built')
        return peers[0]

    def changed_module(self, name, change):
        """A directory with the module of `name`, its bytes changed."""
        directory = self.place / 'modules'
        directory.mkdir()
        file = f'holdfast-peers-{name}.so'
        (directory / file).write_bytes(change((HOLDFAST.parent / file).read_bytes()))
        return directory

    def test_the_command_loads_no_library_of_a_peer(self):
        done = subprocess.run(['ldd', HOLDFAST], stdout=subprocess.PIPE, text=True, check=True)
        lines = done.stdout.splitlines()
        self.assertFalse([line for line in lines if re.search('rocksdb|leveldb|lmdb|tbb|pmem', line)])
        if 'asan' not in done.stdout:
            self.assertLessEqual(len(lines), 12, done.stdout)

    def test_a_store_works_and_a_row_says_what_to_install_where_there_are_no_modules(self):
        alone = shutil.copy(HOLDFAST, self.place / 'holdfast')
        self.assertEqual(run('kv', self.place / 's', 'put', 'ada', 'lovelace', command=alone).returncode, 0)
        self.assertEqual(run('kv', self.place / 's', 'get', 'ada', command=alone).stdout, 'lovelace')
        row = self.bench('rocksdb', peers=self.place)
        self.assertIn('no holdfast-peers-rocksdb.so in', row['valid'])
        self.assertIn('install librocksdb-dev', row['valid'])

    def test_a_row_of_a_missing_library_of_pmdk_has_the_name_of_its_subject(self):
        done = run('blocks', 'bench', '--quick', '--suite', 'pmdk', '--only', 'persist random 64 B', '--threads', '1',
                   '--region', 'dram?granularity=line', '--json', '-', peers=self.place)
        subjects = {row['subject']: row['valid'] for row in json.loads(done.stdout)['rows']}
        for name in ('libpmem', 'libpmem2-byte', 'libpmem2-line', 'libpmem2-page'):
            self.assertIn('install libpmem', subjects[name])

    def test_a_module_of_another_build_is_refused_by_name(self):
        name = self.peer()
        identity = re.search(rb'holdfast-peer-build: ([^\n]*)', (HOLDFAST.parent / f'holdfast-peers-{name}.so').read_bytes())
        other = identity[0][:-8] + b'01234567'
        row = self.bench(name, self.changed_module(name, lambda module: module.replace(identity[0], other)))
        self.assertIn(f'holdfast-peers-{name}.so is of another build', row['valid'])
        self.assertIn('01234567', row['valid'])
        self.assertIn(identity[1].decode(), row['valid'])

    def test_a_file_that_is_no_module_is_refused_by_name(self):
        row = self.bench(self.peer(), self.changed_module(self.peer(), lambda module: module[:100]))
        self.assertIn('carries no build of Holdfast', row['valid'])

    def test_a_module_that_does_not_load_says_so_with_the_package(self):
        name = self.peer()  # The mark is there, the rest is not.
        row = self.bench(name, self.changed_module(name, lambda module: b'no ELF ' + module))
        self.assertIn('does not load', row['valid'])
        self.assertIn('-dev', row['valid'])

    def test_all_that_could_be_measured_before_still_can_be(self):
        # A peer whose package is not installed, and vectors that this CPU does not have, are not asked for.
        flags = re.search(r'^flags\s*:(.*)$', pathlib.Path('/proc/cpuinfo').read_text(), re.M)[1].split()
        absent = {name for name in ('rocksdb', 'lmdb', 'leveldb', 'tbb', 'libpmem', 'libpmem2', 'libpmemobj', 'libpmemlog',
                                    'libpmemblk') if name not in BUILT}
        absent |= {name for name, flag in (('fam-avx2', 'avx2'), ('fam-avx512', 'avx512f')) if flag not in flags}
        now = bench_lists.lists(str(HOLDFAST))
        for group, before in BEFORE.items():
            for name, members in before.items():
                if name.split(': ')[-1] in absent or name.split(': ')[-1].split('-')[0] in absent:
                    continue
                lost = set(members) - set(now[group].get(name, []))
                if absent and group == 'parameters':  # Some have a parameter of their own.
                    lost -= {'api', 'store_granularity', 'flags', 'mapped'}
                self.assertFalse(lost, f'{group}, {name}')


unittest.main(argv=sys.argv[:1], verbosity=2)
