"""Tables with a column of every type, and rows for them: what tests of formats share."""
import datetime
import decimal
import json
import subprocess

COLUMNS = ('i INT, t TINYINT, n BIGINT, s STRING, c VARCHAR(3), b BOOLEAN, f FLOAT, d DOUBLE, m DECIMAL(20, 4), `at` TIMESTAMP(3), `day` DATE, '
           'v ARRAY<INT>, r ROW<a INT, w ARRAY<ROW<x STRING, y BIGINT>>>, p MAP<STRING, DOUBLE>')
NAMES = 'i t n s c b f d m at day v r p'.split()


def run(holdfast, *arguments, code=0):
    done = subprocess.run([holdfast, 'stream', 'run', *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout[-500:], done.stderr)
    return done


def files(path, columns, name, format, **options):
    options = {key.replace('__', '.').replace('_', '-'): value for key, value in options.items()}
    options = {'connector': 'filesystem', 'path': path, 'format': format, **options}
    return f'CREATE TABLE {name} ({columns}) WITH (' + ', '.join(f"'{key}' = '{value}'" for key, value in options.items()) + ');\n'


def write_json(path, rand, rows):
    with open(path, 'w') as out:
        for number in range(rows):
            row = {
                'i': rand.randrange(-2**31, 2**31), 't': rand.randrange(-128, 128), 'n': rand.choice([-2**63, 2**63 - 1, number]),
                's': rand.choice(['', 'ä\u0000ö', 'x' * rand.randrange(300), f'row {number}']),
                'c': rand.choice(['', 'äöü', 'abc']), 'b': rand.random() < 0.5,
                'f': rand.choice([0.5, -1.25, 1e10]), 'd': rand.choice([0.1, -1e300, 3.0]),
                'm': f'{rand.choice([0, 1, -1, 128, -128, 255, -256, 10**19, -10**15, rand.randrange(10**12)])}.{rand.randrange(10**4):04}'[:21],
                'at': f'{rand.randrange(1000, 3000)}-02-03 04:05:06.{rand.randrange(1000):03}', 'day': f'{rand.randrange(1000, 9999)}-12-31',
                'v': [rand.choice([None, 1, -7]) for _ in range(rand.randrange(5))],
                'r': {'a': number, 'w': [{'x': 'é', 'y': None}] * rand.randrange(3)}, 'p': {'k': 1.5, 'ü': None, 'z': -0.0}}
            if row['m'].startswith(('10000000000000000000', '-10000000000000000000')):
                row['m'] = '9999999999999999.9999'
            for name in NAMES:
                if rand.random() < 0.1:
                    row[name] = None
            out.write(json.dumps(row) + '\n')


def plain(value):
    """A value of another reader as our JSON shows it."""
    if isinstance(value, datetime.datetime):
        return value.strftime('%Y-%m-%d %H:%M:%S.') + f'{value.microsecond // 1000:03}'
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, list) and value and all(isinstance(part, tuple) for part in value):
        return plain(dict(value))  # A map of pyarrow.
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value
