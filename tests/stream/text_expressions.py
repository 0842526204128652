"""Expressions over one column of texts, and what they are in Python: what the tests of such functions share."""
import csv
import io
import os
import shutil
import subprocess
import sys

HOLDFAST = sys.argv[1]
COMPILER = shutil.which(os.environ.get('CXX', 'g++')) or shutil.which('clang++')
EACH = 60  # Expressions of a query: compiled ones have 64 columns at most.


def run(text, *options, code=0):
    done = subprocess.run([HOLDFAST, 'stream', 'run', *options, '-e', text], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (text[-600:], done.returncode, done.stderr)
    return done


def table(path, rows):
    with open(path, 'w', newline='', encoding='utf-8') as out:
        csv.writer(out).writerows([['\\N' if value is None else value for value in row] for row in rows])
    return (f"CREATE TABLE t (n INT, s STRING) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', "
            "'csv.null-literal' = '\\N');\n")


def shown(value):
    if value is None:
        return '\\N'
    if isinstance(value, bool):
        return 'true' if value else 'false'
    return str(value)


def check(head, expressions, rows):
    """`expressions`: SQL of column s, and what it is in Python. By the interpreter, and by compiled code where there is a compiler."""
    for first in range(0, len(expressions), EACH):
        some = expressions[first:first + EACH]
        query = head + 'SELECT n, ' + ', '.join(sql for sql, _ in some) + ' FROM t'
        text = run(query, '--compile', 'never').stdout
        if COMPILER:
            compiled = run(query, '--compile', 'wait')
            assert compiled.stdout == text and ', compiled' in compiled.stderr, compiled.stderr
        answers = list(csv.reader(io.StringIO(text)))[1:]
        assert len(answers) == len(rows)
        for (number, text), (_, *columns) in zip(rows, answers):
            for (sql, meaning), ours in zip(some, columns):
                theirs = shown(meaning(text))
                assert ours == theirs, (sql, text, ours, theirs)


def of(function):
    """NULL of NULL."""
    return lambda text: None if text is None else function(text)
