#include <holdfast/kv/background_pool.hpp>

#include <pthread.h>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/crew.hpp>
#include <holdfast/kv/workers.hpp>

namespace holdfast::kv {
namespace {

// They wait for disks, which take several syncs at a time, and not for a CPU.
constexpr unsigned kSyncThreads = 4;

struct OfProcess {
  KernelMutex mutex;
  std::weak_ptr<BackgroundPool> pool HF_GUARDED_BY(mutex);
};
OfProcess& of_process_pool() {
  static OfProcess& own = []() -> OfProcess& {
    // Locked while it forks, so that the child does not find the lock taken for ever.
    ::pthread_atfork([]() HF_NO_THREAD_SAFETY_ANALYSIS { of_process_pool().mutex.lock(); },
                     []() HF_NO_THREAD_SAFETY_ANALYSIS { of_process_pool().mutex.unlock(); },
                     []() HF_NO_THREAD_SAFETY_ANALYSIS { of_process_pool().mutex.unlock(); });
    return *new OfProcess;  // Never destroyed: stores may be opened after main() has ended.
  }();
  return own;
}

}  // namespace

BackgroundPool::BackgroundPool(unsigned threads)
    : upkeep_(std::make_unique<Crew>(worker_count(threads))),
      syncs_(std::make_unique<Crew>(kSyncThreads)) {}

BackgroundPool::~BackgroundPool() = default;

std::shared_ptr<BackgroundPool> BackgroundPool::of_process() {
  OfProcess& own = of_process_pool();
  const Lock lock(own.mutex);
  auto pool = own.pool.lock();
  if (pool == nullptr || pool->upkeep_->of_another_process()) {
    pool = std::make_shared<BackgroundPool>();
    own.pool = pool;
  }
  return pool;
}

unsigned BackgroundPool::threads() const { return upkeep_->threads() + syncs_->threads(); }

}  // namespace holdfast::kv
