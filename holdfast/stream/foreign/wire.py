"""What the process of Python and Holdfast say to each other: whole numbers of 8 bytes, texts behind their length, and
columns as holdfast/stream/foreign/columns.hpp describes them."""
import struct


class NoFit(ValueError):
    """The file is no file of the table."""


class Missing(ValueError):
    """A package that is not installed."""


def number(value):
    return struct.pack('<Q', value)


def text(value):
    value = value.encode(errors='backslashreplace') if isinstance(value, str) else bytes(value)
    return number(len(value)) + value


def name_of(want):
    """A type of the table, as SQL has it."""
    kind = want[0]
    if kind == 'DECIMAL':
        return f'DECIMAL({want[1]}, {want[2]})'
    if kind in ('ARRAY', 'MAP'):
        return f'{kind}<{", ".join(name_of(part) for part in want[1:])}>'
    if kind == 'ROW':
        return 'ROW<' + ', '.join(f'{name} {name_of(part)}' for name, part in want[1]) + '>'
    return 'TIMESTAMP(3)' if kind == 'TIMESTAMP' else kind


def reason(error):
    """What went wrong, on one line."""
    if isinstance(error, MemoryError):
        return 'it takes more memory than the process of Python may have (HOLDFAST_PEER_GIB)'
    lines = str(error).splitlines()
    plain = isinstance(error, (ValueError, OSError, EOFError)) and lines and lines[0]
    return lines[0] if plain else ': '.join([type(error).__name__] + lines[:1])


def batch(block, place, rows, nodes, wrong=()):
    """Rows of a block of a file. `wrong`: pairs of a row's number and why there is none."""
    errors = [number(row) + text(why) for row, why in wrong]
    return [number(block), text(place), number(len(errors)), *errors, number(rows), *nodes]


class Damaged:
    """A file of which nothing can be read: one row that is none."""

    def __init__(self, columns, nulls, why):
        self.left = [batch(0, 'the header', 1, [piece for _, want in columns for piece in nulls(1, want)], [(0, why)])]

    def next(self):
        return self.left.pop() if self.left else None


class Taker:
    """Takes pieces off the front of bytes."""

    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def number(self):
        self.at += 8
        return struct.unpack_from('<Q', self.data, self.at - 8)[0]

    def bytes(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at]


class Bytes:
    """A file in memory, that is only written."""

    def __init__(self):
        self.pieces, self.written, self.closed = [], 0, False

    def write(self, piece):
        self.pieces.append(bytes(piece))
        self.written += len(self.pieces[-1])
        return len(self.pieces[-1])

    def tell(self):
        return self.written

    def seekable(self):
        return False

    def flush(self):
        pass

    def close(self):
        self.closed = True

    def take(self):
        taken, self.pieces = self.pieces, []
        return taken
