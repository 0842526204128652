"""What a power failure may leave of the files below a directory, by what was written and synced until then.

A file    what was written to it before its last fsync or fdatasync, and of what was written behind it any part: none, the first
          writes, the last of them torn between two words, some writes without others, or only the new length, and zeros
A name    creating, renaming and removing are lasting when the directory was synced; of what was done in it since, the first steps
          may be (file systems with a journal keep their order). To sync a file does not make its name lasting. A rename into
          another directory is there wholly or not at all
Not here  damage; a file system that breaks these rules; stores through a shared mapping, which are refused
"""
import hashlib
import os
import pathlib
import shutil

NEVER = float('inf')
WORD = 8  # Aligned words are never torn, as in the crash checker's model of page media.


class Step:
    """One change of a file or directory: it happened at `at`, and is lasting from `lasting` on."""

    def __init__(self, at, *what):
        self.at, self.what, self.lasting = at, what, NEVER


class File:
    def __init__(self, content=b''):
        self.start, self.steps, self.now = content, [], bytearray(content)

    def add(self, step):
        self.steps.append(step)
        apply(self.now, step)

    def after(self, steps):
        content = bytearray(self.start)
        for step in steps:
            apply(content, step)
        return bytes(content)


def apply(content, step):
    kind, *rest = step.what
    if kind == 'length':
        length = rest[0]
        del content[length:]
        content.extend(bytes(length - len(content)))
    else:
        at, data = rest
        content.extend(bytes(max(0, at + len(data) - len(content))))
        content[at:at + len(data)] = data


class Directory:
    def __init__(self, names=()):
        self.start, self.steps, self.now = dict(names), [], dict(names)

    def add(self, step):
        self.steps.append(step)
        self.apply(self.now, step)

    def apply(self, names, step):
        for name, entry in step.what[0 if step.what[1] is self else 2].items():
            names.pop(name, None)
            if entry is not None:
                names[name] = entry

    def after(self, steps):
        names = dict(self.start)
        for step in steps:
            self.apply(names, step)
        return names


def read(path):
    """What is there before the first step, all of it lasting."""
    if path.is_dir():
        return Directory({each.name: read(each) for each in path.iterdir()})
    return File(path.read_bytes())


