"""Standard streams that are broken, closed or full never stop the work: streams_test.py HOLDFAST.

A message is for people; it does not decide whether a record is written. A reader that goes away (`… | head`)
ends the output in silence. A result that cannot be written is an error.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = os.path.abspath(sys.argv[1])


class StreamsTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix='streams-test-', dir='.')
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name).resolve()
        self.store = str(self.place / 'store')

    def shell(self, script, code=0):
        """Runs a line of sh in which $H is the command and $S the store; expects the exit code. Returns both streams."""
        done = subprocess.run(['bash', '-c', 'set -o pipefail; ' + script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120, env={**os.environ, 'H': HOLDFAST, 'S': self.store}, cwd=self.place)
        self.assertEqual(done.returncode, code, f'{script}\n{done.stdout}\n{done.stderr}')
        return done.stdout, done.stderr

    def damaged(self):
        """A store with so much damage that `verify` prints more than a pipe holds."""
        self.shell('for i in $(seq 3000); do echo "{\\"key\\":\\"k$i\\",\\"value\\":\\"some value of some length $i\\"}"; done '
                   '| "$H" kv "$S" import - >/dev/null')
        for path in sorted((self.place / 'store').iterdir()):
            if path.stat().st_size < 1 << 20:
                continue
            with open(path, 'r+b') as file:
                for at in range(1 << 16, 1 << 20, 256):
                    file.seek(at)
                    file.write(b'\xff' * 16)

    def test_a_message_to_a_closed_or_full_standard_error_is_lost_and_nothing_else(self):
        self.shell('"$H" kv "$S" put ada lovelace')
        for script in ('"$H" kv "$S" get nope 2>&-', '"$H" kv "$S" get nope 2>/dev/full'):
            self.shell(script, code=1)
        self.shell('"$H" kv 2>&1 | true', code=2)
        self.shell('"$H" kv 2>/dev/full', code=2)

    def test_a_record_is_written_though_nobody_reads_what_is_said_about_it(self):
        for number, broken in enumerate(('2>&1 | true', '2>/dev/full >/dev/null', '2>&- >/dev/null', '2>&1 >/dev/null | sleep 0')):
            store = f'{self.store}{number}'
            self.shell(f'"$H" kv {store} put a b {broken}')
            self.assertEqual(self.shell(f'"$H" kv {store} get a')[0], 'b')

    def test_a_message_does_not_go_into_a_store_that_got_the_number_of_a_closed_stream(self):
        self.shell('"$H" kv "$S" put a b 0<&- >/dev/null 2>&-')
        self.shell('"$H" kv "$S" get nope 2>&-', code=1)
        self.assertIn('sound', self.shell('"$H" kv "$S" verify')[0])

    def test_a_reader_that_goes_away_ends_the_output_in_silence(self):
        self.damaged()
        for script in ('list | head -1', 'list --json | true', 'export - | true', 'verify --json | head -c 10'):
            _, said = self.shell(f'("$H" kv "$S" {script}) 2>&1 >/dev/null; :')
            self.assertNotIn('pipe', said.lower())
        for script in ('"$H" kv "$S" verify | head -2', '"$H" kv "$S" verify | true'):
            _, said = self.shell(f'({script}) 2>&1 >/dev/null; :')
            self.assertNotIn('pipe', said.lower())
        for script in ('"$H" --help | true', '"$H" mem | true', '"$H" kv "$S" stats | true', '"$H" bench run --help | true'):
            _, said = self.shell(script)
            self.assertEqual(said, '', script)

    def test_a_result_that_cannot_be_written_is_an_error(self):
        self.shell('"$H" kv "$S" put ada lovelace')
        for verb in ('get ada', 'get --json ada', 'list', 'count', 'stats', 'stats --json', 'verify', 'export -'):
            _, said = self.shell(f'"$H" kv "$S" {verb} >/dev/full', code=1)
            self.assertIn('standard output: No space left on device', said, verb)
        _, said = self.shell('"$H" mem >/dev/full', code=1)
        self.assertIn('standard output: No space left on device', said)
        _, said = self.shell('"$H" kv "$S" get ada >&-', code=1)
        self.assertIn('standard output', said)

    def test_a_result_in_another_form_ends_in_silence_where_its_reader_goes_away(self):
        run = '"$H" kv bench --stores floor --ops get --records 1000 --phase-operations 100 --repeat 1 --threads 1 --quick'
        self.shell(f'{run} --region "$PWD/r" --json r.json >/dev/null 2>&1; test -s r.json')
        for script in ('"$H" bench convert r.json --to csv | true', '"$H" bench show r.json | true'):
            _, said = self.shell(script)
            self.assertEqual(said, '', script)


unittest.main(argv=sys.argv[:1], verbosity=2)
