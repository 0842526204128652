"""What ./run does where it cannot do all: run_script_test.py. Works on a copy of scripts/, installs and builds nothing."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class RunScriptTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix='run-script-test-')
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        shutil.copytree(ROOT / 'scripts', self.place / 'scripts')

    def shell(self, script, path=None, code=0, env={}):
        done = subprocess.run(['sh', '-c', script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, cwd=self.place, timeout=60, env={**os.environ, **({'PATH': path} if path else {}), **env})
        self.assertEqual(done.returncode, code, f'{script}\n{done.stdout}\n{done.stderr}')
        return done.stdout, done.stderr

    def without_root(self):
        """A PATH on which nobody is root and there is no sudo."""
        stubs = self.place / 'stubs'
        stubs.mkdir()
        for tool in ('sh', 'nproc', 'mkdir', 'date', 'tail', 'dpkg-query'):
            if shutil.which(tool):
                (stubs / tool).symlink_to(shutil.which(tool))
        (stubs / 'id').write_text('#!/bin/sh\necho 1000\n')
        (stubs / 'apt-get').write_text('#!/bin/sh\necho "apt-get was run" >&2\nexit 1\n')
        for stub in ('id', 'apt-get'):
            (stubs / stub).chmod(0o755)
        return str(stubs)

    def test_without_root_and_sudo_the_line_for_an_administrator_is_shown(self):
        _, said = self.shell('. scripts/common.sh; need no-such-package-1 no-such-package-2', self.without_root(), code=2)
        self.assertIn('neither root nor sudo', said)
        self.assertIn('apt-get install -y --no-install-recommends no-such-package-1 no-such-package-2', said)
        self.assertNotIn('apt-get was run', said)

    def test_without_root_and_sudo_the_work_goes_on_without_peers(self):
        out, said = self.shell('. scripts/common.sh; want no-such-package; echo goes on', self.without_root())
        self.assertIn('goes on', out)
        self.assertIn('apt-get install -y --no-install-recommends no-such-package', said)

    def test_a_peer_that_cannot_be_installed_stops_nothing(self):
        script = ('. scripts/common.sh; install_obstacle() { :; }; apt_get() { echo broken >&2; return 1; }; '
                  'want no-such-package; echo goes on')
        out, said = self.shell(script)
        self.assertIn('goes on', out)
        self.assertIn('there is no no-such-package here', said)

    def check_with_a_stage_that_cannot_run(self):
        with open(self.place / 'scripts' / 'common.sh', 'a') as common:
            common.write('need() { :; }\nwant() { :; }\n')
        check = self.place / 'scripts' / 'check.sh'
        text = check.read_text()
        end = text.index('case ${1:-} in')
        text = text[:end] + 'stage_layers() { skip "there is no such machine"; }\n' + text[end:]
        begin = text.index('STAGES=')
        check.write_text(text[:begin] + 'STAGES=layers\n' + text[text.index('\n', begin):])

    def test_a_stage_that_was_asked_for_by_name_and_cannot_run_fails(self):
        self.check_with_a_stage_that_cannot_run()
        out, _ = self.shell('sh scripts/check.sh layers', code=1)
        self.assertIn('FAILED, cannot run here: there is no such machine', out)

    def test_a_stage_that_nobody_asked_for_is_skipped(self):
        self.check_with_a_stage_that_cannot_run()
        out, _ = self.shell('sh scripts/check.sh')
        self.assertIn('skipped: there is no such machine', out)

    def test_help_builds_and_installs_nothing(self):
        shutil.copy(ROOT / 'run', self.place / 'run')
        for words, text in (('bench', './run bench kv'), ('bench help', './run bench kv'), ('bench --help', './run bench kv'),
                            ('test --help', './run tour'), ('check -h', './run tour'), ('install --help', './run tour')):
            out, said = self.shell('./run ' + words)
            self.assertIn(text, out)
            self.assertEqual(said, '')
        self.assertFalse((self.place / 'build/release').exists())

    def test_the_paths_of_an_installation_can_be_pasted(self):
        for prefix in ('/opt/holdfast', "/opt/a b", "/opt/it's $HOME"):
            out, said = self.shell('. scripts/common.sh; show_paths "$PREFIX" "$PREFIX/lib"', env={'PREFIX': prefix})
            exports = '\n'.join(line for line in (out + said).splitlines() if line.startswith('export '))
            shown, _ = self.shell(exports + '\nprintf "%s\\n" "$PATH" "$CMAKE_PREFIX_PATH" "$PKG_CONFIG_PATH" "$LD_LIBRARY_PATH"')
            lines = shown.splitlines()
            self.assertTrue(lines[0].startswith(prefix + '/bin:'), lines)
            self.assertEqual(lines[1:], [prefix, prefix + '/lib/pkgconfig', prefix + '/lib'])
            self.assertEqual('eval g++' in out + said, prefix != '/opt/holdfast')

    def test_the_tour_needs_no_package_of_a_peer(self):
        out, _ = self.shell('. scripts/common.sh; echo $BUILD_PACKAGES')
        for peer in ('rocksdb', 'leveldb', 'lmdb', 'tbb', 'pmem'):
            self.assertNotIn(peer, out)


unittest.main(verbosity=2)
