"""The measured loops touch what they should under every compiler and optimisation.

    memory_kernel_lines.py    builds memory_kernel_lines.cpp with g++ and clang++-19 at -O2 and -O3, and runs each

Compilers have removed the loads of a benchmark before (and left its tests green), so this counts what the
machine code does. Broken kernels must be found: the last two builds leave out every second load or fence, and must
fail.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY = ROOT / 'holdfast/bench/memory'
FLAGS = {'kernels_avx2.cpp': ['-mavx2'], 'kernels_avx512.cpp': ['-mavx512f', '-mavx512bw']}
SOURCES = [MEMORY / name for name in ('kernels.cpp', 'kernels_portable.cpp', *FLAGS)]
SOURCES.append(ROOT / 'tests/bench/memory_kernel_lines.cpp')


def compile_one(source, compiler, optimisation, defines, directory):
    target = pathlib.Path(directory) / (source.stem + '.o')
    launcher = ['ccache'] if shutil.which('ccache') else []
    subprocess.run([*launcher, compiler, '-std=c++20', optimisation, '-DNDEBUG', *defines, *FLAGS.get(source.name, []),
                    '-I', str(ROOT), '-c', str(source), '-o', str(target)], check=True)
    return str(target)


def run(compiler, optimisation, defines=()):
    with tempfile.TemporaryDirectory() as directory:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda s: compile_one(s, compiler, optimisation, defines, directory), SOURCES))
        program = os.path.join(directory, 'lines')
        subprocess.run([compiler, *objects, '-o', program], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=False)


def main():
    failed = False
    compilers = [name for name in ('g++', 'clang++-19') if shutil.which(name)]
    for compiler in compilers:
        for optimisation in ('-O2', '-O3'):
            result = run(compiler, optimisation)
            print(f'{compiler} {optimisation}: {result.stdout.strip()} {result.stderr.strip()}', flush=True)
            failed = failed or result.returncode != 0
    for what in ('LOADS', 'FENCES'):
        broken = run(compilers[0], '-O2', [f'-DHF_TEST_LOSE_{what}'])
        if broken.returncode == 0:
            print(f'the test does not see a kernel that loses half of its {what.lower()}')
            failed = True
    if 'clang++-19' not in compilers:
        print('clang++-19 is not installed: not tried')
    sys.exit(1 if failed else 0)


main()
