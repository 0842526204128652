"""The programs that README.md and docs/ show are those of examples/, which are built with everything else.

    readme_test.py            checks the checkout it lies in; also that local links lead somewhere, that no document cites
                              what only the project has, and that prose is narrow enough to be read in an editor and not
                              broken in the middle of a paragraph

A block of C++ or C that begins with "// NAME: …" or "/* NAME: …", where examples/NAME exists, must be that file, and each file of examples/
is shown somewhere. The first program of README.md is examples/first_store.cpp, of 25 lines.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob('*.md')), *sorted((ROOT / 'docs').rglob('*.md'))]
CITING = [*sorted((ROOT / 'workloads').rglob('*.yaml')), *sorted((ROOT / 'data').rglob('*.yaml'))]  # Cite papers, too.
# What no reader outside of the project can look up.
PRIVATE = re.compile(r'\b[Ss]eed \d{3}\b|anchors/|\b[Hh]oles? \d')
WIDEST = 130  # Columns of prose; tables and programs may be wider.
NARROW = 85  # A line of prose is broken only where the next word would not have fit into so many.


def programs(text):
    """The blocks of C++ and C of a document."""
    return re.findall(r'```c(?:pp)?\n(.*?)```', text, flags=re.DOTALL)


def is_ragged(line, following):
    """Whether a line of prose ends although the next word of its paragraph would have fit."""
    def prose(text):
        return text.strip() and not text.startswith('    ') and not re.match(r'\s*(\||#|- |\* |\d+\. |<|\[)', text)
    goes_on = prose(following) and prose(re.sub(r'^\s*(- |\* |\d+\. )', '', line))
    # Code and links are not broken: all of one counts as a word.
    word = re.match(r'\s*((?:`[^`]*`|\[[^\]]*\]\([^)]*\)|\S)+)', following)
    return bool(goes_on) and len(line) + 1 + len(word[1]) <= NARROW


def private_words(document, text):
    return [f'{document}:{number}: "{private[0]}" means nothing to a reader: cite author, title and year'
            for number, line in enumerate(text.split('\n'), 1) if (private := PRIVATE.search(line))]


def faults(document, text, examples):
    """What is wrong with the document, a path below ROOT; `examples` is {name: text}."""
    found = []
    for program in programs(text):
        name = re.match(r'(?://|/\*) ([a-z_]+\.(?:[ch]pp|c)): ', program)
        if name and name[1] in examples and program != examples[name[1]]:
            found.append(f'{document} does not show examples/{name[1]} as it is')
    prose = re.sub(r'```.*?```|`[^`]*`', '', text, flags=re.DOTALL)
    for target in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', prose):
        if not ((ROOT / document).parent / target).exists():
            found.append(f'{document}: the link to {target} leads nowhere')
    found += private_words(document, text)
    outside = re.sub(r'```.*?```', lambda block: '\n' * block[0].count('\n'), text, flags=re.DOTALL).split('\n')
    for number, (line, following) in enumerate(zip(outside, outside[1:] + ['']), 1):
        if len(line) > WIDEST and not line.startswith(('|', '    ')):
            found.append(f'{document}:{number}: {len(line)} columns of prose; break the line')
        if is_ragged(line, following):
            found.append(f'{document}:{number}: broken in the middle of a paragraph; reflow it')
    return found


def self_test():
    examples = {'x.cpp': '// x.cpp: …\nint main() {}\n'}
    document = pathlib.Path('README.md')
    shown = f'```cpp\n{examples["x.cpp"]}```\n'
    assert not faults(document, shown, examples)
    in_c = {'x.c': '/* x.c: … */\nint x;\n'}
    assert not faults(document, f'```c\n{in_c["x.c"]}```\n', in_c) and faults(document, '```c\n/* x.c: … */\n```\n', in_c)
    assert faults(document, shown.replace('{}', '{ }'), examples)
    assert faults(document, '[x](docs/no_such.md)', examples)
    assert not faults(document, '[x](docs/architecture.md#here)', examples)
    assert private_words(document, 'Seed 003, section 2') and not private_words(document, 'seed=3')
    assert faults(document, 'as seed 003 has it', examples) and faults(document, 'closes hole 19', examples)
    assert faults(document, 'broken in the\nmiddle', examples) and not faults(document, '# a\n| b |\n- c\n- d', examples)
    assert faults(document, 'word ' * 40, examples) and not faults(document, '|' + 'word ' * 40, examples)


def main():
    self_test()
    examples = {path.name: path.read_text() for path in sorted((ROOT / 'examples').glob('*.*'))
                if path.suffix in ('.cpp', '.hpp', '.c')}
    readme = (ROOT / 'README.md').read_text()
    first = examples['first_store.cpp']
    if f'```cpp\n{first}```' not in readme:
        sys.exit('README.md does not show examples/first_store.cpp as it is')
    if len(first.splitlines()) > 26:
        sys.exit(f'examples/first_store.cpp has {len(first.splitlines())} lines; README.md promises 25')
    texts = {path.relative_to(ROOT): path.read_text() for path in DOCUMENTS}
    found = [fault for document, text in texts.items() for fault in faults(document, text, examples)]
    found += [fault for path in CITING for fault in private_words(path.relative_to(ROOT), path.read_text())]
    shown = {program for text in texts.values() for program in programs(text)}
    found += [f'examples/{name} is shown in no document' for name, text in examples.items() if text not in shown]
    print('\n'.join(found) if found else f'{len(texts)} documents, {len(examples)} programs')
    sys.exit(1 if found else 0)


main()
