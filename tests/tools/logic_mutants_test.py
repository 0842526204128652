"""tests/logic_mutants.py on a checkout of four mutants and one program that plays the tests; and that it can read ours.
"""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / 'logic_mutants.py'

SOURCE = '''
int a = HF_MUTANT("K01", 1, 2);
int b = HF_MUTANT("S01", 1, 2);
int c = HF_MUTANT("U01", 1, 2);
int d = HF_MUTANT(
    "A01", 1, 2);
'''

# Notices K01 and reaches all but U01.
TESTS = '''#!/bin/sh
[ -z "$HOLDFAST_MUTANTS_OUT" ] || printf '%s\\n' K01 S01 A01 >>"$HOLDFAST_MUTANTS_OUT"
echo '[ RUN      ] Thing.Works'
[ "$HOLDFAST_MUTANT" != K01 ] || { echo '[  FAILED  ] Thing.Works (0 ms)'; exit 1; }
[ "$1" = '--gtest_filter=*Thing*' ] || exit 3
'''


def run(root, *words):
    done = subprocess.run([sys.executable, SCRIPT, '--root', root, '--build', root / 'build', *words],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for folder in ('holdfast/kv', 'tests', 'build'):
            (root / folder).mkdir(parents=True)
        (root / 'holdfast/kv/a.cpp').write_text(SOURCE)
        (root / 'tests/logic_mutants.txt').write_text('holdfast/kv/  thing_tests  *Thing*\n')
        allow = root / 'tests/logic_mutants_allow.txt'
        allow.write_text('# Argued.\nA01  nobody can see it\n')
        binary = root / 'build/thing_tests'
        binary.write_text(TESTS)
        binary.chmod(0o755)

        code, text = run(root)
        assert code == 1, text
        assert 'killed    K01  holdfast/kv/a.cpp:2  by Thing.Works' in text, text
        assert 'SURVIVED  S01' in text and 'SURVIVED  U01  holdfast/kv/a.cpp:4  no test reaches it' in text, text
        assert 'allowed   A01  holdfast/kv/a.cpp:5  nobody can see it' in text, text
        assert '1/4 noticed, 1 allowed, 2 survived' in text, text

        assert run(root, '--only', 'K,A')[0] == 0
        assert '0 of 4' in run(root, '--only', 'holdfast/blocks/')[1]
        assert '2 of 4 mutants, sample of seed 9' in run(root, '--sample', '2', '--seed', '9')[1]
        assert run(root, '--sample', '2', '--seed', '9', '--list') == run(root, '--sample', '2', '--seed', '9', '--list')
        assert run(root, '--sample', '0')[0] == 2

        # A binary that fails by itself, an excuse for a mutant that is gone, one id in two files.
        binary.write_text('#!/bin/sh\nexit 1\n')
        assert run(root)[0] == 2
        binary.unlink()
        assert run(root)[0] == 2
        allow.write_text('Z99  gone\n')
        assert 'no mutant Z99' in run(root, '--list')[1]
        allow.write_text('')
        (root / 'holdfast/kv/b.cpp').write_text('HF_MUTANT("K01", 1, 2)')
        assert 'belongs to one file' in run(root, '--list')[1]
    ours = SCRIPT.parents[1]  # An id that stood in three files kept all mutants from being run.
    code, text = run(ours, '--list')
    assert code == 0, text
    print('ok')


main()
