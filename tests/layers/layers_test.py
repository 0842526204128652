"""The arrows of the house point down, and persistent bytes pass through one header.

    layers_test.py            checks the checkout it lies in

  1. A layer includes only itself and what lies below it (docs/architecture.md).
  2. Flush, fence and non-temporal instructions are in memory/<architecture>.hpp, which only persist.hpp uses
     (and cpu.cpp, which probes them), in the vector copies of memory/copy.cpp, and in memory/line_store.hpp,
     which stores one line for Persist::fill_lines. And in the loops of bench/memory that measure them one by one.
  3. Heavy headers (CLI11, nlohmann, fmt, spdlog, yaml-cpp, the other stores) are in no .hpp of the library.
  4. Every header has #pragma once, and opens with its contract. Those of cmake/HoldfastPublicHeaders.cmake, and no
     others, say "Public header." in their first lines.
  5. No comment that was set in columns was filled by a formatter (`ReflowComments: false` in .clang-format), and
     since none is filled any more, none is wider than 100 columns.
Each rule first shows that it catches a violation, so that a broken pattern cannot pass for a clean tree.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What each layer may include besides itself.
BELOW = {
    'base': set(),
    'memory': {'base'},
    'crash': {'base', 'memory'},
    'blocks': {'base', 'memory'},
    'index': {'base', 'memory', 'blocks'},
    'kv': {'base', 'memory', 'blocks', 'index'},
    # The store for C and other languages.
    'c': {'base', 'memory', 'kv'},
    'sql': {'base'},
    'stream': {'base', 'memory', 'blocks', 'index', 'sql'},
    'olap': {'base', 'memory', 'blocks', 'index', 'sql'},
    # The one room by which streams keep their state in the store.
    'stream_kv': {'base', 'memory', 'sql', 'kv', 'stream'},
    'bench': {'base', 'memory', 'blocks', 'index', 'sql', 'kv', 'stream', 'olap', 'stream_kv'},
}
# Being rewritten: their comments are not mended and their public headers not marked yet.
FILLED_LAYERS = set()

INSTRUCTIONS = re.compile(r'_mm_(sfence|mfence|clflush|clflushopt|clwb|stream_\w+)|_mm\d+_stream_\w+|'
                          r'\basm\b.*"(clwb|clflush|clflushopt|sfence|movnt\w*)\b')
# One file per architecture, the header that uses it, the vector copies, and the probe of nt_evicts.
INSTRUCTION_FILES = {'memory/x86_64.hpp', 'memory/persist.hpp', 'memory/line_store.hpp', 'memory/copy.cpp',
                     'memory/cpu.cpp', 'bench/memory/vector_lines.hpp'}
INSTRUCTION_HEADER = re.compile(r'#include\s*[<"](holdfast/memory/)?(x86_64|aarch64)\.hpp')
HEAVY = re.compile(r'#include\s*[<"](CLI/|nlohmann/|fmt/|spdlog/|yaml-cpp/|httplib|rocksdb/|leveldb/|tbb/|oneapi/|lmdb|libpmem)')
INSTRUCTION_USERS = {'memory/persist.hpp', 'memory/copy.cpp', 'memory/cpu.cpp', 'bench/memory/vector_lines.hpp'}
INCLUDE = re.compile(r'#include\s*[<"]holdfast/(\w+)/')
PUBLIC = set(re.findall(r'^ +([a-z_/]+\.hpp)\)?$', (ROOT / 'cmake' / 'HoldfastPublicHeaders.cmake').read_text(), re.M))
PUBLIC_MARK = '\n// Public header.\n'
COMMENT = re.compile(r'\s*//(?P<indent> *)(?P<text>.*)$')
HEADING_WITHIN = re.compile(r'[.;] (Guarantee|Invariants?|Threads|Errors|Costs?|Media|Format|Output|Exit|Keys|Values?) {2,}\S')


def code_of(text):
    """The text without // comments, line for line."""
    return [re.sub(r'//.*', '', line) for line in text.split('\n')]


def filled_comments(text):
    """Lines of comments that a formatter has filled: the rest of a line of a column begins at the left, or a heading
    stands within a line."""
    found = []
    before = (0, '')
    lines = [COMMENT.match(line) for line in text.split('\n')] + [None]
    for number, line in enumerate(lines):
        if line is None:
            before = (0, '')
            continue
        indent, words = len(line['indent']), line['text'].rstrip()
        after = lines[number + 1]
        in_columns = before[0] >= 5 or re.match(r'[A-Z][A-Za-z]*( [a-z]+)?  +\S', before[1])
        heading = re.match(r'\S+( \S+)?  +\S', words)
        if (in_columns and indent == 1 and words[:1].islower() and not heading
                and after is not None and len(after['indent']) >= 5):
            found.append((number + 1, words))
        elif HEADING_WITHIN.search(words):
            found.append((number + 1, words))
        before = (indent, words)
    return found


