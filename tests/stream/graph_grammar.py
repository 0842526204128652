"""Tables and random queries of graph_query_test.py and compiled_graph_test.py."""
import csv
import io
import math

DELAY = 5  # Seconds by which rows may be late.


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))[1:]


def stamp(second):
    return f'2026-01-01 {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000'


def table(name, path, columns, watermark=True):
    mark = f", WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND" if watermark else ''
    return (f"CREATE TABLE {name} ({columns}{mark}) WITH ('connector' = 'filesystem', 'path' = '{path}', "
            "'format' = 'csv');\n")


COLUMNS = 'ts TIMESTAMP(3), k STRING, v BIGINT, d DECIMAL(10, 2)'


def events(rand, count, late=True):
    now, rows = 100, []
    for _ in range(count):
        now += rand.randrange(0, 4)
        second = now - (rand.choice([0, 0, 0, DELAY, rand.randrange(0, 12)]) if late else 0)
        rows.append((second, rand.choice(['a', 'b', 'c', 'd', None]), rand.choice([None, *range(-4, 12)]),
                     rand.choice([None, rand.randrange(-999, 999)])))
    return rows


def write(path, rows):
    show = lambda value: '\\N' if value is None else str(value)
    with open(path, 'w') as out:
        for second, key, value, cents in rows:
            out.write(f'{stamp(second)},{show(key)},{show(value)},{show(None if cents is None else f"{cents / 100:.2f}")}\n')


def condition(rand, a, b=None):
    b = b or a
    return rand.choice([f'{a}.v > {rand.randrange(-3, 9)}', f'{a}.v <= {b}.v', f'{a}.d < 2.5', f'{b}.k IS NOT NULL',
                        f'{a}.v + {b}.v > 3', f"{a}.k <> 'c'", f'{a}.k <> {b}.k'])


