"""One other engine for `holdfast ssb run --compare`: loads the five .tbl files, then answers queries as they are asked
for. Stands behind peer_main.py: python -c BOTH NAME TABLES THREADS ORDER SCRATCH

A question is a query's name. Rows come in the order of the query; a NULL is "". The time is from the query's text
to rows in Python.
"""
import importlib
import json
import os
import sys
import time

NAME, DIRECTORY, THREADS, ORDER, SCRATCH = sys.argv[1:6]
THREADS, BY_DATE = int(THREADS), ORDER == 'date'

# Column: type, in the order of the files. W: a whole number whose sums and products need 64 bits.
TABLES = {
    'date': 'd_datekey I, d_date S, d_dayofweek S, d_month S, d_year I, d_yearmonthnum I, d_yearmonth S, '
            'd_daynuminweek I, d_daynuminmonth I, d_daynuminyear I, d_monthnuminyear I, d_weeknuminyear I, '
            'd_sellingseason S, d_lastdayinweekfl I, d_lastdayinmonthfl I, d_holidayfl I, d_weekdayfl I',
    'customer': 'c_custkey I, c_name S, c_address S, c_city S, c_nation S, c_region S, c_phone S, c_mktsegment S',
    'supplier': 's_suppkey I, s_name S, s_address S, s_city S, s_nation S, s_region S, s_phone S',
    'part': 'p_partkey I, p_name S, p_mfgr S, p_category S, p_brand1 S, p_color S, p_type S, p_size I, p_container S',
    'lineorder': 'lo_orderkey W, lo_linenumber I, lo_custkey I, lo_partkey I, lo_suppkey I, lo_orderdate I, '
                 'lo_orderpriority S, lo_shippriority S, lo_quantity I, lo_extendedprice W, lo_ordtotalprice W, '
                 'lo_discount W, lo_revenue W, lo_supplycost W, lo_tax I, lo_commitdate I, lo_shipmode S',
}
TABLES = {table: [column.split() for column in columns.split(', ')] for table, columns in TABLES.items()}
# What the thirteen queries use. Engines that copy tables into memory of their own keep only these.
USED = {
    'date': ['d_datekey', 'd_year', 'd_yearmonthnum', 'd_yearmonth', 'd_weeknuminyear'],
    'customer': ['c_custkey', 'c_city', 'c_nation', 'c_region'],
    'supplier': ['s_suppkey', 's_city', 's_nation', 's_region'],
    'part': ['p_partkey', 'p_mfgr', 'p_category', 'p_brand1'],
    'lineorder': ['lo_custkey', 'lo_partkey', 'lo_suppkey', 'lo_orderdate', 'lo_quantity', 'lo_extendedprice',
                  'lo_discount', 'lo_revenue', 'lo_supplycost'],
}
KEYS = {'date': ('lo_orderdate', 'd_datekey'), 'customer': ('lo_custkey', 'c_custkey'),
        'supplier': ('lo_suppkey', 's_suppkey'), 'part': ('lo_partkey', 'p_partkey')}


class Query:
    """A query in pieces: per dimension its conditions, then the rest. Conditions are SQL over one table."""

    def __init__(self, dimensions, total, groups=(), order=(), facts='', sum_first=False):
        self.dimensions, self.total, self.groups, self.facts = dimensions, total, groups, facts
        self.order, self.sum_first = order or [(group, False) for group in groups], sum_first

    def sql(self):
        groups, total = ', '.join(self.groups), f'sum({self.total}) as total'
        tables = ', '.join(['lineorder', *self.dimensions])
        where = [f'{fact} = {key}' for fact, key in (KEYS[table] for table in self.dimensions)]
        where += [condition for condition in [*self.dimensions.values(), self.facts] if condition]
        selected = [total, groups] if self.sum_first else [groups, total]
        text = f"select {', '.join(filter(None, selected))} from {tables} where {' and '.join(where)}"
        if self.groups:
            order = ', '.join(name + (' desc' if down else '') for name, down in self.order)
            text += f' group by {groups} order by {order}'
        return text


def flight1(date, facts):
    return Query({'date': date}, 'lo_extendedprice * lo_discount', facts=facts)


def flight2(part, region):
    return Query({'part': part, 'supplier': f"s_region = '{region}'", 'date': ''}, 'lo_revenue', ['d_year', 'p_brand1'],
                 sum_first=True)


def flight3(customer, supplier, date, level):
    groups = ['c_' + level, 's_' + level, 'd_year']
    # Rows that are equal in ORDER BY: by their groups.
    order = [('d_year', False), ('total', True), (groups[0], False), (groups[1], False)]
    return Query({'customer': customer, 'supplier': supplier, 'date': date}, 'lo_revenue', groups, order)


def flight4(customer, supplier, part, date, groups):
    return Query({'customer': customer, 'supplier': supplier, 'part': part, 'date': date}, 'lo_revenue - lo_supplycost',
                 groups)


