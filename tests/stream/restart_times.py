"""How long a query takes to read, and to resume: restart_times.py HOLDFAST [--keys 10000000] [--rows N] [--query windows|changing]
                                                  [--state-memory BYTES] [--repeat 3]

Reads a file with a row for each key, or N rows of random keys; state in kv on /dev/shm with granularity=line, a checkpoint each
second. Says how long that took, and how much anonymous memory at most. Then the process is ended, by SIGKILL and by SIGINT, and begun
again: seconds from its start until it says from where it resumes. For docs/measurements; no test.
"""
import argparse
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

QUERIES = {
    'windows': "SELECT k, SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end, k",
    'changing': 'SELECT k, SUM(v) FROM t GROUP BY k',
}


def write_rows(path, keys, rows):
    rand = random.Random(1)
    order = list(range(keys))
    rand.shuffle(order)
    with open(path, 'w') as file:
        for i in range(rows):
            key = order[i] if rows == keys else rand.randrange(keys)
            file.write(f'{i * 1000 // rows},{key},{i % 1000}\n')


class Run:
    def __init__(self, holdfast, sql, place, options):
        self.said, self.begin, self.memory = place / 'said', time.monotonic(), 0
        with open(self.said, 'w') as said:
            self.process = subprocess.Popen([holdfast, 'stream', 'run', '-e', sql, '--state', 'kv', '--region',
                                             f'{place}/state?granularity=line', '--checkpoint', '1s', *options], stderr=said)

    def look(self):
        if self.process.poll() is not None:
            raise SystemExit(f'the query ended: {self.said.read_text()}')

    def seconds_to_resume(self):
        while 'resumed' not in self.said.read_text():
            self.look()
            time.sleep(0.005)
        return time.monotonic() - self.begin

    # All rows are read: it has done next to nothing for two seconds. Seconds until then, from its start.
    def wait_for_rest(self):
        process, spent, busy = pathlib.Path(f'/proc/{self.process.pid}'), -1, time.monotonic()
        while time.monotonic() - busy < 2:
            time.sleep(0.1)
            self.look()
            words = (process / 'stat').read_text().rsplit(')', 1)[1].split()
            before, spent = spent, int(words[11]) + int(words[12])
            if before < 0 or spent - before > 2:
                busy = time.monotonic()
            self.memory = max(self.memory, int((process / 'status').read_text().split('RssAnon:')[1].split()[0]) * 1024)
        return busy - self.begin

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('holdfast')
    parser.add_argument('--keys', type=int, default=10_000_000)
    parser.add_argument('--rows', type=int)
    parser.add_argument('--state-memory', metavar='BYTES')
    parser.add_argument('--query', choices=QUERIES, default='windows')
    parser.add_argument('--repeat', type=int, default=3)
    arguments = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_restart_', dir='/dev/shm'))
    sql = ("CREATE TABLE t (ms BIGINT, k BIGINT, v BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)\n"
           f"  WITH ('connector' = 'filesystem', 'path' = '{place}/in', 'format' = 'csv', 'source.monitor-interval' = '1s');\n"
           "CREATE TABLE o (k BIGINT, s BIGINT) WITH ('connector' = 'blackhole');\n"
           f'INSERT INTO o {QUERIES[arguments.query]};')
    options = ['--state-memory', arguments.state_memory] if arguments.state_memory else []
    run = None
    try:
        (place / 'in').mkdir()
        write_rows(place / 'rows', arguments.keys, arguments.rows or arguments.keys)
        (place / 'rows').rename(place / 'in' / 'rows.csv')
        run = Run(arguments.holdfast, sql, place, options)
        print(f'read in {run.wait_for_rest():.1f} s, {run.memory // 1_000_000} MB of anonymous memory at most', flush=True)
        for how in (signal.SIGKILL, signal.SIGINT):
            taken = []
            for _ in range(arguments.repeat):
                run.end(how)
                run = Run(arguments.holdfast, sql, place, options)
                taken.append(f'{run.seconds_to_resume():.2f}')
                run.wait_for_rest()
            print(f'{how.name}: {", ".join(taken)} s', flush=True)
    finally:
        if run is not None:
            run.process.kill()
            run.process.wait()
        shutil.rmtree(place)


if __name__ == '__main__':
    main()
