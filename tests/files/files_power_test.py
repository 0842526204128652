"""files_power_test.py HOLDFAST: what a power failure leaves of files, at any moment, by what was synced until then (power.py). Commands
run once under strace. Then states that a power failure may leave are made, and each must be recovered from: streams show each row
once, stores and stars have all that was acknowledged, backups can be restored. The same of a power failure in a recovery. And each
scenario must fail where syncs are taken for nothing, first those of files, then those of directories."""
import dataclasses
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing

import power
import strace

HOLDFAST = sys.argv[1]
ROUNDS = int(os.environ.get('HOLDFAST_ROUNDS', '1'))
DONE = b'this one is done'
SEED = int(os.environ.get('HOLDFAST_SEED', '1'))


@dataclasses.dataclass
class Scenario:
    """`command` works below `root`. `check(n)` is called on what a power failure left after n commands had said DONE, and fails if it
    is not what was promised. So many states are tried. `again`: the command may be run again, after a power failure, too. `rests_on`:
    the syncs without which it must fail."""
    name: str
    root: pathlib.Path
    command: list
    check: typing.Callable[[int], None]
    states: int
    again: bool = False
    rests_on: tuple = ('files', 'directories')


def explore(scenario):
    start = power.read(scenario.root)
    done, calls = strace.record(scenario.command, scenario.root)
    assert done.returncode == 0, (scenario.command, done.stderr)
    history = power.History(scenario.root, start, calls)
    known = history.state(history.count, power.all_of_it)
    assert known == files_below(scenario.root), 'with everything kept there is what lies there'
    states = history.states(random.Random(f'{SEED} {scenario.name}'), scenario.states * ROUNDS)
    for moment, state in states:
        power.make(state, scenario.root)
        try:
            scenario.check(history.said_by(moment).count(DONE))
        except AssertionError:
            kept = f'{tempfile.gettempdir()}/holdfast_power_failed'
            power.make(state, kept)
            print(f'{scenario.name}, seed {SEED}, kept as {kept}: {power.explain(state)}')
            raise
    print(f'{scenario.name}: {len(calls)} calls, {len(states)} states', flush=True)
    for without in scenario.rests_on:
        assert fails(scenario, power.History(scenario.root, start, calls, without)), f'{scenario.name} does not notice syncs of {without}'
    if scenario.again:
        power.make(sorted(states, key=lambda each: each[0])[len(states) // 2][1], scenario.root)  # One in the middle.
        explore(dataclasses.replace(scenario, name=scenario.name + ', in a recovery', states=scenario.states // 2, again=False, rests_on=()))


def fails(scenario, history):
    for moment, state in history.states(random.Random(SEED), scenario.states):
        power.make(state, scenario.root)
        try:
            scenario.check(history.said_by(moment).count(DONE))
        except AssertionError:
            return True
    return False


def files_below(root):
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in root.rglob('*')}


def run(*command, fails=False):
    done = subprocess.run([HOLDFAST, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert fails or done.returncode == 0, (command, done.returncode, done.stderr)
    return done


def in_turn(commands):
    """A command that runs these, one after the other, and says DONE after each."""
    lines = [' '.join(shlex.quote(str(word)) for word in (HOLDFAST, *command)) + f' >&2\necho {DONE.decode()}\n' for command in commands]
    return ['sh', '-ec', ''.join(lines)]


# ---- Streams ----

def stream(directory, state):
    """Sums of windows in CSV parts. After each power failure the query goes on, and each row is shown once."""
    rows, root, source, query = 20_000, directory / 'root', directory / 'in.csv', directory / 'query.sql'
    source.write_text(''.join(f'2026-01-01 00:{i // 6000:02}:{i // 100 % 60:02}.{i % 100:02}0,{i % 7},{i}\n' for i in range(rows)))
    query.write_text(f"""
CREATE TABLE e (ts TIMESTAMP(3), k BIGINT, v BIGINT, WATERMARK FOR ts AS ts) WITH
  ('connector' = 'filesystem', 'path' = '{source}', 'format' = 'csv');
CREATE TABLE o (w TIMESTAMP(3), k BIGINT, s BIGINT) WITH ('connector' = 'filesystem', 'path' = '{root}/deep/out', 'format' = 'csv');
INSERT INTO o SELECT window_start, k, SUM(v) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' SECOND))
  GROUP BY window_start, window_end, k;
""")
    place = ['--checkpoint-dir', root / 'deep' / 'checkpoints'] if state == 'dram' else ['--state', state, '--region', root / 'state']
    words = ['stream', 'run', query, *place, '--checkpoint', '1ms', '--compile', 'never']

    def shown():
        return ''.join(part.read_text() for part in sorted(root.glob('deep/out/part-*')))

    run(*words)
    wanted = shown()
    assert wanted.count('\n') == rows // 100 * 7
    power.make({}, root)

    def check(_):
        assert wanted.startswith(shown()), 'what is shown is a prefix of all rows'
        run(*words)
        assert shown() == wanted, 'each row is shown once'

    return Scenario(f'streams, {state}', root, [HOLDFAST, *map(str, words)], check, 40, again=True)


# ---- Stores, backups, stars: each command has an acknowledgement ----

def listed(store):
    """What is in a store, which is sound; None where there is none."""
    there = run('kv', store, 'list', '--json', fails=True)
    if there.returncode != 0:
        error = json.loads(there.stdout.splitlines()[-1]).get('error', {'kind': there.stderr})
        assert error['kind'] in ('not_found', 'not_holdfast'), error
        return None
    run('kv', store, 'verify')
    return {row['key']: row['value'] for row in map(json.loads, there.stdout.splitlines())}


def store(directory):
    """Each command is durable when it ends, and the one that was under way is there or not."""
    root, place = directory / 'root', directory / 'root' / 'store'
    steps = [['put', f'key{i % 5}', f'value{i}' + 'x' * (700 * i)] if i % 4 else ['erase', f'key{(i - 1) % 5}'] for i in range(1, 14)]
    after = [None]  # What is there after so many.
    for verb, key, *value in steps:
        after.append({**(after[-1] or {}), key: value[0]} if verb == 'put' else {k: v for k, v in after[-1].items() if k != key})

    def check(acknowledged):
        found = listed(place)
        assert found in after[acknowledged:acknowledged + 2] or (acknowledged == 0 and found == {}), (acknowledged, found)
        run('kv', place, 'put', 'more', 'value')
        assert listed(place) == {**(found or {}), 'more': 'value'}

    return Scenario('store', root, in_turn(['kv', place, *step] for step in steps), check, 40)


def backups(directory):
    """Each backup that ended can be restored, whatever happened while the next one was made."""
    root, place, kept, restored = directory / 'root', directory / 'root' / 'store', directory / 'root' / 'backups', directory / 'restored'
    steps, after = [], [None]
    for i in range(1, 5):
        steps += [['kv', place, 'put', f'key{i}', 'y' * 3000 * i], ['kv', place, 'backup', kept]]
        after += [after[-1], {**(after[-1] or {}), f'key{i}': 'y' * 3000 * i}]

    def restore():
        shutil.rmtree(restored, ignore_errors=True)
        done = run('kv', 'restore', kept, restored, fails=True)
        return listed(restored) if done.returncode == 0 else None

    def check(acknowledged):
        assert restore() in after[acknowledged:acknowledged + 2], acknowledged
        if listed(place) is not None:  # And the next one can be made.
            run('kv', place, 'backup', kept)
            assert restore() == listed(place)

    return Scenario('backups', root, in_turn(steps), check, 30)


def star(directory):
    """Rows that were appended are there; those of the append that was under way all, or none."""
    root, place, schema = directory / 'root', directory / 'root' / 'star', directory / 'star.yaml'
    schema.write_text('fact: {name: sales, file: sales.csv, columns: {day: BIGINT, price: BIGINT}}\n')

    def write(name, rows):
        (directory / name).write_text('day,price\n' + ''.join(f'{i},{i}\n' for i in range(rows)))

    write('sales.csv', 1000)
    steps, after = [['olap', 'load', '--schema', schema, '--region', place]], [None, 1000]
    for i in range(1, 5):
        write(f'more{i}.csv', 10 * i)
        steps.append(['olap', 'append', '--region', place, '--table', 'sales', '--file', directory / f'more{i}.csv'])
        after.append(after[-1] + 10 * i)

    def check(acknowledged):
        done = run('olap', 'query', 'SELECT COUNT(*) AS n FROM sales', '--region', place, '--format', 'csv', fails=True)
        found = int(done.stdout.split()[1]) if done.returncode == 0 else None
        assert found in after[acknowledged:acknowledged + 2], (acknowledged, found, done.stderr)
        if found is not None:
            run('olap', 'verify', '--region', place)

    return Scenario('star', root, in_turn(steps), check, 30)


def savepoints(directory):
    """A savepoint that was taken can be begun with; one that was being taken is refused, or is whole."""
    scenario = stream(directory, 'dram')
    root, saved, query = scenario.root, scenario.root / 'saved', directory / 'query.sql'
    run('stream', 'run', query, '--checkpoint-dir', root / 'deep' / 'checkpoints', '--compile', 'never')
    command = ['stream', 'savepoint', query, '--checkpoint-dir', root / 'deep' / 'checkpoints', '--to', saved]

    def check(acknowledged):
        done = run('stream', 'run', query, '--from', saved, '--checkpoint-dir', directory / 'new', '--compile', 'never', fails=True)
        shutil.rmtree(directory / 'new', ignore_errors=True)
        assert done.returncode == 0 or acknowledged == 0, done.stderr

    return Scenario('savepoints', root, in_turn([command]), check, 20)


def main():
    reason = strace.usable()
    if reason:
        print(f'skipped: {reason}')
        return 77
    for scenario, *rest in ((star,), (backups,), (store,), (savepoints,), (stream, 'dram'), (stream, 'kv')):
        with tempfile.TemporaryDirectory(prefix='holdfast_power_') as directory:
            (pathlib.Path(directory) / 'root').mkdir()
            explore(scenario(pathlib.Path(directory), *rest))
    return 0


if __name__ == '__main__':
    sys.exit(main())
