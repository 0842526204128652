"""What the benchmarks of a command can be asked for, as one JSON document: python3 bench_lists.py HOLDFAST > bench_lists.json

Subjects, operations and the names of parameters come from rows that were really run, at the smallest size; names of
options come from the help. bench_lists.json was written with the command of commit 546faee, before the peers became
modules; peers_test.py asks that nothing of it is gone.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# One row may lack a measurement (an interval, say) that another run has: those are not parameters.
MEASURED = re.compile(r'_(median|low|high|mean|max|min|samples|coverage)$|^p\d+_ns$|^(valid|repetitions|warnings?)$|^(calls|settings|peer_)')
KV_OPERATIONS = ('put put_many overwrite get get_many update8 erase ycsb-a ycsb-b ycsb-c ycsb-d ycsb-f group64 waiters64 '
                 'ycsb-w90 update_copy get_reclaiming put_reclaiming')
KV_STORES = 'holdfast holdfast-typed floor rocksdb lmdb leveldb tbb map'


def rows(command, *arguments):
    done = subprocess.run([command, *arguments, '--json', '-'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):  # 3: a row is INVALID; a busy machine does that.
        sys.exit(f'{arguments}: exit code {done.returncode}: {done.stderr}')
    return json.loads(done.stdout)['rows']


def options(command, *words):
    text = subprocess.run([command, *words, '--help'], stdout=subprocess.PIPE, check=True, text=True).stdout
    return sorted(set(re.findall(r'(?<![\w-])--[a-z][a-z-]*', text)))


def lists(command):
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as directory:
        kv = rows(command, 'kv', 'bench', '--stores', KV_STORES.replace(' ', ','), '--ops', KV_OPERATIONS.replace(' ', ','),
                  '--region', f'{directory}/kv?granularity=line', '--peer-directory', directory, '--records', '2000',
                  '--phase-operations', '200', '--seconds', '20', '--threads', '1', '--repeat', '1', '--quick', '--quiet')
        blocks = rows(command, 'blocks', 'bench', '--quick', '--quiet', '--threads', '1', '--region',
                      f'{directory}/blocks?granularity=line&nt_evicts=on')  # More subjects than where they stay.
    found = {'kv': {}, 'blocks': {}, 'parameters': {},
             'options': {verb: options(command, *verb.split()) for verb in ('kv bench', 'blocks bench', 'bench run')}}
    for row in kv:
        found['kv'].setdefault(row['subject'], set()).add(row['operation'])
    for row in blocks:
        found['blocks'].setdefault(f"{row['suite']}: {row['subject']}", set()).add(row['operation'])
    for name, some in (('kv', kv), ('blocks', blocks)):
        found['parameters'][name] = {key for row in some if row['valid'] is True for key in row if not MEASURED.search(key)}
    return {group: {name: sorted(members) for name, members in sorted(of.items())} for group, of in found.items()}


def written(found):
    """JSON, a line for each list."""
    groups = (f' "{group}": {{\n' + ',\n'.join(f'  {json.dumps(name)}: {json.dumps(members)}' for name, members in of.items())
              + '\n }' for group, of in found.items())
    return '{\n' + ',\n'.join(groups) + '\n}'


if __name__ == '__main__':
    print(written(lists(sys.argv[1])))
