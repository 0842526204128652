"""How long a query takes to resume: restart_times.py HOLDFAST [--keys 10000000] [--query windows|changing] [--repeat 3]

Reads a file with a row for each key, state in kv on /dev/shm with granularity=line, a checkpoint each second. Then the process is
ended, by SIGKILL and by SIGINT, and begun again. Seconds from its start until it says from where it resumes. For
docs/measurements; no test.
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


def write_rows(path, keys):
    order = list(range(keys))
    random.Random(1).shuffle(order)
    with open(path, 'w') as file:
        for i, key in enumerate(order):
            file.write(f'{i * 1000 // keys},{key},{key % 1000}\n')


class Run:
    def __init__(self, holdfast, sql, place):
        self.said, self.begin = place / 'said', time.monotonic()
        with open(self.said, 'w') as said:
            self.process = subprocess.Popen([holdfast, 'stream', 'run', '-e', sql, '--state', 'kv', '--region',
                                             f'{place}/state?granularity=line', '--checkpoint', '1s'], stderr=said)

    def look(self):
        if self.process.poll() is not None:
            raise SystemExit(f'the query ended: {self.said.read_text()}')

    def seconds_to_resume(self):
        while 'resumed' not in self.said.read_text():
            self.look()
            time.sleep(0.005)
        return time.monotonic() - self.begin

    # All rows are read: it has done next to nothing for two seconds.
    def wait_for_rest(self):
        spent = -1
        while True:
            time.sleep(2)
            self.look()
            words = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
            before, spent = spent, int(words[11]) + int(words[12])
            if before >= 0 and spent - before < 30:
                return

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('holdfast')
    parser.add_argument('--keys', type=int, default=10_000_000)
    parser.add_argument('--query', choices=QUERIES, default='windows')
    parser.add_argument('--repeat', type=int, default=3)
    arguments = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_restart_', dir='/dev/shm'))
    sql = ("CREATE TABLE t (ms BIGINT, k BIGINT, v BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)\n"
           f"  WITH ('connector' = 'filesystem', 'path' = '{place}/in', 'format' = 'csv', 'source.monitor-interval' = '1s');\n"
           "CREATE TABLE o (k BIGINT, s BIGINT) WITH ('connector' = 'blackhole');\n"
           f'INSERT INTO o {QUERIES[arguments.query]};')
    run = None
    try:
        (place / 'in').mkdir()
        write_rows(place / 'rows', arguments.keys)
        (place / 'rows').rename(place / 'in' / 'rows.csv')
        run = Run(arguments.holdfast, sql, place)
        run.wait_for_rest()
        for how in (signal.SIGKILL, signal.SIGINT):
            taken = []
            for _ in range(arguments.repeat):
                run.end(how)
                run = Run(arguments.holdfast, sql, place)
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
