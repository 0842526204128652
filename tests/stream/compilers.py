"""Which compiler makes the libraries of queries in a test, and where they are kept."""
import fcntl
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

ROUNDS = int(os.environ.get('HOLDFAST_ROUNDS', '1'))


def be_quick(directory):
    """A compiler that optimises nothing, for tests that compare what is written, and the runtime as it was read before: two thirds
    of the time of most queries. compiled_query_test compares what the usual options make of them, and so do all with
    HOLDFAST_ROUNDS=2. The tests of a build share one cache, beside the command."""
    if ROUNDS > 1:
        os.environ['XDG_CACHE_HOME'] = str(directory / 'cache')
        return
    usual = os.environ.get('CXX') or ('g++' if shutil.which('g++') else 'clang++')
    if not shutil.which(usual):
        return
    command = pathlib.Path(sys.argv[1]).resolve()
    build = hashlib.sha256(f'{usual} {command.stat().st_mtime_ns}'.encode()).hexdigest()[:16]
    place = command.parent / 'quick_queries' / build
    place.mkdir(parents=True, exist_ok=True)
    with open(place / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / 'ready').exists():
            remove_others(place)
            compiler = place / 'quick'
            compiler.write_text(f'#!/bin/sh\nexec {usual} "$@" -O0\n')
            compiler.chmod(0o755)
            read_headers(place / 'holdfast' / 'stream', CXX=str(compiler))
            (place / 'ready').touch()
    os.environ.update(CXX=str(place / 'quick'), XDG_CACHE_HOME=str(place))


def remove_others(place):
    """Those of former builds."""
    for other in place.parent.iterdir():
        if other != place:
            shutil.rmtree(other, ignore_errors=True)


def read_headers(cache, **environment):
    """Leaves in `cache` what a compiler has read of the runtime: most of the time of a query that is compiled without it. Only a
    run of some seconds makes it, and a test's are shorter."""
    endless = ("CREATE TABLE e (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');\n"
               "CREATE TABLE nothing (id BIGINT) WITH ('connector' = 'blackhole');\nINSERT INTO nothing SELECT id FROM e")
    process = subprocess.Popen([sys.argv[1], 'stream', 'run', '--compile', 'wait', '--cache', str(cache), '-e', endless],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
    until = time.monotonic() + 600  # At a low priority, beside other tests.
    while not list(cache.glob('headers-*.gch')):
        assert time.monotonic() < until and process.poll() is None, (process.poll(), list(cache.iterdir()))
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert ', compiled' in said, said