def random_query(rand):
    """A query that both engines understand, whose answer is a set of rows."""
    on = ' AND '.join(['a.k = b.k'] + [condition(rand, 'a', 'b') for _ in range(rand.randrange(0, 2))])
    join = rand.choice(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
    where = rand.choice(['', f' WHERE {condition(rand, "a")}'])
    inner = rand.choice(['SELECT k, v, d FROM a', 'SELECT k, v, d FROM a UNION ALL SELECT k, v, d FROM b',
                         f'SELECT a.k AS k, b.v AS v, a.d AS d FROM a {join} b ON {on}',
                         'SELECT k, SUM(v) AS v, MAX(d) AS d FROM b GROUP BY k',
                         'SELECT DISTINCT k, v, d FROM a'])
    return rand.choice([
        lambda: f'SELECT a.k, a.v, b.v, b.d FROM a {join} b ON {on}{where}',
        lambda: f'SELECT a.k, b.v FROM a, b WHERE a.k = b.k AND {condition(rand, "a", "b")}',
        lambda: f'SELECT k, v FROM a WHERE {rand.choice(["", "NOT "])}EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND {condition(rand, "a", "b")})',
        lambda: f'SELECT k, v FROM a WHERE v IN (SELECT v FROM b WHERE {condition(rand, "b")}) AND {condition(rand, "a")}',
        lambda: f'SELECT k, COUNT(*), SUM(v), MIN(d), MAX(v), COUNT(DISTINCT v) FROM ({inner}) x GROUP BY k',
        lambda: f'SELECT m, COUNT(*) FROM (SELECT k, MAX(v) AS m FROM ({inner}) x GROUP BY k) y GROUP BY m',
        lambda: f'SELECT COUNT(*), SUM(v) FROM ({inner}) x WHERE {condition(rand, "x")}',
        lambda: f'WITH x AS ({inner}) SELECT x.k, y.n FROM x JOIN (SELECT k, COUNT(*) AS n FROM x GROUP BY k HAVING COUNT(*) > 1) y ON x.k = y.k',
        lambda: (f'SELECT k, v, n FROM (SELECT k, v, d, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST, d NULLS FIRST) '
                 f'AS n FROM (SELECT DISTINCT k, v, d FROM ({inner}) x) y) z WHERE n <= {rand.randrange(1, 4)}'),
        lambda: f'SELECT k, v, d FROM ({inner}) x ORDER BY v DESC NULLS LAST, k NULLS FIRST, d NULLS FIRST LIMIT {rand.randrange(1, 30)}',
    ])()


def random_query_of_values(rand):
    """The same of sets, of queries that are values, and of aggregates that keep more than a number. What is not DuckDB's
    word for it is in `for_duckdb`."""
    word = rand.choice(['INTERSECT', 'EXCEPT', 'UNION'])
    columns = rand.choice(['k', 'k, v', 'v'])
    where = rand.choice(['', f' WHERE {condition(rand, "b")}'])
    scalar = rand.choice([f'(SELECT MAX(v) FROM b{where})', f'(SELECT COUNT(*) FROM b{where})',
                          '(SELECT v FROM b ORDER BY v NULLS FIRST LIMIT 1)', '(SELECT MIN(v) FROM b WHERE v > 99)'])
    spread = rand.choice(['STDDEV_POP', 'STDDEV_SAMP', 'VAR_POP', 'VAR_SAMP', 'STDDEV', 'VARIANCE'])
    distinct = rand.choice(['', 'DISTINCT '])
    filtered = rand.choice(['', " FILTER (WHERE k <> 'c')"])
    inner = rand.choice(['SELECT k, v, d FROM a', 'SELECT k, SUM(v) AS v, MAX(d) AS d FROM a GROUP BY k, v'])
    return rand.choice([
        lambda: f'SELECT {columns} FROM a {word} SELECT {columns} FROM b',
        lambda: f'SELECT k FROM a UNION ALL SELECT k FROM b INTERSECT SELECT k FROM a WHERE {condition(rand, "a")}',
        lambda: f'SELECT k, v FROM a WHERE v NOT IN (SELECT v FROM b WHERE {condition(rand, "b")})',
        lambda: f'SELECT k, v FROM a WHERE {condition(rand, "a")} AND v NOT IN (SELECT v FROM b WHERE v IS NOT NULL AND b.k = a.k)',
        lambda: f'SELECT k, v, {scalar} AS s FROM a',
        lambda: f'SELECT k, v FROM a WHERE v >= {scalar} AND k IS NOT NULL',
        lambda: f'SELECT k, COUNT(*) FROM a GROUP BY k HAVING COUNT(*) > {scalar}',
        lambda: f'SELECT k, SUM(v) + {scalar} FROM a WHERE v < {scalar} GROUP BY k',
        lambda: f'SELECT k, {spread}({distinct}v){filtered}, {spread}(d) FROM ({inner}) x GROUP BY k',
        lambda: f'SELECT k, MEDIAN({distinct}v), PERCENTILE(v, {rand.choice(["0", "0.1", "0.75", "1"])}){filtered} FROM ({inner}) x GROUP BY k',
        lambda: f'SELECT {spread}(v), MEDIAN(d) FROM a WHERE {condition(rand, "a")}',
    ])()


def random_query_of_sets(rand):
    """Grouping sets and rankings with equal ranks, of rows that stay and of rows that change."""
    inner = rand.choice(['SELECT k, v, d FROM a', 'SELECT k, v, d FROM a UNION ALL SELECT k, v, d FROM b',
                         'SELECT k, SUM(v) AS v, MAX(d) AS d FROM a GROUP BY k, v',
                         'SELECT a.k AS k, b.v AS v, a.d AS d FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.v'])
    sets = rand.choice(['GROUPING SETS ((k, v % 2), (k), ())', 'GROUPING SETS (k, v % 2, (v % 2))', 'ROLLUP(k, v % 2)', 'CUBE(k, v % 2)',
                        'k, ROLLUP(v % 2)', 'v % 2, CUBE((k), k)', 'ROLLUP((k, v % 2), d)', 'GROUPING SETS (ROLLUP(k), CUBE(v % 2))',
                        'GROUPING SETS ((k), ()), GROUPING SETS ((v % 2), ())'])
    d_too = ', d' if ', d)' in sets else ''
    having = rand.choice(['', '', ' HAVING COUNT(*) > 3', ' HAVING GROUPING(k) = 0', ' HAVING SUM(v) > 5 OR k IS NULL'])
    marks = rand.choice(['GROUPING(k)', 'GROUPING(k) + 2 * GROUPING(v % 2)', 'GROUPING_ID(k, v % 2)', 'GROUPING(v % 2, k)'])
    ranking, last = rand.choice(['RANK', 'DENSE_RANK']), rand.randrange(1, 5)
    bound = rand.choice([f'n <= {last}', f'n < {last + 1}', f'n = {last}', f'n >= 2 AND n <= {last + 1}'])
    order = rand.choice(['v DESC NULLS LAST', 'd NULLS FIRST', 'v NULLS FIRST, d DESC NULLS LAST'])
    return rand.choice([
        lambda: f'SELECT k, v % 2{d_too}, COUNT(*), SUM(v), MIN(d), {marks} FROM ({inner}) x GROUP BY {sets}{having}',
        lambda: f"SELECT COALESCE(k, '-'), SUM(v) FILTER (WHERE v > 2), COUNT(DISTINCT v), {marks} FROM ({inner}) x GROUP BY {sets}{having}",
        lambda: f'SELECT CASE WHEN {marks} = 1 THEN 7 ELSE v % 2 END AS c, COUNT(*) AS n FROM ({inner}) x GROUP BY {sets}',
        lambda: f'SELECT k, v, d, n FROM (SELECT k, v, d, {ranking}() OVER (PARTITION BY k ORDER BY {order}) AS n FROM ({inner}) x) y WHERE {bound}',
        lambda: f'SELECT k, v FROM (SELECT k, v, {ranking}() OVER (ORDER BY {order}) AS n FROM ({inner}) x) y WHERE {bound}',
        lambda: (f'SELECT k FROM (SELECT k, {ranking}() OVER ({rand.choice(["", "PARTITION BY COUNT(*) "])}ORDER BY '
                 f'{rand.choice(["SUM(v)", "MAX(d)", "COUNT(DISTINCT v)"])} DESC NULLS LAST) AS n FROM ({inner}) x GROUP BY k) y WHERE {bound}'),
    ])()


def for_duckdb(query):
    return query.replace('PERCENTILE(', 'quantile_cont(').replace('MEDIAN(d)', 'MEDIAN(CAST(d AS DOUBLE))')


def same(ours, theirs):
    if ours == theirs:
        return True
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-12, abs_tol=1e-12)
    except ValueError:
        return False
