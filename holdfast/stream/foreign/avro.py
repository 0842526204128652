"""Avro for streams, by fastavro: files, whose schema is in them, and messages, which have that of the table."""
import io
import itertools
import json
import os
import zlib

import fastavro
import fastavro.read
import fastavro.write

import values
import wire
from wire import NoFit, Missing

fastavro.read.LOGICAL_READERS.clear()  # Numbers and bytes as they are in the file.
TEXTS = {'handle_unicode_errors': 'surrogateescape'}
MARKER_BYTES = 16
SYNC_INTERVAL = 64000  # As Java's.
BATCH_ROWS = 16384
EMPTY_RECORDS = 1000000  # Records without bytes, of a block: it may say any number.

PRIMITIVES = {'BOOLEAN': 'boolean', 'TINYINT': 'int', 'SMALLINT': 'int', 'INT': 'int', 'BIGINT': 'long', 'FLOAT': 'float',
              'DOUBLE': 'double', 'STRING': 'string', 'DATE': {'type': 'int', 'logicalType': 'date'},
              'TIMESTAMP': {'type': 'long', 'logicalType': 'timestamp-millis'}}
# What a column without parts is read from.
READS = {'BOOLEAN': ('boolean',), 'TINYINT': ('int',), 'SMALLINT': ('int',), 'INT': ('int',), 'BIGINT': ('int', 'long'),
         'FLOAT': ('int', 'long', 'float'), 'DOUBLE': ('int', 'long', 'float', 'double'), 'DATE': ('int',),
         'TIMESTAMP': ('long',), 'STRING': ('string', 'enum', 'bytes'), 'DECIMAL': ('bytes', 'fixed')}
KINDS = {'null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string', 'record', 'error', 'enum', 'array', 'map', 'fixed'}
DIVISORS = {'micros': 1000, 'nanos': 1000000}
BATCH_BYTES = 16 << 20


def reason(error):
    """Of bytes that fastavro cannot read. Of some of them it says no more than that an index is none."""
    if isinstance(error, IndexError):
        return 'a number does not end' if 'string' in str(error) else 'a union or an enum has no such branch'
    return wire.reason(error)


class Schema:
    """The one that Flink makes of a table's columns."""

    def __init__(self, columns):
        self.names = set()
        self.parsed = fastavro.parse_schema(self.record('record', columns))

    def record(self, name, fields):
        unique = name
        for count in itertools.count(2):
            if unique not in self.names:
                break
            unique = f'{name}_{count}'
        self.names.add(unique)
        return {'type': 'record', 'name': unique, 'namespace': 'org.apache.flink.avro.generated', 'fields': [
            {'name': field, 'type': self.nullable(want, f'{name}_{field}'), 'default': None} for field, want in fields]}

    def nullable(self, want, name):
        kind = want[0]
        if kind == 'DECIMAL':
            return ['null', {'type': 'bytes', 'logicalType': 'decimal', 'precision': want[1], 'scale': want[2]}]
        if kind == 'ARRAY':
            return ['null', {'type': 'array', 'items': self.nullable(want[1], name)}]
        if kind == 'MAP':
            return ['null', {'type': 'map', 'values': self.nullable(want[2], name)}]
        return ['null', self.record(name, want[1]) if kind == 'ROW' else PRIMITIVES[kind]]


