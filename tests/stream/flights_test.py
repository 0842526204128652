"""scripts/flights.py, a part of ./run tour, on made-up flights: it holds, and it sees a wrong answer.

    flights_test.py HOLDFAST SCRIPT
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HOLDFAST, SCRIPT = sys.argv[1:]
HEAD = ('year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,'
        'dest,air_time,distance,hour,minute,time_hour')


def made_up(path, count):
    rand = random.Random(3)
    lines = [HEAD]
    for i in range(count):
        scheduled = rand.randrange(5, 23) * 100 + rand.randrange(60)
        delay = rand.choice(['', 'NA']) if rand.random() < 0.03 else rand.choice([-5, 0, 3, 20, 200, 400])
        lines.append(f'2013,{1 + i * 3 // count},{1 + i % 28},{"" if delay in ("", "NA") else 1},{scheduled},{delay},,,,'
                     f'{rand.choice(["UA", "B6"])},{i},N1,{rand.choice(["EWR", "JFK"])},BOS,,,,,')
    path.write_text('\n'.join(lines) + '\n')


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        made_up(directory / 'flights.csv', 20_000)
        arguments = [directory / 'place', '--input', directory / 'flights.csv']
        done = subprocess.run([sys.executable, SCRIPT, HOLDFAST, *arguments], capture_output=True, text=True, timeout=250)
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert '20,000 flights' in done.stdout and 'none lost, none twice' in done.stdout, done.stdout
        assert int(re.search(r'([\d,]+) flights left so late', done.stdout)[1].replace(',', '')) > 100, done.stdout
        # A command that leaves a row out.
        liar = directory / 'liar'
        liar.write_text(f'#!/bin/sh\nexec {HOLDFAST} "$1" "$2" "$3" "$(echo "$4" | sed "s/scheduled IS NOT NULL/delay <> 20/")"\n')
        liar.chmod(0o755)
        done = subprocess.run([sys.executable, SCRIPT, liar, *arguments], capture_output=True, text=True, timeout=250)
        assert done.returncode == 1 and 'WRONG' in done.stdout, (done.returncode, done.stdout, done.stderr)
    print('the flights hold, and a wrong answer is seen')


if __name__ == '__main__':
    main()
