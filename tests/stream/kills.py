"""Runs of a query that are killed at any moment and go on: what tests of state share."""
import pathlib
import random
import signal
import subprocess
import time

MEMORY = random.Random(1)


def stores(holdfast):
    """The state stores that this build has: RocksDB is in a module of its own, where its library is there."""
    module = pathlib.Path(holdfast).resolve().parent / 'holdfast-peers-rocksdb.so'
    return ['dram', 'kv', *(['rocksdb'] if module.exists() else [])]


def where(state, directory, name):
    """The words of the command by which a run has its state in `directory`. Half of those in kv have no memory for it: entries are fetched."""
    if state == 'dram':
        return ['--checkpoint-dir', f'{directory}/checkpoints_{name}']
    small = ['--state-memory', '1'] if state == 'kv' and MEMORY.random() < 0.5 else []
    return ['--state', state, *small, '--region', f'{directory}/{state}_{name}']


def parts(directory):
    """The rows of a sink that is a directory."""
    return ''.join(path.read_text() for path in sorted(pathlib.Path(directory).glob('part-*')))


def stopped_once(command, said):
    """Runs an endless command and stops it, for longer and longer until what it says has these words. Returns what it said."""
    for seconds in (1, 3, 10, 30):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        text = process.communicate(timeout=60)[1]
        if said in text:
            return text
    raise AssertionError((command, said, text))


def check_kills(command_of, rand, kills, parts=parts):
    """`command_of(name)`: where the rows go, and the command; each name has a state of its own. Runs are killed until `kills` have hit.
    What is shown is at any time a prefix of the undisturbed run's rows, and all of them at the end. `parts`: reads what is shown. Returns how many hit."""
    whole, command = command_of('whole')
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    undisturbed, wanted, hit = time.monotonic() - started, parts(whole), 0
    assert wanted, command
    for attempt in range(20 * kills):
        out, command = command_of(str(attempt))
        hit_here = 0
        while True:
            started = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if hit_here < kills:
                try:
                    process.wait(rand.uniform(0, undisturbed))  # Any moment of the run.
                    if hit_here == 0:  # The first run was slower, on a busy machine: kills would come too late.
                        undisturbed = min(undisturbed, time.monotonic() - started)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
            _, message = process.communicate(timeout=300)
            assert process.returncode in (0, -signal.SIGKILL), message
            assert wanted.startswith(parts(out)), (command, 'what is shown is a prefix of the whole')
            if process.returncode == 0:
                break
            hit_here += 1
        assert parts(out) == wanted, command
        hit += hit_here
        if hit >= kills:
            return hit
    raise AssertionError(f'only {hit} kills hit')
