"""What the command line takes and what it answers: command_line_test.py HOLDFAST TYPED-STORE.

TYPED-STORE is the program that makes a store of fixed types (typed_store.cpp).
"""
import fcntl
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MAKE_STANZAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'make_stanzas.py')
HOLDFAST, TYPED_STORE = map(os.path.abspath, sys.argv[1:3])


class CommandLine(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix='command-line-test-', dir='.')
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name).resolve()
        self.store = str(self.place / 'store')

    def run_command(self, *words, code=0, stdin='', **options):
        done = subprocess.run([HOLDFAST, *map(str, words)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, cwd=self.place, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, f'{words}\n{done.stdout}\n{done.stderr}')
        return done

    def kv(self, *words, **options):
        return self.run_command('kv', self.store, *words, **options)


class TypedStores(CommandLine):
    def setUp(self):
        super().setUp()
        subprocess.run([TYPED_STORE, self.store], check=True)

    def test_every_verb_that_needs_no_types_works(self):
        self.assertEqual(self.kv('count').stdout, '100\n')
        self.assertIn('sound: 100 records', self.kv('verify').stdout)
        stats = self.kv('stats').stdout
        self.assertIn('fixed types', stats)
        self.assertEqual(json.loads(self.kv('stats', '--json').stdout)['records'], 100)
        self.kv('reclaim')
        self.assertEqual(self.kv('count').stdout, '100\n')

    def test_bytes_are_shown_as_hex_digits(self):
        records = dict(line.split('\t') for line in self.kv('list').stdout.splitlines())
        self.assertEqual(len(records), 100)
        self.assertEqual(records['0700000000000000'], '0700000000000000' + '3100000000000000')
        self.assertEqual(self.kv('get', '--key-as', 'hex', '0700000000000000').stdout.strip(), '07000000000000003100000000000000')
        self.assertIn('--key-as hex', self.kv('get', '7', code=1).stderr)

    def test_an_export_holds_every_record(self):
        lines = [json.loads(line) for line in self.kv('export', '-').stdout.splitlines()]
        self.assertEqual(len(lines), 100)
        self.assertEqual({tuple(sorted(line)) for line in lines}, {('key64', 'value64')})
        fields = [field for line in self.kv('export', '--format', 'csv').stdout.split() for field in line.split(',')]
        self.assertEqual((len(fields), {field[:2] for field in fields}), (200, {'\\x'}))
        for name in ('all.csv', 'all.tsv.gz', 'all.jsonl'):
            self.kv('export', name)
            self.run_command('kv', name + '.store', 'import', name)
            self.assertEqual(sorted(self.run_command('kv', name + '.store', 'list', '--hex').stdout.split('\n')),
                             sorted(self.kv('list').stdout.split('\n')))

    def test_a_scan_orders_keys_by_their_bytes_and_takes_bounds_in_hex(self):
        keys = self.kv('scan', '--keys-only').stdout.split()
        self.assertEqual((len(keys), keys), (100, sorted(keys)))
        self.assertEqual(self.kv('scan', '--key-as', 'hex', '--from', '05', '--to', '07', '--keys-only').stdout.split(),
                         ['0500000000000000', '0600000000000000'])
        self.assertEqual(self.kv('list', '--key-as', 'hex', '--prefix', '63', '--keys-only').stdout, '6300000000000000\n')
        self.assertIn('--prefix: ', self.kv('scan', '--key-as', 'hex', '--prefix', '0g', code=2).stderr)

    def test_a_record_is_erased_by_its_key_in_hex(self):
        self.kv('erase', '--key-as', 'hex', '0700000000000000')
        self.kv('get', '--key-as', 'hex', '0700000000000000', code=1)
        self.assertIn('--key-as hex', self.kv('erase', '7', code=1).stderr)
        self.assertEqual(self.kv('count').stdout, '99\n')
        self.assertIn('sound', self.kv('verify').stdout)

    def test_a_backup_of_it_is_restored_and_reported_as_done(self):
        """The store was made whole, and the verb ended with "wrong type", code 1."""
        self.kv('backup', 'backups')
        self.assertIn('100 records', self.run_command('kv', 'restore', 'backups', 'again').stdout)
        self.assertEqual(self.run_command('kv', 'again', 'list').stdout, self.kv('list').stdout)
        self.assertEqual(json.loads(self.run_command('kv', 'restore', 'backups', 'more', '--json').stdout)['records'], 100)

    def test_it_is_not_written_to_and_the_message_says_what_works(self):
        for words in (('put', 'k', 'v'), ('append', 'k', 'v'), ('merge', 'k', 'add', '1'), ('import', '-'), ('script', '-'),
                      ('expire', '--ttl', '5'), ('clock', '7'), ('create-space', 's'), ('drop-space', 's')):
            said = self.kv(*words, code=1, stdin='get a\n' if 'script' in words else '{"key":"a","value":"b"}\n').stderr
            self.assertIn('wrong type', said)
            self.assertIn('verify', said)
        self.assertEqual(self.kv('count').stdout, '100\n')

    def test_the_guide_names_every_verb_as_working_or_refused(self):
        text = (pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'command.md').read_text()
        works, refused = (set(re.findall(r'`([a-z-]+)`', part)) for part in
                          re.search(r'- These work:(.*?)- These are refused \(`wrong_type`\):(.*?)\n\n', text, re.S).groups())
        self.assertEqual(works | refused, set(Answers.WORDS))
        self.kv('mark')
        self.kv('backup', 'backups')
        for verb in sorted(works | refused):
            keys = {'get': '0700000000000000', 'erase': '0800000000000000'}
            words = ['--key-as', 'hex', keys[verb]] if verb in keys else Answers.WORDS[verb]
            done = self.kv(verb, *words, code=None, stdin='get a\n' if verb == 'script' else '{"key":"a","value":"b"}\n')
            self.assertEqual((done.returncode, 'wrong type' in done.stderr), (1, True) if verb in refused else (0, False), verb)


class Errors(CommandLine):
    def test_the_hint_for_a_missing_parent_is_mkdir(self):
        said = self.run_command('kv', './no/such/parent', 'put', 'x', 'y', code=1).stderr
        self.assertIn('mkdir -p', said)
        self.assertNotIn('creates a store', said)
        self.assertIn('creates a store', self.run_command('kv', './missing', 'get', 'x', code=1).stderr)

    def test_a_file_of_somebody_else_is_no_damaged_store(self):
        for content in (b'plain\n', b'x' * 4096, b'x' * 5000, os.urandom(1 << 16)):
            path = self.place / 'f'
            path.write_bytes(content)
            for words in (('put', 'x', 'y'), ('get', 'x'), ('import', '-'), ('verify',), ('reclaim',)):
                said = self.run_command('kv', path, *words, code=1).stderr
                self.assertIn('not holdfast', said)
                self.assertNotIn('export', said)
            self.assertEqual(path.read_bytes(), content)

    def test_a_missing_device_is_not_made_in_memory(self):
        said = self.run_command('kv', '/dev/holdfast-dax7.7', 'put', 'a', 'b', code=1).stderr
        self.assertIn('no such device', said)
        self.assertFalse(os.path.exists('/dev/holdfast-dax7.7'))

    def test_power_durability_is_promised_only_where_it_is_known(self):
        with tempfile.TemporaryDirectory(dir='.') as disk:
            spec = f'{os.path.abspath(disk)}/store?granularity=line'
            done = self.run_command('kv', spec, 'put', 'x', 'y')
            self.assertIn('survives power loss ONLY IF', done.stdout)
            self.assertIn('ONLY IF', self.run_command('kv', spec, 'stats').stdout)
            self.assertEqual(json.loads(self.run_command('kv', spec, 'put', 'x', 'y', '--json').stdout)['durability'], 'assumed')

    def test_negative_numbers_are_refused(self):
        self.kv('put', 'a', 'b')
        self.assertIn("'-1' is negative", self.kv('list', '--limit', '-1', code=2).stderr)
        self.assertIn('negative', self.kv('import', '--show-skipped', '-1', '-', code=2).stderr)
        self.assertIn('negative', self.run_command('kv', 'bench', '--region', 'r', '--repeat', '-1', code=2).stderr)
        self.assertEqual(self.kv('list', '--limit', '1').stdout, 'a\tb\n')

    def test_numbers_that_are_too_large_are_refused_and_not_made_smaller(self):
        """The clock never runs backwards: one digit too many ended all records that have a time, for good."""
        self.kv('put', 'a', 'b')
        self.kv('expire', '--ttl', '5')
        huge = '99999999999999999999'
        self.assertIn(f"'{huge}' is too large", self.kv('clock', huge, code=2).stderr)
        self.assertIn(f"'{huge}' is too large", self.kv('expire', '--prefix', 'b', '--ttl', huge, code=2).stderr)
        self.assertIn("'-1' is negative", self.kv('expire', '--prefix', 'b', '--ttl', '-1', code=2).stderr)
        self.assertTrue(self.kv('expiry').stdout.startswith('clock 0\n'))
        self.kv('clock', str(2**64 - 1))

    def test_a_keyspace_without_a_name_is_not_the_store(self):
        """`--space "$SPACE"` without a SPACE wrote among the store's own keys."""
        self.kv('put', 'a', 'b')
        self.assertIn('1 to 255 bytes', self.kv('--space', '', 'put', 'a', 'c', code=2).stderr)
        self.assertEqual(self.kv('get', 'a').stdout.strip(), 'b')
        elsewhere = str(self.place / 'elsewhere')
        self.run_command('kv', elsewhere, '--space', 'nope', 'expire', '--ttl', '5', code=1)
        self.assertFalse(os.path.exists(elsewhere))

    def test_numbers_and_their_nouns_agree(self):
        self.kv('put', 'a', 'b')
        self.assertRegex(self.kv('verify').stdout, r'sound: 1 record, 0 tombstones, \d+ blocks?, ')


class Answers(CommandLine):
    def test_a_miss_can_be_told_from_a_failure(self):
        self.kv('put', 'ada', 'lovelace')
        self.assertEqual(self.kv('get', 'ada', '--default', 'nobody').stdout, 'lovelace')
        self.assertEqual(self.kv('get', 'bob', '--default', 'nobody').stdout, 'nobody')
        self.assertEqual(self.kv('get', 'bob', '--default', '').stdout, '')
        self.assertIn('absent', self.kv('erase', 'bob', '--if-exists').stdout)
        self.assertIn('erased', self.kv('erase', 'ada', '--if-exists').stdout)
        # A failure stays one.
        self.run_command('kv', './missing', 'get', 'bob', '--default', 'nobody', code=1)
        self.run_command('kv', './missing', 'erase', 'bob', '--if-exists', code=1)

    def test_with_json_errors_are_json(self):
        error = json.loads(self.kv('get', '--json', 'bob', code=1).stdout)['error']
        self.assertEqual(error['kind'], 'not_found')
        self.assertIn('creates a store', error['remedy'])
        self.kv('put', 'ada', 'lovelace')
        for verb in ('get', 'erase'):
            error = json.loads(self.kv(verb, '--json', 'bob', code=1).stdout)['error']
            self.assertEqual((error['kind'], error['message']), ('no_record', "no record 'bob'"))
        (self.place / 'f').write_text('x')
        error = json.loads(self.run_command('kv', 'f', '--json', 'count', code=1).stdout)['error']
        self.assertEqual(error['kind'], 'not_holdfast')

    # Words that each verb needs; of those that are not here the walk below says so.
    WORDS = {'put': ['k', 'v'], 'append': ['k', 'v'], 'merge': ['k', 'add', '1'], 'get': ['k'], 'erase': ['k'], 'list': [], 'scan': [],
             'count': [], 'expiry': [], 'expire': ['--ttl', '5'], 'clock': ['7'], 'import': ['-'], 'export': ['-'],
             'backup': ['backups'], 'restore': ['backups', 'new'], 'mark': [], 'rewind': [], 'spaces': [], 'create-space': ['s'],
             'drop-space': ['s'], 'stats': [], 'verify': [], 'script': ['-'], 'reclaim': []}

    def check_error(self, *words, code, kind, stdin=''):
        """That standard output is one document, of this error, which standard error tells, too."""
        done = self.run_command(*words, code=code, stdin=stdin)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 1, f'{words}: {done.stdout!r}')
        error = json.loads(lines[0])['error']
        self.assertEqual(error['kind'], kind, words)
        self.assertIn(error['message'], done.stderr)

    def test_with_json_every_verb_has_a_document_for_a_wrong_argument(self):
        """Standard output stayed empty, whatever the verb, where the words could not be understood."""
        verbs = self.run_command('kv', code=2).stderr.split(' there are ')[1].split('\n')[0].split()
        self.assertEqual(set(verbs) - {'bench'}, set(self.WORDS))  # `bench --json FILE` is something else.
        for verb, words in self.WORDS.items():
            self.check_error('kv', self.store, verb, *words, '--json', '--nonsense', code=2, kind='invalid_option')
            self.check_error('kv', self.store, verb, *words, '--nonsense', '--json', code=2, kind='invalid_option')
            self.check_error('kv', self.store, '--json', verb, *words, 'too', 'many', 'words', code=2, kind='invalid_option')
            self.check_error('kv', '--json', self.store, '--space', '', verb, *words, code=2, kind='invalid_option')
            if words[:1] not in ([], ['-']):
                self.check_error('kv', self.store, verb, *words[:-1], '--json', code=2, kind='invalid_option')
            if verb != 'restore':
                self.check_error('kv', verb, *words, '--json', code=2, kind='invalid_option')
            for option in (['--at-mark'], ['--ordered'], ['--space', 's']):
                if self.run_command('kv', './missing', *option, verb, *words, '--json', code=None).returncode == 2:
                    self.check_error('kv', './missing', *option, verb, *words, '--json', code=2, kind='invalid_option')
        # What an option of one of them does not take.
        for words in (['put', 'k', '0g', '--value-as', 'hex'], ['put', '-', '-'], ['append', 'k', '0g', '--value-as', 'hex'],
                      ['get', '0g', '--key-as', 'hex'], ['erase', '0g', '--key-as', 'hex'], ['merge', 'k', 'add', 'many'],
                      ['merge', 'k', 'times', '2'], ['list', '--limit', 'many'], ['list', '--limit', '-1'],
                      ['list', '--prefix', '0g', '--key-as', 'hex'], ['scan', '--from', 'b', '--to', 'a'],
                      ['scan', '--hex', '--base64'], ['clock', 'abc'], ['clock', '-1'], ['expire', '--ttl', 'x'],
                      ['expire', '--ttl', '5', '--prefix', '0g', '--key-as', 'hex'], ['expire', '--ttl', '5', '--width', '3'],
                      ['import', '.'], ['import', '-', '--format', 'xml'], ['import', '-', '--max-record', 'x'],
                      ['export', '-', '--format', 'xml'], ['export', self.store + '/x'], ['backup', self.store + '/x'],
                      ['backup', 'b', '--keep', 'x'], ['create-space', ''], ['stats', '--prometheus'], ['putt']):
            self.check_error('kv', self.store, *words, '--json', code=2, kind='invalid_option')
        self.check_error('kv', self.store, 'script', '--json', code=2, kind='invalid_option', stdin='putt a b\n')
        self.check_error('kv', self.store, 'import', './nofile', '--json', code=2, kind='not_found')
        self.check_error('kv', self.store, 'script', './nofile', '--json', code=2, kind='not_found')
        self.kv('put', 'ada', 'lovelace')
        self.check_error('kv', self.store, 'export', './nodir/x', '--json', code=2, kind='not_found')

    def test_with_json_every_verb_has_a_document_for_a_store_that_is_no_store(self):
        (self.place / 'f').write_text('x')
        for verb, words in self.WORDS.items():
            if verb not in ('restore', 'script'):
                self.check_error('kv', 'f', verb, *words, '--json', code=1, kind='not_holdfast', stdin='{"key":"a","value":"b"}\n')
        self.check_error('kv', 'f', 'script', '--json', code=1, kind='not_holdfast', stdin='get a\n')

    def test_with_json_what_is_wrong_with_backups_is_a_document(self):
        """All that came of the directory went to standard error alone."""
        self.kv('put', 'ada', 'lovelace')
        for words in (['restore', './nodir', 'new'], ['backup', '--verify', './nodir'], ['backup', '--list', './nodir'],
                      [self.store, 'backup', './no/dir']):
            self.check_error('kv', *words, '--json', code=1, kind='not_found')
        self.kv('backup', 'backups')
        self.check_error('kv', 'restore', 'backups', self.store, '--json', code=1, kind='already_exists')
        self.check_error('kv', 'restore', 'backups', 'backups/new', '--json', code=2, kind='invalid_option')
        self.check_error('kv', 'restore', 'backups', 'new', '--backup', '7', '--json', code=1, kind='not_found')

    def test_with_json_an_import_that_cannot_read_on_has_a_document(self):
        (self.place / 'cut.jsonl.gz').write_bytes(gzip.compress(b'{"key":"a","value":"b"}\n' * 1000)[:-20])
        self.check_error('kv', self.store, 'import', 'cut.jsonl.gz', '--json', code=1, kind='io')

    def test_with_json_a_message_is_text_whatever_a_path_is(self):
        done = subprocess.run([os.fsencode(HOLDFAST), b'kv', b'a\xffb', b'get', b'x', b'--json'], capture_output=True, cwd=self.place)
        self.assertEqual(done.returncode, 1)
        self.assertIn('a\\xffb', json.loads(done.stdout.decode())['error']['message'])

    def test_the_shapes_of_almost_empty_stores_are_no_alarm(self):
        self.kv('put', 'a', 'b')
        stats = self.kv('stats').stdout
        self.assertNotRegex(stats, r'\d{3,}\.\d+ x live|\d{4,}\.\d bytes per record')
        self.assertIn('smallest size', stats)


