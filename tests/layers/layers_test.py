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
  6. Comments cite papers, not what no reader has ("seed 003", "hole 12").
  7. No file of the product has more than 600 lines, no function more than 70, no class of kv more than 20 data
     members.
     That goes for sources that others include (.inc) and scripts (.js), too.
  8. Sources that a first build compiles as one piece (cmake/HoldfastPrecompiled.cmake) have no two things of one name in
     their anonymous namespaces: of two functions a call would take the one that fits better, whosever it is.
  9. Locks are those of base (lock.hpp, mutex.hpp), which clang checks; std::mutex and its guards are not, and only those
     of STANDARD_LOCKS use them.
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
    # The one by which they keep it in RocksDB.
    'stream_rocksdb': {'base', 'memory', 'sql', 'stream'},
    # Published algorithms that the blocks are compared with.
    'baselines': {'base', 'memory', 'blocks'},
    # What finds and loads libraries that the command can do without.
    'modules': {'base'},
    # What people write as YAML, with places for messages.
    'yaml': {'base'},
    # What results are: it measures nothing.
    'results': {'base'},
    'bench': {'base', 'modules', 'yaml', 'results', 'memory', 'blocks', 'index', 'sql', 'kv', 'stream', 'olap', 'stream_kv', 'stream_rocksdb', 'baselines'},
    # What benchmarks compare with: subjects of their suites, made with what others wrote.
    'peers': {'base', 'modules', 'results', 'memory', 'blocks', 'index', 'sql', 'kv', 'stream', 'stream_kv', 'stream_rocksdb', 'bench'},
}
# Being rewritten: their comments are not mended and their public headers not marked yet.
FILLED_LAYERS = set()

INSTRUCTIONS = re.compile(r'_mm_(sfence|mfence|clflush|clflushopt|clwb|stream_\w+)|_mm\d+_stream_\w+|'
                          r'\basm\b.*"(clwb|clflush|clflushopt|sfence|movnt\w*)\b')
# One file per architecture, the header that uses it, the vector copies, and the probe of nt_evicts.
INSTRUCTION_FILES = {'memory/x86_64.hpp', 'memory/persist.hpp', 'memory/line_store.hpp', 'memory/copy.cpp',
                     'memory/cpu.cpp', 'bench/memory/vector_lines.hpp'}
INSTRUCTION_HEADER = re.compile(r'#include\s*[<"](holdfast/memory/)?(x86_64|aarch64)\.hpp')
HEAVY = re.compile(r'#include\s*[<"](CLI/|nlohmann/|fmt/|spdlog/|yaml-cpp/|httplib|re2/|rocksdb/|leveldb/|tbb/|oneapi/|lmdb|libpmem)')
INSTRUCTION_USERS = {'memory/persist.hpp', 'memory/copy.cpp', 'memory/cpu.cpp', 'bench/memory/vector_lines.hpp'}
INCLUDE = re.compile(r'#include\s*[<"]holdfast/(\w+)/')
PUBLIC = set(re.findall(r'^ +([a-z_/]+\.hpp)\)?$', (ROOT / 'cmake' / 'HoldfastPublicHeaders.cmake').read_text(), re.M))
PUBLIC_MARK = '\n// Public header.\n'
PRIVATE = re.compile(r'//.*(\b[Ss]eed 0\d\d\b|anchors/|\b[Hh]oles? \d)')
LOCAL_NAME = re.compile(r'(?:\[\[.*?\]\] )?(?!using |return |template|namespace|#|//|\}| )[A-Za-z_][\w:<>,&* ]*?[ &*]([A-Za-z_]\w*)(?:\(| =|\{| \{|;| final| : )')
COMMENT = re.compile(r'\s*//(?P<indent> *)(?P<text>.*)$')
HEADING_WITHIN = re.compile(r'[.;] (Guarantee|Invariants?|Threads|Errors|Costs?|Media|Format|Output|Exit|Keys|Values?) {2,}\S')


MOST_FILE_LINES, MOST_FUNCTION_LINES, MOST_MEMBERS = 600, 70, 20
SCOPE = re.compile(r'\s*(template\s+)*(requires\b.*? )?((inline|static|typedef) )*(namespace|class|struct|union|enum|extern)\b[^()]*\{$')
ATTRIBUTES = re.compile(r'HF_\w+(\([^()]*\))?|alignas\([^()]*\)|\[\[.*?\]\]')
STANDARD_LOCK = re.compile(r'\bstd::(\w*mutex|unique_lock|lock_guard|scoped_lock|shared_lock|condition_variable\w*)\b')
STANDARD_LOCKS = {
    'base/mutex.hpp': 'is made of them',
    'base/condition.hpp': 'is made of them',
    'crash/medium.hpp': 'is taken again by its holder',
    'kv/maintenance.hpp': 'a Turn is moved, and is asked for as a parameter',
    'bench/kv/map_subject.cpp': 'is what is measured',
    'peers/blocks/pmdk_locks.cpp': 'is what is measured',
    'peers/index/absl_subject.cpp': 'is what is measured',
    'sql/patterns.cpp': 'is compiled once for both builds, in which base/mutex.hpp differs',
    'sql/type.cpp': 'is compiled once for both builds, in which base/mutex.hpp differs',
    'sql/zone.cpp': 'is compiled once for both builds, in which base/mutex.hpp differs',
    'tools/stream_command.cpp': 'waits for a std::stop_token, and guards nothing',
}


