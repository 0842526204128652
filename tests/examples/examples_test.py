"""The programs of examples/ do what the documents say, also when they are run a second time on what the first left.

    examples_test.py DIRECTORY      where the programs were built
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(sys.argv[1])


def run(name, *arguments, code=0, **environment):
    result = subprocess.run([PROGRAMS / name, *arguments], text=True, capture_output=True, timeout=120,
                            env={**os.environ, **environment})
    if result.returncode != code:
        sys.exit(f'{name}: exit code {result.returncode} instead of {code}\n{result.stdout[-3000:]}{result.stderr[-3000:]}')
    return result.stdout


def expect(name, seen, wanted):
    if seen != wanted:
        sys.exit(f'{name} printed\n{seen}instead of\n{wanted}')


def store(path):
    expect('store_guide', ''.join(sorted(run('store_guide', path).splitlines(True))),
           'a second account of ada: kAlreadyExists\naccount/ada = 70\naccount/grace = 50\ngrace was there: yes\n'
           'visits = 100\n')
    expect('store_guide', ''.join(sorted(run('store_guide', path).splitlines(True)))[-13:], 'visits = 200\n')


def in_c(path):
    for number in 1, 2:
        expect('c_guide', run('c_guide', path),
               f'visit number {number}\nno alan\nuser:ada = lovelace\nuser:grace = hopper\n')


def pipeline(path):
    for _ in range(2):
        expect('pipeline_guide', run('pipeline_guide', path),
               'sensor 7 read 997, sensor 3 was there: yes\n1000 readings are durable\n')


def log(path):
    for _ in range(2):  # The second one finds a log whose records are truncated.
        expect('log_guide', run('log_guide', path), 'order\nweigh\npack\nship\n')


def streams(path):
    for _ in range(2):
        expect('stream_guide', run('stream_guide', path),
               'minute 0: tea 7\nminute 0: cake 5\nminute 1: tea 1\n')


def queries(path):
    os.mkdir(path)
    expect('query_guide', run('query_guide', path), 'north alone: tea\n')
    for table, rows in ('best', '9,cake,10\n10,tea,4\n'), ('unpriced', 'pie,9\n'):
        expect(f'query_guide into {table}', ''.join(file.read_text() for file in sorted(pathlib.Path(path, table).iterdir())), rows)


def functions(path):
    pathlib.Path(path).write_text('4000123456789010,2.0,1\n4000123456789010,5.0,2\n\\N,1.0,1\n')
    library = PROGRAMS / 'libfunction_guide.so'
    text = (''.join(f"CREATE FUNCTION {name} AS '{name}' LANGUAGE CPP USING LIBRARY '{library}';" for name in ('masked', 'weighted_mean')) +
            f"CREATE TABLE sales (card STRING, price DOUBLE, n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');"
            'SELECT masked(card) AS card, weighted_mean(price, n) AS mean FROM sales GROUP BY masked(card)')
    shown = run('../holdfast', 'stream', 'run', '--compile', 'never', '--final', '-e', text)
    expect('function_guide', ''.join(sorted(shown.splitlines(True))), '************9010,4.0\n\\N,1.0\ncard,mean\n')
    expect('own_function_guide', run('own_function_guide', path), 'de 19\nfr 40\nde 57\n')


def pages(path):
    for number in 1, 2:
        expect('page_guide', run('page_guide', f'{path}?granularity=line'), f'run {number}\n')
    run('page_guide', f'{path}.plain', code=1)  # A plain file: kUnsupported.


def fields(path):
    expect('field_guide', run('field_guide', f'{path}?granularity=line'), 'first 1.5,0.0 second 0.0,-1.0 after 1 steps\n')
    expect('field_guide', run('field_guide', f'{path}?granularity=line'), 'first 3.0,0.0 second 0.0,-2.0 after 2 steps\n')


def interleaving(path):
    for number in 1, 2:
        expect('interleave_guide', run('interleave_guide', f'{path}?granularity=line'),
               f'10000 acknowledged, the counters sum up to {number}0000\n')


def crash_test(path):
    run('crash_test', HOLDFAST_SITES_OUT=path)
    sites = pathlib.Path(path).read_text().splitlines()
    if len(sites) != 6:
        sys.exit(f'crash_test reaches {sites}, not three write-backs and three fences')
    for site in sites:  # Each of them is needed, and the test notices.
        run('crash_test', code=1, HOLDFAST_DROP_SITE=site)
    found = run('crash_test', '--without-fence', code=1)
    if 'neither the last acknowledged one nor the one in flight' not in found or 'checkpoint.hpp' not in found:
        sys.exit(f'crash_test --without-fence does not explain what it found:\n{found}')


def main():
    for test in store, in_c, pipeline, log, streams, queries, functions, pages, fields, interleaving, crash_test:
        directory = tempfile.mkdtemp(prefix='holdfast-examples-')
        try:
            test(f'{directory}/x')
        finally:
            shutil.rmtree(directory)
    print('12 programs')


main()
