"""Timestamps in the session's time zone (docs/time_zones.md): against Python's zoneinfo, and what Flink 2.3 answered.

    time_zones_test.py HOLDFAST

By the interpreter, and by compiled code where there is a compiler. Flink ran over the same rows; where it differs on purpose,
the page says so.
"""
import csv
import datetime
import io
import pathlib
import random
import subprocess
import sys
import tempfile
import zoneinfo

import text_expressions
import compilers
from text_expressions import COMPILER, HOLDFAST, run

DIRECTORY = None
EPOCH = datetime.datetime(1970, 1, 1)
UTC = datetime.timezone.utc
MS = datetime.timedelta(milliseconds=1)


def set_zone(zone):
    return f"SET 'table.local-time-zone' = '{zone}';\n"


def both(query, *rows, compiled=True):
    """Its rows, in any order of those of one time."""
    ways = [['--compile', 'never']]
    if COMPILER:
        ways.append(['--compile', 'wait'])
    for way in ways:
        done = run(query, *way)
        answers = [','.join(row) for row in csv.reader(io.StringIO(done.stdout))][1:]
        assert answers == list(rows), (query, way, answers, done.stderr)
        assert 'wait' not in way or not compiled or 'interpreted:' not in done.stderr, done.stderr
    return done.stderr


def one(zone, expression):
    done = run(set_zone(zone) + f'SELECT {expression} AS x')
    return done.stdout.splitlines()[1]


# ---- 1. Python's zoneinfo ----
def text(wall):
    return wall.strftime('%Y-%m-%d %H:%M:%S.') + f'{wall.microsecond // 1000:03}'


def shown(ms, zone):
    return text((EPOCH + ms * MS).replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None))


def wall_of(ms, zone):
    return (EPOCH + ms * MS).replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None, fold=0)


def instant(wall, zone):
    """Of a clock that shows an hour twice the first one; one that is missing is moved on."""
    return (wall.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None) - EPOCH) // MS


def hour_of(ms, zone):
    """Where the hour began. Of one that comes twice the one that it is."""
    wall = wall_of(ms, zone)
    hour = wall.replace(minute=0, second=0, microsecond=0)
    near = ms - (wall - hour) // MS
    return near if wall_of(near, zone) == hour else instant(hour, zone)


def times(zone, seed):
    """Around changes of the clock and elsewhere, years 1800 to 2200."""
    draw = random.Random(seed)
    all_times = [draw.randrange(-5_364_000_000, 7_258_000_000) * 1000 + draw.randrange(1000) for _ in range(40)]
    last, found = None, []
    for day in range(-12_000, 26_000):
        at = day * 86_400_000
        offset = wall_of(at, zone) - (EPOCH + at * MS)
        if last is not None and offset != last:
            low, high = at - 86_400_000, at
            while high - low > 1:
                middle = (low + high) // 2
                if wall_of(middle, zone) - (EPOCH + middle * MS) == last:
                    low = middle
                else:
                    high = middle
            found.append(high)
        last = offset
    for change in draw.sample(found, min(25, len(found))):
        all_times += [change - 1, change, change + draw.randrange(-7_200_000, 7_200_000)]
    return all_times


