"""Parquet for streams, by pyarrow."""
import itertools
import struct

import pyarrow as pa
import pyarrow.parquet as pq

import values
import wire
from wire import NoFit
from values import piece as piece_of

pa.set_cpu_count(min(pa.cpu_count(), 4))  # Each has a stack and an arena in the memory that the process may have.


def file_type(want):
    """The type of a column that is written."""
    kind = want[0]
    if kind == 'DECIMAL':
        return pa.decimal128(want[1], want[2])
    if kind == 'ARRAY':
        return pa.list_(file_type(want[1]))
    if kind == 'MAP':
        return pa.map_(file_type(want[1]), file_type(want[2]))
    if kind == 'ROW':
        return pa.struct([(name, file_type(part)) for name, part in want[1]])
    return {'BOOLEAN': pa.bool_(), 'TINYINT': pa.int8(), 'SMALLINT': pa.int16(), 'INT': pa.int32(), 'BIGINT': pa.int64(),
            'FLOAT': pa.float32(), 'DOUBLE': pa.float64(), 'STRING': pa.string(), 'DATE': pa.date32(),
            'TIMESTAMP': pa.timestamp('ms')}[kind]


def is_list(have):
    return pa.types.is_list(have) or pa.types.is_large_list(have) or pa.types.is_fixed_size_list(have)


def check(have, want, column):
    """Whether values of the file's type can be those of the table's."""
    kind, t = want[0], pa.types
    if isinstance(have, pa.BaseExtensionType):
        have = have.storage_type
    if t.is_dictionary(have):
        have = have.value_type
    advice = ''
    if kind == 'ARRAY' and is_list(have):
        return check(have.value_type, want[1], column)
    if kind == 'MAP' and t.is_map(have):
        check(have.key_type, want[1], column + ' (key)')
        return check(have.item_type, want[2], column + ' (value)')
    if kind == 'ROW' and t.is_struct(have):
        names = [field.name for field in have]
        for name, part in want[1]:
            at = one_of(names, name, f'{column}.{name}')
            if at >= 0:
                check(have.field(at).type, part, f'{column}.{name}')
        return
    if kind in ('TINYINT', 'SMALLINT', 'INT'):
        fits = t.is_integer(have) and (have.bit_width < 32 or have == pa.int32())
        advice = '; BIGINT reads it' if have in (pa.int64(), pa.uint32()) else ''
    elif kind == 'BIGINT':
        fits = t.is_integer(have) and have != pa.uint64()
    elif kind == 'FLOAT':
        fits = t.is_float16(have) or t.is_float32(have)
        advice = '; DOUBLE reads it' if t.is_floating(have) else ''
    elif kind == 'DECIMAL':
        fits = t.is_decimal(have) and have.precision <= 38 and have.scale <= want[2]
        advice = f'; a scale of at least {have.scale} reads it' if t.is_decimal(have) and have.precision <= 38 else ''
    else:
        fits = {'BOOLEAN': t.is_boolean, 'DOUBLE': t.is_floating, 'DATE': t.is_date, 'TIMESTAMP': t.is_timestamp,
                'STRING': lambda one: t.is_string(one) or t.is_large_string(one) or t.is_binary(one) or t.is_large_binary(one),
                }.get(kind, lambda one: False)(have)
    if not fits and not t.is_null(have):
        raise NoFit(f'column {column}: the file has {have}, the table {wire.name_of(want)}{advice}')


UNITS = {'ms': 1, 'us': 1000, 'ns': 1000000}
BATCH_ROWS, BATCH_BYTES = 16384, 16 << 20


def one_of(names, name, column):
    """The number of the file's column of this name; none: -1."""
    if names.count(name) > 1:
        raise NoFit(f'the file has two columns {column}')
    return names.index(name) if name in names else -1


def scaled(array, scale):
    """Decimals of a greater scale; what has more than 38 digits then is none, and Holdfast says so."""
    array = array.cast(pa.decimal128(38, array.type.scale))
    try:
        return array.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:
        factor, bits, data = 10**(scale - array.type.scale), *array.buffers()
        data, out = memoryview(data), []
        for at in range(16 * array.offset, 16 * (array.offset + len(array)), 16):
            value = int.from_bytes(data[at:at + 16], 'little', signed=True) * factor
            out.append(value.to_bytes(16, 'little', signed=True) if abs(value) < 10**38 else values.NO_DECIMAL)
        bits = pa.array(array.is_valid()).buffers()[1]
        return pa.Array.from_buffers(pa.decimal128(38, scale), len(array), [bits, pa.py_buffer(b''.join(out))])