def without_arguments(text):
    """The text without what stands in angle brackets."""
    while text != (fewer := re.sub(r'<[^<>;]*>', '', text)):
        text = fewer
    return text


def opens_scope(head):
    """Whether a block that begins so is a class or namespace; else it is a function."""
    return SCOPE.match(ATTRIBUTES.sub('', without_arguments(re.sub(r'"(\\.|[^"\\])*"', '""', head))))


def long_functions(text):
    """(line, lines) of functions that are too long. Relies on what clang-format makes of a file: a block ends at the
    first line that begins with its brace as far left as the block began."""
    lines = code_of(text)
    found, at = [], 0
    while at < len(lines):
        line = lines[at].rstrip()
        indent = len(line) - len(line.lstrip())
        first = at
        while first > 0 and lines[first - 1].strip() and lines[first - 1].rstrip()[-1] not in ';{}:' and lines[first - 1][0] != '#':
            first -= 1
        if line.endswith('{') and not re.search(r'=\s*\{$', line) and not opens_scope(' '.join(lines[first:at + 1])):
            indent = len(lines[first]) - len(lines[first].lstrip())
            while first < at and lines[first].lstrip().startswith('template <'):
                first += 1
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith(' ' * indent + '}')), at)
            if end - first + 1 > MOST_FUNCTION_LINES:
                found.append((first + 1, end - first + 1))
            at = end
        at += 1
    return found


def members_of_classes(text):
    """(name, number of data members) of each class."""
    text = re.sub(r'"(\\.|[^"\\])*"', '""', '\n'.join(code_of(text)))
    text = ATTRIBUTES.sub('', text)
    found = []
    for match in re.finditer(r'\b(class|struct) +([\w:]+)(?: final)?(?: *:[^;{]*)? *\{', text):
        depth, at, body = 1, match.end(), ''
        while depth > 0 and at < len(text):
            depth += {'{': 1, '}': -1}.get(text[at], 0)
            if depth == 1:
                body += '{};' if text[at] == '}' else text[at]
            at += 1
        body = without_arguments(re.sub(r'\b(public|private|protected):', '', body))
        while body != (fewer := re.sub(r'\([^()]*\)', '@', body)):
            body = fewer
        members, functions = 0, 0
        for statement in body.split(';'):
            words = re.sub(r'=[^,]*', '', statement.replace('{}', ' ')).strip()
            if not re.search(r'\w', words):
                continue
            if '@' in words or 'operator' in words:
                functions += 1
            elif not re.match(r'(using|friend|static|template|enum|class|struct|union|typedef)\b', words):
                members += 1 + words.count(',')
        if match[1] == 'class' or functions > 0:  # A struct without functions is a list of values, not a class.
            found.append((match[2], members))
    return found


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


def sizes(name, text):
    found = [f'{name}:{number}: cites what no reader has; name author, title and year'
             for number, line in enumerate(text.split('\n'), 1) if PRIVATE.search(line)]
    if (lines := text.count('\n')) > MOST_FILE_LINES:
        found.append(f'{name}: {lines} lines; {MOST_FILE_LINES} are allowed')
    for line, length in long_functions(text):
        found.append(f'{name}:{line}: a function of {length} lines; {MOST_FUNCTION_LINES} are allowed')
    if name.startswith('kv/'):
        for of, members in members_of_classes(text):
            if members > MOST_MEMBERS:
                found.append(f'{name}: {of} has {members} data members; {MOST_MEMBERS} are allowed')
    return found


def local_names(text):
    """(namespace, name) of what stands in anonymous namespaces, declared in its first column."""
    names, around, inside = set(), '', False
    for line in text.split('\n'):
        if opened := re.match(r'namespace ([\w:]+) \{', line):
            around = opened.group(1)
        if line == 'namespace {':
            inside = True
        elif line == '}  // namespace':
            inside = False
        elif inside and (named := LOCAL_NAME.match(line)):
            names.add((around, named.group(1)))
    return names