class Plan:
    """How values of a file's schema become those of a table's columns."""

    def __init__(self, schema):
        self.named = {}
        self.schema = fastavro.parse_schema(schema, self.named)

    def form(self, have):
        """What a schema is: a name of Avro's, and the schema with its parts."""
        while True:
            if isinstance(have, list):
                return 'union', have
            if isinstance(have, str):
                have = {'type': have} if have in KINDS else self.named[have]
            elif isinstance(have['type'], str) and have['type'] in KINDS:
                return {'error': 'record'}.get(have['type'], have['type']), have
            else:
                have = have['type']

    def name(self, have):
        form, have = self.form(have)
        if form == 'union':
            branches = [branch for branch in have if self.form(branch)[0] != 'null']
            return self.name(branches[0]) if len(branches) == 1 else '[' + ', '.join(map(self.name, have)) + ']'
        logical = have.get('logicalType')
        if logical == 'decimal':
            return f'{form} (decimal {have.get("precision")}, {have.get("scale", 0)})'
        return f'{form} ({logical})' if logical else form

    def put(self, have, want, column):
        """How a column of it is put on the wire. A pair: of types that are put alike the first one is equal."""
        form, have = self.form(have)
        kind = want[0]
        if form == 'null':
            return None, values.put_nulls(want)
        if form == 'union':
            return self.put_union(have, want, column)
        if form == 'record' and kind == 'ROW':
            there = {field['name']: field['type'] for field in have['fields']}
            fields = [(name, self.put(there[name], part, f'{column}.{name}')[1]) if name in there
                      else (None, values.put_nulls(part)) for name, part in want[1]]
            return (id(have),), lambda out, column_: values.put_rows(out, column_, fields)
        if form == 'array' and kind == 'ARRAY':
            part = self.put(have['items'], want[1], column)[1]
            return (id(have),), lambda out, column_: values.put_lists(out, column_, part)
        if form == 'map' and kind == 'MAP' and want[1][0] == 'STRING':
            part = self.put(have['values'], want[2], column)[1]
            return (id(have),), lambda out, column_: values.put_maps(out, column_, part)
        return self.put_plain(form, have, want, column)

    def put_union(self, branches, want, column):
        puts = [self.put(branch, want, column) for branch in branches if self.form(branch)[0] != 'null']
        if not puts:
            return None, values.put_nulls(want)
        if any(put[0] != puts[0][0] for put in puts):
            raise NoFit(f'column {column}: the file has {self.name(branches)}, a union of types that are read differently')
        return puts[0]

    def put_plain(self, form, have, want, column):
        kind, logical = want[0], have.get('logicalType')
        fits = form in READS.get(kind, ())
        if kind == 'DECIMAL':
            up = want[2] - have.get('scale', 0)
            fits = fits and logical == 'decimal' and up >= 0
            if fits:
                return ('DECIMAL', up), lambda out, column_: values.put_decimals(out, column_, 10**up)
        time = logical is None or logical.startswith(('timestamp-', 'local-timestamp-'))
        other = {'STRING': logical == 'decimal', 'DATE': logical not in (None, 'date'), 'TIMESTAMP': not time}.get(kind)
        if not fits or other:
            raise NoFit(f'column {column}: the file has {self.name(have)}, the table {wire.name_of(want)}'
                        + self.advice(form, logical, have, kind))
        if kind == 'TIMESTAMP':
            divisor = DIVISORS.get((logical or '').rpartition('-')[2], 1)
            return ('TIMESTAMP', divisor), lambda out, column_: values.put_numbers(out, column_, divisor)
        return (kind,), values.PUT[kind]

    @staticmethod
    def advice(form, logical, have, kind):
        if logical == 'decimal' and kind == 'DECIMAL':
            return f'; a scale of at least {have.get("scale", 0)} reads it'
        if form == 'long' and kind in ('TINYINT', 'SMALLINT', 'INT'):
            return '; BIGINT reads it'
        return '; DOUBLE reads it' if form == 'double' and kind == 'FLOAT' else ''

    def columns(self, columns):
        """For each column of the table its name, or None, and how it is put."""
        form, have = self.form(self.schema)
        if form != 'record':
            raise NoFit(f'the file has {self.name(have)} for each row, a record is wanted')
        there = {field['name']: field['type'] for field in have['fields']}
        if columns and not any(name in there for name, _ in columns):
            raise NoFit("the file has none of the table's columns; it has " + ', '.join(there))
        return [(name, self.put(there[name], want, name)[1]) if name in there else (None, values.put_nulls(want))
                for name, want in columns]


def nodes_of(rows, columns):
    """`rows`: of dicts, or None where there is none."""
    out = []
    for name, put in columns:
        put(out, [None if name is None or row is None else row[name] for row in rows])
    return out


def nodes_and_wrong(rows, columns):
    """The same; a row that cannot be put on the wire counts as none. Pairs of its number and why, too."""
    try:
        return nodes_of(rows, columns), []
    except Exception:
        rows, wrong = list(rows), []
        for at, row in enumerate(rows):
            try:
                nodes_of([row], columns)
            except Exception as error:
                rows[at] = None
                wrong.append((at, reason(error)))
        return nodes_of(rows, columns), wrong


def check_codec(codec):
    try:
        fastavro.writer(io.BytesIO(), 'null', [None], codec=codec)
    except ValueError as error:
        if 'need to install' in str(error):
            raise Missing(error)
        raise NoFit(f"its codec is '{codec}', which fastavro has not")


