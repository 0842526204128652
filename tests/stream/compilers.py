"""Which compiler makes the libraries of queries in a test."""
import os
import shutil
import signal
import subprocess
import sys
import time

ROUNDS = int(os.environ.get('HOLDFAST_ROUNDS', '1'))


def be_quick(directory, many=False):
    """One that optimises nothing, which takes half the time: for tests that compare what is written. compiled_query_test compares
    what the usual options make of it, and so do all with HOLDFAST_ROUNDS=2. Where many queries are compiled, the runtime is read
    once, into the cache of that name in the directory."""
    if ROUNDS > 1:
        return
    path = directory / 'quick'
    usual = os.environ.get('CXX') or ('g++' if shutil.which('g++') else 'clang++')
    path.write_text(f'#!/bin/sh\nexec {usual} "$@" -O0\n')
    path.chmod(0o755)
    os.environ['CXX'] = str(path)
    if many:
        read_headers(directory / 'cache')


def read_headers(cache):
    """Leaves in `cache` what a compiler has read of the runtime: most of the time of a query that is compiled without it. Only a
    run of some seconds makes it, and a test's are shorter."""
    endless = ("CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');\n"
               "CREATE TABLE nothing (id BIGINT) WITH ('connector' = 'blackhole');\nINSERT INTO nothing SELECT id FROM e")
    process = subprocess.Popen([sys.argv[1], 'stream', 'run', '--compile', 'wait', '--cache', str(cache), '-e', endless],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 600  # At a low priority, beside other tests.
    while not list(cache.glob('headers-*.gch')):
        assert time.monotonic() < until and process.poll() is None, (process.poll(), list(cache.iterdir()))
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert ', compiled' in said, said
