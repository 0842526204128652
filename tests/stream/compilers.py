"""Which compiler makes the libraries of queries in a test."""
import os
import shutil

ROUNDS = int(os.environ.get('HOLDFAST_ROUNDS', '1'))


def be_quick(directory):
    """One that optimises nothing, which takes half the time: for tests that compare what is written. compiled_query_test compares
    what the usual options make of it, and so do all with HOLDFAST_ROUNDS=2."""
    if ROUNDS > 1:
        return
    path = directory / 'quick'
    usual = os.environ.get('CXX') or ('g++' if shutil.which('g++') else 'clang++')
    path.write_text(f'#!/bin/sh\nexec {usual} "$@" -O0\n')
    path.chmod(0o755)
    os.environ['CXX'] = str(path)
