#include <holdfast/base/epoch.hpp>

#include <algorithm>
#include <new>

#include <holdfast/base/lock.hpp>
#include <holdfast/base/spin.hpp>

namespace holdfast {
namespace {

// Objects that can be retired after the system has no memory any more: their owner has unlinked
// them by then, and could not keep them.
constexpr std::size_t kRoom = 64;

}  // namespace

EpochDomain::~EpochDomain() {
  HF_CHECK(collect() == 0);
  for (Slot* slot = slots_.load(std::memory_order_acquire); slot != nullptr;) {
    HF_CHECK(!slot->taken.load(std::memory_order_acquire));
    delete std::exchange(slot, slot->next);
  }
}

EpochDomain::Participant EpochDomain::join() {
  for (Slot* slot = slots_.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    bool taken = slot->taken.load(std::memory_order_relaxed);
    if (!taken && slot->taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) {
      return Participant(slot);
    }
  }
  {
    const Lock lock(retired_mutex_);
    retired_.reserve(kRoom);
  }
  auto* slot = new Slot;
  slot->domain = this;
  slot->next = slots_.load(std::memory_order_relaxed);
  while (!slots_.compare_exchange_weak(slot->next, slot, std::memory_order_acq_rel)) {
  }
  return Participant(slot);
}

// The two loads that follow a heavy fence. ThreadSanitizer does not model fences: there they write,
// so that a later reader acquires the stores that unlinked the object.
EpochDomain::Slot* EpochDomain::first_slot() {
#ifdef HF_TSAN
  return slots_.fetch_add(0, std::memory_order_seq_cst);
#else
  return slots_.load(std::memory_order_acquire);
#endif
}

std::uint64_t EpochDomain::observe(Slot& slot) {
#ifdef HF_TSAN
  return slot.epoch.fetch_add(0, std::memory_order_seq_cst);
#else
  return slot.epoch.load(std::memory_order_acquire);
#endif
}

// kIdle if there is none.
std::uint64_t EpochDomain::oldest_guard() {
  std::uint64_t oldest = kIdle;
  for (Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
    oldest = std::min(oldest, observe(*slot));
  }
  return oldest == kIdle ? kIdle : oldest & ~kWrites;
}

void EpochDomain::retire(void* object, Deleter deleter) {
  bool full;
  {
    const Lock lock(retired_mutex_);
    retired_.push_back({object, deleter, epoch_.fetch_add(kStep, std::memory_order_acq_rel)});
    full = retired_.size() >= collect_at_;
  }
  try {
    {
      const Lock lock(retired_mutex_);
      if (retired_.capacity() - retired_.size() < kRoom) retired_.reserve(2 * retired_.capacity());
    }
    if (full && collecting_.try_lock()) {
      const Lock lock(collecting_, kAdoptLock);
      collect_locked();
    }
  } catch (const std::bad_alloc&) {  // The object is retired. A later call does the rest.
  }
}

std::size_t EpochDomain::collect() {
  const Lock lock(collecting_);
  return collect_locked();
}

std::size_t EpochDomain::collect_locked() {
  // Stamps below this one were given before the fence, so their objects were unlinked before it.
  const std::uint64_t fenced = epoch_.load(std::memory_order_acquire);
  fence_.heavy();
  const std::uint64_t bound = std::min(fenced, oldest_guard());
  std::vector<Retired> ready;
  std::size_t waiting;
  {
    const Lock lock(retired_mutex_);
    const auto end = std::find_if(retired_.begin(), retired_.end(),
                                  [&](const Retired& retired) { return retired.stamp >= bound; });
    ready.assign(retired_.begin(), end);
    retired_.erase(retired_.begin(), end);
    waiting = retired_.size();
    collect_at_ = waiting + kCollectEvery;
  }
  for (const Retired& retired : ready)
    retired.deleter(retired.object);
  return waiting;
}

// For those entered before this call that `concerns(what the guard announced)`.
template <class Concerns>
void EpochDomain::wait_for_guards(Concerns&& concerns) {
  const std::uint64_t stamp = epoch_.fetch_add(kStep, std::memory_order_acq_rel);
  fence_.heavy();
  for (Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
    const auto waits = [&] {
      const std::uint64_t announced = observe(*slot);
      return concerns(announced) && (announced & ~kWrites) <= stamp;
    };
    for (SpinWait wait; waits();)
      wait();
  }
}

void EpochDomain::synchronize() {
  wait_for_guards([](std::uint64_t) { return true; });
}

void EpochDomain::synchronize_writers() {
  wait_for_guards([](std::uint64_t announced) { return (announced & kWrites) != 0; });
}

std::size_t EpochDomain::retired() const {
  const Lock lock(retired_mutex_);
  return retired_.size();
}

}  // namespace holdfast
