"""The command's import and export: formats, bad records, what a broken pipe or a kill leaves.

    transfer_command_test.py HOLDFAST [unittest arguments]
"""
import fcntl
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from commands import Command, HOLDFAST

MAKE_STANZAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'make_stanzas.py')


class Transfer(Command):
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


if __name__ == '__main__':
    unittest.main(verbosity=2)