class History:
    """The states below `root`, from what it was (`start`, of read()) and the calls of strace.record(). `without`: files or
    directories, whose syncs are taken for nothing."""

    def __init__(self, root, start, calls, without=None):
        self.unsynced = {'files': File, 'directories': Directory}.get(without, ())
        self.root, self.top, self.moments, self.said = str(root), start, [0], []
        self.places, self.count = {}, 0
        self.syncs = []  # They begin, others go on, they end: (end, what, steps that are lasting then).
        for call in calls:
            self.end_syncs(call.begin)
            self.count += 1
            self.take(call)
        self.end_syncs(NEVER)
        self.count += 1
        self.moments.append(self.count)

    # ---- Reading the calls ----

    def find(self, path):
        entry = self.top
        for name in pathlib.PurePath(path).relative_to(self.root).parts:
            entry = entry.now.get(name) if isinstance(entry, Directory) else None
        return entry

    def parent(self, path):
        return self.find(os.path.dirname(path)), os.path.basename(path)

    def end_syncs(self, until):
        for sync in [each for each in self.syncs if each[0] <= until]:
            self.syncs.remove(sync)
            self.count += 1
            self.moments += [self.count - 1, self.count]  # Just before it is lasting, and after.
            for step in sync[1]:
                step.lasting = min(step.lasting, self.count)

    def rename(self, path, to):
        (source, old), (target, new) = self.parent(path), self.parent(to)
        entry = source.now[old]
        if source is target:
            self.name(source, {old: None, new: entry})
        else:
            step = Step(self.count, {old: None}, source, {new: entry}, target)
            source.add(step)
            target.add(step)
        self.moments.append(self.count)

    def name(self, directory, names):
        directory.add(Step(self.count, names, directory))

    def take(self, call):
        name = call.name
        if call.fd == 1 and name.startswith('write'):
            self.said.append((self.count, call.data))
            self.moments.append(self.count)
        elif name in ('open', 'openat', 'creat'):
            self.open(call)
        elif name in ('rename', 'renameat', 'renameat2'):
            assert 'EXCHANGE' not in call.flags, call
            if call.path != call.to:
                self.rename(call.path, call.to)
        elif name in ('unlink', 'unlinkat', 'rmdir'):
            directory, last = self.parent(call.path)
            self.name(directory, {last: None})
            self.moments.append(self.count)
        elif name in ('mkdir', 'mkdirat'):
            directory, last = self.parent(call.path)
            self.name(directory, {last: Directory()})
        elif name in ('link', 'linkat'):
            directory, last = self.parent(call.to)
            self.name(directory, {last: self.find(call.path)})
        elif name in ('fsync', 'fdatasync', 'syncfs', 'sync'):
            self.sync(call)
        elif name in ('write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'ftruncate', 'truncate', 'lseek', 'fallocate'):
            self.write(call)
        else:
            assert name == 'sync_file_range', f'{call}: what this leaves is not known'

    def open(self, call):
        entry = self.find(call.path)
        if entry is None and 'O_CREAT' in call.flags:
            directory, last = self.parent(call.path)
            entry = File()
            self.name(directory, {last: entry})
        if isinstance(entry, File) and 'O_TRUNC' in call.flags and entry.now:
            entry.add(Step(self.count, 'length', 0))
        assert 'O_SYNC' not in call.flags and 'O_DSYNC' not in call.flags and 'O_TMPFILE' not in call.flags, call
        self.places[call.fd] = [entry, 0, 'O_APPEND' in call.flags]

    def sync(self, call):
        if call.name in ('sync', 'syncfs'):
            steps, left = [], [self.top]
            while left:
                entry = left.pop()
                steps += entry.steps
                left += entry.now.values() if isinstance(entry, Directory) else []
        else:
            entry = self.places[call.fd][0] if call.fd in self.places else self.find(call.path)
            steps = list(entry.steps) if entry is not None and not isinstance(entry, self.unsynced) else []
        self.syncs.append((call.end, steps))

    def write(self, call):
        place = self.places.get(call.fd) if call.fd >= 0 else [self.find(call.path), 0, False]
        if place is None or place[0] is None:
            return  # Of a file that has no name any more.
        entry = place[0]
        if call.name == 'lseek':
            place[1] = call.at
        elif call.name in ('ftruncate', 'truncate', 'fallocate'):
            length = call.at
            if call.name == 'fallocate':
                assert call.flags in ('0', 'FALLOC_FL_KEEP_SIZE'), call
                length = max(length, len(entry.now)) if call.flags == '0' else len(entry.now)
            if length != len(entry.now):
                entry.add(Step(self.count, 'length', length))
        else:
            at = call.at
            if at is None:
                at = len(entry.now) if place[2] else place[1]
                place[1] = at + len(call.data)
            entry.add(Step(self.count, 'data', at, call.data))

    # ---- States ----

    def state(self, moment, choose):
        """What is there after a power failure at this moment: {path: bytes, or None for a directory}. `choose(entry, steps, first)`
        gives what is kept of the steps, of which those before `first` are lasting."""
        kept = {}

        def chosen(entry):
            if id(entry) not in kept:
                steps = [step for step in entry.steps if step.at < moment]
                first = len(steps)
                while first > 0 and steps[first - 1].lasting > moment:
                    first -= 1
                kept[id(entry)] = choose(entry, steps, first)
            return kept[id(entry)]

        def names(directory):
            """A move between directories counts if both have it; if one of the two has synced, both do."""
            steps = []
            for step in chosen(directory):
                if len(step.what) == 4 and step.lasting > moment:
                    other = step.what[3 if step.what[1] is directory else 1]
                    if step not in chosen(other):
                        continue
                steps.append(step)
            return directory.after(steps)

        found = {}

        def walk(directory, path):
            for name, entry in names(directory).items():
                if isinstance(entry, Directory):
                    found[f'{path}{name}'] = None
                    walk(entry, f'{path}{name}/')
                else:
                    steps = chosen(entry)
                    found[f'{path}{name}'] = steps if isinstance(steps, bytes) else entry.after(steps)

        walk(self.top, '')
        return found

    def said_by(self, moment):
        """What was on standard output by then."""
        return b''.join(data for at, data in self.said if at < moment)

    def states(self, rand, count):
        """Different states by chance, at most `count`: (moment, state). At some moments nothing is kept that need not be, at some
        everything is, at most some of it."""
        seen, found = set(), []
        moments = sorted(set(self.moments))
        for turn in range(4 * count):
            moment = rand.choice(moments)
            choose = (none, all_of_it)[turn % 8] if turn % 8 < 2 else lambda entry, steps, first: by_chance(rand, entry, steps, first)
            state = self.state(moment, choose)
            known = digest(state), self.said_by(moment)
            if known not in seen and len(found) < count:
                seen.add(known)
                found.append((moment, state))
        return found


def digest(state):
    hashed = hashlib.sha256()
    for path, content in sorted(state.items()):
        hashed.update(f'{path} {-1 if content is None else len(content)}\n'.encode())
        hashed.update(content or b'')
    return hashed.digest()


def none(entry, steps, first):
    return steps[:first]


def all_of_it(entry, steps, first):
    return steps


def by_chance(rand, entry, steps, first):
    how = rand.randrange(5)
    kept = rand.randrange(first, len(steps) + 1)
    if isinstance(entry, Directory) or kept == len(steps) or how == 0:
        return steps[:kept]
    if how == 1:  # Some of them, in whatever order they came to the medium.
        return steps[:first] + [step for step in steps[first:] if rand.random() < 0.5]
    content = bytearray(entry.after(steps[:kept]))
    step = steps[kept]
    if step.what[0] == 'length':
        return bytes(content)
    at, data = step.what[1:]
    torn = max(0, (at + rand.randrange(len(data) + 1)) // WORD * WORD - at)
    apply(content, Step(step.at, 'data', at, data[:torn]))
    if how == 2:
        apply(content, Step(step.at, 'length', max(len(content), at + len(data))))
    return bytes(content)


def make(state, root):
    """`root` holds this state and nothing else."""
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    for path, content in sorted(state.items()):
        if content is None:
            os.makedirs(f'{root}/{path}', exist_ok=True)
        else:
            pathlib.Path(f'{root}/{path}').write_bytes(content)


def explain(state):
    return ', '.join(f'{path}{"/" if content is None else f" ({len(content):,} bytes)"}' for path, content in sorted(state.items()))
