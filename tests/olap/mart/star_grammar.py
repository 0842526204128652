"""SELECTs over the Star Schema Benchmark's tables and over a star with NULLs, of a grammar whose answers our SQL and
DuckDB's agree on: no quotient of whole numbers, averages of doubles only, NULLS FIRST said where rows are ordered.
"""
import random

SSB = {
    'fact': 'lineorder',
    'joins': [('customer', 'c', 'lo_custkey', 'c_custkey'), ('supplier', 's', 'lo_suppkey', 's_suppkey'),
              ('part', 'p', 'lo_partkey', 'p_partkey'), ('date', 'd', 'lo_orderdate', 'd_datekey'),
              ('date', 'd2', 'lo_commitdate', 'd_datekey')],
    'texts': {'lineorder': ['lo_orderpriority', 'lo_shipmode'], 'c': ['c_region', 'c_nation', 'c_city', 'c_mktsegment'],
              's': ['s_region', 's_nation', 's_city'], 'p': ['p_mfgr', 'p_category', 'p_brand1', 'p_color'],
              'd': ['d.d_yearmonth', 'd.d_month', 'd.d_dayofweek', 'd.d_sellingseason'], 'd2': ['d2.d_dayofweek']},
    'numbers': {'lineorder': ['lo_quantity', 'lo_discount', 'lo_tax', 'lo_linenumber'],
                'p': ['p_size'], 'd': ['d.d_year', 'd.d_yearmonthnum', 'd.d_weeknuminyear', 'd.d_daynuminweek'],
                'd2': ['d2.d_year', 'd2.d_monthnuminyear'], 'c': [], 's': []},
    'amounts': {'lineorder': ['lo_revenue', 'lo_extendedprice', 'lo_supplycost', 'lo_ordtotalprice']},
    'values': {'c_region': "'ASIA' 'EUROPE' 'AMERICA' 'AFRICA'", 's_region': "'ASIA' 'EUROPE' 'AMERICA'",
               'c_nation': "'CHINA' 'FRANCE' 'PERU' 'KENYA'", 's_nation': "'CHINA' 'FRANCE' 'PERU' 'JAPAN'",
               'c_city': "'CHINA    1' 'PERU     7'", 's_city': "'CHINA    1' 'FRANCE   3'",
               'c_mktsegment': "'BUILDING' 'MACHINERY'", 'p_mfgr': "'MFGR#1' 'MFGR#2' 'MFGR#5'",
               'p_category': "'MFGR#12' 'MFGR#34' 'MFGR#55'", 'p_brand1': "'MFGR#1212' 'MFGR#2221' 'MFGR#40'",
               'lo_shipmode': "'AIR' 'MAIL' 'TRUCK'", 'lo_orderpriority': "'1-URGENT' '5-LOW'",
               'd.d_yearmonth': "'Dec1997' 'Jan1993'", 'd.d_month': "'May' 'August'", 'd.d_dayofweek': "'Sunday'"},
    'ranges': {'lo_quantity': 50, 'lo_discount': 10, 'lo_tax': 8, 'lo_linenumber': 7, 'p_size': 50,
               'd.d_weeknuminyear': 53, 'd.d_daynuminweek': 7, 'd2.d_monthnuminyear': 12},
}

# All kinds of values, with NULLs; tests/olap/mart/star_data.py makes the files.
SALES = {
    'fact': 'sales',
    'joins': [('customers', 'c', 'customer', 'ckey'), ('products', 'p', 'product', 'pkey'),
              ('days', 'd', 'sold', 'day'), ('days', 'd2', 'shipped', 'day')],
    'texts': {'sales': ['channel', 'product'], 'c': ['region', 'nation'], 'p': ['category', 'brand'], 'd': [], 'd2': []},
    'numbers': {'sales': ['quantity', 'id', 'customer'], 'c': [], 'p': ['size'], 'd': ['d.year', 'd.month'],
                'd2': ['d2.month']},
    'amounts': {'sales': ['price', 'price * quantity', 'price * rate'], 'c': ['credit']},
    'values': {'channel': "'web' 'shop'", 'region': "'ASIA' 'EUROPE'", 'nation': "'nation 3' 'nation 7'",
               'category': "'cat, 1' 'cat, 4'", 'brand': "'brand4' 'brand9'", 'product': "'p-17' 'p-3'"},
    'ranges': {'quantity': 50, 'id': 20000, 'customer': 420, 'size': 50, 'd.year': 2026, 'd.month': 12, 'd2.month': 12},
    'doubles': ['weight'], 'truths': ['gift'], 'dates': ['sold', 'shipped'],
}


