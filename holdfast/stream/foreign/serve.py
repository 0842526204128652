"""Reads and writes files of Avro and Parquet for streams. Holdfast contains this script and those it imports, starts it as
`python -c`, and asks it over file 3: a byte that says what, eight bytes of length, and so many bytes.

    O  {"format", "path", "columns", "block"}: opens a file, from a block on. Answer K.
    N  the next rows. Answer D: their block, its name, which of them are none and why, how many there are, and a column for
       each of the table's; or Z: there are none.
    S  {"format", "columns"}: messages are to be read. Answer K.
    M  messages. Answer D: as many rows.
    C  {"format", "codec", "columns"}: files are to be written; {"format", "columns"}: messages. Answer K.
    W  rows. Answer B: bytes of the file, or a message.
    F  ends the file. Answer B: its last bytes.

Answer E: {"kind", "text"}: what went wrong. Kinds: missing (a package), fit (the file is no file of the table), io.
wire.py has what all of this is made of.
"""
import importlib
import json
import os
import resource
import signal
import struct

import wire

# What a file can cost: few bytes may say that they are many. After so many seconds of processors for one answer SIGPROF
# ends this process. Holdfast has looked at both.
MEMORY_BYTES = int(os.environ.get('HOLDFAST_PEER_GIB') or 4) << 30
ANSWER_SECONDS = int(os.environ.get('HOLDFAST_PEER_SECONDS') or 60)

source, target = open(3, 'rb', closefd=False), open(3, 'wb', closefd=False)


def limit_memory():
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def answer(kind, *pieces):
    signal.setitimer(signal.ITIMER_PROF, 0)
    target.write(kind + struct.pack('<Q', sum(len(piece) for piece in pieces)))
    for piece in pieces:
        target.write(piece)
    target.flush()


class Room:
    """What was asked for last: a file or messages that are read, and files or messages that are written."""

    def __init__(self):
        self.actions = {b'O': self.open_file, b'N': self.next_rows, b'S': self.start_messages, b'M': self.read_messages,
                        b'C': self.create, b'W': self.write, b'F': self.finish}

    @staticmethod
    def module_of(asked):
        try:
            return importlib.import_module(asked['format'])
        except ImportError as error:
            raise wire.Missing(error)

    def open_file(self, data):
        asked = json.loads(data)
        self.read = self.module_of(asked).open_file(asked)
        answer(b'K')

    def next_rows(self, _):
        rows = self.read.next()
        answer(b'Z') if rows is None else answer(b'D', *rows)

    def start_messages(self, data):
        asked = json.loads(data)
        self.messages = self.module_of(asked).Messages(asked['columns'])
        answer(b'K')

    def read_messages(self, data):
        answer(b'D', *self.messages.read(data))

    def create(self, data):
        asked = json.loads(data)
        module = self.module_of(asked)
        self.written = (module.WrittenFiles if 'codec' in asked else module.WrittenMessages)(asked)
        answer(b'K')

    def write(self, data):
        answer(b'B', *self.written.write(data))

    def finish(self, _):
        answer(b'B', *self.written.finish())


def fail(kind, error):
    answer(b'E', json.dumps({'kind': kind, 'text': wire.reason(error)}).encode())


def serve():
    room = Room()
    while True:
        head = source.read(9)
        if len(head) < 9:
            return
        data = source.read(struct.unpack('<Q', head[1:])[0])
        signal.setitimer(signal.ITIMER_PROF, ANSWER_SECONDS)
        try:
            room.actions[head[:1]](data)
        except wire.Missing as error:
            fail('missing', error)
        except wire.NoFit as error:
            fail('fit', error)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # Whatever the packages throw: Holdfast says it.
            fail('io', error)


signal.signal(signal.SIGINT, signal.SIG_IGN)  # Holdfast ends it.
limit_memory()
try:
    serve()
except (BrokenPipeError, ConnectionResetError):
    pass
