"""The Python of HOLDFAST_TEST_PYTHON, which has packages that others lack: a script that imports this runs again by it.

`duckdb` is None where it is not there.
"""
import os
import sys

_PYTHON = os.environ.get('HOLDFAST_TEST_PYTHON')
if _PYTHON and not os.environ.get('HOLDFAST_TEST_PYTHON_RUNS'):
    os.environ['HOLDFAST_TEST_PYTHON_RUNS'] = '1'  # So that it happens once.
    os.execv(_PYTHON, [_PYTHON, *sys.argv])

try:
    import duckdb
except ImportError:
    duckdb = None
