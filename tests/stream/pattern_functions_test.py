"""Regular expressions against Python's `re`, over random texts; what is refused.

    pattern_functions_test.py HOLDFAST

Each answer is given by the interpreter and by compiled code. Regular expressions are skipped, and it says so, where the module of
RE2 is not built.
"""
import csv
import io
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

import compilers
from text_expressions import COMPILER, HOLDFAST, check, of, run, shown, table

PATTERNS = ['a', 'a*', '(a|b)+', '^b', 'b$', '[^a]', '(a)(b)?', '', 'ä', '(x)|(y)', '\\d+', 'a{2,3}', '(?i)AB', '.b.', '\\bab', '(&|^)id=([^&]*)',
            'a+?', '[a-c,]+', "it''s"]


def in_python(pattern):
    pattern = re.sub(r'\$$', r'\\Z', pattern.replace("''", "'"))  # RE2's $ is the end alone, not what is before a last newline.
    return re.compile(pattern, re.ASCII)


def group(pattern, number):
    def extract(text):
        found = pattern.search(text)
        return found.group(number) if found and 0 <= number <= pattern.groups else None
    return of(extract)


def first(pattern, otherwise, function):
    def of_first(text):
        found = pattern.search(text)
        return function(found) if found else otherwise
    return of(of_first)


SIMILAR = {'%a': r'.*a', 'a_': 'a.', '(a|b)%': '(a|b).*', '[a-c]+': '[a-c]+', '%.%': r'.*\..*', '[^a]%': '[^a].*', 'ab{1,2}%': 'ab{1,2}.*',
           '^a$%': r'\^a\$.*', '[[:digit:]]+': '[0-9]+', 'é%': 'é.*'}


def check_patterns(directory):
    rand = random.Random(3)
    alphabet = ['a', 'b', 'ab', 'ä', ' ', 'x', 'y', '1', '22', ',', '"', '&', 'id=', "it's", '.', 'AB', 'é', '^a$', '\n']
    rows = [(0, None), (1, '')] + [(i, ''.join(rand.choice(alphabet) for _ in range(rand.randrange(1, 9)))) for i in range(2, 150)]
    rows = [row for row in rows if row[1] != '']  # An empty field is no text of its own in CSV.
    head = table(directory / 'patterns.csv', rows)
    expressions = []
    for text in PATTERNS:
        pattern = in_python(text)
        expressions += [
            (f"REGEXP(s, '{text}')", of(lambda s, p=pattern: p.search(s) is not None)),
            (f"REGEXP_EXTRACT(s, '{text}')", group(pattern, 0)),
            (f"REGEXP_EXTRACT(s, '{text}', {number})" if (number := rand.randrange(-1, 4)) is not None else '', group(pattern, number)),
            (f"REGEXP_COUNT(s, '{text}')", of(lambda s, p=pattern: len(p.findall(s)))),
            (f"REGEXP_INSTR(s, '{text}')", first(pattern, 0, lambda found: found.start() + 1)),
            (f"REGEXP_SUBSTR(s, '{text}')", first(pattern, None, lambda found: found.group(0))),
            (f"REGEXP_REPLACE(s, '{text}', '<$1\\0>')", of(lambda s, p=pattern: p.sub(lambda _: '<$1\\0>', s)))]
    for text, meaning in SIMILAR.items():
        pattern = re.compile(meaning, re.DOTALL)
        expressions += [(f"s SIMILAR TO '{text}'", of(lambda s, p=pattern: p.fullmatch(s) is not None)),
                        (f"s NOT SIMILAR TO '{text}'", of(lambda s, p=pattern: p.fullmatch(s) is None))]
    expressions += [("s SIMILAR TO '%!_%' ESCAPE '!'", of(lambda s: '_' in s)), ("REGEXP_EXTRACT(s, CAST(NULL AS STRING))", lambda s: None),
                    ("REGEXP_REPLACE(s, 'a', CAST(NULL AS STRING))", lambda s: None)]
    check(head, expressions, rows)
    for query, said in (
            ("SELECT REGEXP(s, '(') FROM t", "line 2, column 18: this is no regular expression: missing"),
            ("SELECT REGEXP(s, '(?=a)') FROM t", "without look-around and references back"),
            ("SELECT REGEXP(s, '(a)\\1') FROM t", "this is no regular expression"),
            ("SELECT REGEXP(s, s) FROM t", "REGEXP with a pattern that is no literal is not supported"),
            ("SELECT REGEXP(n, 'a') FROM t", "REGEXP wants STRING"),
            ("SELECT REGEXP_EXTRACT(s) FROM t", "REGEXP_EXTRACT wants 2 to 3 arguments"),
            ("SELECT REGEXP_REPLACE(s, 'a') FROM t", "REGEXP_REPLACE wants 3 arguments"),
            ("SELECT s SIMILAR TO '[a' FROM t", "a [ has no ]"), ("SELECT s SIMILAR TO 'a{1' FROM t", "a { wants numbers and a }"),
            ("SELECT s SIMILAR TO 'a{x}' FROM t", "a { wants numbers and a }"), ("SELECT s SIMILAR TO 'a{1,,2}' FROM t", "a { wants"),
            ("SELECT s SIMILAR TO 'a{,2}' FROM t", "a { wants"), ("SELECT s SIMILAR TO 'a{' FROM t", "a { wants"), ("SELECT s SIMILAR TO '(?i)a' FROM t", "a ? has nothing before it"),
            ("SELECT s SIMILAR TO 'a!' ESCAPE '!' FROM t", "nothing is behind the last ESCAPE"),
            ("SELECT s SIMILAR TO 'a' ESCAPE '!!' FROM t", "ESCAPE wants a text of one ASCII character"),
            ("SELECT REGEXP(s, '" + '(a{1000}){1000}' + "') FROM t", "this is no regular expression"),
            ("SELECT REGEXP_EXTRAKT(s, 'a') FROM t", "did you mean REGEXP_EXTRACT?")):
        refused = run(head + query, code=2).stderr
        assert said in refused, (query, refused)
    # Patterns that take others exponential or quadratic time, over a text of a million characters.
    with open(directory / 'long.csv', 'w') as out:
        out.write('1,' + 'a' * 1_000_000 + '\n')
    long = table(directory / 'unused.csv', []).replace('unused', 'long')
    assert run(long + "SELECT REGEXP(s, '(a*)*b'), REGEXP(s, '(a|a)*$'), REGEXP_EXTRACT(s, '(a+)+c') FROM t").stdout.split()[-1] == \
        'false,true,\\N'
    print(f'{len(expressions)} regular expressions over {len(rows)} texts are right')