class Words(CommandLine):
    def test_verbs_have_the_names_that_people_know(self):
        self.kv('set', 'a', '1')
        self.kv('put', 'b', '2')
        self.assertEqual(sorted(self.kv('ls').stdout.splitlines()), ['a\t1', 'b\t2'])
        self.assertEqual(sorted(self.kv('scan', '--keys-only').stdout.split()), ['a', 'b'])
        self.kv('del', 'a')
        self.kv('rm', 'b')
        self.assertEqual(self.kv('size').stdout, '0\n')

    def test_flags_stand_before_the_verb_too(self):
        self.kv('put', 'ada', 'lovelace')
        for words in (('kv', self.store, '--json', 'get', 'ada'), ('kv', '--json', self.store, 'get', 'ada'),
                      ('kv', '--store', self.store, 'get', '--json', 'ada')):
            self.assertEqual(json.loads(self.run_command(*words).stdout)['value'], 'lovelace')

    def test_version_says_what_a_report_of_a_fault_needs(self):
        text = self.run_command('--version').stdout
        self.assertRegex(text, r'holdfast \d+\.\d+\.\d+\nrevision  \S+\ncompiler  \S.*\npeers     \S')
        for words in (('-V',), ('version',)):
            self.assertEqual(self.run_command(*words).stdout, text)

    def test_help_is_a_word(self):
        self.assertEqual(self.run_command('help').stdout, self.run_command('--help').stdout)
        self.assertEqual(self.run_command('help', 'kv', 'put').stdout, self.run_command('kv', 'put', '--help').stdout)

    def verbs(self, *words):
        """All paths of verbs, from the completion."""
        return re.findall(r"^    '(holdfast[a-z ]*)'\)", self.run_command('completion', 'bash').stdout, re.M)

    def test_no_help_is_wider_than_80_columns(self):
        paths = self.verbs()
        self.assertIn('holdfast kv bench', paths)
        for path in paths:
            for line in self.run_command(*path.split()[1:], '--help').stdout.splitlines():
                self.assertLessEqual(len(line), 80, f'{path}: {line}')

    def test_each_verb_has_examples_of_its_own_that_can_be_pasted(self):
        for path in self.verbs():
            text = self.run_command(*path.split()[1:], '--help').stdout
            self.assertRegex(text, '\nExamples?:\n', path)
            examples = re.split('\nExamples?:\n', text)[1]
            self.assertRegex(examples, path.replace('holdfast kv ', r'holdfast kv (\S+ )*'), path)
            if path not in ('holdfast', 'holdfast tour'):
                self.assertNotIn('holdfast tour', examples, path)
            for command in re.sub(r' \\\n +', ' ', examples).split('\n'):
                if re.match('  (holdfast|./run) ', command):
                    self.assertNotRegex(command.split('  # ')[0].strip(), r'\S {5,}\S', f'{path}: a comment without #')

    def test_what_a_message_repeats_is_text(self):
        for name in (b'a\xffb', b'a\x1b[2Jb', b'a\x07b'):
            done = subprocess.run([os.fsencode(str(HOLDFAST)), b'kv', name, b'get', b'x'], capture_output=True, cwd=self.place)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), r'a\\x[0-9a-f]{2}.*b does not exist')
            self.assertNotRegex(done.stderr, b'[\x00-\x09\x0b-\x1f]')

    def test_an_option_of_a_region_is_described(self):
        for option in ('huge=', 'granularity=', 'nt_evicts='):
            self.assertIn(f'\n  {option}', self.run_command('mem', '--help').stdout)

    @unittest.skipUnless(shutil.which('bash'), 'no bash')
    def test_the_shell_completes_verbs_options_and_choices(self):
        (self.place / 'h').write_text(self.run_command('completion', 'bash').stdout)
        def completed(*words):
            script = ('source ./h; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _holdfast; printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(['bash', '-c', script, 'bash', 'holdfast', *words], stdout=subprocess.PIPE, text=True,
                                  cwd=self.place, check=True)
            return done.stdout.split()
        self.assertEqual(completed('to'), ['tour'])
        self.assertEqual(completed('kv', './s', 'ver'), ['verify'])
        self.assertIn('--prefix', completed('kv', './s', 'list', '--'))
        self.assertEqual(sorted(completed('kv', './s', 'put', '--key-as', '')), ['base64', 'h', 'hex', 'text'])
        self.assertIn('run', completed('bench', 'r'))


