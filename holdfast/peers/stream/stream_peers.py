"""One other engine for `holdfast stream bench --compare`: holds the events as columns, and answers queries over them
as a batch. Stands behind peer_main.py: python -c BOTH NAME THREADS

Questions:  queries                which ones it has, a row for each
            load TABLE DIRECTORY   takes a table, whose columns are files there (peer_tables.hpp)
            window-sum PATH        writes all start times to PATH, then all sensors, then all sums, as whole numbers
            nexmark-qN KINDS       one row: how many rows there are, and the sum of each column modulo 2^64; KINDS has
                                   a letter per column: S, a text, of which the bytes are added up, or N, a number

A time is a whole number of milliseconds. The seconds are from the query to its rows in memory, or to their sums.
"""
import decimal
import importlib
import os
import pathlib
import sys
import time

NAME, THREADS = sys.argv[1], int(sys.argv[2])

# Column: N, a number of 64 bits, or S, a text.
TABLES = {
    'events': 'ts N, sensor N, value N',
    'person': 'id N, name S, emailAddress S, creditCard S, city S, state S, dateTime N, extra S',
    'auction': 'id N, itemName S, description S, initialBid N, reserve N, dateTime N, expires N, seller N, category N, '
               'extra S',
    'bid': 'auction N, bidder N, price N, channel S, url S, dateTime N, extra S',
}
TABLES = {table: [column.split() for column in columns.split(', ')] for table, columns in TABLES.items()}


