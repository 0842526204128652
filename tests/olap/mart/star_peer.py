"""The same questions to `holdfast olap query` and to DuckDB: answers as lists of comparable values, and times."""
import json
import subprocess
import time

import star_data

SSB_TYPES = {
    'date': 'd_datekey I, d_date S, d_dayofweek S, d_month S, d_year I, d_yearmonthnum I, d_yearmonth S, '
            'd_daynuminweek I, d_daynuminmonth I, d_daynuminyear I, d_monthnuminyear I, d_weeknuminyear I, '
            'd_sellingseason S, d_lastdayinweekfl S, d_lastdayinmonthfl S, d_holidayfl S, d_weekdayfl S',
    'customer': 'c_custkey I, c_name S, c_address S, c_city S, c_nation S, c_region S, c_phone S, c_mktsegment S',
    'supplier': 's_suppkey I, s_name S, s_address S, s_city S, s_nation S, s_region S, s_phone S',
    'part': 'p_partkey I, p_name S, p_mfgr S, p_category S, p_brand1 S, p_color S, p_type S, p_size I, p_container S',
    'lineorder': 'lo_orderkey L, lo_linenumber I, lo_custkey I, lo_partkey I, lo_suppkey I, lo_orderdate I, '
                 'lo_orderpriority S, lo_shippriority S, lo_quantity I, lo_extendedprice L, lo_ordtotalprice L, '
                 'lo_discount L, lo_revenue L, lo_supplycost L, lo_tax I, lo_commitdate I, lo_shipmode S',
}


def ssb_table(connection, table, path):
    """Into a table; a last column takes what stands behind the last '|'."""
    types = {'I': 'INTEGER', 'L': 'BIGINT', 'S': 'VARCHAR'}
    columns = dict(column.split() for column in SSB_TYPES[table].split(', '))
    named = ', '.join(f"'{name}': '{types[kind]}'" for name, kind in columns.items())
    connection.execute(f"create table {table} as select {', '.join(columns)} from read_csv('{path}', delim='|', "
                       f"header=false, columns={{{named}, 'rest': 'VARCHAR'}})")


def sales_table(connection, table, path):
    columns = star_data.TYPES[table]
    connection.execute(f'create table {table} ({columns})')
    connection.execute(f"copy {table} from '{path}' (header true, nullstr '')")


def plain(value, exact=None):
    """As a number where it is one, else as a text: so both sides' values compare."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value
    text = str(value)
    try:
        return float(text) if exact is None else exact(text)
    except ValueError:
        return text


def ask_holdfast(command, region, sql, threads=2, repeat=1, kernel='auto'):
    done = subprocess.run([command, 'olap', 'query', sql, '--region', region, '--threads', str(threads), '--format', 'json',
                           '--repeat', str(repeat), '--kernel', kernel], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f'{sql}\n{done.stderr}')
    answer = json.loads(done.stdout)
    numeric = [column['type'].startswith('DECIMAL') for column in answer['columns']]
    rows = [tuple(float(value) if is_decimal and value is not None else value
                  for value, is_decimal in zip(row, numeric)) for row in answer['rows']]
    return rows, answer['seconds']


def ask_duckdb(connection, sql, repeat=1):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        rows = connection.execute(sql).fetchall()
        times.append(time.perf_counter() - begin)
    rows = [tuple(value if value is None or isinstance(value, (bool, int, float, str)) else
                  float(value) if hasattr(value, 'as_tuple') else str(value) for value in row) for row in rows]
    return rows, sorted(times)[len(times) // 2]


def same(left, right):
    """Numbers within what a double keeps of a sum; all else equal."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and not isinstance(left, bool):
        return left == right or abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    return left == right


def key_of(row):
    """Equal for rows that are the same, and for few others: whole numbers with all digits."""
    def text(value):
        if type(value) is float and not value.is_integer():
            return f'{value:.12g}'
        return str(int(value)) if type(value) in (int, float) else str(value)
    return tuple((value is None, str(type(value) in (int, float)), text(value)) for value in row)


def difference(ours, theirs, ordered):
    """Where two answers part, or nothing."""
    if len(ours) != len(theirs):
        return f'{len(ours)} rows here, {len(theirs)} there'
    if not ordered:
        ours, theirs = sorted(ours, key=key_of), sorted(theirs, key=key_of)
    for number, (left, right) in enumerate(zip(ours, theirs)):
        if not all(same(a, b) for a, b in zip(left, right)):
            return f'row {number} is {left} here, {right} there'
    return ''
