"""The command as a person or a script uses it: results, exit codes, and errors that teach. Records,
requests, scans, what is said of a machine, and the tour.

    command_test.py HOLDFAST [unittest arguments]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import Command, HOLDFAST

MAKE_STANZAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'make_stanzas.py')


class Records(Command):
    def test_put_get_overwrite_erase_count(self):
        self.assertIn(b'inserted', self.kv('put', 'ada', 'lovelace'))
        self.assertIn(b'overwrote', self.kv('put', 'ada', 'byron'))
        self.assertEqual(self.kv('get', 'ada'), b'byron')
        self.assertEqual(self.kv('count'), b'1\n')
        self.assertIn(b'erased', self.kv('erase', 'ada'))
        self.assertEqual(self.kv('get', 'ada', code=1), b'')
        self.assertEqual(self.kv('erase', 'ada', code=1), b'')
        self.assertEqual(self.kv('count'), b'0\n')

    def test_put_says_what_a_record_survives(self):
        answer = json.loads(self.kv('put', 'k', 'v', '--json'))
        self.assertEqual(answer['outcome'], 'inserted')
        self.assertIn(answer['durability'], ('process', 'power'))
        on_memory = tempfile.mkdtemp(prefix='command-test-', dir='/dev/shm')
        self.addCleanup(shutil.rmtree, on_memory, ignore_errors=True)
        text = self.holdfast('kv', on_memory + '/store', 'put', 'k', 'v')
        self.assertIn(b'no power durability', text)

    def test_if_absent_leaves_a_record_alone(self):
        self.kv('put', 'k', 'first', '--if-absent')
        self.assertIn(b'exists', self.kv('put', 'k', 'second', '--if-absent', code=1))
        self.assertEqual(self.kv('get', 'k'), b'first')

    def test_names_of_verbs_are_keys_and_values_like_others(self):
        self.kv('put', 'list', 'erase')
        self.assertEqual(self.kv('get', 'list'), b'erase')

    def test_words_that_look_like_options_after_two_dashes(self):
        self.kv('put', '--', '--json', '-x')
        self.assertEqual(self.kv('get', '--', '--json'), b'-x')

    def test_bytes_pass_through_pipes_unchanged(self):
        every = bytes(range(256)) * 300
        self.kv('put', 'b', '-', stdin=every)
        self.assertEqual(self.kv('get', 'b'), every)
        self.kv('put', '-', 'v', stdin=b'\x00\xff')
        self.assertEqual(self.kv('get', '--key-as', 'hex', '00ff'), b'v')
        self.assertEqual(self.kv('get', '--key-as', 'base64', 'AP8='), b'v')
        self.kv('put', 'h', '0001FF', '--value-as', 'hex')
        self.assertEqual(self.kv('get', 'h'), b'\x00\x01\xff')
        self.assertEqual(self.kv('get', 'h', '--hex'), b'0001ff\n')
        self.assertEqual(self.kv('get', 'h', '--base64'), b'AAH/\n')
        self.assertEqual(json.loads(self.kv('get', 'h', '--json'))['value64'], 'AAH/')

    def test_key_and_value_of_length_zero(self):
        self.kv('put', '', '')
        self.assertEqual(self.kv('get', ''), b'')
        self.assertEqual(self.records(), {b'': b''})

    def test_key_limit(self):
        self.kv('put', '-', 'v', stdin=b'k' * 65536)
        self.refused('kv', self.store, 'put', '-', 'v', stdin=b'k' * 65537, says=('KEY of 65537 bytes', '65536'))

    def test_list(self):
        for number in range(20):
            self.kv('put', f'user:{number}', f'v\t{number}\n')
        self.kv('put', 'other', 'x')
        lines = self.kv('list').decode().splitlines()
        self.assertEqual(len(lines), 21)
        self.assertIn('user:7\tv\\t7\\n', lines)
        self.assertEqual(len(self.kv('list', '--prefix', 'user:', '--limit', '5').splitlines()), 5)
        keys = self.kv('list', '--keys-only', '--prefix', 'user:').decode().split()
        self.assertEqual(sorted(keys), sorted(f'user:{number}' for number in range(20)))
        self.assertEqual(self.kv('list', '--hex', '--prefix', 'other'), b'6f74686572\t78\n')

    def test_stats_verify_reclaim(self):
        for _ in range(3):
            self.kv('put', 'k', 'v' * 1000)
        stats = json.loads(self.kv('stats', '--json'))
        self.assertEqual(stats['records'], 1)
        self.assertGreaterEqual(stats['live_bytes'], 1001)
        self.assertGreaterEqual(stats['medium_bytes'], stats['used_bytes'])
        self.assertEqual(stats['region']['kind'], 'directory')
        self.assertIn(b'records', self.kv('stats'))
        report = json.loads(self.kv('verify', '--json'))
        self.assertEqual((report['ok'], report['defects_total']), (True, 0))
        self.assertIn(b'sound', self.kv('verify'))
        answer = json.loads(self.kv('reclaim', '--json'))
        self.assertLessEqual(answer['used_bytes_after'], answer['used_bytes_before'])
        self.assertEqual(self.kv('get', 'k'), b'v' * 1000)

    def test_many_commands_of_one_record_do_not_pile_up_blocks(self):
        for number in range(60):
            self.kv('put', f'k{number % 7}', str(number))
        stats = json.loads(self.kv('stats', '--json'))
        self.assertEqual(stats['records'], 7)
        self.assertLess(stats['used_bytes'], 10 << 20)
        self.assertEqual(self.kv('get', 'k3'), b'59')

    def test_reading_writes_nothing(self):
        self.kv('put', 'k', 'v')
        content = lambda: {str(path): (path.stat().st_mtime_ns, path.read_bytes())
                           for path in sorted(pathlib.Path(self.store).rglob('*')) if path.is_file()}
        before = content()
        for words in (('get', 'k'), ('list',), ('count',), ('export', '-'), ('stats',), ('verify',)):
            self.kv(*words)
        self.assertTrue(before == content(), 'a read verb changed the store')


class Requests(Command):
    def test_help_and_version(self):
        for words in ((), ('kv',), ('tour',), ('kv', self.store, 'import')):
            text = self.holdfast(*words, '--help').decode()
            self.assertIn('Example', text)
        for verb in 'put get erase list count import export stats verify reclaim'.split():
            self.assertIn(f'holdfast kv STORE {verb}', self.holdfast('kv', 's', verb, '--help').decode())
        self.assertRegex(self.holdfast('--version').decode(), r'^holdfast \d+\.\d+\.\d+\n')
        self.assertFalse(os.path.exists(self.store))

    def test_mistyped_words_are_answered_with_the_word_meant(self):
        self.refused('kvv', says="did you mean 'kv'")
        self.refused('kv', self.store, 'putt', 'a', 'b', says="did you mean 'put'")
        self.refused('kv', self.store, 'gte', 'a', says="did you mean 'get'")
        self.refused('kv', 'lsit', says="did you mean 'list'")
        self.refused('kv', self.store, 'list', '--prefiks', 'a', says="did you mean '--prefix'")
        self.refused('kv', self.store, 'import', '--on-error', 'stopp', says='stop|skip')

    def test_missing_and_superfluous_words(self):
        self.assertNotIn('tour-child', self.refused(says='a verb is missing'))
        self.refused('kv', self.store, says=('a verb is missing', 'put append merge get erase'))
        self.refused('kv', 'put', 'a', 'b', says='STORE is missing')
        self.refused('kv', self.store, 'get', says='KEY is required')
        self.refused('kv', self.store, 'put', 'a', 'b', 'c', says="'c' is not understood")
        self.refused('kv', self.store, 'put', '-', '-', says='only one of them')
        self.refused('kv', self.store, 'list', '--limit', 'many', says=('--limit', 'many'))
        self.refused('kv', self.store, 'get', 'k', '--hex', '--base64', says='--base64')
        self.refused('kv', '', 'get', 'k', says='STORE is missing')
        self.assertFalse(os.path.exists(self.store), 'a wrong request made a store')

    def test_wrong_encodings(self):
        self.refused('kv', self.store, 'put', '--key-as', 'hex', '0g', 'v', says="'g' at position 2")
        self.refused('kv', self.store, 'put', '--key-as', 'base64', 'A', 'v', says='multiple of 4')
        self.refused('kv', self.store, 'put', '--key-as', 'octal', '0', 'v', says='text|hex|base64')

    def test_memory_that_ends_with_the_command_is_no_store(self):
        for spec in ('dram', 'node:0', 'dram?huge=2M'):
            self.refused('kv', spec, 'put', 'k', 'v', says='ends with this command')

    def test_wrong_specs(self):
        self.refused('kv', self.store + '?granularity=lines', 'put', 'k', 'v', says=('granularity', 'lines'))
        self.refused('kv', self.store + '?colour=red', 'put', 'k', 'v', says='colour')
        self.assertFalse(os.path.exists(self.store))

    def test_output_that_does_not_get_out_is_a_failure(self):
        self.kv('put', 'k', 'v' * 100)
        for words in (('get', 'k'), ('list',), ('count',), ('export', '-'), ('stats', '--json')):
            with open('/dev/full', 'wb') as full:
                result = subprocess.run([HOLDFAST, 'kv', self.store, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(b'No space left', result.stderr)

    def test_reader_that_goes_away_is_none(self):
        self.kv('import', '-', stdin=b''.join(b'{"key":"%d","value":"%0200d"}\n' % (i, i) for i in range(5000)))
        process = subprocess.Popen([HOLDFAST, 'kv', self.store, 'list'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        message = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(), message), (0, b''))


class Scans(Command):
    def test_records_come_in_order_from_any_store(self):
        self.kv('script', stdin=b''.join(b'put k%d %d\n' % (i * 7 % 30, i * 7 % 30) for i in range(30)))
        keys = sorted(b'k%d' % i for i in range(30))
        scan = lambda *words: [line.split(b'\t')[0] for line in self.kv('scan', *words).splitlines()]
        self.assertEqual(scan(), keys)
        self.assertEqual(scan('--reverse'), keys[::-1])
        self.assertEqual(scan('--from', 'k11', '--to', 'k3'), [key for key in keys if b'k11' <= key < b'k3'])
        self.assertEqual(scan('--from', 'k11', '--to', 'k3', '--reverse'),
                         [key for key in keys if b'k11' <= key < b'k3'][::-1])
        self.assertEqual(scan('--prefix', 'k2'), [key for key in keys if key.startswith(b'k2')])
        self.assertEqual(scan('--prefix', 'k2', '--reverse', '--limit', '2'), [b'k29', b'k28'])
        self.assertEqual(scan('--prefix', 'k2', '--to', 'k25', '--from', 'k21', '--reverse'),
                         [b'k24', b'k23', b'k22', b'k21'])
        self.assertEqual(scan('--from', 'x'), [])
        self.assertEqual(self.kv('scan', '--limit', '1'), b'k0\t0\n')
        self.assertEqual(json.loads(self.kv('scan', '--limit', '1', '--json')), {'key': 'k0', 'value': '0'})
        self.assertIn('30 keys in order', self.run_command('kv', self.store, 'scan').stderr.decode())

    def test_bounds_that_hold_no_key_are_refused(self):
        self.kv('put', 'b', '1')
        self.refused('kv', self.store, 'scan', '--from', 'c', '--to', 'a', says=("'c'", "'a'", '--reverse'))
        self.refused('kv', self.store, 'scan', '--from', 'b', '--to', 'b', '--reverse', says='no key lies between')

    def test_an_empty_end_is_refused_as_erase_range_refuses_it(self):
        """It meant no end: with a variable that is not set, `--to "$END"` printed all keys."""
        self.kv('put', 'b', '1')
        for words in (['--to', ''], ['--from', 'a', '--to', ''], ['--to', '', '--reverse'], ['--to', '', '--key-as', 'hex']):
            self.refused('kv', self.store, 'scan', *words, says=('no key lies between', 'Leave --to out'))
        self.assertEqual(self.kv('scan', '--from', ''), b'b\t1\n')

    def test_a_keyspace_is_scanned_alone(self):
        self.kv('create-space', 'users')
        self.kv('put', 'eve', 'of the store')
        self.kv('--space', 'users', 'script', stdin=b'put bob 2\nput ada 1\nput cyd 3\n')
        scan = lambda *words: self.kv('--space', 'users', 'scan', *words)
        self.assertEqual(scan(), b'ada\t1\nbob\t2\ncyd\t3\n')
        self.assertEqual(scan('--reverse', '--limit', '2', '--keys-only'), b'cyd\nbob\n')
        self.assertEqual(scan('--from', 'b', '--to', 'c', '--keys-only'), b'bob\n')
        self.refused('kv', self.store, '--space', 'nobody', 'scan', code=1, says='no keyspace')

    def test_whole_lists_come_in_order_where_that_is_asked(self):
        keys = [b'k%02d' % (i * 7 % 30) for i in range(30)]
        listed = self.kv('--ordered', 'script', stdin=b''.join(b'put %s 1\n' % key for key in keys) + b'list k1\n')
        self.assertEqual(listed, b''.join(b'k1%d\t1\n' % i for i in range(10)))
        self.assertEqual(self.kv('--ordered', 'list', '--keys-only').split(), sorted(keys))
        exported = self.kv('--ordered', 'export', '-').splitlines()
        self.assertEqual([json.loads(line)['key'].encode() for line in exported], sorted(keys))
        self.refused('kv', self.store, '--ordered', 'put', 'a', '1', says='--ordered does not go')


class Mem(Command):
    def regions(self, *specs):
        document = json.loads(self.holdfast('mem', '--json', *specs))
        self.assertEqual(document['schema'], 'holdfast.mem/1')
        return document['regions']

    def test_machine_agrees_with_what_linux_says_of_it(self):
        document = json.loads(self.holdfast('mem', '--json'))
        with open('/proc/cpuinfo') as file:
            flags = next(line.split() for line in file if line.startswith('flags'))
        cpu = document['cpu']
        for flag, name in (('clwb', 'clwb'), ('clflushopt', 'clflushopt'), ('clflush', 'clflush'), ('avx2', 'avx2')):
            self.assertEqual(cpu[name], flag in flags, name)
        strongest = next((name for name in ('clwb', 'clflushopt', 'clflush') if cpu[name]), 'none')
        self.assertEqual(cpu['write_back'], strongest)
        self.assertIn(cpu['vendor'], cpu['nt_evicts_source'])
        topology = document['topology']
        self.assertEqual(topology['cpus'], os.cpu_count())
        nodes = sorted(name for name in os.listdir('/sys/devices/system/node') if name[4:].isdigit())
        self.assertEqual(len(topology['nodes']), len(nodes))
        text = self.holdfast('mem').decode()
        for piece in ('CPU', 'Caches', 'Nodes', 'Huge pages', 'Persistent and CXL memory', cpu['write_back']):
            self.assertIn(piece, text)

    def test_region_says_what_survives_and_how_that_is_known(self):
        dram, assumed = self.regions('dram', 'dram?granularity=line')
        self.assertEqual((dram['kind'], dram['granularity'], dram['durability']), ('dram', 'none', 'no power durability'))
        self.assertEqual(assumed['granularity'], 'line')
        self.assertIn('assumed', assumed['granularity_source'])
        self.assertIn('assumed', assumed['durability'])
        text = self.holdfast('mem', 'dram?granularity=line').decode()
        self.assertIn('as assumed, not as found', text)

    def test_looking_at_a_place_changes_nothing(self):
        self.kv('put', 'ada', 'lovelace')
        before = self.contents()
        self.regions(self.store, self.directory)
        self.assertEqual(self.contents(), before)

    def test_a_sound_store_of_several_files_is_not_called_damaged(self):
        big = b'x' * 1000000
        self.kv('import', '--format', 'jsonl', '-',
                stdin=b''.join(b'{"key": "%d", "value": "%s"}\n' % (i, big) for i in range(40)))
        files = sorted(pathlib.Path(self.store).glob('segment-*'))
        self.assertGreater(files[0].stat().st_size, files[-1].stat().st_size)  # The last one is short.
        self.assertEqual(self.regions(self.store)[0]['damage'], [])

    def test_large_pages_over_several_nodes_are_tried_in_whole_pages(self):
        region, = self.regions('node:0,0?huge=1G')
        self.assertEqual(region['kind'], 'node')

    def test_a_link_that_leads_nowhere_is_named(self):
        link = os.path.join(self.directory, 'link')
        os.symlink('/there/is/nothing', link)
        for words in (('mem', link), ('kv', link, 'put', 'a', 'b')):
            self.refused(*words, code=1, says=('is a symbolic link to /there/is/nothing, which does not exist',))

    def contents(self):
        return {path: path.read_bytes() for path in pathlib.Path(self.directory).rglob('*') if path.is_file()}

    def test_wrong_specs_name_what_is_allowed(self):
        self.refused('mem', 'dram?huge=3M', says=('huge=3M', '2M, 1G, off'))
        self.refused('mem', 'node:999', says=('node:999', 'there is no NUMA node 999; here are'))
        self.refused('mem', '/there/is/nothing', code=1, says=('not found', '/there/is/nothing'))


class Tour(Command):
    def test_small_tour_holds_and_leaves_nothing(self):
        text = subprocess.run([sys.executable, MAKE_STANZAS, '4000'], capture_output=True, check=True).stdout
        words = ('tour', '--no-compare', '--kills', '3', '--seed', '42', '--dir', self.directory, '--input',
                 self.path('stanzas', text))
        output = self.holdfast(*words).decode()
        self.assertIn('seed 42', output)
        self.assertIn('Everything held: 3 kills', output)
        self.assertIn('power loss', output)
        self.assertEqual(os.listdir(self.directory), ['stanzas'])
        self.holdfast(*words, '--keep')
        kept = [name for name in os.listdir(self.directory) if name.startswith('holdfast-tour-')]
        self.assertEqual(len(kept), 1)
        self.assertEqual(self.holdfast('kv', os.path.join(self.directory, kept[0], 'store'), 'count'), b'4000\n')

    def test_wrong_requests(self):
        self.refused('tour', '--dir', self.path('none'), says='--dir')
        self.refused('tour', '--kills', '0', says='--kills')
        result = self.run_command('tour', '--input', self.path('few', b'Package: a\n'), '--dir', self.directory)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'a tour needs', result.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