class Grammar:
    def __init__(self, star, seed):
        self.star, self.random = star, random.Random(seed)

    def pick(self, items):
        return self.random.choice(list(items))

    def one_in(self, count):
        return self.random.randrange(count) == 0

    def reached(self, kind):
        return [column for table in self.tables for column in self.star[kind].get(table, [])]

    def query(self):
        star, fact = self.star, self.star['fact']
        joins = [join for join in star['joins'] if not self.one_in(2)]
        self.tables = [fact] + [alias for _, alias, _, _ in joins]
        text = f' FROM {fact}'
        for table, alias, key, other in joins:
            kind = 'LEFT JOIN' if self.one_in(4) else 'JOIN'
            text += f' {kind} {table} {alias} ON {fact}.{key} = {alias}.{other}'
        conditions = [self.condition(2) for _ in range(self.random.randrange(4))]
        if conditions:
            text += ' WHERE ' + ' AND '.join(conditions)
        keys = [self.key() for _ in range(self.random.choice([0, 1, 1, 2, 2, 3]))]
        items = [f'{key} AS k{i}' for i, key in enumerate(keys)]
        items += [f'{self.aggregate()} AS a{i}' for i in range(1 + self.random.randrange(3))]
        text = 'SELECT ' + ', '.join(items) + text
        if keys:
            text += ' GROUP BY ' + ', '.join(keys)
            if self.one_in(4):
                text += f' HAVING COUNT(*) > {self.random.randrange(20)}'
            if self.one_in(2):  # All keys: so the order, and what a limit leaves, is one.
                text += ' ORDER BY ' + ', '.join(
                    f'k{i}{self.pick(["", " DESC"])} NULLS FIRST' for i in range(len(keys)))
                if self.one_in(2):
                    text += f' LIMIT {self.random.randrange(1, 30)}'
        return text

    def key(self):
        columns = self.reached('texts') + self.reached('numbers')[:2]
        choice = self.random.randrange(8)
        if choice == 0:
            return f"SUBSTRING({self.pick(self.reached('texts'))}, 1, 3)"
        if choice == 1:
            number, most = self.ranged()
            return f'CASE WHEN {number} > {most // 2} THEN 1 ELSE 0 END'
        if choice == 2 and self.star.get('truths'):
            return self.pick(self.star['truths'] + self.star['dates'])
        return self.pick(columns)

    def ranged(self):
        number = self.pick([number for number in self.reached('numbers') if number in self.star['ranges']])
        return number, self.star['ranges'][number]

    def condition(self, depth):
        choice = self.random.randrange(9 if depth else 6)
        known = [text for text in self.reached('texts') if text in self.star['values']]
        if choice <= 1 and known:
            text = self.pick(known)
            values = self.star['values'][text].split("' '")
            values = ["'" + value.strip("'") + "'" for value in values]
            if self.one_in(3):
                return f"{text} IN ({', '.join(self.random.sample(values, min(2, len(values))))})"
            return f"{text} {self.pick(['=', '<>', '=', '<', '>='])} {self.pick(values)}"
        if choice == 2:
            number, most = self.ranged()
            low = self.random.randrange(most + 1)
            return f'{number} BETWEEN {low} AND {low + self.random.randrange(1 + most // 3)}'
        if choice == 3:
            amount = self.pick([amount for amount in self.reached('amounts') if ' ' not in amount])
            return f"{amount} {self.pick(['<', '>='])} {self.random.randrange(10_000)}00"
        if choice == 4:
            return f"{self.pick(self.reached('texts'))} IS {self.pick(['', 'NOT '])}NULL"
        if choice == 5 and self.star.get('truths'):
            return f"{self.pick(self.star['truths'])} IS {self.pick(['', 'NOT '])}TRUE"
        if choice == 6:
            return f'({self.condition(depth - 1)} OR {self.condition(depth - 1)})'
        if choice == 7:
            return f'NOT ({self.condition(depth - 1)})'
        number, most = self.ranged()
        return f"{number} {self.pick(['=', '<', '<=', '>', '>=', '<>'])} {self.random.randrange(most + 1)}"

    def aggregate(self):
        choice = self.random.randrange(8)
        amounts = self.reached('amounts')
        if choice == 0:
            return 'COUNT(*)'
        if choice == 1:
            return f"COUNT(DISTINCT {self.pick(self.reached('texts'))})"
        if choice == 2:
            return f"{self.pick(['MIN', 'MAX'])}({self.pick(self.reached('texts') + self.reached('numbers'))})"
        if choice == 3:
            return f"AVG(CAST({self.pick(amounts)} AS DOUBLE))"
        if choice == 4 and self.star.get('doubles'):
            return f"{self.pick(['SUM', 'MIN', 'MAX'])}({self.pick(self.star['doubles'])})"
        if choice == 5 and self.star is SSB:
            return self.pick(['SUM(lo_extendedprice * lo_discount)', 'SUM(lo_revenue - lo_supplycost)'])
        if choice == 6:
            return f'SUM({self.pick(amounts)}) FILTER (WHERE {self.condition(0)})'
        return f"{self.pick(['SUM', 'SUM', 'MIN', 'MAX', 'COUNT'])}({self.pick(amounts)})"