class Terminals(CommandLine):
    def lines_on_a_terminal(self, *words, columns=80):
        """What a terminal of so many columns shows, without colours and progress."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        process = subprocess.Popen([HOLDFAST, *map(str, words)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
                                   cwd=self.place, env={**os.environ, 'TERM': 'xterm'})
        os.close(theirs)
        shown = b''
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # How Linux tells that the other end is closed.
            pass
        os.close(ours)
        self.assertIn(process.wait(timeout=100), (0, 3), shown)
        text = re.sub(r'\x1b\[[0-9;]*[A-Za-z]', '', shown.decode())
        lines = text.replace('\r\n', '\n').split('\n')
        self.assertGreater(len(lines), 1, text)
        return lines

    def check_width(self, *words):
        for line in self.lines_on_a_terminal(*words):
            self.assertLessEqual(len(line), 80, f'{words}: {line}')

    def test_the_tour_is_readable_in_80_columns(self):
        stanzas = subprocess.run([sys.executable, MAKE_STANZAS, '3000'], stdout=subprocess.PIPE, check=True).stdout
        (self.place / 'stanzas').write_bytes(stanzas)
        self.check_width('tour', '--kills', '2', '--no-compare', '--input', 'stanzas', '--dir', '.')

    def test_a_store_and_the_machine_are_described_in_80_columns(self):
        self.kv('put', 'ada', 'lovelace ' * 50)
        for words in (('kv', self.store, 'stats'), ('kv', self.store, 'list'), ('mem', '.'), ('mem',)):
            self.check_width(*words)

    def test_what_is_given_beside_quick_holds(self):
        """--quick took the place of --repeat and others, which were not even checked."""
        region = self.place / 'region'
        for option, value in (('--repeat', '0'), ('--seconds', 'nan'), ('--region-bytes', '1')):
            message = self.run_command('blocks', 'bench', '--quick', option, value, '--region', region, code=2).stderr
            self.assertIn(option.strip('-').split('-')[0], message)
        done = self.run_command('index', 'bench', '--quick', '--suite', 'open', '--threads', '1', '--repeat', '2',
                                '--region', 'dram', '--json', '-')
        self.assertEqual(json.loads(done.stdout)['command']['repeat'], 2)

    def test_benchmarks_fit_and_say_what_they_leave_out(self):
        bench = ('kv', 'bench', '--stores', 'holdfast,floor', '--ops', 'get', '--records', '1000', '--phase-operations', '100',
                 '--repeat', '1', '--threads', '1', '--region', '/dev/shm/command-line-test?granularity=line')
        self.check_width(*bench)
        self.assertIn('Not shown in 80 columns', '\n'.join(self.lines_on_a_terminal(*bench)))
        self.assertNotIn('Not shown', '\n'.join(self.lines_on_a_terminal(*bench, columns=250)))


class Scripts(CommandLine):
    def test_many_verbs_with_one_open(self):
        script = 'put ada lovelace\nput "a b" \'c "d"\' # said\nget ada\nget "a b"\n\ncount\nerase ada\ncount\nlist a\nsync\n'
        done = self.kv('script', stdin=script)
        self.assertEqual(done.stdout, 'lovelace\nc "d"\n2\n1\na b\tc "d"\n')
        self.assertIn('2 records written', done.stderr)
        self.assertEqual(self.kv('get', 'a b').stdout, 'c "d"')

    def test_a_thousand_puts_take_less_than_ten_puts_alone(self):
        begin = time.monotonic()
        self.kv('script', stdin=''.join(f'put key{i} value{i}\n' for i in range(1000)))
        together = time.monotonic() - begin
        begin = time.monotonic()
        for i in range(10):
            self.kv('put', f'key{i}', 'again')
        self.assertLess(together, time.monotonic() - begin)
        self.assertEqual(self.kv('count').stdout, '1000\n')

    def test_a_miss_goes_on_and_a_mistake_stops_with_its_line(self):
        done = self.kv('script', stdin='put a b\nget nobody\nget a\n', code=1)
        self.assertEqual(done.stdout, 'b\n')
        self.assertIn("no record 'nobody'", done.stderr)
        done = self.kv('script', stdin='put c d\nputt a b\nput e f\n', code=2)
        self.assertIn("line 2: 'putt' is no verb", done.stderr)
        self.assertEqual(self.kv('get', 'c').stdout, 'd')
        self.kv('get', 'e', code=1)
        self.assertIn('does not end on its line', self.kv('script', stdin='put "a b\n', code=2).stderr)
        self.assertIn('put with 1 word', self.kv('script', stdin='put a\n', code=2).stderr)

    def test_reading_creates_nothing(self):
        self.assertIn('not found', self.kv('script', stdin='get a\n', code=1).stderr)
        self.assertFalse(os.path.exists(self.store))

    def test_a_program_can_talk_to_it_through_pipes(self):
        process = subprocess.Popen([HOLDFAST, 'kv', self.store, 'script', '--json'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        for number in range(20):
            process.stdin.write(f'put k{number} v{number}\n')
            self.assertEqual(json.loads(process.stdout.readline()), {'outcome': 'inserted'})
            process.stdin.write(f'get k{number}\n')
            self.assertEqual(json.loads(process.stdout.readline())['value'], f'v{number}')
        process.stdin.close()
        self.assertEqual(process.wait(), 0)

    def test_a_file_of_verbs(self):
        (self.place / 'verbs').write_text('put a 1\nput-if-absent a 2\nput-if-absent b 3\n')
        outcomes = [json.loads(line)['outcome'] for line in self.kv('script', 'verbs', '--json').stdout.splitlines()]
        self.assertEqual(outcomes, ['inserted', 'exists', 'inserted'])
        self.assertEqual(self.kv('get', 'a').stdout, '1')


class Lists(CommandLine):
    def test_a_first_key_that_begins_with_a_byte_order_mark_comes_back_from_a_list(self):
        """`list` printed U+FEFF as it is, and `import --format tsv` took it for a byte order mark: another key, in silence."""
        self.kv('import', '-', stdin='{"key":"\\ufeffk","value":"\\ufeffv\\ufeff"}\n')
        for listed in (self.kv('list').stdout, self.kv('script', stdin='list\n').stdout, self.kv('export', '--format', 'tsv').stdout):
            self.assertEqual(listed, '\\xef\\xbb\\xbfk\t\\xef\\xbb\\xbfv\ufeff\n')
            self.run_command('kv', 'again', 'import', '--format', 'tsv', '-', stdin=listed)
            self.assertEqual(self.run_command('kv', 'again', 'list', '--hex').stdout, self.kv('list', '--hex').stdout)


class Marks(CommandLine):
    def test_mark_rewind_and_restore_say_as_many_records_as_count(self):
        """Both counted the records that had expired, and so did restore."""
        self.kv('expire', '--prefix', 'session:', '--ttl', '5')
        for number in range(3):  # Each begins with its stamp: 1, in 8 bytes.
            self.kv('put', f'session:{number}', '0100000000000000', '--value-as', 'hex')
        self.kv('put', 'ada', 'lovelace')
        self.kv('put', 'bob', 'kahn')
        self.assertIn('with 5 records', self.kv('mark').stdout)
        self.kv('clock', '100')
        self.assertIn('with 2 records', self.kv('mark').stdout)
        self.assertEqual(self.kv('--at-mark', 'count').stdout, '2\n')
        self.assertEqual(json.loads(self.kv('mark', '--json').stdout)['records'], 2)
        self.kv('put', 'eve', '1')
        self.assertIn('with 2 records', self.kv('rewind').stdout)
        self.assertEqual(json.loads(self.kv('rewind', '--json').stdout)['records'], 2)
        self.kv('backup', 'backups')
        self.assertIn(': 2 records', self.run_command('kv', 'restore', 'backups', 'again').stdout)
        self.assertEqual(self.run_command('kv', 'again', 'count').stdout, '2\n')
        self.assertEqual(self.kv('count').stdout, '2\n')


class ValuesThatGrow(CommandLine):
    def test_append_from_arguments_and_standard_input(self):
        self.assertIn('appended', self.kv('append', 'log', 'one\n').stdout)
        many = ''.join(f'{number}\n' for number in range(2000))
        self.kv('append', 'log', '-', stdin=many)
        self.assertEqual(json.loads(self.kv('append', 'log', 'end', '--json').stdout)['outcome'], 'appended')
        self.assertEqual(self.kv('get', 'log').stdout, 'one\n' + many + 'end')
        self.assertEqual(self.kv('verify').returncode, 0)

    def test_merge_prints_the_number(self):
        for function, number, shown in (('add', '5', '5'), ('add', '-7', '-2'), ('max', '9', '9'), ('min', '3', '3'),
                                        ('or', '8', '11'), ('min-unsigned', '10', '10')):
            answer = self.kv('merge', 'n', function, '--json', '--', number)
            self.assertEqual(json.loads(answer.stdout)['outcome'], shown, function)
        self.assertIn("NUMBER 'many'", self.kv('merge', 'n', 'add', 'many', code=2).stderr)
        self.kv('append', 'text', 'abc')
        self.assertIn('a value of 3 bytes', self.kv('merge', 'text', 'add', '1', code=2).stderr)
        self.assertEqual(self.kv('get', 'text').stdout, 'abc')

    def test_in_a_keyspace_and_a_script(self):
        self.kv('create-space', 's')
        self.kv('--space', 's', 'append', 'a', '1')
        self.kv('--space', 's', 'append', 'a', '2')
        self.assertEqual(self.kv('--space', 's', 'get', 'a').stdout, '12')
        self.assertEqual(self.kv('script', '-', stdin='append a 3\nappend a 4\nget a\n').stdout, '34\n')


unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
