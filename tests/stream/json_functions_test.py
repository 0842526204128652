"""Functions of JSON against Python's `json`, over random texts; what is refused.

    json_functions_test.py HOLDFAST

Each answer is given by the interpreter and by compiled code.
"""
import csv
import io
import json
import pathlib
import random
import re
import shutil
import tempfile

import compilers
from text_expressions import check, of, run, table


class Missing(Exception):
    pass


def follow(json_value, steps):
    for step in steps:
        if isinstance(step, str) and isinstance(json_value, dict) and step in json_value:
            json_value = json_value[step]
        elif isinstance(step, int) and isinstance(json_value, list) and step < len(json_value):
            json_value = json_value[step]
        else:
            raise Missing
    return json_value


def found(text, steps):
    """'error', 'nothing', or ('value', value)."""
    try:
        value = json.loads(text, parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))
    except ValueError:
        return 'error'
    try:
        value = follow(value, steps)
    except Missing:
        return 'missing'
    return 'nothing' if value is None else ('value', value)


def compact(value):
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


def json_value(steps, lax, empty, error, convert=lambda value: value if isinstance(value, str) else compact(value)):
    def meaning(text):
        answer = found(text, steps)
        if answer == 'error' or (answer == 'missing' and not lax):
            return error
        if answer in ('nothing', 'missing'):
            return empty
        if isinstance(answer[1], (dict, list)):
            return empty if lax else error
        try:
            return convert(answer[1])
        except ValueError:
            return error
    return of(meaning)


def json_query(steps, lax, empty, error, wrapper):
    def meaning(text):
        answer = found(text, steps)
        if answer == 'error' or (answer == 'missing' and not lax):
            return error
        if answer in ('nothing', 'missing'):
            return empty
        value = answer[1]
        if wrapper == 'WITH' or (wrapper == 'WITH CONDITIONAL' and not isinstance(value, list)):
            return compact([value])
        if not isinstance(value, (dict, list)):
            return empty if lax else error
        return compact(value)
    return of(meaning)


def whole(value):
    if isinstance(value, bool) or not isinstance(value, (int, str)) or not re.fullmatch('-?[0-9]{1,9}', str(value)):
        raise ValueError
    return int(value)


def truth(value):
    if value not in (True, False, 'true', 'false') or isinstance(value, int) and not isinstance(value, bool):
        raise ValueError
    return value in (True, 'true')


def random_json(rand, depth=0):
    kinds = ['number', 'text', 'true', 'false', 'null', 'half'] + (['object', 'array'] * 3 if depth < 3 else [])
    kind = rand.choice(kinds) if depth else rand.choice(['object', 'object', 'array', 'number'])
    if kind == 'object':
        return {rand.choice(['a', 'b', 'c d', 'é']): random_json(rand, depth + 1) for _ in range(rand.randrange(0, 4))}
    if kind == 'array':
        return [random_json(rand, depth + 1) for _ in range(rand.randrange(0, 4))]
    return {'number': rand.randrange(-99, 99), 'text': rand.choice(['', 'x', '12', 'true', 'q"u\\o', 'ü\n']), 'true': True, 'false': False,
            'null': None, 'half': rand.randrange(-9, 9) + 0.5}[kind]


PATHS = {'$': [], '$.a': ['a'], '$.b': ['b'], '$.a.b': ['a', 'b'], '$[0]': [0], '$.a[1]': ['a', 1], "$[''c d'']": ['c d'], '$.["é"].a': ['é', 'a'],
         '$.b[0].a': ['b', 0, 'a'], '$[1].a': [1, 'a'], ' $ . a': None}


