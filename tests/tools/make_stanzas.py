"""Prints control stanzas that look like a Debian package index, for machines that have none.

    make_stanzas.py COUNT [SEED]

The same arguments print the same text.
"""
import random
import sys


def main():
    count = int(sys.argv[1])
    source = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    words = [''.join(source.choices('abcdefghijklmnopqrstuvwxyz', k=source.randint(2, 9))) for _ in range(2000)]
    for number in range(count):
        name = f'{source.choice(words)}-{number}'
        print(f'Package: {name}')
        print(f'Version: {source.randint(0, 9)}.{source.randint(0, 99)}-{source.randint(1, 9)}')
        print(f'Architecture: {source.choice(["amd64", "all"])}')
        depends = ', '.join(source.choices(words, k=source.randint(0, 40)))
        if depends:
            print(f'Depends: {depends}')
        print(f'Description: {" ".join(source.choices(words, k=6))}')
        for _ in range(source.randint(0, 6)):
            print(f' {" ".join(source.choices(words, k=10))}')
        print()


main()