YEARS, LATE, MFGRS = 'd_year between 1992 and 1997', 'd_year in (1997, 1998)', "p_mfgr in ('MFGR#1', 'MFGR#2')"
AMERICA = ["c_region = 'AMERICA'", "s_region = 'AMERICA'"]
CITIES = ["c_city in ('UNITED KI1', 'UNITED KI5')", "s_city in ('UNITED KI1', 'UNITED KI5')"]
QUERIES = {
    'q1.1': flight1('d_year = 1993', 'lo_discount between 1 and 3 and lo_quantity < 25'),
    'q1.2': flight1('d_yearmonthnum = 199401', 'lo_discount between 4 and 6 and lo_quantity between 26 and 35'),
    'q1.3': flight1('d_weeknuminyear = 6 and d_year = 1994',
                    'lo_discount between 5 and 7 and lo_quantity between 26 and 35'),
    'q1.3p': flight1('d_weeknuminyear = 6 and d_year = 1994',
                     'lo_discount between 5 and 7 and lo_quantity between 36 and 40'),
    'q2.1': flight2("p_category = 'MFGR#12'", 'AMERICA'),
    'q2.2': flight2("p_brand1 between 'MFGR#2221' and 'MFGR#2228'", 'ASIA'),
    'q2.3': flight2("p_brand1 = 'MFGR#2221'", 'EUROPE'),
    'q2.3p': flight2("p_brand1 = 'MFGR#2339'", 'EUROPE'),
    'q3.1': flight3("c_region = 'ASIA'", "s_region = 'ASIA'", YEARS, 'nation'),
    'q3.2': flight3("c_nation = 'UNITED STATES'", "s_nation = 'UNITED STATES'", YEARS, 'city'),
    'q3.3': flight3(*CITIES, YEARS, 'city'),
    'q3.4': flight3(*CITIES, "d_yearmonth = 'Dec1997'", 'city'),
    'q4.1': flight4(*AMERICA, MFGRS, '', ['d_year', 'c_nation']),
    'q4.2': flight4(*AMERICA, MFGRS, LATE, ['d_year', 's_nation', 'p_category']),
    'q4.3': flight4(AMERICA[0], "s_nation = 'UNITED STATES'", "p_category = 'MFGR#14'", LATE,
                    ['d_year', 's_city', 'p_brand1']),
}


def path_of(table):
    return f'{DIRECTORY}/{table}.tbl'


def fields_of(table):
    """Name and type of each field of the file's lines. Behind a last '|', which some files lack, an empty one."""
    with open(path_of(table), 'rb') as lines:
        bars = lines.readline().count(b'|')
    return TABLES[table] + [['nothing', 'S']] * (bars == len(TABLES[table]))


class DuckDB:
    """A database file, hot in the buffer manager: compressed, with statistics per row group."""
    package = 'duckdb'
    configuration = 'a database file, hot'

    def __init__(self, duckdb):
        self.base = duckdb.connect(f'{SCRATCH}/duck.db', config={'threads': THREADS})
        self.base.execute('set enable_progress_bar = false')
        types = {'I': 'INTEGER', 'W': 'BIGINT', 'S': 'VARCHAR'}
        for table, columns in TABLES.items():
            struct = ', '.join(f"'{name}': '{types[kind]}'" for name, kind in fields_of(table))
            order = ' order by lo_orderdate' if BY_DATE and table == 'lineorder' else ''
            narrow = [f'{name}::INTEGER as {name}' if kind == 'W' and name != 'lo_orderkey' else name
                      for name, kind in columns]
            self.base.execute(f"create table {table} as select {', '.join(narrow)} from read_csv('{path_of(table)}', "
                              f"delim='|', header=false, quote='', columns={{{struct}}}){order}")
        self.base.execute('checkpoint')

    def prepare(self, query):
        # Sums of whole numbers have 128 bits there; a product of two numbers of 32 bits must be widened.
        return query.sql().replace('lo_extendedprice *', 'lo_extendedprice::BIGINT *')

    def run(self, text):
        return self.base.execute(text).fetchall()


class ChDB:
    """MergeTree tables, strings of few values as LowCardinality, joins reordered, filters from the build sides."""
    package = 'chdb'
    configuration = 'MergeTree, LowCardinality strings'
    SETTINGS = {'aggregate_functions_null_for_empty': 1, 'query_plan_optimize_join_order_limit': 10,
                'enable_join_runtime_filters': 1}

    def __init__(self, chdb):
        self.session = importlib.import_module('chdb.session').Session(f'{SCRATCH}/chdb')
        query = self.session.query
        query('create database star engine = Atomic')
        query('use star')
        few = {name for names in USED.values() for name in names}
        types = {'I': 'UInt32', 'W': 'UInt32', 'S': 'String'}
        for table, columns in TABLES.items():
            kinds = {name: 'UInt64' if name == 'lo_orderkey' else types[kind] for name, kind in columns}
            stored = ', '.join(f'{name} ' + ('LowCardinality(String)' if kind == 'String' and name in few else kind)
                               for name, kind in kinds.items())
            order = 'lo_orderdate' if BY_DATE and table == 'lineorder' else 'tuple()'
            query(f'create table {table} ({stored}) engine = MergeTree order by {order}')
            read = ', '.join(f"{name} {kinds.get(name, 'String')}" for name, _ in fields_of(table))
            query(f"insert into {table} select {', '.join(kinds)} from file('{os.path.abspath(path_of(table))}', CSV, "
                  f"'{read}') settings format_csv_delimiter = '|', max_insert_threads = 1, "
                  f"input_format_parallel_parsing = 0")
            query(f'optimize table {table} final')
        self.settings = ''
        for name, value in {'max_threads': THREADS, **self.SETTINGS}.items():
            if query(f"select count() from system.settings where name = '{name}'", 'CSV').bytes().strip() == b'1':
                self.settings += f'{", " if self.settings else " settings "}{name} = {value}'

    def prepare(self, query):
        return query.sql() + self.settings

    def run(self, text):
        lines = self.session.query(text, 'JSONCompactEachRow').bytes().splitlines()
        return [json.loads(line) for line in lines]