def header_names(text):
    """(namespace, name) of the types of a header."""
    opened = re.search(r'^namespace ([\w:]+) \{', text, re.M)
    types = re.findall(r'^(?:class|struct|enum class) (?:\[\[\w+\]\] |alignas\(\w+\) )?(\w+)', text, re.M)
    return {(opened.group(1), name) for name in types} if opened else set()


def shared_names(sources, headers=()):
    """`sources`: (file, text) of one piece; `headers`: those that another of them may include."""
    of, found = {name: file for file, text in headers for name in header_names(text)}, []
    for name, text in sources:
        for local in sorted(local_names(text)):
            if local in of:
                found.append(f'{name}: `{local[1]}` is a name of {of[local]}, too: some builds compile them as one')
            of.setdefault(local, name)
    return found


def pieces():
    """The sources of each library and each test that is compiled in pieces."""
    lists = [path for folder in ('holdfast', 'tools', 'tests') for path in sorted((ROOT / folder).rglob('*'))
             if path.name == 'CMakeLists.txt' or path.suffix == '.cmake']
    for path in lists:
        text = re.sub(r'#.*', '', path.read_text())
        for name, sources in re.findall(r'set\((\w+_sources)\s(.*?)\)', text, re.S):
            text = text.replace(f'${{{name}}}', sources)
        alone = ' '.join(re.findall(r'set_source_files_properties\(([^)]*?)PROPERTIES SKIP_UNITY', text)).split()
        whole = [one for one in re.findall(r'holdfast_(?:layer|test)\((.*?)\n?\)', text, re.S)]
        for target in re.findall(r'holdfast_in_few_pieces\((\w+)', text):
            whole += re.findall(rf'add_(?:library|executable)\({target} (.*?)\)', text, re.S)
        for names in whole:
            names = [path.parent / name for name in re.findall(r'(?<![\w/}])[\w/]+\.cpp', names) if name not in alone]
            yield [(name.relative_to(ROOT).as_posix(), name.read_text()) for name in names]


def traced_includes(root, layer):
    """What a layer includes, itself or by others, whose text depends on HF_TRACED: such a layer has a twin of its own."""
    open_ = [path for path in (root / 'holdfast' / layer).rglob('*') if path.suffix in ('.hpp', '.cpp')]
    seen = set(open_)
    while open_:
        for name in re.findall(r'#include [<"](holdfast/[^>"]+)', open_.pop().read_text()):
            path = root / name
            if path not in seen and path.exists():
                seen.add(path)
                open_.append(path)
    return sorted(str(path.relative_to(root)) for path in seen if 'HF_TRACED' in path.read_text())


def standard_locks(name, text):
    used = any(STANDARD_LOCK.search(re.sub(r'"(\\.|[^"\\])*"', '', line)) for line in code_of(text))
    if used and name not in STANDARD_LOCKS:
        return [f'{name}: a lock that clang does not check; use base/mutex.hpp and base/lock.hpp']
    if not used and name in STANDARD_LOCKS:
        return [f'{name}: uses no standard lock any more; take it out of STANDARD_LOCKS']
    return []


