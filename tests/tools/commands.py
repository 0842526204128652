"""What tests of the command share: a scratch directory below the current one, and the real command in it.

The first argument of the script is the command. Exit codes: 0 done, 1 the work failed, 2 the request was
wrong.
"""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))


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
