"""What the formats of streams deliver, in rows per second: format_rates.py HOLDFAST [--rows 500000] [--repeat 3]

Rows of two numbers, a double and a short text: from a file, into files (from one of JSON), out of a store and into one. Each
number is the best of some runs, less what a run without rows takes. For docs/measurements; no test.
"""
import argparse
import os
import pathlib
import random
import shutil
import tempfile
import time

from typed_rows import files, run

COLUMNS = 'i BIGINT, n INT, d DOUBLE, s STRING'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('holdfast')
    parser.add_argument('--rows', type=int, default=500_000)
    parser.add_argument('--repeat', type=int, default=3)
    arguments = parser.parse_args()
    os.environ.setdefault('HOLDFAST_PEER_PYTHON', os.environ.get('HOLDFAST_TEST_PYTHON', 'python3'))
    directory, rand = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_rates_', dir='/dev/shm')), random.Random(1)
    empty, number = directory / 'empty', 0
    empty.write_text('')

    def sources(rows):
        path = directory / f'{rows}.json'
        path.write_text(''.join(f'{{"i": {i}, "n": {rand.randrange(10**6)}, "d": {rand.random()}, "s": "row {i}"}}\n' for i in range(rows)))
        return path

    def store(format, path):
        return f"CREATE TABLE o (i BIGINT, n INT, d DOUBLE, s STRING, PRIMARY KEY (i) NOT ENFORCED) WITH ('connector' = 'kv', 'path' = '{path}', 'format' = '{format}');\n"

    def seconds(text_of):
        """`text_of(place)`: statements, and a place that they fill."""
        nonlocal number
        taken = []
        for _ in range(arguments.repeat):
            number += 1
            place = directory / f'place_{number}'
            begun = time.monotonic()
            run(arguments.holdfast, '--compile', 'never', '--final', '-e', text_of(place))
            taken.append(time.monotonic() - begun)
        return min(taken), place

    def rate(rows, text_of, nothing_of):
        took, place = seconds(text_of)
        return rows / max(took - seconds(nothing_of)[0], 1e-9), place

    def show(what, rows, format, text_of, nothing_of):
        per_second, place = rate(rows, text_of, nothing_of)
        print(f'{what:16} {format:8} {per_second:12,.0f}', flush=True)
        return place

    try:
        many, few = sources(arguments.rows), sources(max(arguments.rows // 20, 1))
        into = 'INSERT INTO o SELECT * FROM t'
        count = 'SELECT COUNT(*), SUM(i), SUM(n), SUM(d), MAX(s) FROM '

        def nothing(_):
            return files(empty, COLUMNS, 't', 'json') + count + 't'
        for format in ('json', 'avro', 'parquet'):
            made = show('file written', arguments.rows, format,
                        lambda place: files(many, COLUMNS, 't', 'json') + files(place, COLUMNS, 'o', format) + into,
                        lambda place: files(empty, COLUMNS, 't', 'json') + files(place, COLUMNS, 'o', format) + into)
            show('file read', arguments.rows, format, lambda _: files(made, COLUMNS, 't', format) + count + 't', nothing)
        for format in ('json', 'avro'):
            rows = max(arguments.rows // 20, 1)
            made = show('store written', rows, format, lambda place: files(few, COLUMNS, 't', 'json') + store(format, place) + into,
                        lambda place: files(empty, COLUMNS, 't', 'json') + store(format, place) + into)
            show('store read', rows, format, lambda _: store(format, made) + count + 'o', nothing)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
