"""A star whose queries have hundreds of thousands of groups: write(DIR, ROWS), and the queries."""
import pathlib
import random

SCHEMA = '''
csv: {null_text: ""}
fact:
  name: visits
  file: visits.csv
  columns: {id: BIGINT, page: STRING, visitor: BIGINT, session: BIGINT, price: "DECIMAL(12, 2)", weight: DOUBLE,
            channel: STRING, seen: "TIMESTAMP(3)"}
  keys: {visitor: visitors}
dimensions:
  visitors: {file: visitors.csv, key: vkey, columns: {vkey: BIGINT, name: STRING, city: STRING, born: BIGINT}}
'''
TYPES = {
    'visits': 'id BIGINT, page VARCHAR, visitor BIGINT, session BIGINT, price DECIMAL(12, 2), weight DOUBLE, '
              'channel VARCHAR, seen TIMESTAMP',
    'visitors': 'vkey BIGINT, name VARCHAR, city VARCHAR, born BIGINT',
}


def write(directory, rows, seed=1):
    chance, place = random.Random(seed), pathlib.Path(directory)
    (place / 'star.yaml').write_text(SCHEMA)
    visitors = rows // 5
    with open(place / 'visitors.csv', 'w') as out:
        out.write('vkey,name,city,born\n')
        for i in range(visitors):
            name = '' if i % 17 == 0 else f'visitor {chance.randrange(visitors):07}'
            out.write(f'{i * 11 + 5},{name},city {chance.randrange(300)},{chance.randrange(1 << 40)}\n')

    def maybe(one_in, value):
        return '' if chance.randrange(one_in) == 0 else value
    with open(place / 'visits.csv', 'w') as out:
        out.write('id,page,visitor,session,price,weight,channel,seen\n')
        for i in range(rows):
            out.write(','.join(map(str, (
                i, maybe(40, f'/page/{chance.randrange(rows)}/of/the/shop'), maybe(30, chance.randrange(visitors) * 11 + 5),
                maybe(25, chance.randrange(rows) * 1_000_003 - 10**9), maybe(20, f'{chance.randrange(10**9)}.{chance.randrange(100):02}'),
                maybe(20, f'{chance.randrange(10**6) - 5 * 10**5}.25'), maybe(9, chance.choice(['web', 'shop', 'post'])),
                f'2026-01-{1 + chance.randrange(28):02} {chance.randrange(24):02}:{chance.randrange(60):02}:00.000'))) + '\n')


JOIN = 'FROM visits JOIN visitors ON visitor = vkey'
ALL = 'COUNT(*), COUNT(price), SUM(price), MIN(session), MAX(weight), AVG(CAST(price AS DOUBLE))'
QUERIES = [
    f'SELECT page, {ALL} FROM visits GROUP BY page',
    f'SELECT session, {ALL} FROM visits GROUP BY session',
    f'SELECT id, {ALL} FROM visits GROUP BY id',
    'SELECT page, session, COUNT(*), SUM(id) FROM visits GROUP BY page, session',
    'SELECT price, COUNT(*), MIN(page), MAX(channel) FROM visits GROUP BY price',
    'SELECT weight, channel, COUNT(*), SUM(price) FROM visits GROUP BY weight, channel',
    f'SELECT name, city, {ALL} {JOIN} GROUP BY name, city',
    f'SELECT vkey, name, {ALL} {JOIN} GROUP BY vkey, name',
    f'SELECT born, COUNT(DISTINCT page), COUNT(DISTINCT session) {JOIN} GROUP BY born',
    'SELECT visitor, COUNT(DISTINCT page), SUM(DISTINCT price), MIN(CAST(seen AS DATE)) FROM visits GROUP BY visitor',
    "SELECT page || channel, COUNT(*), SUM(price) FROM visits GROUP BY page || channel",
    'SELECT session + id, COUNT(*), MAX(page) FROM visits WHERE price > 1000 GROUP BY session + id',
    'SELECT CAST(price AS DECIMAL(30, 4)) AS p, COUNT(*) FROM visits GROUP BY CAST(price AS DECIMAL(30, 4))',
    'SELECT visitor, COUNT(*) FROM visits GROUP BY seen, visitor HAVING COUNT(*) > 1',
    'SELECT page, COUNT(*) AS c, SUM(price) AS s FROM visits GROUP BY page ORDER BY c DESC, page NULLS FIRST LIMIT 100',
    'SELECT session, SUM(price) AS s FROM visits GROUP BY session ORDER BY s DESC NULLS FIRST, session NULLS FIRST '
    'LIMIT 50 OFFSET 7',
    'SELECT weight, COUNT(*) FROM visits GROUP BY weight ORDER BY weight DESC NULLS LAST',
    f'SELECT name, MAX(weight) AS w {JOIN} GROUP BY name HAVING MAX(weight) > 0 ORDER BY name NULLS LAST',
    'SELECT DISTINCT page, channel FROM visits ORDER BY channel DESC NULLS LAST, page NULLS FIRST',
    'SELECT channel, COUNT(DISTINCT session), COUNT(DISTINCT page || channel) FROM visits GROUP BY channel',
]
