"""clang finds a guarded member that is used without its mutex: base/thread_annotations.hpp and the guards do work.

    thread_safety_test.py [COMPILER]      default: clang++-19; exit code 77 where there is none

The clang presets build everything with the same flags, so that a violation in the library stops their build.
"""
import pathlib
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


def refused(member, flags):
    result = subprocess.run(
        [COMPILER, '-std=c++20', '-fsyntax-only', '-Wthread-safety', '-Werror=thread-safety', '-I', str(ROOT), *flags,
         '-x', 'c++', '-'], input=PROGRAM % member, text=True, capture_output=True)
    if result.returncode != 0 and 'thread-safety' not in result.stderr:
        sys.exit(result.stderr)
    return result.returncode != 0


def main():
    if shutil.which(COMPILER) is None:
        print(f'{COMPILER} is not installed')
        sys.exit(77)
    failed = []
    for build, flags in {'normal': [], 'traced': ['-DHF_TRACED=1']}.items():
        if refused('', flags):
            failed.append(f'{build} build: correct locking is refused')
        failed += [f'{build} build: not found: {what}' for what, member in WRONG.items() if not refused(member, flags)]
    for line in failed:
        print(line)
    print(f'{len(WRONG)} kinds of mistakes, {len(failed)} not found')
    sys.exit(1 if failed else 0)


main()