class File:
    """One that is read, block by block. A block that is damaged is left at the next marker behind its beginning."""

    def __init__(self, file, columns, block):
        self.file, self.records = file, None
        self.size = os.fstat(file.fileno()).st_size
        if file.read(4) != b'Obj\1':
            raise ValueError('it is no file of Avro')
        self.open_blocks()
        begin = file.tell()
        file.seek(begin - MARKER_BYTES)
        self.marker = file.read(MARKER_BYTES)
        check_codec(self.blocks.codec)
        self.columns = Plan(json.loads(self.blocks.metadata['avro.schema'])).columns(columns)
        if block > begin:
            file.seek(block - MARKER_BYTES)
            if file.read(MARKER_BYTES) != self.marker:
                raise NoFit(f'no block begins at byte {block}, where it was read before; it is not the file it was')

    def open_blocks(self, at=None):
        self.file.seek(0)
        self.blocks = fastavro.block_reader(self.file, **TEXTS)
        if at is not None:
            self.file.seek(at)

    def next(self):
        if self.records is None:
            self.begin = self.file.tell()
            if self.begin >= self.size:
                return None
            try:
                self.next_block()
            except Exception as error:  # Whatever fastavro throws at bytes that are no block.
                self.find_marker(self.begin + 1)
                return self.rows([None], reason(error))
        rows, why, more = [], None, True
        begin = self.data.tell()
        try:
            while more and len(rows) < BATCH_ROWS and self.data.tell() - begin < BATCH_BYTES:
                before = len(rows)
                rows.extend(itertools.islice(self.records, 256))
                more = len(rows) - before == 256
        except Exception as error:
            why = f'record {self.given + len(rows) + 1}: {reason(error)}'
        self.given += len(rows)
        if why is None and more:
            return self.rows(rows)
        left = len(self.data.getbuffer()) - self.data.tell()
        if why is None and left > 0:
            why = f'{left} bytes are left behind its last record'
        self.records = self.data = None
        return self.rows(rows if why is None else rows + [None], why)

    def next_block(self):
        block = next(self.blocks, None)
        if block is None:
            raise ValueError('the file ends within a block')
        count, size = block.num_records, len(block.bytes_.getbuffer())
        if not 0 <= count <= max(size, EMPTY_RECORDS):
            raise ValueError(f'a block says that it has {count} records in {size} bytes')
        if block.codec == 'snappy':
            self.check_sum(block.bytes_.getbuffer())
        self.data, self.records, self.given = block.bytes_, iter(block), 0

    def check_sum(self, data):
        """Which fastavro leaves out."""
        self.file.seek(-MARKER_BYTES - 4, os.SEEK_CUR)
        wanted = int.from_bytes(self.file.read(4), 'big')
        self.file.seek(MARKER_BYTES, os.SEEK_CUR)
        if zlib.crc32(data) != wanted:
            raise ValueError('the checksum of a block is not that of its bytes')

    def find_marker(self, at):
        """Goes on behind the next marker, or to the end."""
        before = b''
        self.file.seek(at)
        while piece := self.file.read(1 << 20):
            found = (before + piece).find(self.marker)
            if found >= 0:
                return self.open_blocks(at - len(before) + found + MARKER_BYTES)
            at += len(piece)
            before = (before + piece)[-MARKER_BYTES + 1:]
        self.file.seek(self.size)

    def rows(self, rows, why=None):
        """`why` there is no last one."""
        nodes, wrong = nodes_and_wrong(rows, self.columns)
        wrong = [(at, f'record {self.given - len(rows) + at + 1 + (why is not None)}: {words}') for at, words in wrong]
        if why is not None:
            wrong.append((len(rows) - 1, why))
        return wire.batch(self.begin, f'block at byte {self.begin}', len(rows), nodes, wrong)


def open_file(asked):
    file = open(asked['path'], 'rb')
    try:
        return File(file, asked['columns'], asked['block'])
    except (NoFit, Missing, OSError):
        raise
    except Exception as error:
        return wire.Damaged(asked['columns'], values.nulls, f'its header is damaged: {reason(error)}')


class Messages:
    """Records without a file around them, that are read."""

    def __init__(self, columns):
        plan = Plan(Schema(columns).parsed)
        self.schema, self.columns = plan.schema, plan.columns(columns)

    def read(self, data):
        taker, rows, wrong = wire.Taker(data), [], []
        for at in range(taker.number()):
            message = io.BytesIO(taker.bytes())
            try:
                row = fastavro.schemaless_reader(message, self.schema, None, **TEXTS)
                if left := len(message.getbuffer()) - message.tell():
                    raise ValueError(f"{left} bytes are left behind it: it is of another schema than the table's")
            except Exception as error:
                row = None
                wrong.append((at, reason(error)))
            rows.append(row)
        nodes, more = nodes_and_wrong(rows, self.columns)
        return wire.batch(0, '', len(rows), nodes, sorted(wrong + more))


def rows_of(data, columns):
    taker = wire.Taker(data)
    taker.number()
    names = [name for name, _ in columns]
    return [dict(zip(names, parts)) for parts in zip(*[values.take(taker, want) for _, want in columns])]


class WrittenMessages:
    def __init__(self, asked):
        self.columns, self.schema = asked['columns'], Schema(asked['columns']).parsed

    def write(self, data):
        message = io.BytesIO()
        for row in rows_of(data, self.columns):
            fastavro.schemaless_writer(message, self.schema, row)
        return [message.getvalue()]


class WrittenFiles:
    """One after the other."""

    def __init__(self, asked):
        check_codec(asked['codec'])
        self.columns, self.codec, self.schema = asked['columns'], asked['codec'], Schema(asked['columns']).parsed
        self.writer = None

    def write(self, data):
        if self.writer is None:
            self.target = wire.Bytes()
            self.writer = fastavro.write.Writer(self.target, self.schema, codec=self.codec, sync_interval=SYNC_INTERVAL)
        for row in rows_of(data, self.columns):
            self.writer.write(row)
        return self.target.take()

    def finish(self):
        self.writer.flush()
        self.writer = None
        return self.target.take()
