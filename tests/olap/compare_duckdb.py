"""The thirteen queries of the Star Schema Benchmark by `holdfast ssb` and by DuckDB, on the same .tbl files: answers row
by row, and times in alternating rounds.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install duckdb
    /tmp/venv/bin/python tests/olap/compare_duckdb.py build/release/holdfast SCALE [ROUNDS [THREADS [DIRECTORY]]]

Not run by ctest: it needs a package of PyPI. With a DIRECTORY that holds the five .tbl files these are used, else
they are generated. Every kernel and 1 to 4 threads are compared once; ROUNDS (default 5) are timed. DuckDB has a
database file of its own, hot in its buffers, and its time includes fetching the rows. The star lies in /dev/shm.
"""
import csv
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb

HOLDFAST, SCALE = sys.argv[1], sys.argv[2]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
THREADS = int(sys.argv[4]) if len(sys.argv) > 4 else 2
GIVEN = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None

TABLES = {
    'date': 'd_datekey INT, d_date VARCHAR, d_dayofweek VARCHAR, d_month VARCHAR, d_year INT, d_yearmonthnum INT, '
            'd_yearmonth VARCHAR, d_daynuminweek INT, d_daynuminmonth INT, d_daynuminyear INT, d_monthnuminyear INT, '
            'd_weeknuminyear INT, d_sellingseason VARCHAR, d_lastdayinweekfl INT, d_lastdayinmonthfl INT, '
            'd_holidayfl INT, d_weekdayfl INT',
    'customer': 'c_custkey INT, c_name VARCHAR, c_address VARCHAR, c_city VARCHAR, c_nation VARCHAR, c_region VARCHAR, '
                'c_phone VARCHAR, c_mktsegment VARCHAR',
    'supplier': 's_suppkey INT, s_name VARCHAR, s_address VARCHAR, s_city VARCHAR, s_nation VARCHAR, s_region VARCHAR, '
                's_phone VARCHAR',
    'part': 'p_partkey INT, p_name VARCHAR, p_mfgr VARCHAR, p_category VARCHAR, p_brand1 VARCHAR, p_color VARCHAR, '
            'p_type VARCHAR, p_size INT, p_container VARCHAR',
    'lineorder': 'lo_orderkey BIGINT, lo_linenumber INT, lo_custkey INT, lo_partkey INT, lo_suppkey INT, '
                 'lo_orderdate INT, lo_orderpriority VARCHAR, lo_shippriority VARCHAR, lo_quantity INT, '
                 'lo_extendedprice INT, lo_ordtotalprice INT, lo_discount INT, lo_revenue INT, lo_supplycost INT, '
                 'lo_tax INT, lo_commitdate INT, lo_shipmode VARCHAR',
}
ONE = 'select sum(lo_extendedprice*lo_discount) as revenue from lineorder, date where lo_orderdate = d_datekey and '
TWO = ('select sum(lo_revenue), d_year, p_brand1 from lineorder, date, part, supplier where lo_orderdate = d_datekey '
       'and lo_partkey = p_partkey and lo_suppkey = s_suppkey and {} group by d_year, p_brand1 '
       'order by d_year, p_brand1')
THREE = ('select {0}, {1}, d_year, sum(lo_revenue) as revenue from customer, lineorder, supplier, date where '
         'lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_orderdate = d_datekey and {2} '
         'group by {0}, {1}, d_year order by d_year asc, revenue desc, {0}, {1}')
FOUR = ('select {0}, sum(lo_revenue - lo_supplycost) as profit from date, customer, supplier, part, lineorder where '
        'lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey and lo_orderdate = d_datekey '
        'and {1} group by {0} order by {0}')
