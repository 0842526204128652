"""The programs that the documents of the indexes begin with compile as they stand: documents_test.py COMPILER."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = sys.argv[1]


def program(blocks):
    """Blocks of C++ as one program. Each goes on where the one before ended, and may use its names again."""
    lines = '\n{\n'.join(blocks).split('\n')
    includes = [line for line in lines if line.startswith('#include')]
    return '\n'.join([*includes, 'void documented() {', *(line for line in lines if line not in includes), '}' * len(blocks), ''])


class DocumentsTest(unittest.TestCase):
    def test_their_programs_compile(self):
        for document in ('dash.md', 'fptree.md', 'fastfair.md'):
            blocks = re.findall(r'```cpp\n(.*?)```', (ROOT / 'docs' / document).read_text(), flags=re.DOTALL)
            # The first one alone, too: what a later one includes is not there for it.
            for count in range(1, len(blocks) + 1):
                with self.subTest(document, count=count), tempfile.TemporaryDirectory() as place:
                    source = pathlib.Path(place) / 'documented.cpp'
                    source.write_text(program(blocks[:count]))
                    done = subprocess.run([COMPILER, '-std=c++20', '-fsyntax-only', f'-I{ROOT}', source], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr[:1000])
            self.assertTrue(blocks)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