def arrow_table(table):
    """The used columns by pyarrow."""
    arrow, csv = importlib.import_module('pyarrow'), importlib.import_module('pyarrow.csv')
    types = {'I': arrow.int32(), 'W': arrow.int64(), 'S': arrow.string()}
    columns = TABLES[table]
    read = csv.read_csv(
        path_of(table), read_options=csv.ReadOptions(column_names=[name for name, _ in fields_of(table)]),
        parse_options=csv.ParseOptions(delimiter='|', quote_char=False),
        convert_options=csv.ConvertOptions(column_types={name: types[kind] for name, kind in columns},
                                           include_columns=USED[table], strings_can_be_null=False))
    if BY_DATE and table == 'lineorder':
        order = importlib.import_module('pyarrow.compute').sort_indices(read['lo_orderdate'])  # Stable.
        read = read.take(order)
    return read


class DataFusion:
    """Record batches in memory, a partition per thread."""
    package = 'datafusion'
    configuration = 'record batches in memory, a partition per thread'

    def __init__(self, datafusion):
        self.context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
        for table in TABLES:
            read = arrow_table(table)
            batches = read.to_batches(max_chunksize=8192 if table != 'lineorder' else 65536)
            parts = THREADS if table == 'lineorder' else 1
            each = -(-len(batches) // parts) or 1
            partitions = [batches[at:at + each] for at in range(0, len(batches), each)] or [read.to_batches()]
            self.context.register_record_batches(table, partitions)

    def prepare(self, query):
        return query.sql()

    def run(self, text):
        rows = []
        for batch in self.context.sql(text).collect():
            rows += zip(*(column.to_pylist() for column in batch.columns))
        return rows


class Polars:
    """Frames in memory, lazy queries; dimensions are filtered, then joined, the date last."""
    package = 'polars'
    configuration = 'frames in memory, explicit joins'

    def __init__(self, polars):
        self.polars = polars
        types = {'I': polars.Int32, 'W': polars.Int64, 'S': polars.String}
        self.tables = {}
        for table, columns in TABLES.items():
            frame = polars.read_csv(path_of(table), separator='|', has_header=False, quote_char=None,
                                    new_columns=[name for name, _ in fields_of(table)],
                                    schema_overrides={name: types[kind] for name, kind in columns}).select(USED[table])
            if BY_DATE and table == 'lineorder':
                frame = frame.sort('lo_orderdate', maintain_order=True)
            self.tables[table] = frame.rechunk()

    def prepare(self, query):
        polars = self.polars
        facts = self.tables['lineorder'].lazy()
        if query.facts:
            facts = facts.filter(polars.sql_expr(query.facts))
        for table, condition in query.dimensions.items():
            fact, key = KEYS[table]
            kept = [key] + [name for name in query.groups if name in USED[table]]
            frame = self.tables[table].lazy()
            if condition:
                frame = frame.filter(polars.sql_expr(condition))
            facts = facts.join(frame.select(kept), left_on=fact, right_on=key,
                               how='inner' if len(kept) > 1 else 'semi')
        total = polars.sql_expr(query.total).sum().alias('total')
        if not query.groups:
            return facts.select(polars.when(polars.len() > 0).then(total).alias('total'))
        names, down = zip(*query.order)
        selected = ['total', *query.groups] if query.sum_first else [*query.groups, 'total']
        return facts.group_by(query.groups).agg(total).sort(names, descending=down).select(selected)

    def run(self, lazy):
        return lazy.collect().rows()


ENGINES = {'duckdb': DuckDB, 'chdb': ChDB, 'datafusion': DataFusion, 'polars': Polars}


def answer(engine, name):
    prepared = engine.prepare(QUERIES[name])
    begin = time.perf_counter()
    rows = engine.run(prepared)
    return time.perf_counter() - begin, rows


os.environ['POLARS_MAX_THREADS'] = str(THREADS)
serve(ENGINES[NAME], ['pyarrow'] if NAME == 'datafusion' else [], answer)  # Of peer_main.py.
