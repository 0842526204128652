"""The command on stores: what there is to see of them, keyspaces, marks and backups.

    store_command_test.py HOLDFAST [unittest arguments]
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import time
import unittest

from commands import Command, HOLDFAST


class Stores(Command):
    def test_no_store_there(self):
        for words in (('get', 'k'), ('erase', 'k'), ('list',), ('count',), ('export', '-'), ('stats',), ('verify',), ('reclaim',)):
            self.refused('kv', self.store, *words, code=1, says=('not found', self.store))
        self.assertFalse(os.path.exists(self.store))

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


if __name__ == '__main__':
    unittest.main(verbosity=2)
