"""Columns between Python's own values and the wire. A column is a list; None is NULL. Values are those of a file of Avro:
whole numbers, floats, str or bytes, lists, and dicts for rows and maps."""
import itertools
import struct
from array import array

NO_DECIMAL = (2**127 - 1).to_bytes(16, 'little')  # More than 38 digits: Holdfast takes it for none.


def bits_of(flags):
    return int('0' + ''.join('1' if flag else '0' for flag in reversed(flags)), 2).to_bytes((len(flags) + 7) // 8, 'little')


def piece(out, data):
    out.append(struct.pack('<Q', len(data)))
    out.append(data)


def head(out, values, divisor=1):
    out.append(struct.pack('<QQQ', len(values), 0, divisor))
    piece(out, bits_of([value is not None for value in values]) if None in values else b'')


def put_booleans(out, values):
    head(out, values)
    piece(out, bits_of(values))


def put_numbers(out, values, divisor=1):
    head(out, values, divisor)
    piece(out, array('q', [value or 0 for value in values]).tobytes())


def put_reals(out, values, form='d'):
    head(out, values)
    piece(out, array('d', array(form, [0.0 if value is None else value for value in values])).tobytes())


def put_floats(out, values):
    put_reals(out, values, 'f')


def put_bounds(out, values):
    bounds = itertools.accumulate((0 if value is None else len(value) for value in values), initial=0)
    piece(out, array('i', bounds).tobytes())


def put_texts(out, values):
    """What is no UTF-8 came as lone surrogates, and goes as the bytes it was: Holdfast says so of its row."""
    values = [value.encode('utf-8', 'surrogateescape') if isinstance(value, str) else value for value in values]
    head(out, values)
    put_bounds(out, values)
    piece(out, b''.join(value for value in values if value is not None))


def put_decimals(out, values, factor=1):
    def of(value):
        try:
            return (int.from_bytes(value, 'big', signed=True) * factor).to_bytes(16, 'little', signed=True)
        except OverflowError:
            return NO_DECIMAL
    head(out, values)
    piece(out, b''.join(bytes(16) if value is None else of(value) for value in values))


def put_lists(out, values, put):
    head(out, values)
    put_bounds(out, values)
    put(out, list(itertools.chain.from_iterable(value for value in values if value)))


def put_maps(out, values, put):
    head(out, values)
    put_bounds(out, values)
    put_texts(out, list(itertools.chain.from_iterable(value for value in values if value)))
    put(out, list(itertools.chain.from_iterable(value.values() for value in values if value)))


def put_rows(out, values, fields):
    """`fields`: pairs of a name, or None where the file has none, and how its values are put."""
    head(out, values)
    for name, put in fields:
        put(out, [None if value is None or name is None else value[name] for value in values])


PUT = {'BOOLEAN': put_booleans, 'FLOAT': put_floats, 'DOUBLE': put_reals, 'STRING': put_texts, 'DECIMAL': put_decimals,
       **dict.fromkeys(['TINYINT', 'SMALLINT', 'INT', 'BIGINT', 'DATE', 'TIMESTAMP'], put_numbers)}


def put_nulls(want):
    """How a column is put that has only NULLs."""
    if want[0] == 'ROW':
        fields = [(None, put_nulls(part)) for _, part in want[1]]
        return lambda out, values: put_rows(out, values, fields)
    if want[0] in ('ARRAY', 'MAP'):
        part = put_nulls(want[-1])
        return lambda out, values: (put_lists if want[0] == 'ARRAY' else put_maps)(out, values, part)
    return PUT[want[0]]


def nulls(count, want):
    out = []
    put_nulls(want)(out, [None] * count)
    return out


def flags_of(bits, count):
    return [bits[at >> 3] >> (at & 7) & 1 for at in range(count)]


def parts_of(bounds, values):
    return [values[begin:end] for begin, end in zip(bounds, bounds[1:])]


def short(value):
    """A decimal's bytes, the greatest first, as few as there can be."""
    return value.to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, 'big', signed=True)


def take(taker, want):
    """A column off the wire."""
    kind, count = want[0], taker.number()
    taker.number(), taker.number()
    bits = bytes(taker.bytes())
    if kind == 'ROW':
        names = [name for name, _ in want[1]]
        values = [dict(zip(names, parts)) for parts in zip(*[take(taker, part) for _, part in want[1]])]
    elif kind == 'ARRAY':
        values = parts_of(taker.bytes().cast('i').tolist(), take(taker, want[1]))
    elif kind == 'MAP':
        bounds = taker.bytes().cast('i').tolist()
        keys, items = take(taker, want[1]), take(taker, want[2])
        values = [dict(zip(*pair)) for pair in zip(parts_of(bounds, keys), parts_of(bounds, items))]
    elif kind == 'STRING':
        bounds = taker.bytes().cast('i').tolist()
        values = [part.decode() for part in parts_of(bounds, bytes(taker.bytes()))]
    elif kind == 'BOOLEAN':
        values = [flag == 1 for flag in flags_of(taker.bytes(), count)]
    elif kind == 'DECIMAL':
        data = taker.bytes()
        values = [short(int.from_bytes(data[at:at + 16], 'little', signed=True)) for at in range(0, 16 * count, 16)]
    else:
        values = taker.bytes().cast('d' if kind in ('FLOAT', 'DOUBLE') else 'q').tolist()
    if int.from_bytes(bits, 'little') != (1 << count) - 1:
        values = [value if flag else None for value, flag in zip(values, flags_of(bits, count))]
    return values
