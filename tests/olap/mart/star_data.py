"""The files of a star with NULLs, texts with commas and quotes, keys that are texts and dates: star_data.write(DIR)."""
import pathlib
import random

SCHEMA = '''
csv: {null_text: ""}
fact:
  name: sales
  file: sales.csv
  columns: {id: BIGINT, customer: BIGINT, product: STRING, sold: DATE, shipped: DATE, quantity: INT,
            price: "DECIMAL(12, 2)", rate: "DECIMAL(5, 4)", weight: DOUBLE, channel: STRING, gift: BOOLEAN}
  keys: {customer: customers, product: products, sold: days, shipped: days}
dimensions:
  customers: {file: customers.csv, key: ckey, order: [region, nation],
              columns: {ckey: BIGINT, region: STRING, nation: STRING, credit: "DECIMAL(12, 2)"}}
  products: {file: products.csv, key: pkey, columns: {pkey: STRING, category: STRING, brand: STRING, size: INT}}
  days: {file: days.csv, key: day, columns: {day: DATE, year: INT, month: INT, holiday: BOOLEAN}}
'''


def sale(chance, number):
    def maybe(one_in, value):
        return '' if chance.randrange(one_in) == 0 else value

    def day():
        return f'2026-02-{chance.randrange(1, 29):02}'
    return ','.join(str(value) for value in (
        number, maybe(12, 7 * chance.randrange(60) + 3), maybe(15, f'p-{chance.randrange(40)}'), day(), maybe(6, day()),
        maybe(20, chance.randrange(50)), maybe(20, f'{chance.randrange(10000)}.{chance.randrange(100):02}'),
        maybe(20, f'0.{chance.randrange(10000):04}'), maybe(9, f'{chance.randrange(1000)}.5'),
        maybe(7, chance.choice(['web', 'shop', '"call ""centre"""'])), maybe(11, chance.choice(['true', 'false']))))


def write(directory, rows, seed=1):
    chance, place = random.Random(seed), pathlib.Path(directory)
    (place / 'star.yaml').write_text(SCHEMA)
    files = {
        'customers': ['ckey,region,nation,credit'] + [
            f'{7 * i + 3},{chance.choice(["ASIA", "EUROPE", "AFRICA", ""])},nation {chance.randrange(9)},'
            + ('' if chance.randrange(8) == 0 else f'{chance.randrange(100000)}.25') for i in range(60)],
        'products': ['pkey,category,brand,size'] + [
            f'p-{i},"cat, {i % 5}",brand{chance.randrange(12)},' + ('' if i % 10 == 0 else str(chance.randrange(50)))
            for i in range(40)],
        'days': ['day,year,month,holiday'] + [
            f'2026-02-{i + 1:02},{2020 + i % 7},{i % 12 + 1},{"true" if i % 6 == 0 else "false"}' for i in range(28)],
        'sales': ['id,customer,product,sold,shipped,quantity,price,rate,weight,channel,gift'] + [
            sale(chance, number) for number in range(rows)],
    }
    for name, lines in files.items():
        (place / f'{name}.csv').write_text('\n'.join(lines) + '\n')


TYPES = {
    'sales': 'id BIGINT, customer BIGINT, product VARCHAR, sold DATE, shipped DATE, quantity BIGINT, price DECIMAL(12, 2), '
             'rate DECIMAL(5, 4), weight DOUBLE, channel VARCHAR, gift BOOLEAN',
    'customers': 'ckey BIGINT, region VARCHAR, nation VARCHAR, credit DECIMAL(12, 2)',
    'products': 'pkey VARCHAR, category VARCHAR, brand VARCHAR, size BIGINT',
    'days': 'day DATE, year BIGINT, month BIGINT, holiday BOOLEAN',
}
