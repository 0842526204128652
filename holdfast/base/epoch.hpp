// epoch.hpp: memory that readers may still look at is freed only when none can.
//
//   EpochDomain domain;
//   auto participant = domain.join();                  // Per session or thread; cheap to keep.
//   { auto guard = domain.enter(participant); … }      // Read shared structures in here.
//   pointer.store(replacement);                        // Unlink first,
//   domain.retire(old, [](void* p) { … });             // then retire: freed some time later.
//
// Guarantee  An object that was unlinked before retire() is not freed while a guard lives that was
//            entered before. synchronize() returns when every guard entered before it has ended,
//            synchronize_writers() when every guard of a writer has.
// How        A guard stores the epoch that it entered in; retire() stamps the object with the
//            epoch and raises it. An object is freed when every guard that lives is younger than
//            its stamp. Readers pay one plain store at either end: the store-load fence that
//            separates "I am in" from their first read is executed for them on the side that frees
//            (asymmetric_fence.hpp).
// Threads    All functions from any thread; one participant by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <holdfast/base/asymmetric_fence.hpp>
#include <holdfast/base/check.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/sanitizer.hpp>
#include <holdfast/base/units.hpp>

namespace holdfast {

class EpochDomain {
 public:
  class Participant;
  class Guard;
  class Brief;

  explicit EpochDomain(AsymmetricFence::Kind fence = AsymmetricFence::Kind::kAuto)
      : fence_(fence) {}
  // No guard may live, no participant may outlive it. Frees everything that was retired.
  ~EpochDomain();
  EpochDomain(const EpochDomain&) = delete;
  EpochDomain& operator=(const EpochDomain&) = delete;

  // A place to enter from. Any number; places are reused. O(participants).
  Participant join();

  // What a guard is entered for. synchronize_writers() waits for writers only.
  enum class Role : std::uint8_t { kReader, kWriter };

  // Until the guard ends, nothing retired from now on is freed. Guards of one participant nest; an
  // inner one costs an increment, and the outermost one's role counts: no writer within a reader.
  // Keep guards short: they hold back all freeing.
  Guard enter(Participant& participant, Role role = Role::kReader);
  // The same without the count, for a participant that is outside(): two stores in all. Nothing
  // else is entered by it meanwhile.
  Brief enter_briefly(Participant& participant, Role role = Role::kReader);
  // The guard of a Brief that was left open.
  Guard continues(Participant& participant);

  // Frees `object` by deleter(object) when no guard can see it any more, in this or a later call of
  // retire() or collect(), on the thread that calls it. The deleter may not retire. `object` was
  // unlinked before. Allowed inside a guard. Never blocks on readers.
  using Deleter = void (*)(void* object);
  void retire(void* object, Deleter deleter);

  // Frees what can be freed now; returns how many objects still wait. Never blocks on readers, but
  // returns only after a concurrent collect() ended.
  std::size_t collect();

  // Waits until every guard entered before this call has ended. The caller holds none.
  void synchronize();
  // The same for the guards of writers. A guard that is entered later sees what was stored before
  // this call.
  void synchronize_writers();

  bool asymmetric() const { return fence_.asymmetric(); }
  std::size_t retired() const;  // Objects that wait.

 private:
  static constexpr std::uint64_t kIdle = ~std::uint64_t{0};
  static constexpr std::uint64_t kStep = 2;    // From one epoch to the next:
  static constexpr std::uint64_t kWrites = 1;  // this bit says that a writer entered.
  // Objects that may wait before retire() tries to free: what is held back against one membarrier
  // (some microseconds) per so many objects.
  static constexpr std::size_t kCollectEvery = 8;

  struct alignas(kCacheLineBytes) Slot {
    std::atomic<std::uint64_t> epoch{kIdle};  // Of the outermost guard; kWrites.
    std::uint32_t depth = 0;                  // Guards of the participant; its thread's only.
    std::atomic<bool> taken{true};
    EpochDomain* domain = nullptr;
    Slot* next = nullptr;  // Never changes once linked.
  };
  struct Retired {
    void* object;
    Deleter deleter;
    std::uint64_t stamp;
  };

