"""Every header of the library compiles as the only include of a file. Those whose text depends on HF_TRACED do so in
the traced build too; the others are the same text there.

    headers_alone_test.py [--quick FILE] [COMPILER]      default: $CXX, else c++

With --quick the headers that FILE names, and of the others every fourth, not the same ones for every commit.

Twice in a row, so that a missing include guard shows too; warnings are errors.
It first shows that it catches headers that do not.

And what a program may get wrong is refused in words: API-2 and API-5.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser()
parser.add_argument('--quick', type=pathlib.Path)
parser.add_argument('compiler', nargs='?', default=os.environ.get('CXX', 'c++'))
ARGUMENTS = parser.parse_args()
COMPILER = ARGUMENTS.compiler


def violations(root, header):
    """What the compiler says to `header`, a path below root/holdfast, alone."""
    found = []
    builds = {'normal': [], 'traced': ['-DHF_TRACED=1']}
    if header.parts[0] == 'crash':
        del builds['normal']  # The checker exists as traced only.
    elif 'HF_TRACED' not in (pathlib.Path(root) / 'holdfast' / header).read_text():
        del builds['traced']
    for build, flags in builds.items():
        result = subprocess.run(
            [COMPILER, '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-I', str(root), *flags,
             '-x', 'c++', '-'],
            input=f'#include <holdfast/{header}>\n' * 2, text=True, capture_output=True)
        if result.returncode != 0:
            errors = [line for line in result.stderr.split('\n') if 'error' in line]
            found.append(f'holdfast/{header} ({build} build): {(errors or [result.stderr])[0]}')
    return found


def quick(headers, named, commit):
    return [header for header in headers
            if f'holdfast/{header}' in named or zlib.crc32(f'{commit} {header}'.encode()) % 4 == 0]


def self_test():
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / 'holdfast' / 'kv').mkdir(parents=True)
        header = pathlib.PurePath('kv/x.hpp')

        def found(text):
            (pathlib.Path(directory) / 'holdfast' / header).write_text(text)
            return violations(directory, header)

        assert not found('#pragma once\n#include <string>\ninline std::string x() { return {}; }\n')
        assert found('#pragma once\ninline std::string x() { return {}; }\n'), 'a missing include'
        assert found('struct X {};\n'), 'a missing guard'
        traced_only = found('#pragma once\n#ifdef HF_TRACED\nint x = y;\n#endif\n')
        assert len(traced_only) == 1 and 'traced' in traced_only[0]
    many = [pathlib.PurePath(f'kv/{number}.hpp') for number in range(200)]
    drawn = quick(many, {'holdfast/kv/7.hpp', 'holdfast/kv/8.hpp'}, 'a commit')
    assert {many[7], many[8]} <= set(drawn) and 25 < len(drawn) < 80 and drawn != quick(many, set(), 'another')


# A program, the words that stand where the compiler refuses it, and the standard it is compiled by.
REFUSED = [
    ('#include <holdfast/kv/store.hpp>', 'Holdfast needs C++20', 'c++17'),
    ('#include <holdfast/blocks/log/log.hpp>', 'Holdfast needs C++20', 'c++17'),
    ('#include <holdfast/kv/store.hpp>\nauto x = holdfast::kv::Store<int, int>::open("x");', 'of fixed-size types: #include <holdfast/kv/typed_store.hpp>', 'c++20'),
    ('#include <holdfast/kv/typed_store.hpp>\nauto x = holdfast::kv::Store<int, std::string>::open("x");', 'for std::string use Store<>', 'c++20'),
    ('#include <holdfast/kv/typed_store.hpp>\nauto x = holdfast::kv::Store<int, const char*>::open("x");', 'a pointer, span or string_view would be stored', 'c++20'),
    ('#include <string>\n#include <holdfast/blocks/field/fam_field.hpp>\nholdfast::blocks::FamField<std::string> x;', 'must be trivially copyable', 'c++20'),
    ('#include <holdfast/blocks/field/fam_field.hpp>\nholdfast::blocks::FamField<unsigned> x;', '16 to 256 bytes', 'c++20'),
    ('#include <string>\n#include <holdfast/blocks/field/cow_field.hpp>\nholdfast::blocks::CowField<std::string> x;', 'must be trivially copyable', 'c++20'),
    ('#include <string>\n#include <holdfast/blocks/field/log_field.hpp>\nholdfast::blocks::LogField<std::string> x;', 'must be trivially copyable', 'c++20'),
]


def refused_without_words(case):
    program, words, standard = case
    result = subprocess.run([COMPILER, f'-std={standard}', '-fsyntax-only', '-I', str(ROOT), '-x', 'c++', '-'],
                            input=program + '\n', text=True, capture_output=True)
    errors = [line for line in result.stderr.split('\n') if 'error' in line]
    said = errors[:1] if standard == 'c++17' else [result.stderr]
    if result.returncode != 0 and any(words in text for text in said):
        return []
    return [f'{program!r} as {standard}: not refused by "{words}", but: {(errors or ["compiled"])[0]}']


def main():
    self_test()
    headers = sorted(path.relative_to(ROOT / 'holdfast') for path in (ROOT / 'holdfast').rglob('*.hpp'))
    if not pathlib.Path('/usr/include/librdkafka/rdkafka.h').exists():
        # The insides of a module, which is not built then.
        headers = [header for header in headers if header.parts[:2] != ('stream', 'kafka')]
    if len(headers) < 5:
        sys.exit(f'only {len(headers)} headers below {ROOT}/holdfast: this is not the checkout')
    if ARGUMENTS.quick:
        commit = subprocess.run(['git', '-c', f'safe.directory={ROOT}', 'rev-parse', 'HEAD'], cwd=ROOT, capture_output=True, text=True)
        headers = quick(headers, set(ARGUMENTS.quick.read_text().split()), commit.stdout.strip())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(lambda header: violations(ROOT, header), headers) for line in lines]
        found += [line for lines in pool.map(refused_without_words, REFUSED) for line in lines]
    for line in found:
        print(line)
    print(f'{len(headers)} headers, {len(found)} violations')
    sys.exit(1 if found else 0)


main()