MEANINGS = [
    ('CAST(i AS STRING)', lambda ms, zone: shown(ms, zone)),
    ('i', lambda ms, zone: shown(ms, zone)),
    ('CAST(i AS TIMESTAMP(3))', lambda ms, zone: shown(ms, zone)),
    ('CAST(i AS DATE)', lambda ms, zone: shown(ms, zone)[:10]),
    ("DATE_FORMAT(i, 'dd.MM.yyyy HH:mm')", lambda ms, zone: f'{wall_of(ms, zone):%d.%m.%Y %H:%M}'),
    ('HOUR(i)', lambda ms, zone: str(wall_of(ms, zone).hour)),
    ('EXTRACT(DOY FROM i)', lambda ms, zone: str(wall_of(ms, zone).timetuple().tm_yday)),
    ('EXTRACT(WEEK FROM i)', lambda ms, zone: str(wall_of(ms, zone).isocalendar()[1])),
    ('EXTRACT(EPOCH FROM i)', lambda ms, zone: str((wall_of(ms, zone) - EPOCH) // MS // 1000)),
    # The wall clock, read again, is the first of two instants.
    ('CAST(CAST(i AS TIMESTAMP(3)) AS TIMESTAMP_LTZ(3))', lambda ms, zone: shown(instant(wall_of(ms, zone), zone), zone)),
    ('TIMESTAMPDIFF(HOUR, CAST(CAST(i AS STRING) AS TIMESTAMP_LTZ(3)), i)',
     lambda ms, zone: str(int((ms - instant(wall_of(ms, zone), zone)) / 3_600_000))),
    # One that may be missing: three hours of the wall on.
    ("CAST(CAST(i AS TIMESTAMP(3)) + INTERVAL '3' HOUR AS TIMESTAMP_LTZ(3))",
     lambda ms, zone: shown(instant(wall_of(ms, zone) + datetime.timedelta(hours=3), zone), zone)),
    ('FLOOR(i TO DAY)', lambda ms, zone: shown(instant(wall_of(ms, zone).replace(hour=0, minute=0, second=0, microsecond=0), zone), zone)),
    ("i + INTERVAL '1' DAY", lambda ms, zone: shown(ms + 86_400_000, zone)),
    ('FROM_UNIXTIME(ms / 1000)', lambda ms, zone: f'{wall_of(int(ms / 1000) * 1000, zone):%Y-%m-%d %H:%M:%S}'),
    ('UNIX_TIMESTAMP(CAST(i AS STRING))', lambda ms, zone: str(instant(wall_of(ms, zone), zone) // 1000)),
    ('FLOOR(i TO HOUR)', lambda ms, zone: shown(hour_of(ms, zone), zone)),
    ('i = CAST(CAST(i AS TIMESTAMP(3)) AS TIMESTAMP_LTZ(3))',
     lambda ms, zone: 'true' if ms == instant(wall_of(ms, zone), zone) else 'false'),
]


def check_zones():
    for number, name in enumerate(['Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Europe/Dublin',
                                   'America/St_Johns', 'Pacific/Apia', 'Africa/Casablanca']):
        zone = zoneinfo.ZoneInfo(name)
        rows = times(zone, number)
        path = DIRECTORY / 'times.csv'
        path.write_text(''.join(f'{ms}\n' for ms in rows))
        query = (set_zone(name) + "CREATE TABLE t (ms BIGINT, i AS TO_TIMESTAMP_LTZ(ms, 3)) WITH ('connector' = 'filesystem', "
                 f"'path' = '{path}', 'format' = 'csv');\nSELECT ms, " + ', '.join(sql for sql, _ in MEANINGS) + ' FROM t')
        answer = run(query, '--compile', 'never').stdout
        if COMPILER and number < 2:
            compiled = run(query, '--compile', 'wait')
            assert compiled.stdout == answer and ', compiled' in compiled.stderr, compiled.stderr
        answers = list(csv.reader(io.StringIO(answer)))[1:]
        assert len(answers) == len(rows)
        for ms, (_, *columns) in zip(rows, answers):
            for (sql, meaning), ours in zip(MEANINGS, columns):
                assert ours == meaning(ms, zone), (name, ms, sql, ours, meaning(ms, zone))
    # A file of texts is read as it is written.
    zone = zoneinfo.ZoneInfo('Europe/Berlin')
    assert one('Europe/Berlin', "TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CAST('2024-07-01 12:00:00Z' AS TIMESTAMP_LTZ(3)))") \
        == str(instant(datetime.datetime(2024, 7, 1, 14), zone) // 1000)
    print('as zoneinfo')


# ---- 2. Flink's answers ----
BERLIN = [
    ('CAST(TO_TIMESTAMP_LTZ(1700000000123, 3) AS STRING)', '2023-11-14 23:13:20.123'),
    ("DATE_FORMAT(TO_TIMESTAMP_LTZ(1700000000123, 3), 'yyyy-MM-dd HH:mm:ss.SSS')", '2023-11-14 23:13:20.123'),
    ('EXTRACT(HOUR FROM TO_TIMESTAMP_LTZ(1700000000123, 3))', '23'),
    ('EXTRACT(DAY FROM TO_TIMESTAMP_LTZ(1700002800000, 3))', '15'),
    ('EXTRACT(EPOCH FROM TO_TIMESTAMP_LTZ(1700000000123, 3))', '1700003600'),
    ('EXTRACT(DOW FROM TO_TIMESTAMP_LTZ(1700002800000, 3))', '4'),
    ('EXTRACT(WEEK FROM TO_TIMESTAMP_LTZ(1700002800000, 3))', '46'),
    ('FLOOR(TO_TIMESTAMP_LTZ(1700000000123, 3) TO DAY)', '2023-11-14 00:00:00.000'),
    ('CEIL(TO_TIMESTAMP_LTZ(1700000000123, 3) TO DAY)', '2023-11-15 00:00:00.000'),
    ('FLOOR(TO_TIMESTAMP_LTZ(1700000000123, 3) TO MONTH)', '2023-11-01 00:00:00.000'),
    # Days and months are those of UTC.
    ('TIMESTAMPADD(DAY, 1, TO_TIMESTAMP_LTZ(1711753200000, 3))', '2024-03-31 00:00:00.000'),
    ("TO_TIMESTAMP_LTZ(1711753200000, 3) + INTERVAL '1' MONTH", '2024-04-30 01:00:00.000'),
    ('TIMESTAMPADD(HOUR, 1, TO_TIMESTAMP_LTZ(1711846800000, 3))', '2024-03-31 04:00:00.000'),
    ('TIMESTAMPDIFF(HOUR, TO_TIMESTAMP_LTZ(1711753200000, 3), TO_TIMESTAMP_LTZ(1711926000000, 3))', '48'),
    ('TIMESTAMPDIFF(MONTH, TO_TIMESTAMP_LTZ(1711753200000, 3), TO_TIMESTAMP_LTZ(1714341600000, 3))', '0'),
    # An hour that is missing, and one that comes twice.
    ("CAST('2024-03-31 02:30:00' AS TIMESTAMP_LTZ(3))", '2024-03-31 03:30:00.000'),
    ("TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CAST('2024-03-31 02:30:00' AS TIMESTAMP_LTZ(3)))", '1711848600'),
    ("TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CAST('2024-10-27 02:30:00' AS TIMESTAMP_LTZ(3)))", '1729989000'),
    ("TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CAST(TIMESTAMP '2024-10-27 02:30:00' AS TIMESTAMP_LTZ(3)))", '1729989000'),
    ("TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CAST(DATE '2024-03-31' AS TIMESTAMP_LTZ(3)))", '1711839600'),
    ('TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), FLOOR(TO_TIMESTAMP_LTZ(1729992600000, 3) TO HOUR))', '1729990800'),
    ('TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CEIL(TO_TIMESTAMP_LTZ(1729992600000, 3) TO HOUR))', '1729994400'),
    ('TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), FLOOR(TO_TIMESTAMP_LTZ(1729989000000, 3) TO HOUR))', '1729987200'),
    ('TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), CEIL(TO_TIMESTAMP_LTZ(1711846740000, 3) TO HOUR))', '1711846800'),
    # Beside others.
    ("TO_TIMESTAMP_LTZ(0, 3) = TIMESTAMP '1970-01-01 01:00:00'", 'true'),
    ("TO_TIMESTAMP_LTZ(0, 3) < TIMESTAMP '1970-01-01 01:00:00.001'", 'true'),
    ("TO_TIMESTAMP_LTZ(0, 3) = '1970-01-01 01:00:00'", 'true'),
    ("TO_TIMESTAMP_LTZ(0, 3) BETWEEN TIMESTAMP '1970-01-01 01:00:00' AND TIMESTAMP '1970-01-01 02:00:00'", 'true'),
    ("TO_TIMESTAMP_LTZ(0, 3) IN (TIMESTAMP '1970-01-01 01:00:00')", 'true'),
    ("TIMESTAMP '2024-10-27 02:30:00' = TO_TIMESTAMP_LTZ(1729992600000, 3)", 'false'),
    ("COALESCE(TO_TIMESTAMP_LTZ(0, 3), TIMESTAMP '1970-01-01 05:00:00')", '1970-01-01 01:00:00.000'),
    ("GREATEST(TO_TIMESTAMP_LTZ(0, 3), TIMESTAMP '1970-01-01 05:00:00')", '1970-01-01 05:00:00.000'),
    ("NULLIF(TO_TIMESTAMP_LTZ(0, 3), TIMESTAMP '1970-01-01 01:00:00')", '\\N'),
    ("CASE WHEN TRUE THEN TO_TIMESTAMP_LTZ(0, 3) ELSE TIMESTAMP '1970-01-01 05:00:00' END", '1970-01-01 01:00:00.000'),
    ('CAST(ARRAY[TO_TIMESTAMP_LTZ(0, 3)] AS STRING)', '[1970-01-01 01:00:00.000]'),
    ('CAST(ROW(TO_TIMESTAMP_LTZ(0, 3), 1) AS STRING)', '(1970-01-01 01:00:00.000, 1)'),
    ('FROM_UNIXTIME(0)', '1970-01-01 01:00:00'),
    ("FROM_UNIXTIME(1711846800, 'yyyy HH')", '2024 03'),
    ("UNIX_TIMESTAMP('1970-01-01 01:00:00')", '0'),
    ("UNIX_TIMESTAMP('2024-03-31 02:30:00')", '1711848600'),
    ("TO_TIMESTAMP('2024-03-31 02:30:00')", '2024-03-31 02:30:00.000'),
    ("TRY_CAST('x' AS TIMESTAMP_LTZ(3))", '\\N'),
    ('TIMESTAMPDIFF(HOUR, CAST(CURRENT_TIMESTAMP AS TIMESTAMP(3)), LOCALTIMESTAMP)', '0'),
    ('CAST(NOW() AS DATE) = CURRENT_DATE', 'true'),
    # Not Flink's, which takes the distance to UTC of noon: midnight of the zone.
    ('FLOOR(TO_TIMESTAMP_LTZ(1711879200000, 3) TO DAY)', '2024-03-31 00:00:00.000'),
]
OTHERS = [
    ('America/Los_Angeles', 'TO_TIMESTAMP_LTZ(-5000000000001, 3)', '1811-07-23 07:13:41.999'),
    ('America/Los_Angeles', 'TO_TIMESTAMP_LTZ(1710064799999, 3)', '2024-03-10 01:59:59.999'),
    ('America/Los_Angeles', 'TO_TIMESTAMP_LTZ(1710064800000, 3)', '2024-03-10 03:00:00.000'),
    ('GMT+05:30', 'TO_TIMESTAMP_LTZ(0, 3)', '1970-01-01 05:30:00.000'),
    ('+05:30', 'TO_TIMESTAMP_LTZ(0, 3)', '1970-01-01 05:30:00.000'),
    ('GMT', 'TO_TIMESTAMP_LTZ(0, 3)', '1970-01-01 00:00:00.000'),
    ('UTC', 'TO_TIMESTAMP_LTZ(0, 3)', '1970-01-01 00:00:00.000'),
]


def check_flinks_expressions():
    both(set_zone('Europe/Berlin') + 'SELECT ' + ', '.join(sql for sql, _ in BERLIN), ','.join(
        f'{answer}' for _, answer in BERLIN), compiled=False)
    for zone, expression, wanted in OTHERS:
        assert one(zone, expression) == wanted, (zone, expression, one(zone, expression))
    print('expressions as Flink')


def events(name, begin, minutes, columns='id INT', zone='Europe/Berlin', watermark='ts'):
    """Rows 1, 2, … at these minutes behind `begin`."""
    path = DIRECTORY / f'{name}.csv'
    path.write_text(''.join(f'{number},{begin + minute * 60_000}\n' for number, minute in enumerate(minutes, 1)))
    return (f"CREATE TABLE {name} ({columns}, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS {watermark}) "
            f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');\n")


SPRING, AUTUMN = 1711836000000, 1729976400000


def head():
    return (set_zone('Europe/Berlin') + events('sp', SPRING, range(0, 1800, 60)) + events('au', AUTUMN, range(0, 1800, 30))
            + events('la', 1729987200000, [10, 65, 20, 119, 30, 120, 40, 70, 200]) + events('ls', 1711843200000, [10, 50, 60, 59, 70, 200]))


def check_windows_of_days_without_24_hours():
    query = lambda table: (head() + f"SELECT window_start, window_end, window_time, COUNT(*), MIN(ts), MAX(id) FROM TABLE(TUMBLE("
                           f"TABLE {table}, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY window_start, window_end, window_time")
    day = lambda a, b, rest: f'{a} 00:00:00.000,{b} 00:00:00.000,{a} 23:59:59.999,{rest}'
    both(query('sp'), day('2024-03-30', '2024-03-31', '1,2024-03-30 23:00:00.000,1'),
         day('2024-03-31', '2024-04-01', '23,2024-03-31 00:00:00.000,24'), day('2024-04-01', '2024-04-02', '6,2024-04-01 00:00:00.000,30'))
    both(query('au'), day('2024-10-26', '2024-10-27', '2,2024-10-26 23:00:00.000,2'),
         day('2024-10-27', '2024-10-28', '50,2024-10-27 00:00:00.000,52'), day('2024-10-28', '2024-10-29', '8,2024-10-28 00:00:00.000,60'))
    both(head() + "SELECT TUMBLE_START(ts, INTERVAL '1' DAY), TUMBLE_ROWTIME(ts, INTERVAL '1' DAY), COUNT(*) FROM au GROUP BY "
         "TUMBLE(ts, INTERVAL '1' DAY)", '2024-10-26 00:00:00.000,2024-10-26 23:59:59.999,2',
         '2024-10-27 00:00:00.000,2024-10-27 23:59:59.999,50', '2024-10-28 00:00:00.000,2024-10-28 23:59:59.999,8')
    print('days of 23 and 25 hours')


def check_windows_of_hours():
    at = lambda hour, day=27: f'2024-10-{day} {hour:02}:00:00.000'
    hours = lambda table: (head() + f"SELECT window_start, COUNT(*), MIN(id) FROM TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '1' "
                           "HOUR)) WHERE id < 14 GROUP BY window_start, window_end")
    both(hours('au'), f'{at(23, 26)},2,1', f'{at(0)},2,3', f'{at(1)},2,5', f'{at(2)},4,7', f'{at(3)},2,11', f'{at(4)},1,13')
    march = lambda hour: f'2024-03-31 {hour:02}:00:00.000'
    both(hours('sp').replace('< 14', '< 6'), '2024-03-30 23:00:00.000,1,1', f'{march(0)},1,2', f'{march(1)},1,3', f'{march(3)},1,4',
         f'{march(4)},1,5')
    # A window that has an hour twice waits for the second: 20 and 30 minutes are not late, 40 and 70 are.
    late = (head() + 'SELECT window_start, COUNT(*), MIN(id), MAX(id) FROM TABLE(TUMBLE(TABLE la, DESCRIPTOR(ts), '
            "INTERVAL '1' HOUR)) GROUP BY window_start, window_end")
    said = both(late, f'{at(2)},5,1,5', f'{at(3)},1,6,6', f'{at(4)},1,9,9')
    assert '2 late rows' in said, said
    both(late.replace('TABLE la,', 'TABLE ls,'), f'{march(1)},2,1,2', f'{march(3)},2,3,5', f'{march(5)},1,6,6')
    print('hours that are missing and that come twice')


def check_other_windows():
    counts = lambda call: head() + f'SELECT window_start, window_end, COUNT(*), MIN(id) FROM TABLE({call}) GROUP BY window_start, window_end'
    at = lambda day, hour: f'2024-10-{day} {hour:02}:00:00.000'
    rows = lambda *all_rows: [f'{at(a, b)},{at(c, d)},{count},{least}' for a, b, c, d, count, least in all_rows]
    both(counts("HOP(TABLE au, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL '12' HOUR)"),
         *rows((26, 12, 27, 0, 2, 1), (26, 18, 27, 6, 16, 1), (27, 0, 27, 12, 26, 3), (27, 6, 27, 18, 24, 17), (27, 12, 28, 0, 24, 29),
               (27, 18, 28, 6, 20, 41), (28, 0, 28, 12, 8, 53)))
    both(counts("CUMULATE(TABLE au, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL '1' DAY)"),
         *rows((26, 0, 27, 0, 2, 1), (27, 0, 27, 6, 14, 3), (27, 0, 27, 12, 26, 3), (27, 0, 27, 18, 38, 3), (27, 0, 28, 0, 50, 3),
               (28, 0, 28, 6, 8, 53), (28, 0, 28, 12, 8, 53), (28, 0, 28, 18, 8, 53), (28, 0, 29, 0, 8, 53)))
    march = lambda time: f'2024-03-31 {time}:00.000'
    both(counts("SESSION(TABLE ls, DESCRIPTOR(ts), INTERVAL '20' MINUTE)"), f"{march('01:10')},{march('01:30')},1,1",
         f"{march('01:50')},{march('02:10')},1,2", f"{march('03:00')},{march('03:30')},2,3", f"{march('05:20')},{march('05:40')},1,6")
    # Windows of windows.
    both(head() + "SELECT window_start, COUNT(*), SUM(c) FROM TABLE(TUMBLE((SELECT window_time AS wt, COUNT(*) AS c FROM TABLE(TUMBLE("
         "TABLE au, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end, window_time), DESCRIPTOR(wt), INTERVAL '1' DAY)) "
         'GROUP BY window_start, window_end', f'{at(26, 0)},1,2', f'{at(27, 0)},24,50', f'{at(28, 0)},4,8')
    windowed = "(SELECT * FROM TABLE(TUMBLE(TABLE la, DESCRIPTOR(ts), INTERVAL '1' HOUR)))"
    joined = run(head() + f'SELECT a.id, b.id, a.window_start FROM {windowed} a JOIN {windowed} b ON a.window_start = b.window_start AND '
                 'a.window_end = b.window_end AND a.id = b.id')
    assert sorted(joined.stdout.splitlines()[1:]) == sorted([f'{id},{id},{at(27, 2)}' for id in range(1, 6)] + [
        f'6,6,{at(27, 3)}', f'9,9,{at(27, 4)}']), joined.stdout
    both(head() + "SELECT id, window_start, r FROM (SELECT id, window_start, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY "
         "id DESC) AS r FROM TABLE(TUMBLE(TABLE la, DESCRIPTOR(ts), INTERVAL '1' HOUR))) WHERE r = 1", f'5,{at(27, 2)},1', f'6,{at(27, 3)},1',
         f'9,{at(27, 4)},1')
    # OVER counts in instants.
    both(head() + "SELECT id, COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) FROM au WHERE id BETWEEN "
         '5 AND 12', '5,1', '6,2', *(f'{id},3' for id in range(7, 13)))
    print('other windows')


# ---- 3. Files, sinks, refusals ----
def check_files():
    path, out = DIRECTORY / 'walls.csv', DIRECTORY / 'parts'
    path.write_text('2024-07-01 12:00:00.000,2024-07-01 12:00:00\n2024-07-01 12:00:00.000,2024-07-01 10:00:00Z\n')
    columns = f"(w TIMESTAMP(3), i TIMESTAMP_LTZ(3)) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' ="
    tables = set_zone('Europe/Berlin') + f"CREATE TABLE t {columns} '{path}');\nCREATE TABLE o {columns} '{out}');\n"
    both(tables + "SELECT *, w = i, TIMESTAMPDIFF(SECOND, TO_TIMESTAMP_LTZ(0, 3), i) FROM t",
         *['2024-07-01 12:00:00.000,2024-07-01 12:00:00.000,true,1719828000'] * 2)
    # Sinks take both types: instants become walls, and walls instants.
    run(tables + 'INSERT INTO o SELECT i, w FROM t')
    assert [part.read_text() for part in out.glob('part-*')] == ['2024-07-01 12:00:00.000,2024-07-01 12:00:00.000\n' * 2]
    instants = f"CREATE TABLE t (i TIMESTAMP_LTZ(3), w TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' ="
    path = DIRECTORY / 'lines.json'
    path.write_text('{"i": "2024-07-01 12:00:00", "w": "2024-07-01 12:00:00"}\n{"i": "2024-07-01 10:00:00Z", "w": "2024-07-01 12:00:00Z"}\n')
    both(set_zone('Europe/Berlin') + f"{instants} '{path}');\nSELECT * FROM t", *['2024-07-01 12:00:00.000,2024-07-01 12:00:00.000'] * 2)
    shown_ways = {'table': '| 1970-01-01 01:00:00.000 |', 'csv': '1970-01-01 01:00:00.000', 'json': '{"x":"1970-01-01 01:00:00.000"}'}
    for way, wanted in shown_ways.items():
        said = run(set_zone('Europe/Berlin') + 'SELECT TO_TIMESTAMP_LTZ(0, 3) AS x', '--format', way).stdout
        assert wanted.strip('| ') in said, (way, said)
    print('files')


def check_refusals():
    refused = lambda text, code=2: run(text, code=code).stderr
    for zone in ('Nowhere/At', 'PST', '+19:00', '../etc/passwd', ''):
        said = refused(set_zone(zone) + 'SELECT 1')
        assert 'table.local-time-zone' in said and 'Europe/Berlin' in said and 'line 1, column' in said, said
    berlin = set_zone('Europe/Berlin')
    for expression, words in [("TO_TIMESTAMP_LTZ(0, 3) = DATE '1970-01-01'", 'TIMESTAMP_LTZ(3) in Europe/Berlin and DATE cannot be compared'),
                              ("TIMESTAMPDIFF(HOUR, TO_TIMESTAMP_LTZ(0, 3), TIMESTAMP '2024-03-31 00:00:00')", 'write a CAST'),
                              ('CAST(TO_TIMESTAMP_LTZ(0, 3) AS BIGINT)', 'there is no cast'),
                              ('CAST(5 AS TIMESTAMP_LTZ(3))', 'there is no cast'),
                              ("CAST('1970-01-01 00:00:00+05:00' AS TIMESTAMP_LTZ(3))", 'is no TIMESTAMP_LTZ(3) in Europe/Berlin')]:
        said = run(berlin + f'SELECT {expression}', code=2).stderr
        assert words in said, (expression, said)
    said = refused('CREATE ' + "VIEW v AS SELECT 1 AS n;\n" + berlin + 'SELECT 1')
    assert 'one time zone' in said and 'before the first table' in said, said
    assert run(berlin + berlin + 'SELECT 1 AS n').stdout == 'n\n1\n'
    said = refused(berlin + events('mx', 0, [1], watermark='CAST(ts AS TIMESTAMP(3))') + 'SELECT * FROM mx')
    assert 'its watermark a TIMESTAMP(3)' in said, said
    print('refusals')


def check_a_checkpoint_keeps_the_zone():
    state = DIRECTORY / 'state'
    text_of_zone = lambda zone: set_zone(zone) + events('e', SPRING, range(0, 1800, 60)) + (
        "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY window_start, window_end")
    go = lambda zone: subprocess.run([HOLDFAST, 'stream', 'run', '--state', 'dram', '--checkpoint', '1s', '--checkpoint-dir', str(state), '-e',
                                      text_of_zone(zone)], capture_output=True, text=True)
    assert go('Europe/Berlin').returncode == 0
    again = go('Europe/Berlin')
    assert again.returncode == 0, again.stderr
    other = go('Europe/Paris')
    assert other.returncode != 0 and 'Europe/Berlin' in other.stderr and 'Europe/Paris' in other.stderr, other.stderr
    print('the zone is kept')


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as directory:
        DIRECTORY = pathlib.Path(directory)
        compilers.be_quick(DIRECTORY)
        check_flinks_expressions()
        check_zones()
        check_windows_of_days_without_24_hours()
        check_windows_of_hours()
        check_other_windows()
        check_files()
        check_refusals()
        check_a_checkpoint_keeps_the_zone()
