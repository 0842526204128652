"""symbols_test.py LIBHOLDFAST.SO [LIBHOLDFAST_JNI.SO]: the library exports what holdfast.h declares and symbols.map lists,
and nothing else; the test in C calls all of it; a name's version is HF_1. Both have few thread-local bytes."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
header = (ROOT / 'holdfast' / 'c' / 'holdfast.h').read_text()
declared = set(re.findall(r'HF_API [^;(]*?\b(hf_\w+)\(', header))
listed = set(re.findall(r'^ +(hf_\w+);$', (ROOT / 'holdfast' / 'c' / 'symbols.map').read_text(), re.M))
assert len(declared) > 60, declared
assert declared == listed, f'holdfast.h and symbols.map differ in {sorted(declared ^ listed)}'

lines = subprocess.run(['nm', '-D', '--defined-only', sys.argv[1]], check=True, capture_output=True, text=True).stdout
exported = {line.split()[2] for line in lines.splitlines()} - {'HF_1'}
wanted = {f'{name}@@HF_1' for name in declared}
assert exported == wanted, f'exported and declared differ in {sorted(exported ^ wanted)[:10]}, …'

# Called, and not only refused: arguments.c gives NULLs to all of them.
calls = ''.join(path.read_text() for path in sorted((ROOT / 'tests' / 'c').glob('*.c')) if path.name != 'arguments.c')
uncalled = sorted(name for name in declared if not re.search(rf'\b{name}\(', calls))
assert not uncalled, f'no test in C calls {uncalled}'

# It is one file with the store inside: the C++ and C libraries of the system, and nothing of ours.
needed = subprocess.run(['ldd', sys.argv[1]], check=True, capture_output=True, text=True).stdout
foreign = [line.strip() for line in needed.splitlines()
           if not re.search(r'linux-vdso|libstdc\+\+|libm\.so|libgcc_s|libc\.so|ld-linux|lib[at]san|libubsan|librt|libpthread|libdl|libresolv', line)]
assert not foreign, f'the library needs {foreign}'
# glibc keeps 1,664 bytes per thread for libraries that are loaded at run time, and each class loader of a JVM loads a copy.
for library in sys.argv[1:]:
    segments = subprocess.run(['readelf', '-lW', library], check=True, capture_output=True, text=True).stdout
    thread_local = sum(int(line.split()[5], 16) for line in segments.splitlines() if line.split()[:1] == ['TLS'])
    assert 0 < thread_local <= 512, f'{library} has {thread_local} thread-local bytes'
print(f'{len(declared)} functions')
