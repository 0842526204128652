"""What a command does to the files below a directory: its system calls, as strace sees them, in order."""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CALLS = ('open,openat,creat,write,pwrite64,writev,pwritev,pwritev2,lseek,fsync,fdatasync,sync,syncfs,sync_file_range,rename,renameat,renameat2,'
         'unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,ftruncate,fallocate,copy_file_range,sendfile,splice,mmap,'
         'io_uring_setup')


@dataclasses.dataclass
class Call:
    """One call that succeeded. Paths are absolute. `data`: what was written, `at`: where; None: where the file stands."""
    name: str
    begin: float
    end: float
    path: str = ''
    to: str = ''
    fd: int = -1
    data: bytes = b''
    at: int | None = None
    flags: str = ''


def usable():
    """Why no process can be traced here, or ''."""
    try:
        traced = subprocess.run(['strace', '-o', '/dev/null', 'true'], capture_output=True, text=True)
    except FileNotFoundError:
        return 'strace is not installed'
    return '' if traced.returncode == 0 else f'strace cannot trace here: {traced.stderr.strip()}'


def record(command, root, **options):
    """Runs the command. Returns its CompletedProcess, and the calls that concern `root` or its standard output, by their begin."""
    with tempfile.TemporaryDirectory(prefix='holdfast_trace_') as place:
        done = subprocess.run(['strace', '-ff', '-ttt', '-T', '-y', '-xx', '-s', str(1 << 26), '-e', f'trace={CALLS}', '-o', f'{place}/t', *command],
                              capture_output=True, **options)
        calls = []
        for file in pathlib.Path(place).iterdir():
            for line in file.read_text().splitlines():
                call = parse(line)
                if call and concerns(call, str(root)):
                    calls.append(call)
    return done, sorted(calls, key=lambda call: call.begin)


def concerns(call, root):
    return call.fd == 1 or any(path == root or path.startswith(root + '/') for path in (call.path, call.to)) or call.name == 'sync'


HEX = r'(?:\\x[0-9a-f]{2})*'
LINE = re.compile(r'^([0-9.]+) (\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<(' + HEX + r')>)?.* <([0-9.]+)>$')
DIRECTORY = re.compile(r'(?:AT_FDCWD|\d+)<(' + HEX + r')>, "(' + HEX + r')"')
PLAIN = re.compile(r'"(' + HEX + r')"')
DESCRIPTOR = re.compile(r'(\d+)<(' + HEX + r')>')


def text(hexadecimal):
    return bytes.fromhex(hexadecimal.replace('\\x', ''))


def path_of(hexadecimal):
    return os.fsdecode(text(hexadecimal))


def paths(arguments):
    """The paths that a call names, by a directory and a name or by a path."""
    pairs = DIRECTORY.findall(arguments)
    if pairs:
        return [os.path.normpath(os.path.join(path_of(directory), path_of(name))) for directory, name in pairs]
    return [os.path.abspath(path_of(name)) for name in PLAIN.findall(arguments)]


def parse(line):
    found = LINE.match(line)
    if not found:
        return None  # A signal, the end, or a call that failed: it changed nothing.
    begin, name, arguments, result, opened, took = found.groups()
    value = int(result, 0)
    if value < 0:
        return None
    call = Call(name, float(begin), float(begin) + float(took))
    if name in ('open', 'openat', 'creat'):
        call.path, call.fd, call.flags = path_of(opened), value, 'O_CREAT|O_TRUNC|O_WRONLY' if name == 'creat' else arguments
        return call
    if name in ('rename', 'renameat', 'renameat2', 'link', 'linkat', 'symlink', 'symlinkat'):
        call.path, call.to = paths(arguments)[:2]
        call.flags = arguments.rsplit(', ', 1)[-1]
        return call
    if name in ('unlink', 'unlinkat', 'mkdir', 'mkdirat', 'rmdir', 'truncate'):
        call.path = paths(arguments)[0]
        call.flags = arguments.rsplit(', ', 1)[-1]
    if name == 'mmap':  # Only what is stored through a mapping would be missed.
        file = DESCRIPTOR.search(arguments)
        if not file or 'MAP_SHARED' not in arguments or 'PROT_WRITE' not in arguments:
            return None
        call.path = path_of(file[2])
        return call
    file = DESCRIPTOR.match(arguments)
    if file and not call.path:
        call.fd, call.path = int(file[1]), path_of(file[2])
    last = arguments.rsplit(', ', 2)
    if name in ('write', 'writev', 'pwrite64', 'pwritev', 'pwritev2'):
        call.data = b''.join(text(piece) for piece in PLAIN.findall(arguments))[:value]
        if name != 'write' and name != 'writev':
            call.at = int(last[-2 if name == 'pwritev2' else -1])
    elif name in ('ftruncate', 'truncate'):
        call.at = int(last[-1])
    elif name == 'lseek':
        call.at = value
    elif name == 'fallocate':
        call.flags, call.at = arguments.split(', ')[1], int(last[-1]) + int(last[-2])
    elif name in ('copy_file_range', 'sendfile', 'splice'):
        target = DESCRIPTOR.findall(arguments)[1 if name != 'sendfile' else 0]
        call.fd, call.path = int(target[0]), path_of(target[1])
    return call


if __name__ == '__main__':
    for each in record(sys.argv[2:], os.path.abspath(sys.argv[1]))[1]:
        print(each)
