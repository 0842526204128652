"""valgrind_test.py C_API_TEST: each group of the test in C under valgrind: no error, no leak. And valgrind sees errors here."""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = (pathlib.Path(__file__).parent / 'main.c').read_text()
WAYS = ['valgrind', '-q', '--error-exitcode=9', '--leak-check=full']
place = '/dev/shm' if pathlib.Path('/dev/shm').is_dir() else None

groups = re.findall(r'GROUP\((\w+)\)[,}]', SOURCE)
assert len(groups) > 9, groups
for group in groups:
    with tempfile.TemporaryDirectory(prefix='holdfast-test-', dir=place) as directory:
        ran = subprocess.run([*WAYS, sys.argv[1], group, directory], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f'{group}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}'
    assert ran.stdout == f'{group} held\n', f'{group} printed {ran.stdout}'

with tempfile.TemporaryDirectory() as directory:
    leak = pathlib.Path(directory) / 'leak.c'
    leak.write_text('#include <stdlib.h>\nint main(void) { char* volatile lost = malloc(10); lost = NULL; return lost != NULL; }\n')
    subprocess.run(['cc', '-O0', leak, '-o', leak.with_suffix('')], check=True)
    ran = subprocess.run([*WAYS, leak.with_suffix('')], capture_output=True, check=False)
    assert ran.returncode == 9, 'valgrind did not see a leak'
print(f'{len(groups)} groups')
