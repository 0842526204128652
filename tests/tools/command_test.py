"""The command as a person or a script uses it: results, exit codes, and errors that teach.

    command_test.py HOLDFAST [unittest arguments]

Every case runs the real command on real stores in a scratch directory below the current one. Exit codes:
0 done, 1 the work failed, 2 the request was wrong.
"""
import fcntl
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))
MAKE_STANZAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'make_stanzas.py')


class Command(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='command-test-', dir='.')
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.store = os.path.join(self.directory, 'store')

    def path(self, name, content=None):
        path = os.path.join(self.directory, name)
        if content is not None:
            pathlib.Path(path).write_bytes(content)
        return path

    def run_command(self, *words, stdin=b''):
        return subprocess.run([HOLDFAST, *words], input=stdin, capture_output=True, timeout=300)

    def holdfast(self, *words, stdin=b'', code=0):
        """Runs the command, expects the exit code, returns its standard output."""
        result = self.run_command(*words, stdin=stdin)
        self.assertEqual(result.returncode, code, f'{words}\n{result.stdout!r}\n{result.stderr.decode()}')
        return result.stdout

    def wait_until_read(self, process):
        """Returns when what was written to the command's standard input is no longer in the pipe."""
        deadline = time.monotonic() + 60
        while fcntl.ioctl(process.stdin, termios.FIONREAD, b'0000') != b'\0\0\0\0':
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def kv(self, *words, **options):
        return self.holdfast('kv', self.store, *words, **options)

    def refused(self, *words, code=2, says=(), stdin=b''):
        """Expects the exit code and every piece of text in the message; nothing on standard output."""
        result = self.run_command(*words, stdin=stdin)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, code, f'{words}\n{message}')
        self.assertEqual(result.stdout, b'')
        for piece in [says] if isinstance(says, str) else says:
            self.assertIn(piece, message)
        return message

    def records(self):
        """All records by key, both as bytes, through --json."""
        import base64
        found = {}
        for line in self.kv('list', '--json').splitlines():
            member = json.loads(line)
            part = lambda name: (base64.b64decode(member[name + '64']) if name + '64' in member
                                 else member[name].encode())
            found[part('key')] = part('value')
        return found


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


class Marks(Command):
    def test_a_store_is_looked_at_and_set_back(self):
        self.kv('put', 'ada', 'lovelace')
        self.refused('kv', self.store, '--at-mark', 'get', 'ada', code=1, says='has no mark')
        self.refused('kv', self.store, 'rewind', code=1, says='has no mark')
        self.refused('kv', self.store, 'mark', '--drop', code=1, says='no mark')
        self.assertIn(b'1 record', self.kv('mark'))
        self.kv('put', 'ada', 'later')
        self.kv('put', 'bob', 'kahn')
        self.assertEqual(self.kv('--at-mark', 'get', 'ada'), b'lovelace')
        self.assertEqual(self.kv('--at-mark', 'scan', '--keys-only'), b'ada\n')
        self.assertEqual(self.kv('count'), b'2\n')
        self.refused('kv', self.store, '--at-mark', 'put', 'eve', '1', code=2, says='--at-mark does not go')
        self.assertGreater(json.loads(self.kv('stats', '--json'))['mark_version'], 0)
        self.assertIn(b'back at version', self.kv('rewind'))
        self.assertEqual(self.kv('list'), b'ada\tlovelace\n')
        self.kv('put', 'eve', '1')
        self.assertEqual(json.loads(self.kv('rewind', '--json'))['records'], 1)
        self.kv('mark', '--drop')
        self.refused('kv', self.store, 'rewind', code=1, says='has no mark')