def violations(name, text):
    """What is wrong with the file `name` (relative to holdfast/) of this text."""
    layer = name.split('/')[0]
    if name.endswith('.js'):
        return sizes(name, text)
    if layer == 'tools':
        return sizes(name, text) + standard_locks(name, text)
    if layer not in BELOW:
        return [f'{name}: layer "{layer}" is unknown; add it to BELOW in tests/layers/layers_test.py']
    found = sizes(name, text) + standard_locks(name, text)
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
    assert violations('baselines/x.hpp', clean.replace('base/', 'bench/'))
    assert violations('results/x.hpp', clean.replace('base/', 'bench/'))
    assert violations('bench/x.hpp', clean.replace('base/', 'peers/'))
    assert violations('kv/x.hpp', clean.replace('base/', 'peers/'))
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
    assert violations('tools/x.cpp', 'x;  // As seed 003 has it.\n') and violations('base/x.cpp', '// Closes hole 12.\n')
    assert not violations('base/x.cpp', 'x;  // seed=3, a hole.\n')
    assert not violations('base/x.cpp', 'x;\n' * MOST_FILE_LINES)
    assert violations('base/x.cpp', 'x;\n' * (MOST_FILE_LINES + 1))
    function = 'namespace a {\nclass B {\n  int f(int a,\n        int b) const {\n' + '    x;\n' * 67 + '  }\n};\n}\n'
    assert not violations('tools/x.cpp', function)
    assert violations('tools/x.cpp', function.replace('    x;\n', '    x;\n    y;\n', 1)) == [
        'tools/x.cpp:3: a function of 71 lines; 70 are allowed']
    body = '  x;\n' * 300 + '}\n'
    for head in ('bool f(const struct stat& a) {\n', 'template <class T> void g(T a) {\n', 'struct stat f(int a) {\n', 'enum E f() {\n'):
        assert long_functions(head + body) == [(1, 302)], head
    for head in ('class HF_CAPABILITY("x") [[nodiscard]] A final : public B<decltype(f())> {\n', 'extern "C" {\n',
                 'template <class T>\n  requires(sizeof(T) > 0)\nstruct alignas(64) A<T, int> : B,\n    C {\n', 'enum class E : int {\n',
                 '#define HF_X [[x(Y)]]\nnamespace a::b {\n'):
        assert not long_functions(head + body), head
    assert violations('kv/x.inc', 'void f() {\n' + body) and violations('results/report/x.js', 'function f(a) {\n' + body)
    members = 'class C : D {\n  C(int a) : a_(a) {}\n  int f() const { return 1; }\n  static int s;\n' + \
        '  E<int, F<3>> a_ HF_GUARDED_BY(m_);\n' * 18 + '  int b = 0, c{7};\n};\n'
    assert members_of_classes(members) == [('C', 20)]
    assert not violations('kv/x.cpp', members)
    assert violations('kv/x.cpp', members.replace('int f() const', 'int d;\n  int f() const'))
    many = ''.join(f'  int m{i}_;\n' for i in range(40))
    assert members_of_classes('class C {\n' + many + '};\n') == [('C', 40)]
    assert not members_of_classes('struct C {\n' + many.replace('_;', ' = f(3);') + '};\n')
    assert members_of_classes('class C {\n' + many.replace('_;', ' = f(3, g(4));') + '};\n') == [('C', 40)]
    assert members_of_classes('struct C {\n  C(int a = 3, int b = f(4));\n  bool operator==(const C&) const = default;\n' + many + '};\n') == [('C', 40)]
    assert violations('kv/x.cpp', 'std::mutex a;\n') and violations('tools/x.cpp', 'const std::lock_guard a(b);\n')
    assert any('STANDARD_LOCKS' in line for line in violations('base/mutex.hpp', clean.replace('x.hpp', 'mutex.hpp')))
    assert not violations('kv/x.cpp', '// As std::lock_guard.\nx("behind a std::mutex");\n')
    local = 'namespace a::b {\nnamespace {\n\nError bad(int n) {\n  return n;\n}\n\n}  // namespace\nError good(int n);\n}\n'
    assert shared_names([('a.cpp', local), ('b.cpp', local.replace('int n', 'long n'))])
    assert not shared_names([('a.cpp', local), ('b.cpp', local.replace('a::b', 'a::c'))])
    assert not shared_names([('a.cpp', local), ('b.cpp', local.replace('bad', 'ill'))])
    assert 'holdfast/base/mutex.hpp' in traced_includes(ROOT, 'kv')
    assert shared_names([('a.cpp', local.replace('Error bad', 'class bad {'))], [('a.hpp', 'namespace a::b {\n\nclass bad {\n')])
    for named in ('struct bad {', 'constexpr std::size_t bad = 3;', '[[gnu::flatten]] bool bad(const A& a) {', 'class bad final : C {', 'class bad : public C {'):
        assert shared_names([('a.cpp', local), ('b.cpp', local.replace('Error bad(int n) {', named))]), named


def main():
    self_test()
    files = sorted(path for path in (ROOT / 'holdfast').rglob('*') if path.suffix in ('.hpp', '.cpp', '.inc', '.js'))
    if len(files) < 5 or {path.suffix for path in files} != {'.hpp', '.cpp', '.inc', '.js'}:
        sys.exit(f'only {len(files)} sources below {ROOT}/holdfast: this is not the checkout')
    found = [f'holdfast/{line}' for path in files
             for line in violations(path.relative_to(ROOT / 'holdfast').as_posix(), path.read_text())]
    tools = sorted(path for path in (ROOT / 'tools').rglob('*') if path.suffix in ('.hpp', '.cpp'))
    found += [line for path in tools for line in violations(path.relative_to(ROOT).as_posix(), path.read_text())]
    in_pieces = list(pieces())
    if sum(map(len, in_pieces)) < 450:
        sys.exit(f'only {sum(map(len, in_pieces))} sources are compiled in pieces')
    for path in (ROOT / 'holdfast').rglob('CMakeLists.txt'):
        for layer in re.findall(r'holdfast_layer\((\w+) SAME_TWIN', path.read_text()):
            found += [f'{layer} is SAME_TWIN, but includes {name}, which asks for HF_TRACED' for name in traced_includes(ROOT, layer)]
    headers = [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in files if path.suffix == '.hpp']
    for sources in in_pieces:
        found += shared_names(sources, headers)
    for line in found:
        print(line)
    print(f'{len(files) + len(tools)} files, {len(found)} violations')
    sys.exit(1 if found else 0)


main()