CITIES = "(c_city = 'UNITED KI1' or c_city = 'UNITED KI5') and (s_city = 'UNITED KI1' or s_city = 'UNITED KI5') and "
AMERICA = "c_region = 'AMERICA' and s_region = 'AMERICA' and "
MFGRS, LATE = "(p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2')", '(d_year = 1997 or d_year = 1998)'
QUERIES = {
    'q1.1': ONE + 'd_year = 1993 and lo_discount between 1 and 3 and lo_quantity < 25',
    'q1.2': ONE + 'd_yearmonthnum = 199401 and lo_discount between 4 and 6 and lo_quantity between 26 and 35',
    'q1.3': ONE + 'd_weeknuminyear = 6 and d_year = 1994 and lo_discount between 5 and 7 '
                  'and lo_quantity between 26 and 35',
    'q2.1': TWO.format("p_category = 'MFGR#12' and s_region = 'AMERICA'"),
    'q2.2': TWO.format("p_brand1 between 'MFGR#2221' and 'MFGR#2228' and s_region = 'ASIA'"),
    'q2.3': TWO.format("p_brand1 = 'MFGR#2221' and s_region = 'EUROPE'"),
    'q3.1': THREE.format('c_nation', 's_nation', "c_region = 'ASIA' and s_region = 'ASIA' and d_year >= 1992 "
                                                 'and d_year <= 1997'),
    'q3.2': THREE.format('c_city', 's_city', "c_nation = 'UNITED STATES' and s_nation = 'UNITED STATES' "
                                             'and d_year >= 1992 and d_year <= 1997'),
    'q3.3': THREE.format('c_city', 's_city', CITIES + 'd_year >= 1992 and d_year <= 1997'),
    'q3.4': THREE.format('c_city', 's_city', CITIES + "d_yearmonth = 'Dec1997'"),
    'q4.1': FOUR.format('d_year, c_nation', AMERICA + MFGRS),
    'q4.2': FOUR.format('d_year, s_nation, p_category', AMERICA + LATE + ' and ' + MFGRS),
    'q4.3': FOUR.format('d_year, s_city, p_brand1', "c_region = 'AMERICA' and s_nation = 'UNITED STATES' and " + LATE +
                        " and p_category = 'MFGR#14'"),
}


def holdfast(*words):
    done = subprocess.run([HOLDFAST, 'ssb', *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def answers(directory):
    return {name: list(csv.reader(open(directory / (name.replace('.', '_') + '.csv')))) for name in QUERIES}


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_ssb_'))
    star = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_star_', dir='/dev/shm'))
    tables = GIVEN or work / 'tbl'
    try:
        if not GIVEN:
            holdfast('generate', '--sf', SCALE, '--tbl', tables)
        base = duckdb.connect(str(work / 'duck.db'), config={'threads': THREADS})
        for table, columns in TABLES.items():
            types = ', '.join("'{}': '{}'".format(*column.split()) for column in columns.split(', '))
            base.execute(f"create table {table} as select * from read_csv('{tables}/{table}.tbl', delim='|', "
                         f"header=false, quote='', columns={{{types}, 'nothing': 'VARCHAR'}})")
        theirs = {}
        for name, query in QUERIES.items():
            done = base.execute(query)
            header = [column[0] for column in done.description]
            theirs[name] = [header] + [['' if v is None else str(v) for v in row] for row in done.fetchall()]
        holdfast('load', '--tbl', tables, '--region', star)
        for kernel in ['portable', 'avx2', 'avx512']:
            for threads in [1, 2, 4]:
                holdfast('run', '--region', star, '--kernel', kernel, '--threads', threads, '--repeat', 1, '--out', work)
                ours = answers(work)
                for name in QUERIES:
                    assert ours[name] == theirs[name], (name, kernel, threads, ours[name][:4], theirs[name][:4])
        if not GIVEN:
            holdfast('run', '--sf', SCALE, '--repeat', 1, '--out', work)
            assert answers(work) == theirs, 'loaded from the generator, answers differ'
        print(f'scale {SCALE}: {sum(map(len, theirs.values())) - len(theirs)} rows of 13 answers are equal')
        times, duck_times = {name: [] for name in QUERIES}, {name: [] for name in QUERIES}
        for _ in range(ROUNDS):
            for name, query in QUERIES.items():
                begin = time.perf_counter()
                base.execute(query).fetchall()
                duck_times[name].append(time.perf_counter() - begin)
            result = json.loads(holdfast('run', '--region', star, '--threads', THREADS, '--repeat', 3, '--json'))
            for query in result['queries']:
                times[query['name']] += query['seconds']
        ratios = []
        print(f'{"query":6} {"DuckDB ms":>10} {"holdfast ms":>12} {"ratio":>7}   {THREADS} threads, medians')
        for name in QUERIES:
            duck, ours = statistics.median(duck_times[name]), statistics.median(times[name])
            ratios.append(duck / ours)
            print(f'{name:6} {duck * 1e3:10.2f} {ours * 1e3:12.3f} {ratios[-1]:7.1f}')
        print(f'geometric mean of the ratios {math.exp(sum(map(math.log, ratios)) / len(ratios)):.1f}, '
              f'least {min(ratios):.1f}')
    finally:
        shutil.rmtree(work)
        shutil.rmtree(star)


main()