class Backups(Command):
    def test_a_backup_leads_back(self):
        backups, again, before = self.path('backups'), self.path('again'), self.path('before')
        self.kv('put', 'ada', 'lovelace')
        first = json.loads(self.kv('backup', backups, '--json'))
        self.assertEqual((first['backup'], first['runs'], first['copied_runs']), (1, 1, 1))
        self.kv('put', 'bob', 'kahn')
        self.assertIn(b'backup 2 of 2 runs', self.kv('backup', backups))
        self.assertEqual(len(self.holdfast('kv', 'backup', '--list', backups).splitlines()), 2)
        self.assertIn(b'sound: 2 backups', self.holdfast('kv', 'backup', '--verify', backups))
        self.assertIn(b'2 records', self.holdfast('kv', 'restore', backups, again))
        self.assertEqual(self.holdfast('kv', again, 'scan', '--keys-only'), b'ada\nbob\n')
        self.assertEqual(json.loads(self.holdfast('kv', 'restore', backups, before, '--backup', '1', '--json'))['records'], 1)
        self.kv('put', 'eve', '1')
        self.assertIn(b'removed 1 backup', self.kv('backup', backups, '--keep', '2'))
        # Beside a list that is damaged the others are shown.
        with open(os.path.join(backups, 'backup-00000002'), 'r+b') as file:
            file.seek(100)
            file.write(b'damage')
        lines = self.holdfast('kv', 'backup', '--list', backups, code=1).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn(b'2\tdamage: ', lines[0])
        self.assertIn(b'3 runs', lines[1])

    def test_what_is_wrong_is_said(self):
        backups, again = self.path('backups'), self.path('again')
        self.refused('kv', 'backup', '--list', backups, code=1, says=('not found', backups))
        self.refused('kv', 'backup', backups, code=2, says='STORE is missing')
        self.kv('put', 'ada', 'lovelace')
        self.kv('backup', backups)
        self.refused('kv', 'restore', backups, self.store, code=1, says='already exists')
        self.refused('kv', 'restore', backups, again, '--backup', '7', code=1, says='no backup 7')
        self.holdfast('kv', self.path('other'), 'put', 'a', '1')
        self.refused('kv', self.path('other'), 'backup', backups, code=1, says='another store')
        self.refused('kv', self.store, 'backup', self.path('no/such'), code=1, says=('no/such', 'mkdir -p'))
        for inside in (self.store, self.store + '/backups', self.store + '/../' + os.path.basename(self.store) + '/b'):
            self.refused('kv', self.store, 'backup', inside, code=2, says='would go with it')
        self.refused('kv', self.store, 'backup', '', code=2, says='DIR is empty')
        self.refused('kv', 'restore', backups, backups, code=2, says='which is for backups')
        self.refused('kv', 'restore', backups, self.path('other/below'), code=2, says='which holds a region')
        self.assertFalse(os.path.exists(self.path('other/below')))
        runs = pathlib.Path(backups, 'runs-00000001-000')
        whole = runs.read_bytes()
        runs.write_bytes(whole[:70] + bytes([whole[70] ^ 1]) + whole[71:])
        self.assertIn(b'damage', self.holdfast('kv', 'backup', '--verify', backups, code=1))
        self.refused('kv', 'restore', backups, again, code=1, says=('runs-00000001-000', '--verify'))
        self.assertEqual(self.kv('get', 'ada'), b'lovelace')
        runs.unlink()
        self.refused('kv', 'restore', backups, self.path('once more'), code=1, says='remove it before the next try')


    def test_a_damaged_list_says_which_file_stands_in_the_way(self):
        backups, again = self.path('backups'), self.path('again')
        for number in range(2):
            self.kv('put', 'ada', str(number))
            self.kv('backup', backups)
        damaged = pathlib.Path(backups, 'backup-00000002')
        damaged.write_bytes(b'damage' + damaged.read_bytes()[6:])
        self.refused('kv', self.store, 'backup', backups, code=1, says=(str(damaged), 'move this file elsewhere'))
        self.holdfast('kv', 'restore', backups, again, '--backup', '1')
        damaged.rename(self.path('lost'))
        self.assertIn(b'backup 2 of 2 runs', self.kv('backup', backups))
        self.assertIn(b'sound: 2 backups', self.holdfast('kv', 'backup', '--verify', backups))


    def test_of_two_restores_at_once_one_is_refused_and_blames_nobody(self):
        """What was there is the store of the other one, not what this one has begun."""
        backups = self.path('backups')
        self.kv('put', 'ada', 'lovelace')
        self.kv('backup', backups)
        for number in range(5):
            new = self.path(f'new {number}')
            running = [subprocess.Popen([HOLDFAST, 'kv', 'restore', backups, new], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                       for _ in range(4)]
            messages = [process.communicate()[1].decode() for process in running]
            self.assertEqual(sorted(process.returncode for process in running), [0, 1, 1, 1], messages)
            for message in filter(None, messages):
                self.assertNotIn('holds no store', message)
                self.assertNotIn(f'{backups}: ', message)  # It is about NEW.
            self.assertEqual(self.holdfast('kv', new, 'get', 'ada'), b'lovelace')


class Keyspaces(Command):
    def test_a_space_has_keys_of_its_own(self):
        self.kv('put', 'ada', 'the store\'s')
        self.assertIn(b'created', self.kv('create-space', 'users'))
        self.assertIn(b'inserted', self.kv('--space', 'users', 'put', 'ada', 'lovelace'))
        self.assertEqual(self.kv('--space', 'users', 'get', 'ada'), b'lovelace')
        self.assertEqual(self.kv('get', 'ada'), b'the store\'s')
        self.assertEqual(self.kv('--space', 'users', 'list'), b'ada\tlovelace\n')
        self.assertEqual(self.kv('--space', 'users', 'count'), b'1\n')
        self.assertIn(b'sound: 1 record', self.kv('--space', 'users', 'verify'))
        self.assertEqual(self.kv('spaces').split(b'\t')[:2], [b'users', b'1 record'])
        self.assertEqual(json.loads(self.kv('spaces', '--json'))['space'], 'users')
        of_space = json.loads(self.kv('--space', 'users', 'stats', '--json'))
        self.assertEqual((of_space['space'], of_space['records']), ('users', 1))
        self.assertRegex(self.kv('--space', 'users', 'stats'), rb'records +1\n')
        self.kv('--space', 'users', 'import', '-', stdin=b'{"key":"bob","value":"1912"}\n')
        self.assertEqual(self.kv('--space', 'users', 'script', stdin=b'put eve 1\nget bob\ncount\n'), b'1912\n3\n')
        exported = self.kv('--space', 'users', 'export', '-')
        self.assertEqual(sorted(json.loads(line)['key'] for line in exported.splitlines()), ['ada', 'bob', 'eve'])
        self.assertEqual(self.kv('count'), b'1\n')
        self.assertIn(b'erased', self.kv('--space', 'users', 'erase', 'ada'))
        self.kv('--space', 'users', 'get', 'ada', code=1)
        self.assertIn(b'dropped', self.kv('drop-space', 'users'))
        self.assertEqual(self.kv('spaces'), b'')
        self.assertEqual(self.kv('get', 'ada'), b'the store\'s')
        self.assertIn(b'sound', self.kv('verify'))

    def test_expiry(self):
        self.assertIn(b'added', self.kv('expire', '--prefix', 's:', '--ttl', '5', '--width', '4'))
        self.kv('put', 's:1', '\x01\x01\x01\x01x')
        self.kv('put', 'other', '\x01\x01\x01\x01x')
        self.assertEqual(self.kv('expiry'), b'clock 0\ns:\toffset 0\twidth 4\tlittle-endian\tttl 5\n')
        self.kv('clock', str(0x01010101 + 4))
        self.assertEqual(self.kv('count'), b'2\n')
        self.kv('clock', str(0x01010101 + 5))
        self.kv('get', 's:1', code=1)
        self.assertEqual(self.kv('count'), b'1\n')
        self.assertEqual(self.kv('list', '--keys-only'), b'other\n')
        lines = [json.loads(line) for line in self.kv('expiry', '--json').splitlines()]
        self.assertEqual(lines[0]['clock'], 0x01010106)
        self.assertEqual(lines[1]['prefix'], 's:')
        self.refused('kv', self.store, 'clock', '5', says='never runs backwards')
        self.refused('kv', self.store, 'expire', '--ttl', '1', '--width', '3', says='4 and 8 are allowed')
        self.refused('kv', self.store, 'expire', '--ttl', '6', '--prefix', 's:', code=1, says='ttl=5')
        self.kv('create-space', 'timed')
        self.kv('--space', 'timed', 'expire', '--ttl', '0')
        self.kv('--space', 'timed', 'put', 'a', '\x01' + 7 * '\x02')
        self.assertEqual(self.kv('--space', 'timed', 'count'), b'1\n')
        self.refused('kv', self.store, '--space', 'timed', 'clock', '9', says='--space does not go')

    def test_a_missing_space_makes_no_store(self):
        for words, stdin in ((('put', 'ada', 'x'), b''), (('import', '-'), b'{}'), (('script',), b'put ada x\n')):
            self.refused('kv', self.store, '--space', 'users', *words, stdin=stdin, code=1, says='not found')
            self.assertFalse(os.path.exists(self.store), words)

    def test_what_is_wrong_is_said(self):
        self.kv('put', 'ada', 'lovelace')
        self.refused('kv', self.store, '--space', 'users', 'get', 'ada', code=1,
                     says=("no keyspace 'users'", 'create-space'))
        self.refused('kv', self.store, 'drop-space', 'users', code=1, says="no keyspace 'users'")
        self.refused('kv', self.store, '--space', 'users', 'reclaim', says='--space does not go')
        self.refused('kv', self.store, '--space', 'users', 'stats', '--prometheus', says='--prometheus does not go')
        self.refused('kv', self.store, '--space', 'users', 'stats', says='no keyspace', code=1)
        self.kv('create-space', 'users')
        self.refused('kv', self.store, 'create-space', 'users', code=1, says="'users'")
        self.refused('kv', self.store, 'create-space', 'x' * 256, says='255')


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


class Stores(Command):
    def test_no_store_there(self):
        for words in (('get', 'k'), ('erase', 'k'), ('list',), ('count',), ('export', '-'), ('stats',), ('verify',), ('reclaim',)):
            self.refused('kv', self.store, *words, code=1, says=('not found', self.store))
        self.assertFalse(os.path.exists(self.store))

    def test_not_a_store(self):
        text = self.path('text', b'this is no store, but a text of more than a page\n' * 5000)
        for words in (('get', 'k'), ('put', 'k', 'v'), ('verify',)):
            self.refused('kv', text, *words, code=1, says=text)
        self.assertEqual(pathlib.Path(text).read_bytes()[:16], b'this is no store')
        directory = self.path('directory')
        os.mkdir(directory)
        pathlib.Path(directory, 'letter.txt').write_text('dear ada')
        for words in (('get', 'k'), ('put', 'k', 'v')):
            self.refused('kv', directory, *words, code=1, says=directory)
        self.assertEqual(os.listdir(directory), ['letter.txt'])

    def test_parent_that_is_missing_or_a_file(self):
        self.refused('kv', self.path('no/such/place'), 'put', 'k', 'v', code=1, says='no/such/place')
        self.path('file', b'x')
        self.refused('kv', self.path('file/store'), 'put', 'k', 'v', code=1, says='file')

    def test_store_in_use_names_the_pid_and_readers_share(self):
        self.kv('put', 'k', 'v')
        writer = subprocess.Popen([HOLDFAST, 'kv', self.store, 'import', '-', '--format', 'jsonl'], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        try:
            # Asking the store instead could keep the writer out: a reader's lock stands in its way.
            deadline = time.monotonic() + 30
            while not re.search(rf'FLOCK .* WRITE {writer.pid} ', pathlib.Path('/proc/locks').read_text()):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            for words in (('get', 'k'), ('put', 'k', 'w'), ('verify',)):
                self.refused('kv', self.store, *words, code=1, says=('busy', str(writer.pid), 'try again'))
        finally:
            writer.communicate(b'')
        self.assertEqual(self.kv('get', 'k'), b'v')

        # A reader that waits in the middle of its output, its pipe being full.
        self.kv('import', '-', stdin=b''.join(b'{"key":"%d","value":"%0200d"}\n' % (i, i) for i in range(5000)))
        reader = subprocess.Popen([HOLDFAST, 'kv', self.store, 'list'], stdout=subprocess.PIPE)
        try:
            reader.stdout.readline()
            self.assertEqual(self.kv('get', 'k'), b'v')
            self.assertEqual(self.kv('count'), b'5001\n')
            self.refused('kv', self.store, 'put', 'k', 'w', code=1, says='busy')
        finally:
            reader.stdout.read()
            reader.stdout.close()
            self.assertEqual(reader.wait(), 0)

    def test_a_value_with_a_flipped_bit_is_named_and_never_shown(self):
        value = '0123456789' * 10
        self.kv('put', 'ada', value)
        self.kv('put', 'bob', 'sound')
        for path in pathlib.Path(self.store).iterdir():
            data = bytearray(path.read_bytes())
            at = data.find(value.encode())
            if at >= 0:
                data[at + 50] ^= 0x40
                path.write_bytes(data)
        for words in (('get', 'ada'), ('list',), ('export', '-'), ('verify',)):
            result = self.run_command('kv', self.store, *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertNotIn(b'0123456789p', result.stdout, words)
            said = result.stderr + result.stdout
            self.assertTrue(b'checksum' in said or b'damage' in said or b'sound' in said, f'{words}: {said}')
        self.assertEqual(self.kv('get', 'bob'), b'sound')

    def test_damaged_files_are_refused_or_named_and_never_crash_the_command(self):
        source = random.Random(20260101)
        self.kv('import', '-', stdin=b''.join(b'{"key":"key%d","value":"%0100d"}\n' % (i, i) for i in range(2000)))
        intact = {f'key{i}'.encode(): b'%0100d' % i for i in range(2000)}
        files = sorted(path.name for path in pathlib.Path(self.store).iterdir() if path.is_file())
        self.assertTrue(files)
        used = max(json.loads(self.kv('stats', '--json'))['used_bytes'], 4096)

        def truncate(data): del data[source.randrange(len(data)):]
        def empty(data): del data[:]
        def zero_head(data): data[:4096] = bytes(len(data[:4096]))
        def zero_page(data):
            at = source.randrange(0, used, 4096)
            data[at:at + 4096] = bytes(len(data[at:at + 4096]))
        def flip(data):
            for _ in range(8):
                data[source.randrange(min(used, len(data)))] ^= 1 << source.randrange(8)
        def swap_pages(data):
            a, b = source.randrange(0, used, 4096), source.randrange(0, used, 4096)
            data[a:a + 4096], data[b:b + 4096] = data[b:b + 4096], data[a:a + 4096]
        def noise(data): data[:65536] = source.randbytes(len(data[:65536]))

        for damage in (truncate, empty, zero_head, zero_page, flip, flip, flip, swap_pages, noise):
            with self.subTest(damage.__name__):
                copy = self.path('damaged')
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(self.store, copy)
                victim = pathlib.Path(copy, source.choice(files))
                data = bytearray(victim.read_bytes())
                if data:
                    damage(data)
                victim.write_bytes(data)
                before = victim.read_bytes()
                for words in (('verify',), ('count',), ('list', '--json'), ('get', 'key7'), ('stats',), ('export', '-')):
                    result = self.run_command('kv', copy, *words)
                    self.assertIn(result.returncode, (0, 1), f'{words}: {result.stderr.decode()}')
                    if result.returncode == 1:
                        self.assertTrue(result.stderr or words == ('verify',), f'{words} failed without a word')
                    if words[0] == 'list':
                        for line in result.stdout.splitlines():
                            member = json.loads(line)
                            if 'error' in member:  # With --json the failure is a line, too.
                                continue
                            self.assertEqual(intact.get(member['key'].encode()), member['value'].encode(), 'a value nobody put')
                    if words[0] == 'get' and result.returncode == 0:
                        self.assertEqual(result.stdout, intact[b'key7'])
                self.assertEqual(victim.read_bytes(), before, 'reading changed a damaged file')
                self.assertIn(self.run_command('kv', copy, 'put', 'k', 'v').returncode, (0, 1))

    def test_a_damaged_record_hides_no_other(self):
        """Export wrote nothing, and count a part of them with exit code 0."""
        for rule in (False, True):
            store = self.path(f'one_damaged_{rule}')
            self.run_command('kv', store, 'script', stdin=b''.join(b'put k%03d %s\n' % (i, b'v' * 200) for i in range(100)))
            if rule:
                self.holdfast('kv', store, 'expire', '--prefix', 'session:', '--ttl', '3600')
            segment = sorted(pathlib.Path(store).glob('segment-*'))[0]
            data = bytearray(segment.read_bytes())
            data[data.index(b'v' * 100, data.index(b'k050')) + 20] ^= 1
            segment.write_bytes(data)
            out = self.path('intact.csv')
            exported = self.run_command('kv', store, 'export', out)
            self.assertEqual(exported.returncode, 1)
            self.assertIn(b'exported 99 records', exported.stderr)
            self.assertEqual(len(pathlib.Path(out).read_text().splitlines()), 99)
            self.assertEqual(len(self.run_command('kv', store, 'list').stdout.splitlines()), 99)
            if rule:
                self.assertEqual(self.run_command('kv', store, 'count').returncode, 1)

    def test_no_space_is_said_and_reads_and_erases_go_on(self):
        mount = self.path('small')
        os.mkdir(mount)
        script = f'''
            mount -t tmpfs -o size=200m none {mount} || exit 99
            head -c 400000000 /dev/zero | tr '\\0' x | fold -w 100000 |
                awk '{{ printf "{{\\"key\\":\\"%d\\",\\"value\\":\\"%s\\"}}\\n", NR, $0 }}' |
                {HOLDFAST} kv {mount}/store import - >/dev/null
            echo "import $?"
            {HOLDFAST} kv {mount}/store get 1 | wc -c
            for i in 1 2 3 4 5 6 7 8 9 10; do {HOLDFAST} kv {mount}/store erase $i >/dev/null || echo "erase $?"; done
            {HOLDFAST} kv {mount}/store count >/dev/null; echo "count $?"
            {HOLDFAST} kv {mount}/store verify >/dev/null; echo "verify $?"
        '''
        result = subprocess.run(['unshare', '-rm', 'sh', '-c', script], capture_output=True, timeout=300)
        if result.returncode == 99 or b'unshare' in result.stderr:
            self.skipTest('no mount namespace to be had here')
        self.assertEqual(result.stdout.decode().split('\n')[:4], ['import 1', '100000', 'count 0', 'verify 0'], result.stderr.decode())
        message = result.stderr.decode()
        self.assertIn('no space', message)
        self.assertIn('they are in the store', message)


class Transfer(Command):
    def test_stats_as_text_for_prometheus(self):
        self.kv('put', 'ada', 'lovelace')
        text = self.kv('stats', '--prometheus').decode()
        self.assertIn('# HELP holdfast_store_records Live keys.\n# TYPE holdfast_store_records gauge\n'
                      f'holdfast_store_records{{store="{self.store}"}} 1\n', text)
        self.assertIn('# TYPE holdfast_store_fences_total counter\n', text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) holdfast_store_[a-z_]+ .+|holdfast_store_[a-z_]+\{store=".*"\} [0-9]+)$')
        both = self.run_command('kv', self.store, 'stats', '--prometheus', '--json')
        self.assertEqual(both.returncode, 2)
        self.assertIn('--prometheus', json.loads(both.stdout)['error']['message'])

    def test_json_lines_come_back(self):
        lines = [{'key': 'ada', 'value': 'lovelace'}, {'key': '', 'value': ''}, {'key': 'n\0l', 'value': '\n\t"\\é😀'}]
        source = b''.join(json.dumps(line).encode() + b'\n' for line in lines)
        source += b'{"key64":"AP8=","value64":"//79"}\n'
        self.assertIn(b'imported 4 records', self.kv('import', '-', stdin=source))
        exported = self.kv('export', '-')
        self.kv('import', self.path('again.jsonl', exported))
        self.assertEqual(self.records(), {b'ada': b'lovelace', b'': b'', b'n\0l': '\n\t"\\é😀'.encode(), b'\x00\xff': b'\xff\xfe\xfd'})

    def test_columns_come_back_plain_and_compressed(self):
        records = {b'ada': b'lovelace', b'': b'', b'a,"b"\t\r\n\\x41': b'\\x41\0\xff', b'\xef\xbb\xbf': b'=1+1'}
        for key, value in records.items():
            self.kv('put', '--key-as', 'hex', '--value-as', 'hex', key.hex(), value.hex())
        for name in ('all.csv', 'all.csv.gz', 'all.tsv', 'all.tsv.gz'):
            for header in ((), ('--header',)):
                self.kv('export', self.path(name), *header)
                content = pathlib.Path(self.path(name)).read_bytes()
                self.assertEqual(content.startswith(b'\x1f\x8b'), name.endswith('.gz'))
                if name.endswith('.gz'):
                    content = gzip.decompress(content)
                self.assertEqual(content.startswith(b'key'), bool(header))
                format = name[4:7]
                other = self.store + name + ''.join(header)
                self.holdfast('kv', other, 'import', self.path(name), *header)
                self.assertEqual(self.holdfast('kv', other, 'count'), b'4\n')
                for key, value in records.items():
                    self.assertEqual(self.holdfast('kv', other, 'get', '--key-as', 'hex', key.hex()), value)
                out = self.kv('export', '-', '--format', format, '--gzip', *header)
                self.assertEqual(gzip.decompress(out), content)

    def test_what_list_prints_is_tsv(self):
        self.kv('put', 'a\tb', 'c\nd\\')
        printed = self.kv('list')
        self.holdfast('kv', self.store + '2', 'import', '-', '--format', 'tsv', stdin=printed)
        self.assertEqual(self.holdfast('kv', self.store + '2', 'get', 'a\tb'), b'c\nd\\')

    def test_dumps_of_other_stores_are_told_by_how_they_begin(self):
        lmdb = b'VERSION=3\nformat=bytevalue\ntype=btree\nmapsize=1048576\nHEADER=END\n 61\n 00ff\nDATA=END\n'
        self.assertIn(b'imported 1 records', self.kv('import', '-', stdin=lmdb))
        self.assertIn(b'imported 1 records', self.kv('import', '-', stdin=b'0x62 ==> 0x00FF\nKeys in range: 1\n'))
        self.assertEqual(self.records(), {b'a': b'\0\xff', b'b': b'\0\xff'})
        result = self.run_command('kv', self.store, 'import', self.path('cut', lmdb[:-9]))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'cut, line 8: the end; DATA=END is missing', result.stderr)

    def test_bad_lines_of_columns_are_named_with_file_line_and_column(self):
        result = self.run_command('kv', self.store, 'import', self.path('bad.csv', b'a,b\n"c"x,d\ne,f\n'))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"bad.csv, line 2: column 4: 'x' behind a closing quote; allowed are a comma", result.stderr)
        self.assertEqual(self.records(), {b'a': b'b', b'e': b'f'})
        result = self.run_command('kv', self.store, 'import', '-', stdin=b'a,b\n')
        self.assertIn(b'add --format csv', result.stderr)

    def test_gzip_that_is_not_intact_is_told_with_its_place_and_what_came_before_stays(self):
        lines = b''.join(b'%d,%d\n' % (i, i * i) for i in range(100000))
        whole = gzip.compress(lines)
        self.assertIn(b'imported 100000 records'.replace(b'100000', b'100,000'),
                      self.kv('import', self.path('a.csv', whole)))  # By its first bytes, not its name.
        result = self.run_command('kv', self.store + '2', 'import', self.path('cut.csv.gz', whole[:-50]))
        self.assertEqual(result.returncode, 1)
        self.assertIn(f'cut.csv.gz: not intact gzip: it is cut short after byte {len(whole) - 50}'.encode(), result.stderr)
        self.assertGreater(int(self.holdfast('kv', self.store + '2', 'count')), 50000)
        damaged = whole[:1000] + bytes([whole[1000] ^ 0xff]) + whole[1001:]
        result = self.run_command('kv', self.store + '3', 'import', '--format', 'csv', '-', stdin=damaged)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'standard input: not intact gzip at byte', result.stderr)

    def test_what_is_skipped_is_counted_and_named_with_its_line(self):
        source = b'{"key":"a","value":"1"}\r\n\nnonsense\n{"key":"b"}\n{"key":"\xff","value":"x"}\n{"key":"c","value":"2"}'
        result = self.run_command('kv', self.store, 'import', '-', stdin=source)
        self.assertEqual(result.returncode, 1)
        message = result.stderr.decode()
        for piece in ('skipped line 3: not JSON', 'skipped line 4: no member "value"', 'skipped line 5: invalid UTF-8'):
            self.assertIn(piece, message)
        self.assertIn(b'imported 2 records', result.stdout)
        self.assertIn(b'skipped 3', result.stdout)
        self.assertEqual(self.records(), {b'a': b'1', b'c': b'2'})

    def test_on_error_stop_keeps_what_came_before(self):
        source = b'{"key":"a","value":"1"}\nnonsense\n{"key":"c","value":"2"}\n'
        answer = json.loads(self.kv('import', '-', '--on-error', 'stop', '--json', stdin=source, code=1))
        self.assertEqual((answer['imported'], answer['skipped'], answer['first_skipped'][0]['line']), (1, 1, 2))
        self.assertEqual(self.records(), {b'a': b'1'})

    def test_many_skipped_pieces_are_shown_in_part(self):
        result = self.run_command('kv', self.store, 'import', '-', '--show-skipped', '2', stdin=b'{bad\n' * 50)
        self.assertEqual(result.stderr.count(b'skipped line'), 2)
        self.assertIn(b'48 more', result.stderr)
        self.assertEqual(result.returncode, 1)

    def test_whole_objects(self):
        source = b'{"id": 1, "name": "ada"}\n{"id": "two", "tags": [1, {"a": null}]}\n{"name": "none"}\n'
        self.kv('import', '-', '--key', 'id', stdin=source, code=1)
        self.assertEqual(self.kv('get', '1'), b'{"id": 1, "name": "ada"}')
        exported = self.kv('export', '-', '--key', 'id').splitlines()
        self.assertEqual(sorted(exported), sorted(source.splitlines()[:2]))

    def test_stanzas_come_back_and_two_exports_agree(self):
        text = subprocess.run([sys.executable, MAKE_STANZAS, '3000'], capture_output=True, check=True).stdout
        key = ('--key', 'Package,Version')
        self.kv('import', self.path('stanzas', text), *key)
        self.assertEqual(self.kv('count'), b'3000\n')
        exported = self.path('exported')
        self.kv('export', exported, '--format', 'control', *key)
        split = lambda content: sorted(content.strip(b'\n').split(b'\n\n'))
        self.assertEqual(split(pathlib.Path(exported).read_bytes()), split(text))
        self.assertFalse(os.path.exists(exported + '.partial'))

    def test_export_of_what_does_not_fit_the_format_says_so(self):
        self.kv('put', 'plain', 'no stanza')
        result = self.run_command('kv', self.store, 'export', '-', '--format', 'control')
        self.assertEqual((result.returncode, result.stdout), (1, b''))
        self.assertIn(b"skipped record 'plain'", result.stderr)

    def test_line_of_100_megabytes(self):
        big = b'{"key":"big","value":"' + b'x' * 100_000_000 + b'"}\n{"key":"after","value":"1"}\n'
        self.kv('import', '-', stdin=big)
        self.assertEqual(len(self.kv('get', 'big')), 100_000_000)
        other = self.store + '2'
        result = self.run_command('kv', other, 'import', '-', '--max-record', '1MB', stdin=big)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'a line of more than 1048576 bytes; raise --max-record', result.stderr)
        self.assertEqual(self.holdfast('kv', other, 'get', 'after'), b'1')

    def test_empty_input_makes_an_empty_store(self):
        for source in (b'', b'\n\n \n'):
            self.assertIn(b'imported 0 records', self.kv('import', '-', stdin=source))
        self.assertEqual(self.kv('count'), b'0\n')

    def test_wrong_requests(self):
        self.refused('kv', self.store, 'import', self.path('none'), says=('none', 'No such file'))
        self.refused('kv', self.store, 'import', self.directory, says='is a directory')
        self.refused('kv', self.store, 'import', '-', '--format', 'jsonl', '--key', 'a,b', says='--key names 2 members')
        self.refused('kv', self.store, 'import', '-', '--header', says='--header is for csv and tsv')
        self.refused('kv', self.store, 'import', self.path('x.csv', b''), '--key', 'a', says="--key is 'a'; it is for JSON lines")
        self.refused('kv', self.store, 'import', '-', '--max-record', '1', says='--max-record is 1 bytes')
        for text in ('-5', '2 parsecs', '1e30'):
            self.refused('kv', self.store, 'import', '-', '--max-record', text,
                         says=('--max-record', f'"{text}"', '4096, 64M or 1.5GiB'))
        self.assertFalse(os.path.exists(self.store))
        self.kv('put', 'k', 'v')
        self.refused('kv', self.store, 'export', self.path('no/such/file'), says='no/such/file')

    def test_lines_are_counted_from_the_first_however_a_pipe_cuts_the_text(self):
        """Blank lines that came alone were not counted, and half of a byte order mark was a stanza's."""
        process = subprocess.Popen([HOLDFAST, 'kv', self.store, 'import', '-'], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for piece in (b'\n\n', b'\xef\xbb', b'\xbf', b'{"key":"a","value":"1"}\nnonsense\n'):
            process.stdin.write(piece)
            process.stdin.flush()
            self.wait_until_read(process)
        message = process.communicate()[1]
        self.assertEqual(process.returncode, 1)
        self.assertIn(b'skipped line 4: not JSON', message)
        self.assertEqual(self.records(), {b'a': b'1'})

    def test_interrupted_import_says_how_far_it_came_and_closes_the_store(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([HOLDFAST, 'kv', self.store, 'import', '-', '--json'], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.stdin.write(b''.join(b'{"key":"%d","value":"v"}\n' % i for i in range(20000)) + b'{"key":"half')
            process.stdin.flush()
            self.wait_until_read(process)
            process.send_signal(number)  # It waits for more, or is on its way there.
            out, message = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn(b'interrupted before the end of the input', message)
            answer = json.loads(out)
            self.assertEqual((answer['imported'], answer['records'], answer['skipped']), (20000, 20000, 0))
            self.assertIn(b'clean', self.kv('stats'))

    def test_an_export_does_not_take_the_place_of_the_store(self):
        file, link = self.path('file', b''), self.path('link')
        self.kv('put', 'k', 'v')
        self.holdfast('kv', file, 'put', 'k', 'v')
        os.symlink('store', link)
        for inside in (self.store + '/segment-000000', link + '/all.csv'):
            self.refused('kv', self.store, 'export', inside, code=2, says='is in the store')
        self.refused('kv', file, 'export', file, code=2, says='is in the store')
        self.assertEqual(self.kv('get', 'k'), b'v')
        self.assertEqual(self.holdfast('kv', file, 'get', 'k'), b'v')

    def test_two_exports_at_once_do_not_share_a_file(self):
        """One wrote into the partial file of the other, which then got the name."""
        self.kv('put', 'k', 'v')
        file, partial = self.path('all.jsonl'), self.path('all.jsonl.partial', b'of a killed export')
        with open(partial, 'r+b') as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.refused('kv', self.store, 'export', file, code=1, says=('all.jsonl.partial is in use by process', 'an export to the same file'))
            self.assertEqual(other.read(), b'of a killed export')
        self.kv('export', file)
        self.assertEqual(json.loads(pathlib.Path(file).read_bytes()), {'key': 'k', 'value': 'v'})
        self.assertFalse(os.path.exists(partial))

    def test_export_to_a_pipe_or_through_a_link_writes_there(self):
        """A pipe or device was replaced by a file, and so was a symbolic link."""
        self.kv('put', 'k', 'v')
        pipe, link, target = self.path('pipe'), self.path('link'), self.path('target', b'old')
        os.mkfifo(pipe)
        reader = subprocess.Popen(['cat', pipe], stdout=subprocess.PIPE)
        self.kv('export', pipe)
        self.assertEqual(json.loads(reader.communicate(timeout=60)[0]), {'key': 'k', 'value': 'v'})
        self.assertTrue(pathlib.Path(pipe).is_fifo())
        os.symlink('target', link)
        self.kv('export', link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(json.loads(pathlib.Path(target).read_bytes()), {'key': 'k', 'value': 'v'})

    def test_acknowledged_import_survives_a_kill(self):
        """Kills an import of endless input; what was counted before is there afterwards."""
        process = subprocess.Popen([HOLDFAST, 'kv', self.store, 'import', '-'], stdin=subprocess.PIPE)
        try:
            for number in range(20000):
                process.stdin.write(b'{"key":"%d","value":"%0100d"}\n' % (number, number))
            process.stdin.flush()
            self.wait_until_read(process)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdin.close()
        self.assertRegex(self.kv('verify'), rb'not closed when last written: [1-9][0-9,]* records? more in \d+ block')
        records = self.records()
        self.assertGreater(len(records), 1000)
        for key, value in records.items():
            self.assertEqual(value, b'%0100d' % int(key))
        self.assertIn(b'sound', self.kv('verify'))
        self.kv('put', 'afterwards', 'works')


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
