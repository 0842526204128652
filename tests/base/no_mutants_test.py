"""What ships contains nothing of the mutants: no name, no switch.

    no_mutants_test.py SHIPPED… --traced BINARY

BINARY is a traced test, which must contain them: so the search can fail.
"""
import pathlib
import sys

MARKS = (b'HOLDFAST_MUTANT', b'mutant_is_on')


def marks_in(path):
    text = pathlib.Path(path).read_bytes()
    return [mark.decode() for mark in MARKS if mark in text]


def main():
    at = sys.argv.index('--traced')
    shipped, traced = sys.argv[1:at], sys.argv[at + 1]
    if len(marks_in(traced)) != len(MARKS):
        sys.exit(f'{traced} does not contain {MARKS}: this test would find nothing')
    found = [f'{path} contains {", ".join(marks_in(path))}' for path in shipped if marks_in(path)]
    if found or not shipped:
        sys.exit('\n'.join(found) or 'nothing to look at')
    print(f'{len(shipped)} files without mutants')


main()
