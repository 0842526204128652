"""Parquet for `holdfast olap`, by pyarrow. Embedded into the command, which starts it as:

    python -c THIS read FILE              the rows as CSV to standard output, with a header
    python -c THIS write FILE TYPE,…      the reverse, from standard input

In the CSV each value has quotes, and NULL has none: a line without characters is a row of one column that is NULL. The
header that write gets is a list in JSON. Types are those of SQL. It ends with 3 where pyarrow is missing, with 4 where
nobody reads the rows any more; what else went wrong is said on standard error, in one line.
"""
import json
import os
import sys

sys.path[:] = [path for path in sys.path if path]  # No modules of the current directory.


def fail(code, text):
    print(str(text).splitlines()[0], file=sys.stderr)
    sys.exit(code)


try:
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet
except ImportError as error:
    fail(3, error)


def read(path):
    file = pyarrow.parquet.ParquetFile(path)
    for field in file.schema_arrow:
        if pyarrow.types.is_nested(field.type):
            raise TypeError(f"column '{field.name}' is {field.type}; a column of a star has one value in each "
                            "row: write a file without it, or with its parts as columns")
    schema = pyarrow.schema([(field.name, plain(field.type)) for field in file.schema_arrow])
    options = pyarrow.csv.WriteOptions(include_header=True, quoting_style='all_valid')
    with pyarrow.csv.CSVWriter(sys.stdout.buffer, schema, write_options=options) as writer:
        for batch in file.iter_batches(batch_size=65536):
            columns = [value(field, column) for field, column in zip(file.schema_arrow, batch.columns)]
            writer.write_table(pyarrow.table(columns, names=schema.names))


def value(field, column):
    try:
        return cut(column).cast(plain(field.type))
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"column '{field.name}' ({field.type}): {error}") from error


def cut(column):
    """A time to its millisecond, as the one before it, also before 1970."""
    if pyarrow.types.is_timestamp(column.type) and column.type.unit in ('us', 'ns'):
        return pyarrow.compute.floor_temporal(column, unit='millisecond')
    return column


def plain(kind):
    """A type whose values CSV can have: of dictionaries, their values; of times, milliseconds; of bytes, text."""
    if pyarrow.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pyarrow.types.is_timestamp(kind):
        return pyarrow.timestamp('ms')
    if pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind) or pyarrow.types.is_fixed_size_binary(kind):
        return pyarrow.string()  # Refused where it is none.
    return kind


def type_of(name):
    kind, _, numbers = name.partition('(')
    if kind == 'DECIMAL':
        return pyarrow.decimal128(*(int(number) for number in numbers.rstrip(')').split(';')))
    if kind in ('TINYINT', 'SMALLINT', 'INT', 'BIGINT'):
        return pyarrow.int64()
    return {'BOOLEAN': pyarrow.bool_(), 'DOUBLE': pyarrow.float64(), 'FLOAT': pyarrow.float32(), 'DATE': pyarrow.date32(),
            'TIMESTAMP': pyarrow.timestamp('ms')}.get(kind, pyarrow.string())


def write(path, types):
    kinds = [type_of(name) for name in types.split(',')]
    names = [str(number) for number in range(len(kinds))]
    header = json.loads(sys.stdin.buffer.readline())
    with pyarrow.parquet.ParquetWriter(path, pyarrow.schema(zip(header, kinds))) as writer:
        if not any_rows():
            return
        batches = pyarrow.csv.open_csv(
            sys.stdin.buffer, read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=32 << 20),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict(zip(names, kinds)), strings_can_be_null=True, quoted_strings_can_be_null=False,
                null_values=[''], true_values=['true'], false_values=['false']))
        for batch in batches:
            writer.write_table(pyarrow.Table.from_batches([batch]).rename_columns(header))


def any_rows():
    return len(sys.stdin.buffer.peek(1)) > 0


try:
    if sys.argv[1] == 'read':
        read(sys.argv[2])
    else:
        write(sys.argv[2], sys.argv[3])
except BrokenPipeError:
    os._exit(4)  # At once: what is left has no place to go to.
except Exception as error:  # Whatever pyarrow throws: the command says it.
    fail(1, error)
sys.stdout.flush()
os._exit(0)  # All is written. Threads of pyarrow that read ahead can end Python badly behind its work.
