"""clang finds a guarded member that is used without its mutex: base/thread_annotations.hpp and the guards do work.

    thread_safety_test.py [COMPILER]      default: clang++-19; exit code 77 where there is none

The clang presets build everything with the flags of cmake/HoldfastLayer.cmake, so that a violation in the library stops
their build; of CI that is ./run check tsan and asan_units. This test takes the flags from there, and shows with sources
of the library that they find each lock that is missing.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = sys.argv[1] if len(sys.argv) > 1 else 'clang++-19'

PROGRAM = '''
#include <holdfast/base/condition.hpp>
#include <holdfast/base/mutex.hpp>
using namespace holdfast;

class Counter {
 public:
  int under_lock() { const Lock lock(mutex_); return ++count_; }
  int waited() {
    UniqueLock lock(mutex_);
    while (count_ == 0) changed_.wait(mutex_);
    lock.unlock();
    lock.lock();
    return count_;
  }
  int shared() { const SharedLock lock(shared_); return behind_shared_; }
  int locked() HF_REQUIRES(mutex_) { return ++count_; }
  int adopted() {
    if (!mutex_.try_lock()) return 0;
    const Lock lock(mutex_, kAdoptLock);
    return locked();
  }
  int latched() { const Lock lock(latch_); return ++latched_; }
  %s

 private:
  KernelMutex mutex_;
  SharedMutex shared_;
  SpinLatch latch_;
  Condition changed_;
  int count_ HF_GUARDED_BY(mutex_) = 0;
  int behind_shared_ HF_GUARDED_BY(shared_) = 0;
  int latched_ HF_GUARDED_BY(latch_) = 0;
};
'''
WRONG = {
    'a guarded member without its mutex': 'int wrong() { return ++count_; }',
    'a function that requires the mutex': 'int wrong() { return locked(); }',
    'after the guard gave it up': 'int wrong() { UniqueLock lock(mutex_); lock.unlock(); return count_; }',
    'a write beside other readers': 'int wrong() { const SharedLock lock(shared_); return ++behind_shared_; }',
    'a latched member without its latch': 'int wrong() { return ++latched_; }',
    'a lock that is not given back': 'void wrong() { mutex_.lock(); }',
    'a wait without the mutex': 'void wrong() { changed_.wait(mutex_); }',
}
# Of several layers: each of their locks guards what says so. (clang does not look into constructors and destructors.)
SOURCES = ('blocks/log/space.cpp', 'blocks/page/page_store.cpp', 'index/table.cpp', 'kv/displaced.cpp', 'olap/mart/mart_store.cpp',
           'bench/kv/steady.cpp')
LOCK = re.compile(r'^( *)const (Shared)?Lock \w+\([^;]*\);( *//.*)?$')


def flags_of_presets():
    text = (ROOT / 'cmake' / 'HoldfastLayer.cmake').read_text()
    return re.search(r'CXX_COMPILER_ID:Clang>:(.*?)>\)', text)[1].split()


def complaints(text, flags=()):
    """(line, words) of all that clang finds wrong with the locks of this source, from 0."""
    result = subprocess.run([COMPILER, '-std=c++20', '-fsyntax-only', '-ferror-limit=0', *flags_of_presets(), '-I', str(ROOT),
                             *flags, '-x', 'c++', '-'], input=text, text=True, capture_output=True)
    found = re.findall(r'^(?:<stdin>|[^:\n]+):(\d+):\d+: error: (.*)$', result.stderr, re.M)
    if any('thread-safety' not in words for _, words in found) or (result.returncode != 0) != bool(found):
        sys.exit(result.stderr)
    return [(int(line) - 1, words) for line, words in found]


def refused(member, flags):
    return bool(complaints(PROGRAM % member, flags))


def end_of_block(lines, at):
    """The line of the brace that closes the block of line `at`: the first one that stands farther left."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    return next(i for i in range(at + 1, len(lines)) if lines[i].strip() and len(lines[i]) - len(lines[i].lstrip()) < indent)


def not_missed(name):
    """Locks of a source of the library without which it is not refused."""
    lines = (ROOT / 'holdfast' / name).read_text().split('\n')
    if wrong := complaints('\n'.join(lines)):
        return [f'{name}: {words}' for _, words in wrong]
    locks = [i for i, line in enumerate(lines) if LOCK.match(line)]
    if not locks:
        return [f'{name}: it has no locks']
    wrong = [line for line, _ in complaints('\n'.join('' if i in locks else line for i, line in enumerate(lines)))]
    return [f'{name}:{lock + 1}: not missed: {lines[lock].strip()}' for lock in locks
            if not any(lock < line <= end_of_block(lines, lock) for line in wrong)]


def main():
    if shutil.which(COMPILER) is None:
        print(f'{COMPILER} is not installed')
        sys.exit(77)
    failed = []
    for build, flags in {'normal': [], 'traced': ['-DHF_TRACED=1']}.items():
        if refused('', flags):
            failed.append(f'{build} build: correct locking is refused')
        failed += [f'{build} build: not found: {what}' for what, member in WRONG.items() if not refused(member, flags)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed += sum(pool.map(not_missed, SOURCES), [])
    for line in failed:
        print(line)
    print(f'{len(WRONG)} kinds of mistakes, and the locks of {len(SOURCES)} sources: {len(failed)} not found')
    sys.exit(1 if failed else 0)


main()
