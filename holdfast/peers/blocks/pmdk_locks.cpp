// Suite pmdk, locks: POSIX as the floor, the standard library, and our latch. Locks of ours lie in
// DRAM, whatever they protect: nothing of them can outlive the process, so nothing has to be
// initialised again after a crash.
#include <pthread.h>

#include <array>
#include <mutex>
#include <shared_mutex>

#include <holdfast/base/spin.hpp>
#include <holdfast/base/thread_annotations.hpp>
#include <holdfast/peers/blocks/pmdk_locks.hpp>

namespace holdfast::bench::blocks {
namespace {

// What each has in common: one lock per thread number, a cache line and more apart.
template <class Lock>
struct DramLocks {
  struct alignas(2 * kCacheLineBytes) Slot {
    Lock lock;
    std::uint64_t counter = 0;
  };
  Status open(const Context&) { return {}; }
  void close() {}
  bool has(const std::string&) const { return true; }
  results::Fields facts(const Context&) const { return {}; }
  std::uint64_t& counter(unsigned number) { return slots[number].counter; }
  Lock& at(unsigned number) { return slots[number].lock; }

  std::array<Slot, kLocksMax> slots;
};

struct PosixPair {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
};
struct PosixLocks : DramLocks<PosixPair> {
  void lock_mutex(unsigned i) { pthread_mutex_lock(&at(i).mutex); }
  void unlock_mutex(unsigned i) { pthread_mutex_unlock(&at(i).mutex); }
  void lock_shared(unsigned i) { pthread_rwlock_rdlock(&at(i).shared); }
  void unlock_shared(unsigned i) { pthread_rwlock_unlock(&at(i).shared); }
  void lock_unique(unsigned i) { pthread_rwlock_wrlock(&at(i).shared); }
  void unlock_unique(unsigned i) { pthread_rwlock_unlock(&at(i).shared); }
};

struct StandardPair {
  std::mutex mutex;
  std::shared_mutex shared;
};
struct StandardLocks : DramLocks<StandardPair> {
  void lock_mutex(unsigned i) { at(i).mutex.lock(); }
  void unlock_mutex(unsigned i) { at(i).mutex.unlock(); }
  void lock_shared(unsigned i) { at(i).shared.lock_shared(); }
  void unlock_shared(unsigned i) { at(i).shared.unlock_shared(); }
  void lock_unique(unsigned i) { at(i).shared.lock(); }
  void unlock_unique(unsigned i) { at(i).shared.unlock(); }
};

// It has one mode, and no queue: for a few instructions only.
struct OurLocks : DramLocks<SpinLatch> {
  bool has(const std::string& operation) const { return operation == "mutex"; }
  results::Fields facts(const Context&) const {
    results::Fields facts;
    facts.set("calls", "SpinLatch");
    return facts;
  }
  // Its holder ends in another function.
  void lock_mutex(unsigned i) HF_NO_THREAD_SAFETY_ANALYSIS { at(i).lock(); }
  void unlock_mutex(unsigned i) HF_NO_THREAD_SAFETY_ANALYSIS { at(i).unlock(); }
  void lock_shared(unsigned) {}
  void unlock_shared(unsigned) {}
  void lock_unique(unsigned) {}
  void unlock_unique(unsigned) {}
};

}  // namespace

std::vector<SubjectEntry> own_lock_entries(const Context& context, const LockShape& shape) {
  return {lock_entry<PosixLocks>("posix", context, shape),
          lock_entry<StandardLocks>("std", context, shape),
          lock_entry<OurLocks>("holdfast", context, shape)};
}

}  // namespace holdfast::bench::blocks
