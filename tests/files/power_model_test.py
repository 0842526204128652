"""What power.py says that a power failure may leave, on histories of a few calls."""
import random

import power
from strace import Call, parse


def history(*calls, start=None, without=None):
    """One call each second. A sync takes half of one."""
    made = []
    for second, (name, path, *rest) in enumerate(calls):
        more = rest[0] if rest else {}
        lasts = 0.5 if 'sync' in name else 0.1
        made.append(Call(name, second, second + lasts, '/r' if path == '' else f'/r/{path}', **more))
    return power.History('/r', power.Directory(start or {}), made, without)


def left(made, moment=None):
    """All that may be left at the end, or at a moment, as {path: content} in one line each."""
    found = set()
    for seed in range(300):
        rand = random.Random(seed)
        choose = (power.none, power.all_of_it, lambda entry, steps, first: power.by_chance(rand, entry, steps, first))[min(seed, 2)]
        state = made.state(made.count if moment is None else moment, choose)
        found.add(' '.join(f'{path}={"/" if content is None else content.decode()}' for path, content in sorted(state.items())))
    return found


def create(name, fd=3):
    return 'openat', name, {'fd': fd, 'flags': 'O_WRONLY|O_CREAT'}


def write(name, data, fd=3, at=None):
    return 'write' if at is None else 'pwrite64', name, {'fd': fd, 'data': data, 'at': at}


def sync(name, fd=3):
    return 'fsync', name, {'fd': fd}


def test_a_file_is_there_when_its_directory_was_synced_and_its_bytes_when_it_was():
    only_file = history(create('a'), write('a', b'x'), sync('a'))
    assert left(only_file) == {'', 'a=x'}
    both = history(create('a'), write('a', b'x'), sync('a'), sync('', 4))
    assert left(both) == {'a=x'}
    only_directory = history(create('a'), write('a', b'x'), sync('', 4))
    assert left(only_directory) == {'a=', 'a=x', 'a=\0'}


def test_until_a_sync_has_ended_nothing_is_certain():
    made = history(create('a'), write('a', b'x'), sync('a'), sync('', 4))
    assert '' in left(made, made.count - 2) and left(made) == {'a=x'}


def test_a_rename_leaves_the_old_file_or_the_new_one_whole():
    start = {'a': power.File(b'old')}
    careful = history(create('b'), write('b', b'new'), sync('b'), ('rename', 'b', {'to': '/r/a'}), start=start)
    assert left(careful) == {'a=old', 'a=old b=new', 'a=new'}
    hasty = history(create('b'), write('b', b'new'), ('rename', 'b', {'to': '/r/a'}), start=start)
    assert 'a=' in left(hasty)
    assert left(history(create('b'), write('b', b'new'), sync('b'), ('rename', 'b', {'to': '/r/a'}), sync('', 4), start=start)) == {'a=new'}


def test_names_of_a_directory_come_in_order_and_bytes_do_not():
    names = history(create('a'), create('b', 4))
    assert left(names) == {'', 'a=', 'a= b='}
    word, other = b'12345678', b'abcdefgh'
    made = history(('openat', 'a', {'fd': 3, 'flags': 'O_RDWR'}), write('a', word, at=0), write('a', other, at=8), start={'a': power.File(b'-' * 16)})
    assert left(made) == {'a=' + a + b for a in ('-' * 8, '12345678') for b in ('-' * 8, 'abcdefgh')}


def test_words_are_not_torn():
    made = history(('openat', 'a', {'fd': 3, 'flags': 'O_RDWR'}), write('a', b'x' * 24, at=4), start={'a': power.File(b'-' * 32)})
    cuts = {state.count('x') for state in left(made)}
    assert cuts == {0, 4, 12, 20, 24}, cuts  # Its first word begins at byte 4.


def test_a_move_to_another_directory_is_there_wholly_or_not_at_all():
    start = {'d': power.Directory(), 'a': power.File(b'x')}
    made = history(('rename', 'a', {'to': '/r/d/a'}), start=start)
    assert left(made) == {'a=x d=/', 'd=/ d/a=x'}
    for directory in ('', 'd'):
        assert left(history(('rename', 'a', {'to': '/r/d/a'}), sync(directory, 4), start=start)) == {'d=/ d/a=x'}


def test_what_was_removed_may_be_there_until_its_directory_is_synced():
    start = {'a': power.File(b'x')}
    assert left(history(('unlink', 'a'), start=start)) == {'', 'a=x'}
    assert left(history(('unlink', 'a'), sync('', 4), start=start)) == {''}


def test_syncs_that_are_taken_for_nothing():
    calls = create('a'), write('a', b'x'), sync('a'), sync('', 4)
    assert left(history(*calls, without='files')) == {'a=', 'a=x', 'a=\0'}
    assert left(history(*calls, without='directories')) == {'', 'a=x'}


def test_what_strace_writes_is_read():
    word = ''.join(f'\\x{byte:02x}' for byte in b'ab')
    path = ''.join(f'\\x{byte:02x}' for byte in b'/r/d')
    call = parse(f'1.5 pwrite64(3<{path}>, "{word}", 2, 7) = 2 <0.25>')
    assert (call.name, call.path, call.fd, call.data, call.at, call.begin, call.end) == ('pwrite64', '/r/d', 3, b'ab', 7, 1.5, 1.75)
    call = parse(f'1.5 renameat(3<{path}>, "{word}", 4<{path}>, "{word}") = 0 <0.25>')
    assert (call.path, call.to) == ('/r/d/ab', '/r/d/ab')
    call = parse(f'1.5 unlinkat(3<{path}>, "{word}", 0) = 0 <0.25>')
    assert call.path == '/r/d/ab'
    call = parse(f'1.5 writev(1<{path}>, [{{iov_base="{word}", iov_len=2}}, {{iov_base="{word}", iov_len=2}}], 2) = 3 <0.25>')
    assert call.data == b'aba', 'as much as was written'
    assert parse(f'1.5 fsync(3<{path}>) = -1 EIO (Input/output error) <0.25>') is None
    assert parse('1.5 +++ exited with 0 +++') is None


if __name__ == '__main__':
    for name, test in list(globals().items()):
        if name.startswith('test_'):
            test()
    print('as it should be')