def arrow_table(table, directory):
    """The files of a table, as Arrow. No copy is made of what was read."""
    arrow = importlib.import_module('pyarrow')

    def bytes_of(name):
        return arrow.py_buffer(pathlib.Path(directory, f'{table}.{name}').read_bytes())

    columns = {}
    for name, kind in TABLES[table]:
        if kind == 'N':
            numbers = bytes_of(name)
            columns[name] = arrow.Array.from_buffers(arrow.int64(), numbers.size // 8, [None, numbers])
        else:
            ends = bytes_of(name + '.ends')  # One more than there are rows: the first is 0.
            columns[name] = arrow.Array.from_buffers(arrow.large_string(), ends.size // 8 - 1,
                                                     [None, ends, bytes_of(name)])
    return arrow.table(columns)


def write_numbers(table, path):
    """The columns of an Arrow table, one behind the other."""
    with open(path, 'wb') as file:
        for column in table.columns:
            for chunk in column.chunks:
                file.write(chunk.buffers()[1][chunk.offset * 8:(chunk.offset + len(chunk)) * 8])


def threads_of(engine):
    """What it says it has, if that is what was asked for."""
    if int(engine) != THREADS:
        raise RuntimeError(f'it has {engine} threads, not {THREADS}')
    return engine


def modulo(value):
    """A sum as a whole number of 64 bits; of a decimal its digits."""
    if value is None:
        return 0
    if isinstance(value, decimal.Decimal):
        value = value.scaleb(-value.as_tuple().exponent)
    return int(value) % 2**64


DAY, MINUTE = "strftime(epoch_ms(dateTime), '%Y-%m-%d')", "strftime(epoch_ms(dateTime), '%H:%M')"
HIGHEST = '''select max(b.price) as final, a.{0} as by_what from auction a, bid b
             where a.id = b.auction and b.dateTime between a.dateTime and a.expires group by a.id, a.{0}'''
AVERAGE = 'select by_what, sum(final) // count(*) from (' + HIGHEST + ') group by by_what'
CHANNEL_ID = "url, '(&|^)channel_id=([^&]*)'"
# Rows that are equal in ORDER BY: in the order in which they came; of q18, which keeps the last row, the last one first.
SQL = {
    0: 'select auction, bidder, price, dateTime, extra from bid',
    1: 'select auction, bidder, 0.908 * price, dateTime, extra from bid',
    2: 'select auction, price from bid where auction % 123 = 0',
    3: '''select p.name, p.city, p.state, a.id from auction a join person p on a.seller = p.id
          where a.category = 10 and p.state in ('OR', 'ID', 'CA')''',
    4: AVERAGE.format('category'),
    # Slices of 2 s, of which a window has five.
    5: '''with slices as (select auction, dateTime // 2000 as slice, count(*) as num from bid group by all),
               counts as (select auction, slice + later as last, sum(num)::BIGINT as num
                          from slices, range(5) as r(later) group by all)
          select auction, num from counts join (select last, max(num) as most from counts group by last) using (last)
          where num >= most''',
    6: AVERAGE.format('seller'),
    7: '''select b.auction, b.price, b.bidder, b.dateTime, b.extra
          from bid b join (select max(price) as most, dateTime // 10000 * 10000 + 10000 as ends from bid group by ends) m
          on b.price = m.most where b.dateTime between m.ends - 10000 and m.ends''',
    8: '''select p.id, p.name, p.start
          from (select distinct id, name, dateTime // 10000 * 10000 as start from person) p
          join (select distinct seller, dateTime // 10000 * 10000 as start from auction) a
          on p.id = a.seller and p.start = a.start''',
    9: '''select a.id, a.itemName, a.seller, a.category, b.auction, b.bidder, b.price, b.dateTime
          from auction a join bid b on a.id = b.auction where b.dateTime between a.dateTime and a.expires
          qualify row_number() over (partition by a.id order by b.price desc, b.dateTime, b.rowid) = 1''',
    10: f'select auction, bidder, price, dateTime, extra, {DAY}, {MINUTE} from bid',
    # A session ends where more than the gap is between two bids.
    11: '''with marked as (select bidder, dateTime, coalesce(dateTime - lag(dateTime) over each > 10000, false) as begins
                           from bid window each as (partition by bidder order by dateTime)),
                numbered as (select bidder, dateTime, sum(begins::INT) over (partition by bidder order by dateTime)
                             as session from marked)
           select bidder, count(*), min(dateTime), max(dateTime) + 10000 from numbered group by bidder, session''',
    13: '''select b.auction, b.bidder, b.price, b.dateTime, s.city from bid b join person s on b.bidder = s.id''',
    14: '''select auction, bidder, 0.908 * price,
             case when hour(epoch_ms(dateTime)) between 8 and 18 then 'dayTime'
                  when hour(epoch_ms(dateTime)) <= 6 or hour(epoch_ms(dateTime)) >= 20 then 'nightTime'
                  else 'otherTime' end, dateTime, extra, length(extra)
           from bid where 0.908 * price > 1000000 and 0.908 * price < 50000000''',
    15: f'''select {DAY} as day, count(*), count(*) filter (price < 10000),
              count(*) filter (price >= 10000 and price < 1000000), count(*) filter (price >= 1000000),
              count(distinct bidder), count(distinct bidder) filter (price < 10000), count(distinct auction)
            from bid group by day''',
    16: f'''select channel, {DAY} as day, max({MINUTE}), count(*), count(*) filter (price < 10000),
              count(distinct bidder), count(distinct auction) filter (price >= 1000000)
            from bid group by channel, day''',
    17: f'''select auction, {DAY} as day, count(*), count(*) filter (price < 10000),
              count(*) filter (price >= 1000000), min(price), max(price), sum(price) // count(*), sum(price)
            from bid group by auction, day''',
    18: '''select auction, bidder, price, channel, url, dateTime, extra from bid
           qualify row_number() over (partition by bidder, auction order by dateTime desc, rowid desc) = 1''',
    19: '''select auction, bidder, price, dateTime, row_number() over each from bid
           window each as (partition by auction order by price desc, rowid)
           qualify row_number() over each <= 10''',
    20: '''select auction, bidder, price, channel, url, b.dateTime, b.extra, itemName, description, initialBid, reserve,
             a.dateTime, expires, seller, category
           from bid b join auction a on b.auction = a.id where a.category = 10''',
    21: f'''select auction, bidder, price, channel,
              case lower(channel) when 'apple' then '0' when 'google' then '1' when 'facebook' then '2'
                when 'baidu' then '3' else regexp_extract({CHANNEL_ID}, 2) end
            from bid where regexp_matches({CHANNEL_ID}) or lower(channel) in ('apple', 'google', 'facebook', 'baidu')''',
    22: '''select auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5),
             split_part(url, '/', 6) from bid''',
}


class DuckDB:
    package = 'duckdb'
    queries = SQL

    def __init__(self, duckdb):
        self.base = duckdb.connect(config={'threads': THREADS})
        self.base.execute('set enable_progress_bar = false')
        threads = self.base.sql("select current_setting('threads')").fetchall()[0][0]
        self.configuration = f'batch, tables in memory, {threads_of(threads)} threads'

    def load(self, table, columns):
        self.base.register('columns_of_it', columns)
        self.base.execute(f'create or replace table {table} as select * from columns_of_it')
        self.base.unregister('columns_of_it')

    def window_sum(self):
        return self.base.sql('select ts // 60000 * 60000 as start, sensor, sum(value)::BIGINT from events '
                             'group by start, sensor').to_arrow_table()

    def sums(self, number, kinds):
        columns = [f'c{i}' for i in range(len(kinds))]
        added = [f'sum(strlen({name}))' if kind == 'S' else f'sum({name})' for name, kind in zip(columns, kinds)]
        return self.base.sql(f"select count(*), {', '.join(added)} from ({SQL[number]}) as answer"
                             f"({', '.join(columns)})").fetchall()[0]


class Polars:
    package = 'polars'

    def __init__(self, polars):
        self.polars, self.frames = polars, {}
        self.configuration = f'batch, frames in memory, streaming engine, {threads_of(polars.thread_pool_size())} threads'
        self.queries = [int(name[1:]) for name in dir(self) if name[:1] == 'q' and name[1:].isdigit()]

    def load(self, table, columns):
        self.frames[table] = self.polars.from_arrow(columns).rechunk()

    def window_sum(self):
        start = (self.polars.col('ts') // 60_000 * 60_000).alias('start')
        return self.lazy('events').group_by(start, 'sensor').agg(self.polars.col('value').sum()) \
            .collect(engine='streaming').to_arrow()

    def sums(self, number, kinds):
        frame, polars = getattr(self, f'q{number}')(), self.polars
        added = [(polars.nth(i).str.len_bytes().cast(polars.Int64) if kind == 'S' else polars.nth(i)).sum().alias(f'c{i}')
                 for i, kind in enumerate(kinds)]
        return frame.select(polars.len().alias('rows'), *added).collect(engine='streaming').row(0)

    def lazy(self, table, *columns):
        frame = self.frames[table].lazy()
        return frame.select(*columns) if columns else frame

    def q0(self):
        return self.lazy('bid', 'auction', 'bidder', 'price', 'dateTime', 'extra')

    def q1(self):
        price = self.polars.col('price').cast(self.polars.Decimal(38, 0)) * decimal.Decimal('0.908')
        return self.q0().with_columns(price.alias('price'))

    def q2(self):
        return self.lazy('bid', 'auction', 'price').filter(self.polars.col('auction') % 123 == 0)

    def q3(self):
        column = self.polars.col
        people = self.lazy('person').filter(column('state').is_in(['OR', 'ID', 'CA']))
        auctions = self.lazy('auction', 'id', 'seller', 'category').filter(column('category') == 10)
        return auctions.join(people.rename({'id': 'person'}), left_on='seller', right_on='person') \
            .select('name', 'city', 'state', 'id')

    def average(self, by):
        column = self.polars.col
        auctions = self.lazy('auction', 'id', by, column('dateTime').alias('begins'), 'expires')
        valid = self.lazy('bid', 'auction', 'price', 'dateTime').join(auctions, left_on='auction', right_on='id') \
            .filter(column('dateTime').is_between(column('begins'), column('expires')))
        highest = valid.group_by('auction', by).agg(column('price').max().alias('final'))
        return highest.group_by(by).agg(column('final').sum() // column('final').len().cast(self.polars.Int64))

    def q4(self):
        return self.average('category')

    def q5(self):  # Slices of 2 s, of which a window has five.
        column = self.polars.col
        slices = self.lazy('bid').group_by('auction', (column('dateTime') // 2000).alias('slice')) \
            .agg(self.polars.len().cast(self.polars.Int64).alias('num'))
        later = self.polars.LazyFrame({'later': range(5)})
        counts = slices.join(later, how='cross').group_by('auction', (column('slice') + column('later')).alias('last')) \
            .agg(column('num').sum())
        most = counts.group_by('last').agg(column('num').max().alias('most'))
        return counts.join(most, on='last').filter(column('num') >= column('most')).select('auction', 'num')

    def q6(self):
        return self.average('seller')

    def q7(self):
        column = self.polars.col
        ends = (column('dateTime') // 10_000 * 10_000 + 10_000).alias('ends')
        highest = self.lazy('bid').group_by(ends).agg(column('price').max().alias('most'))
        return self.q0().join(highest, left_on='price', right_on='most') \
            .filter(column('dateTime').is_between(column('ends') - 10_000, column('ends'))) \
            .select('auction', 'price', 'bidder', 'dateTime', 'extra')

    def q8(self):
        start = (self.polars.col('dateTime') // 10_000 * 10_000).alias('start')
        people = self.lazy('person', 'id', 'name', start).unique()
        sellers = self.lazy('auction', 'seller', start).unique()
        return people.join(sellers, left_on=['id', 'start'], right_on=['seller', 'start']).select('id', 'name', 'start')

    def q20(self):
        bids = self.lazy('bid')
        auctions = self.lazy('auction').filter(self.polars.col('category') == 10) \
            .rename({'dateTime': 'begins', 'extra': 'extra_of_auction'})
        return bids.join(auctions, left_on='auction', right_on='id').select(
            'auction', 'bidder', 'price', 'channel', 'url', 'dateTime', 'extra', 'itemName', 'description',
            'initialBid', 'reserve', 'begins', 'expires', 'seller', 'category')


def answer(engine, question):
    word, _, words = question.partition(' ')
    begin = time.perf_counter()
    if word == 'queries':
        return 0, [['window-sum']] + [[f'nexmark-q{number}'] for number in engine.queries]
    if word == 'load':
        table, _, directory = words.partition(' ')
        engine.load(table, arrow_table(table, directory))
        return time.perf_counter() - begin, []
    if word == 'window-sum':
        rows = engine.window_sum()
        seconds = time.perf_counter() - begin
        write_numbers(rows, words)
        return seconds, []
    sums = engine.sums(int(word.removeprefix('nexmark-q')), words)
    return time.perf_counter() - begin, [map(modulo, sums)]


os.environ['POLARS_MAX_THREADS'] = str(THREADS)
serve({'duckdb': DuckDB, 'polars': Polars}[NAME], ['pyarrow'], answer)  # Of peer_main.py.