def check_json(directory):
    rand = random.Random(4)
    rows = [(0, None), (1, 'no JSON'), (2, '{"a": 1'), (3, '{"a": 1} x'), (4, ' {"a" : [1, {"b": 2}]} '), (5, '[' * 100_000), (6, '{"a":' * 199 + '1' +
            '}' * 199), (7, '"' + '[' * 1000 + '"'), (8, '1'), (9, 'NaN'), (10, "{'a': 1}"), (11, '{"a": "\\ud800"}')]
    rows += [(i, json.dumps(random_json(rand), ensure_ascii=rand.random() < 0.5, indent=rand.choice([None, 1]))) for i in range(12, 200)]
    # Python takes a lone half of a character; deep texts end its stack.
    told = [(number, 'no JSON' if number in (5, 11) else text) for number, text in rows]
    head = table(directory / 'json.csv', rows)
    expressions = []
    for path, steps in PATHS.items():
        if steps is None:
            continue
        for mode in ('', 'strict ', 'lax '):
            lax, place = mode == 'lax ', f"'{mode}{path}'"
            expressions += [
                (f'JSON_VALUE(s, {place})', json_value(steps, lax, None, None)),
                (f"JSON_VALUE(s, {place} DEFAULT 'none' ON EMPTY DEFAULT 'bad' ON ERROR)", json_value(steps, lax, 'none', 'bad')),
                (f'JSON_VALUE(s, {place} RETURNING INT NULL ON EMPTY DEFAULT -1 ON ERROR)', json_value(steps, lax, None, -1, whole)),
                (f'JSON_VALUE(s, {place} RETURNING BOOLEAN DEFAULT TRUE ON EMPTY)', json_value(steps, lax, True, None, truth)),
                (f'JSON_EXISTS(s, {place})', of(lambda s, steps=steps: isinstance(found(s, steps), tuple))),
                (f'JSON_EXISTS(s, {place} UNKNOWN ON ERROR)', of(lambda s, steps=steps, lax=lax: None if found(s, steps) == 'error' or (
                    found(s, steps) == 'missing' and not lax) else isinstance(found(s, steps), tuple))),
                (f'JSON_QUERY(s, {place})', json_query(steps, lax, None, None, '')),
                (f'JSON_QUERY(s, {place} WITH WRAPPER)', json_query(steps, lax, None, None, 'WITH')),
                (f'JSON_QUERY(s, {place} WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR)',
                 json_query(steps, lax, '[]', '{}', 'WITH CONDITIONAL'))]
    kind = {'': object, ' VALUE': object, ' ARRAY': list, ' OBJECT': dict, ' SCALAR': (int, float, str, bool, type(None))}

    def is_json(name):
        def meaning(text):
            answer = 'error' if text is None else found(text, [])
            return answer != 'error' and isinstance(None if answer == 'nothing' else answer[1], kind[name])
        return meaning
    for name in kind:
        expressions.append((f's IS JSON{name}', is_json(name)))
        expressions.append((f's IS NOT JSON{name}', lambda text, meaning=is_json(name): not meaning(text)))
    check(head, expressions, told)
    several = "SELECT JSON_QUERY('{\"a\": [{\"b\": 1}, {\"c\": 2}, {\"b\": 3}]}', 'lax $.a[*].b'), JSON_QUERY('{\"x\": 1, \"y\": [2]}', '$.*')"
    assert list(csv.reader(io.StringIO(run(several).stdout)))[1] == ['[1,3]', '[1,[2]]']
    for query, code, said in (
            ("SELECT JSON_VALUE(s, '$.a' ERROR ON EMPTY ERROR ON ERROR) FROM t", 2, 'JSON_VALUE: the text is no JSON'),
            ("SELECT JSON_VALUE('{}', 'lax $.a' ERROR ON EMPTY)", 2, 'JSON_VALUE: the path finds nothing'),
            ("SELECT JSON_VALUE(s, 'a') FROM t", 2, 'line 2, column 22: the path, at character 1: a path begins with $'),
            ("SELECT JSON_VALUE(s, '$..a') FROM t", 2, 'searching at any depth (..) is not supported'),
            ("SELECT JSON_VALUE(s, '$.a[?(@.b)]') FROM t", 2, 'nothing else is supported'),
            ("SELECT JSON_VALUE(s, '$.a[0,1]') FROM t", 2, 'lists and ranges are not supported'),
            ("SELECT JSON_VALUE(s, '$[''a]') FROM t", 2, 'a quote has no partner'),
            ("SELECT JSON_VALUE(s, '$" + '.a' * 201 + "') FROM t", 2, 'more than 200 steps'),
            ("SELECT JSON_VALUE(s, '$[99999999999999999999999]') FROM t", 2, 'in [] stands a number'),
            ("SELECT JSON_VALUE(s, s) FROM t", 2, 'JSON_VALUE with a path that is no literal is not supported'),
            ("SELECT JSON_VALUE(n, '$.a') FROM t", 2, 'JSON_VALUE wants STRING'),
            ("SELECT JSON_VALUE(s) FROM t", 2, 'JSON_VALUE wants a text and a path'),
            ("SELECT JSON_VALUE(s, '$', s, s, s, s, s, s) FROM t", 2, 'JSON_VALUE wants a text and a path'),
            ("SELECT JSON_EXISTS() FROM t", 2, 'JSON_EXISTS wants a text and a path'),
            ("SELECT JSON_VALUE(s, '$' RETURNING DATE) FROM t", 2, 'JSON_VALUE RETURNING DATE is not supported'),
            ("SELECT JSON_QUERY(s, '$' RETURNING INT) FROM t", 2, 'JSON_QUERY RETURNING INT is not supported'),
            ("SELECT JSON_VALUE(s, '$' RETURNING INT DEFAULT 'x' ON ERROR) FROM t", 2, 'DEFAULT wants a literal that is INT'),
            ("SELECT JSON_VALUE(s, '$' DEFAULT s ON ERROR) FROM t", 2, 'DEFAULT wants a literal that is STRING'),
            ("SELECT JSON_VALUE(s, '$' EMPTY ARRAY ON ERROR) FROM t", 2, 'expected NULL, DEFAULT or ERROR'),
            ("SELECT JSON_VALUE(s, '$' NULL ON ERROR NULL ON ERROR) FROM t", 2, 'ON ERROR is said twice'),
            ("SELECT JSON_EXISTS(s, '$' TRUE ON EMPTY) FROM t", 2, 'expected ERROR'),
            ("SELECT JSON_VALUE(s, '$' NULL ON NOTHING) FROM t", 2, 'expected EMPTY or ERROR'),
            ("SELECT JSON_QUERY(s, '$' WITH ARRAY) FROM t", 2, 'expected WRAPPER')):
        refused = run((head if ' t' in query[-3:] else '') + query, code=code).stderr
        assert said in refused, (query, refused)
    # Each DEFAULT is an expression of its own, and deep within the one around it.
    for place in ('EMPTY', 'ERROR'):
        deep = "'1'"
        for _ in range(90):
            deep = f"JSON_VALUE('1', '$' DEFAULT {deep}" + " || '1'" * 150 + f' ON {place})'
        refused = run('SELECT ' + deep, code=2).stderr
        assert 'an expression is deeper than 200' in refused, refused
        assert run("SELECT JSON_VALUE('1', '$' DEFAULT '1'" + " || '1'" * 150 + f' ON {place})').stdout.split()[-1] == '1'
    print(f'{len(expressions)} functions of JSON over {len(rows)} texts are right')


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_texts_'))
    compilers.be_quick(directory)
    try:
        check_json(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


main()
