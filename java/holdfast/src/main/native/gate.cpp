#include "gate.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <vector>

__thread Visitor* gate_visitor = nullptr;

namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

// The visitors of all threads that are alive. The mutex is held for moments: a thread that calls
// for the first time waits for it, whichever store it calls.
struct Visitors {
  std::mutex mutex;
  std::vector<Visitor*> all;
};
Visitors& visitors() {
  static auto* const kept = new Visitors;  // Threads may end behind the statics of this library.
  return *kept;
}

// A thread's visitor, from its first call to its end.
struct Registration {
  Visitor visitor{nullptr};
  Registration() {
    const std::lock_guard lock(visitors().mutex);
    visitors().all.push_back(&visitor);
    gate_visitor = &visitor;
  }
  ~Registration() {
    gate_visitor = nullptr;
    const std::lock_guard lock(visitors().mutex);
    std::erase(visitors().all, &visitor);
  }
};

// Of a gate that may be entered.
const int32_t open_state =
    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 ? GATE_OPEN : GATE_FENCED;

void barrier_on_all_threads() {
  if (open_state == GATE_FENCED)
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  else
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool is_visited(const Gate* gate) {
  const std::lock_guard lock(visitors().mutex);
  for (const Visitor* visitor : visitors().all) {
    if (__atomic_load_n(&visitor->at, __ATOMIC_ACQUIRE) == gate) return true;
  }
  return false;
}

}  // namespace

Gate* gate_new(hf_store* store) { return new (std::nothrow) Gate{store, open_state, 0}; }

hf_store* gate_enter_slowly(Gate* gate) {
  static thread_local Registration mine;
  Visitor& me = mine.visitor;
  for (;;) {
    __atomic_store_n(&me.at, gate, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const int32_t state = __atomic_load_n(&gate->state, __ATOMIC_ACQUIRE);
    if (state == open_state) return gate->store;
    __atomic_store_n(&me.at, static_cast<Gate*>(nullptr), __ATOMIC_RELEASE);
    if (state == GATE_CLOSED) return nullptr;
    sched_yield();
  }
}

int32_t gate_close(Gate* gate) {
  for (int32_t seen = open_state;
       !__atomic_compare_exchange_n(&gate->state, &seen, static_cast<int32_t>(GATE_CLOSING), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
       seen = open_state) {
    if (seen == GATE_CLOSED) return HF_OK;
    sched_yield();  // Another thread closes it.
  }
  barrier_on_all_threads();  // A thread not seen in the gate by now sees that it closes.
  while (is_visited(gate))
    sched_yield();
  const bool held = __atomic_load_n(&gate->holders, __ATOMIC_ACQUIRE) != 0;
  const int32_t code = held ? static_cast<int32_t>(GATE_HELD) : hf_close(gate->store);
  const bool open = held || code == HF_BUSY;
  __atomic_store_n(&gate->state, open ? open_state : static_cast<int32_t>(GATE_CLOSED),
                   __ATOMIC_RELEASE);
  return code;
}