def check_sharing(directory):
    """A pattern that stands in a query twice is looked for once, and only where a cheap condition has not decided."""
    rows = [(i, text) for i, text in enumerate(['a=1', 'b=22', None, 'c', 'A=', 'keep', 'b=3&a=4', 'KEEP'])]
    head = table(directory / 'shared.csv', rows)
    extract = "REGEXP_EXTRACT(s, '[ab]=([0-9]*)', 1)"
    value = lambda s: (found := re.search('[ab]=([0-9]*)', s)) and found.group(1)
    for where, keeps in ((f"{extract} IS NOT NULL OR LOWER(s) IN ('keep')", lambda s: s is not None and (value(s) is not None or s.lower() == 'keep')),
                         (f"{extract} IS NULL AND s <> 'c' AND n < 100", lambda s: s is not None and value(s) is None and s != 'c')):
        query = head + f"SELECT n, CASE WHEN LOWER(s) = 'keep' THEN '!' ELSE {extract} END, LOWER(s) FROM t WHERE {where}"
        wanted = [(n, '!' if s.lower() == 'keep' else shown(value(s)), s.lower()) for n, s in rows if keeps(s)]
        text = run(query, '--compile', 'never').stdout
        assert [tuple(line) for line in csv.reader(io.StringIO(text))][1:] == [(str(n), *rest) for n, *rest in wanted], text
        if not COMPILER:
            continue
        cache = directory / f'shared_{len(where)}'
        compiled = run(query, '--compile', 'wait', '--cache', str(cache))
        assert compiled.stdout == text and ', compiled' in compiled.stderr, compiled.stderr
        source, = (path.read_text() for path in cache.glob('[0-9a-f]*.cpp'))
        assert source.count('interpreted<') == 1, source
        # Behind the condition that costs little.
        condition = source[source.index('if (!is_true('):source.index('return;')]
        assert condition.index('shared0()') > condition.rindex('some('), condition


def module_is_missing(directory):
    head = table(directory / 'none.csv', [(1, 'a')])
    empty = directory / 'empty'
    empty.mkdir()
    done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', head + "SELECT REGEXP(s, 'a') FROM t"], capture_output=True, text=True,
                          env={**os.environ, 'HOLDFAST_PEERS': str(empty)})
    assert done.returncode == 1 and 'libre2-dev' in done.stderr and 'line 2' in done.stderr, done.stderr
    done = subprocess.run([HOLDFAST, 'stream', 'run', '-e', head + "SELECT REGEXP(s, 'a') FROM t"], capture_output=True, text=True)
    assert done.returncode == 0 or 'no holdfast-peers-re2' in done.stderr, done.stderr
    return done.returncode != 0


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_texts_'))
    compilers.be_quick(directory)
    try:
        if module_is_missing(directory):
            print('skipped: regular expressions, since the module of RE2 is not built (libre2-dev)')
        else:
            check_patterns(directory)
            check_sharing(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