  void announce(Slot& slot, Role role);
  Slot* first_slot();
  static std::uint64_t observe(Slot& slot);
  std::uint64_t oldest_guard();
  template <class Concerns>
  void wait_for_guards(Concerns&& concerns);
  std::size_t collect_locked() HF_REQUIRES(collecting_) HF_EXCLUDES(retired_mutex_);

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> epoch_{kStep};
  const AsymmetricFence fence_;
  alignas(kCacheLineBytes) std::atomic<Slot*> slots_{nullptr};
  KernelMutex collecting_ HF_ACQUIRED_BEFORE(retired_mutex_);  // Held while deleters run.
  mutable KernelMutex retired_mutex_;
  std::vector<Retired> retired_ HF_GUARDED_BY(retired_mutex_);  // Stamps ascend.
  std::size_t collect_at_ HF_GUARDED_BY(retired_mutex_) = kCollectEvery;
};

class EpochDomain::Participant {
 public:
  Participant() = default;
  Participant(Participant&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Participant& operator=(Participant&& other) noexcept {
    if (this != &other) release(), slot_ = std::exchange(other.slot_, nullptr);
    return *this;
  }
  ~Participant() { release(); }

  explicit operator bool() const { return slot_ != nullptr; }
  bool inside() const { return slot_ != nullptr && slot_->depth != 0; }
  bool outside() const { return slot_->depth == 0; }  // Of one that joined.
  // Gives the place back. No guard of it may live.
  void release() {
    if (slot_ == nullptr) return;
    HF_CHECK(slot_->depth == 0);
    std::exchange(slot_, nullptr)->taken.store(false, std::memory_order_release);
  }

 private:
  friend class EpochDomain;
  explicit Participant(Slot* slot) : slot_(slot) {}
  Slot* slot_ = nullptr;
};

class [[nodiscard]] EpochDomain::Guard {
 public:
  Guard(Guard&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Guard& operator=(Guard&& other) noexcept {
    if (this != &other) end(), slot_ = std::exchange(other.slot_, nullptr);
    return *this;
  }
  ~Guard() { end(); }

  // Ends it early; the destructor does nothing then.
  void end() {
    if (slot_ == nullptr) return;
    if (--slot_->depth == 0) slot_->epoch.store(kIdle, std::memory_order_release);
    slot_ = nullptr;
  }

 private:
  friend class EpochDomain;
  explicit Guard(Slot* slot) : slot_(slot) {}
  Slot* slot_;
};

class [[nodiscard]] EpochDomain::Brief {
 public:
  Brief(const Brief&) = delete;
  ~Brief() {
    if (slot_ != nullptr) slot_->epoch.store(kIdle, std::memory_order_release);
  }
  // It goes on: another function continues() it.
  void leave_open() { slot_ = nullptr; }

 private:
  friend class EpochDomain;
  explicit Brief(Slot& slot) : slot_(&slot) {}
  Slot* slot_;
};

inline EpochDomain::Guard EpochDomain::continues(Participant& participant) {
  ++participant.slot_->depth;
  return Guard(participant.slot_);
}

inline EpochDomain::Brief EpochDomain::enter_briefly(Participant& participant, Role role) {
  Slot& slot = *participant.slot_;
  HF_DCHECK(slot.domain == this && slot.depth == 0);
  announce(slot, role);
  return Brief(slot);
}

inline EpochDomain::Guard EpochDomain::enter(Participant& participant, Role role) {
  Slot& slot = *participant.slot_;
  HF_DCHECK(slot.domain == this);
  if (slot.depth++ == 0) announce(slot, role);
  // A writer within a reader's guard would not be waited for.
  HF_DCHECK(role == Role::kReader || (slot.epoch.load(std::memory_order_relaxed) & kWrites) != 0);
  return Guard(&slot);
}

// The epoch may be old when it is stored: then the guard holds back more than it must, never less.
// A thread that frees and does not see this store has fenced before us. Then all that it had
// unlinked is unlinked for the reads that follow.
inline void EpochDomain::announce(Slot& slot, Role role) {
  const std::uint64_t epoch =
      epoch_.load(std::memory_order_acquire) | (role == Role::kWriter ? kWrites : 0);
#ifdef HF_TSAN
  slot.epoch.exchange(epoch, std::memory_order_seq_cst);  // TSan does not know fences.
#else
  slot.epoch.store(epoch, std::memory_order_relaxed);
  fence_.light();
#endif
}

}  // namespace holdfast