def plain(array, want):
    """Without what the node of its type has not; and by how much its numbers are divided."""
    t = pa.types
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if t.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = want[0]
    if t.is_null(array.type):
        array = pa.nulls(len(array), file_type(want))
    if kind == 'TIMESTAMP':
        if array.type.unit == 's':
            array = array.cast(pa.timestamp('ms', array.type.tz))
        return array.cast(pa.int64()), UNITS[array.type.unit]
    if kind in ('TINYINT', 'SMALLINT', 'INT', 'BIGINT'):
        return array.cast(pa.int64()), 1
    if kind == 'DATE':
        return array.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.int64()), 1
    if kind in ('FLOAT', 'DOUBLE'):
        return array.cast(pa.float64()), 1
    if kind == 'STRING':
        return array.cast(pa.binary()), 1  # Holdfast says of each whether it is UTF-8.
    if kind == 'DECIMAL':
        return scaled(array, want[2]), 1
    if kind == 'ARRAY' and not pa.types.is_list(array.type):
        return array.cast(pa.list_(array.type.value_type)), 1
    return array, 1


def piece(out, buffer, begin=0, end=0):
    piece_of(out, b'' if buffer is None or end <= begin else memoryview(buffer)[begin:end])


def emit(out, array, want):
    array, divisor = plain(array, want)
    kind, buffers = want[0], array.buffers()
    offset = array.offset % 8  # Whole bytes of bits are left out.
    base, end = array.offset - offset, array.offset + len(array)
    out.append(struct.pack('<QQQ', len(array), offset, divisor))
    piece(out, buffers[0], base // 8, (end + 7) // 8)
    if kind == 'BOOLEAN':
        piece(out, buffers[1], base // 8, (end + 7) // 8)
    elif kind == 'ROW':
        for name, part in want[1]:
            index = array.type.get_field_index(name)
            emit(out, array.field(index) if index >= 0 else pa.nulls(len(array)), part)
    elif kind in ('STRING', 'ARRAY', 'MAP'):
        if len(array) == 0:
            first = last = 0
            piece(out, bytes(4 * (offset + 1)), 0, 4 * (offset + 1))
        else:
            offsets = memoryview(buffers[1])[4 * base:4 * (end + 1)]
            first, last = struct.unpack('<i', offsets[:4])[0], struct.unpack('<i', offsets[-4:])[0]
            piece(out, offsets, 0, len(offsets))
        if kind == 'STRING':
            piece(out, buffers[2], first, last)
        elif kind == 'ARRAY':
            emit(out, array.values.slice(first, last - first), want[1])
        else:
            emit(out, array.keys.slice(first, last - first), want[1])
            emit(out, array.items.slice(first, last - first), want[2])
    else:
        width = 16 if kind == 'DECIMAL' else 8
        piece(out, buffers[1], width * base, width * end)


def check_bytes(array):
    """That it is what its type says, but for texts: Holdfast says of each of them whether it is UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        if 'UTF8' not in str(error):
            raise


class File:
    """One that is read, by its row groups. One that is damaged is left out."""

    def __init__(self, asked):
        self.columns, self.group = asked['columns'], asked['block']
        self.file = pq.ParquetFile(asked['path'])
        schema, self.names = self.file.schema_arrow, []
        self.batches, self.given, self.size = None, 0, BATCH_ROWS
        for name, want in self.columns:
            at = one_of(schema.names, name, name)
            if at >= 0:
                self.names.append(name)
                check(schema.field(at).type, want, name)
        if not self.names and self.columns:
            raise NoFit("the file has none of the table's columns; it has " + ', '.join(schema.names))
        if self.group > self.file.num_row_groups:
            raise NoFit(f'row group {self.group} was read before, and the file has {self.file.num_row_groups}; '
                        'it is not the file it was')

    def next(self):
        while self.group < self.file.num_row_groups:
            try:
                if self.batches is None:
                    self.begin_group()
                batch = next(self.batches, None)
                if batch is not None:
                    rows = self.rows(batch)
                    self.given += batch.num_rows
                    return rows
                self.end_group()
            except Exception as error:
                self.batches = None
                if isinstance(error, MemoryError) and self.size > 1:
                    self.size = max(self.size // 8, 1)  # From the row that comes next.
                    continue
                self.end_group()
                nodes = [piece for _, want in self.columns for piece in values.nulls(1, want)]
                return self.answer(self.group - 1, 1, nodes, [(0, f'it is damaged: {wire.reason(error)}')])
        return None

    def end_group(self):
        self.group, self.batches, self.given, self.size = self.group + 1, None, 0, BATCH_ROWS

    def begin_group(self):
        """Behind the rows of the group that were given."""
        group = self.file.metadata.row_group(self.group)
        row_bytes = max(group.total_byte_size // max(group.num_rows, 1), 1)
        self.size = max(min(self.size, BATCH_BYTES // row_bytes), 1)
        batches = self.file.iter_batches(batch_size=self.size, row_groups=[self.group], columns=self.names)
        self.batches = itertools.chain(self.skip(batches, self.given), batches)

    @staticmethod
    def skip(batches, rows):
        while rows > 0:
            batch = next(batches)
            if batch.num_rows > rows:
                yield batch.slice(rows)
            rows -= batch.num_rows

    def rows(self, batch):
        nodes = []
        for name, want in self.columns:
            column = batch.column(name) if name in self.names else pa.nulls(batch.num_rows)
            check_bytes(column)
            emit(nodes, column, want)
        return self.answer(self.group, batch.num_rows, nodes)

    @staticmethod
    def answer(group, rows, nodes, wrong=()):
        return wire.batch(group, f'row group {group}', rows, nodes, wrong)


def open_file(asked):
    try:
        return File(asked)
    except NoFit:
        raise
    except Exception as error:
        if getattr(error, 'errno', None) is not None:  # Arrow's own OSErrors have none.
            raise
        return wire.Damaged(asked['columns'], values.nulls, f'it is damaged, or no file of Parquet: {wire.reason(error)}')


def buffer_of(taker):
    return pa.py_buffer(bytes(taker.bytes()))


def take(taker, want):
    """A column off the wire."""
    length, _, _, bits, kind = taker.number(), taker.number(), taker.number(), buffer_of(taker), want[0]
    type_, bits = file_type(want), bits if bits.size > 0 else None
    if kind == 'ROW':
        parts = [take(taker, part) for _, part in want[1]]
        return pa.Array.from_buffers(type_, length, [bits], children=parts)
    data = buffer_of(taker)
    if kind == 'STRING':
        return pa.Array.from_buffers(type_, length, [bits, data, buffer_of(taker)])
    if kind == 'ARRAY':
        return pa.Array.from_buffers(type_, length, [bits, data], children=[take(taker, want[1])])
    if kind == 'MAP':
        keys, items = take(taker, want[1]), take(taker, want[2])
        fields = [pa.field('key', keys.type, nullable=False), pa.field('value', items.type)]
        return pa.Array.from_buffers(type_, length, [bits, data], children=[pa.StructArray.from_arrays([keys, items], fields=fields)])
    if kind in ('BOOLEAN', 'DECIMAL'):
        return pa.Array.from_buffers(type_, length, [bits, data])
    wide = pa.float64() if kind in ('FLOAT', 'DOUBLE') else pa.int64()
    array = pa.Array.from_buffers(wide, length, [bits, data])
    return array.cast(pa.int32()).cast(type_) if kind == 'DATE' else array.cast(type_)


class WrittenFiles:
    """One after the other."""
    GROUP_ROWS, GROUP_BYTES = 131072, 64 << 20

    def __init__(self, asked):
        self.columns, self.compression = asked['columns'], asked['codec']
        self.schema = pa.schema([(name, file_type(want)) for name, want in self.columns])
        self.writer, self.batches, self.rows, self.bytes = None, [], 0, 0

    def write(self, data):
        if self.writer is None:
            self.target = wire.Bytes()
            self.writer = pq.ParquetWriter(self.target, self.schema, compression='NONE' if self.compression == 'UNCOMPRESSED' else self.compression)
        taker = wire.Taker(data)
        rows = taker.number()
        self.batches.append(pa.RecordBatch.from_arrays([take(taker, want) for _, want in self.columns], schema=self.schema))
        self.rows += rows
        self.bytes += len(data)
        if self.rows >= self.GROUP_ROWS or self.bytes >= self.GROUP_BYTES:
            self.end_group()
        return self.target.take()

    def end_group(self):
        if self.batches:
            self.writer.write_table(pa.Table.from_batches(self.batches), row_group_size=max(self.rows, 1))
        self.batches, self.rows, self.bytes = [], 0, 0

    def finish(self):
        self.end_group()
        self.writer.close()
        self.writer = None
        return self.target.take()
