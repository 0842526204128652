"""The program that README.md shows is examples/first_store.cpp, which is built with everything else.

    readme_test.py            checks the checkout it lies in; also that local links lead somewhere
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    readme = (ROOT / 'README.md').read_text()
    program = (ROOT / 'examples' / 'first_store.cpp').read_text()
    if f'```cpp\n{program}```' not in readme:
        sys.exit('README.md does not show examples/first_store.cpp as it is')
    if len(program.splitlines()) > 26:
        sys.exit(f'examples/first_store.cpp has {len(program.splitlines())} lines; README.md promises 25')
    missing = []
    for document in [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]:
        prose = re.sub(r'```.*?```|`[^`]*`', '', document.read_text(), flags=re.DOTALL)
        for target in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', prose):
            if not (document.parent / target).exists():
                missing.append(f'{document.relative_to(ROOT)}: {target}')
    if missing:
        sys.exit('links that lead nowhere:\n' + '\n'.join(missing))


main()
