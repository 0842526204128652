"""Workload files as a stranger gets them wrong: one clear message per mistake, exit code 2, no file left behind.

    bad_workload_test.py HOLDFAST [unittest arguments]

What each rule says is tested in tests/bench/memory_workload_test.cpp; here it is the command, on whole files.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = os.path.abspath(sys.argv.pop(1))


def args(text):
    return 'scan:\n  args: { ' + text + ' }\n'


BOMB = 'a: &a [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'{new}: &{new} [{", ".join(["*" + old] * 9)}]\n' for old, new in zip('abcdefghi', 'bcdefghij')
)
# A name, the file, and the mistakes in it: line, column (0: of the file as a whole), and what must be said.
FILES = [
    ('unknown key', args('acess_size: 64'), [(2, 11, 'did you mean "access_size"?')]),
    ('unknown word beside args', 'scan:\n  arg: { access_size: 64 }\n', [(2, 3, 'did you mean "args"?')]),
    ('list for a value', args('number_threads: [1, 2]'), [(2, 27, 'a list belongs below matrix')]),
    ('map for a value', args('access_size: { a: 1 }'), [(2, 24, 'must be one value, this is a map')]),
    ('nothing for a value', 'scan:\n  args:\n    memory_range: ~\n', [(3, 19, 'this is nothing')]),
    ('text for a number', args('number_threads: two'), [(2, 27, 'is not a number')]),
    ('text for a flag', args('prefault_file: perhaps'), [(2, 26, 'is neither true nor false')]),
    ('fraction of a thread', args('number_threads: 1.5'), [(2, 27, 'is not a whole number')]),
    ('key twice', args('run_time: 1, run_time: 2'), [(2, 24, 'is there twice, first in line 2')]),
    ('benchmark twice', 'b:\n  args: {}\nb:\n  args: {}\n', [(3, 1, 'is there twice, first in line 1')]),
    ('part of a pair twice', 'p:\n  parallel_benchmark:\n    a: { args: {} }\n    a: { args: {} }\n',
     [(4, 5, 'is there twice')]),
    ('three in a pair', 'p:\n  parallel_benchmark: { a: { args: {} }, b: { args: {} }, c: { args: {} } }\n',
     [(2, 23, 'exactly two benchmarks, here are 3')]),
    ('alias bomb', BOMB, [(line, 4, 'must be a map, this is a list') for line in range(1, 11)]),
    ('alias of itself', 'scan: &s\n  args: *s\n', [(2, 9, 'an anchor that is complete before it')]),
    ('alias of nothing', 'scan:\n  args: *nope\n', [(2, 9, 'the referenced anchor is not defined')]),
    ('size that is no size', args('access_size: 300'), [(2, 24, '8, 16, 32 or a multiple of 64')]),
    ('sizes that do not divide', args('access_size: 4096, memory_range: 10000001'), [(2, 44, 'is no multiple of')]),
    ('parts that do not divide', args('number_threads: 4, number_partitions: 3'), [(2, 49, 'must divide')]),
    ('negative numbers', args('access_size: -64, run_time: -3, number_operations: -5'),
     [(2, 24, 'is not a number of bytes'), (2, 39, 'must be from 0 to 86400 s'), (2, 62, 'is not a number')]),
    ('huge numbers', args('number_operations: 99999999999999999999999, memory_range: 999999999999T, run_time: 1e400'),
     [(2, 30, 'is too large a number'), (2, 69, 'is too large a number of bytes'), (2, 94, 'is no time')]),
    ('numbers that are none', args('run_time: .nan, zipf_alpha: inf'), [(2, 21, 'is no time'), (2, 39, 'is no number')]),
    ('empty file', '', [(0, 0, 'holds no benchmarks')]),
    ('binary file', bytes(range(128, 256)) * 8, [(0, 0, 'is not UTF-8 text')]),
    ('a byte of 0', b'scan:\n  args: { access_size: 6\x004 }\n', [(2, 1, 'is no text file')]),
    ('deep lists', '[' * 200, [(1, 17, 'nested deeper than 32 levels')]),
    ('deep maps', 'a:\n' + ''.join(' ' * (i + 1) + f'k{i}:\n' for i in range(100)), [(33, 33, 'nested deeper than 32')]),
    ('tabs', 'scan:\n\targs: { access_size: 64 }\n', [(2, 1, 'is indented with a tab')]),
    ('brace not closed', 'scan:\n  args: { access_size: 64\n', [(2, 9, 'a { is not closed')]),
    ('quote not closed', 'scan:\n  description: "x\n  args: {}\n', [(2, 16, 'is not closed by one')]),
    ('line indented oddly', 'scan:\n  args:\n    access_size: 64\n   run_time: 1\n', [(4, 4, 'is indented unlike')]),
    ('missing node', 'regions:\n  far: { nodes: [77] }\n' + args('region: far, memory_range: 64M'),
     [(2, 3, 'there is no NUMA node 77')]),
    ('node that is no number', 'regions:\n  far: "node:x"\n' + args('region: far'), [(2, 3, 'needs numbers of NUMA nodes')]),
    ('no such region', args('region: taget'), [(2, 19, 'did you mean "target"?')]),
    ('region without anything', 'regions:\n  far: {}\n' + args('memory_range: 64M'), [(2, 8, 'says nothing')]),
    ('the target as a region', 'regions:\n  target: dram\n' + args('memory_range: 64M'), [(2, 3, 'use another name')]),
    ('two documents', args('run_time: 1') + '---\nb: {}\n', [(4, 1, 'a second document')]),
    ('a list of benchmarks', '- scan\n- update\n', [(1, 1, 'must be a map of benchmark names')]),
    ('a matrix without end', 'p:\n  matrix:\n' + ''.join(
        f'    {key}: [{", ".join(str(64 * i) for i in range(1, 200))}]\n' for key in ('access_size', 'stride', 'run_time')),
     [(1, 1, 'more than 10000 combinations')]),
    ('chain that begins with a write', args('custom_operations: w_64_cache'), [(2, 30, 'the first one must be a read')]),
    ('chain that leaves its range', args('memory_range: 1K, custom_operations: "r_64,w_64_cache_4096"'),
     [(2, 48, 'an offset leaves it')]),
    ('too much memory', args('memory_range: 900T, access_size: 1M'), [(2, 25, 'too little memory')]),
    ('a sequence for a terminal', '"\\e[31mscan":\n  args: { "\\e[31macess": 64 }\n', [(1, 1, 'control character'), (2, 11, r'"\x1b[31macess"')]),
]


class BadWorkloads(unittest.TestCase):
    def test_every_mistake_is_said_once_where_it_is_and_nothing_is_left(self):
        for name, text, mistakes in FILES:
            with self.subTest(name), tempfile.TemporaryDirectory(prefix='holdfast-bad-', dir='/dev/shm') as directory:
                path = os.path.join(directory, 'w.yaml')
                with open(path, 'wb') as file:
                    file.write(text if isinstance(text, bytes) else text.encode())
                done = subprocess.run(
                    [HOLDFAST, 'bench', 'run', path, '--target', os.path.join(directory, 'memory'), '--json',
                     os.path.join(directory, 'result.json')], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, '')
                lines = done.stderr.splitlines()
                count = len(mistakes)
                self.assertEqual(lines[-1], f'holdfast bench run: {count} mistake{"s" if count != 1 else ""}; '
                                 'nothing was measured', done.stderr)
                self.assertEqual(len(lines), count + 1, done.stderr)
                for said, (line, column, words) in zip(lines, mistakes):
                    place = f':{line}:{column}: ' if line > 0 else ': '
                    self.assertTrue(said.startswith(path + place), said)
                    self.assertIn(words, said)
                    self.assertNotRegex(said, re.compile(r'[\x00-\x08\x0b-\x1f]'))
                self.assertEqual(os.listdir(directory), ['w.yaml'])


if __name__ == '__main__':
    unittest.main()