def violations(name, text):
    """What is wrong with the file `name` (relative to holdfast/) of this text."""
    layer = name.split('/')[0]
    if layer not in BELOW:
        return [f'{name}: layer "{layer}" is unknown; add it to BELOW in tests/layers/layers_test.py']
    found = []
    for number, line in enumerate(code_of(text), 1):
        include = INCLUDE.search(line)
        if include and include[1] != layer and include[1] not in BELOW[layer]:
            found.append(f'{name}:{number}: {layer} includes {include[1]}, which does not lie below it')
        if INSTRUCTIONS.search(line) and name not in INSTRUCTION_FILES:
            found.append(f'{name}:{number}: a flush, fence or streaming instruction; use memory/persist.hpp')
        if INSTRUCTION_HEADER.search(line) and name not in INSTRUCTION_USERS:
            found.append(f'{name}:{number}: the instructions of an architecture; use memory/persist.hpp')
        if HEAVY.search(line) and name.endswith('.hpp'):
            found.append(f'{name}:{number}: a heavy header in a header; include it in the .cpp')
    if layer not in FILLED_LAYERS:
        for number, line in enumerate(text.split('\n'), 1):
            if len(line) > 100 and COMMENT.match(line):
                found.append(f'{name}:{number}: a comment of {len(line)} columns; break it at 100')
        for number, words in filled_comments(text):
            found.append(f'{name}:{number}: a formatter has filled this comment: "{words}"')
    if name.endswith('.hpp'):
        if '#pragma once' not in text:
            found.append(f'{name}: no #pragma once')
        if not text.startswith(f'// {name.rsplit("/", 1)[1]}: '):
            found.append(f'{name}: does not open with its contract, "// {name.rsplit("/", 1)[1]}: …"')
        marked = PUBLIC_MARK in text[:500]
        if marked != (name in PUBLIC) and layer not in FILLED_LAYERS:
            found.append(f'{name}: {"is marked public, and is" if marked else "is public, and not marked; it is"} '
                         f'{"" if name in PUBLIC else "not "}in cmake/HoldfastPublicHeaders.cmake')
    return found


def self_test():
    clean = '// x.hpp: …\n#pragma once\n#include <holdfast/base/result.hpp>\n'
    assert not violations('memory/x.hpp', clean)
    assert violations('base/x.hpp', clean.replace('base/', 'memory/'))
    assert violations('index/x.hpp', clean.replace('base/', 'kv/'))
    assert violations('kv/x.hpp', clean.replace('base/', 'stream/'))
    assert violations('kv/x.hpp', clean + '_mm_sfence();\n')
    assert violations('kv/x.cpp', 'asm volatile("clwb (%0)");\n')
    assert violations('kv/x.cpp', '#include <holdfast/memory/x86_64.hpp>\n')
    assert not violations('memory/persist.hpp', clean.replace('x.hpp: …', 'persist.hpp: …\n// Public header.') + '_mm_sfence();\n')
    assert not violations('kv/x.cpp', '// _mm_sfence() is in persist.hpp\n')
    assert violations('kv/x.hpp', clean + '#include <fmt/format.h>\n')
    assert violations('kv/x.hpp', clean.replace('#pragma once', ''))
    assert violations('kv/x.hpp', '#pragma once\n')
    public = '// region.hpp: …\n// Public header.\n#pragma once\n'
    assert not violations('memory/region.hpp', public)
    assert violations('memory/region.hpp', public.replace(PUBLIC_MARK, '\n'))
    assert violations('memory/files.hpp', public.replace('region', 'files'))
    columns = '// Guarantee  A call is durable when it\n//            returns.\n// Threads    Any.\n'
    assert not violations('base/x.cpp', columns)
    assert violations('base/x.cpp', columns.replace('when it\n//            returns', 'when\n// it\n//            returns'))
    assert violations('base/x.cpp', columns.replace('.\n// Threads', '. Threads'))
    assert violations('base/x.cpp', '// ' + 'word ' * 20 + '\n')
    assert not violations('base/x.cpp', '//   code();   // As before:\n// it goes on.\n')


def main():
    self_test()
    files = sorted(path for path in (ROOT / 'holdfast').rglob('*') if path.suffix in ('.hpp', '.cpp'))
    if len(files) < 5:
        sys.exit(f'only {len(files)} sources below {ROOT}/holdfast: this is not the checkout')
    found = [line for path in files
             for line in violations(path.relative_to(ROOT / 'holdfast').as_posix(), path.read_text())]
    for line in found:
        print(f'holdfast/{line}')
    print(f'{len(files)} files, {len(found)} violations')
    sys.exit(1 if found else 0)


main()
