/* gate.h: a store that one thread may close while others call it. Java cannot promise that nobody
 * does, and what was closed under a call would end the JVM.
 *
 * Guarantee  gate_enter() returns the store, which is not closed until gate_leave() of the same
 *            thread, or NULL: it was closed. gate_close() waits for the calls that are under way;
 *            calls that come meanwhile wait for it.
 * Cost       Of a call: a store, a load and a store to memory of the thread. The closer pays: it
 *            asks the kernel for a barrier on all threads (membarrier). Where the kernel has none,
 *            no gate is GATE_OPEN but GATE_FENCED, which sends each call the slow way with a fence.
 * Life       A gate is never freed, since a thread may be about to enter it: 24 bytes for each
 *            store that was opened.
 * Nesting    A thread is in one gate at a time. What calls back into Java holds its store by
 *            gate_hold() instead, and gate_close() is GATE_HELD meanwhile. */
#pragma once

#include <holdfast/c/holdfast.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GATE_OPEN = 0, GATE_CLOSING = 1, GATE_CLOSED = 2, GATE_FENCED = 3 };
/* Beside the codes of hf_code. */
enum { GATE_HELD = 1000 };

typedef struct Gate {
  hf_store* store;
  int32_t state;
  int32_t holders;
} Gate;

/* Of a thread: the gate that it is in. */
typedef struct Visitor {
  Gate* at;
} Visitor;

extern __thread Visitor* gate_visitor __attribute__((tls_model("initial-exec")));

/* NULL: no memory. */
Gate* gate_new(hf_store* store);
/* HF_OK also where it is closed; HF_BUSY and GATE_HELD leave it open. */
int32_t gate_close(Gate* gate);
hf_store* gate_enter_slowly(Gate* gate);

/* `me`: gate_visitor. 1 nearly always; where it is 0, gate_enter() goes on. */
static inline int gate_enter_at_once(Gate* gate, Visitor* me) {
  if (__builtin_expect(me == NULL, 0)) return 0;
  __atomic_store_n(&me->at, gate, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return __builtin_expect(__atomic_load_n(&gate->state, __ATOMIC_ACQUIRE) == GATE_OPEN, 1);
}
static inline hf_store* gate_enter(Gate* gate) {
  return gate_enter_at_once(gate, gate_visitor) ? gate->store : gate_enter_slowly(gate);
}
static inline void gate_leave_as(Visitor* me) { __atomic_store_n(&me->at, NULL, __ATOMIC_RELEASE); }
static inline void gate_leave(void) { gate_leave_as(gate_visitor); }

/* NULL: closed. */
static inline hf_store* gate_hold(Gate* gate) {
  hf_store* store = gate_enter(gate);
  if (store == NULL) return NULL;
  __atomic_fetch_add(&gate->holders, 1, __ATOMIC_ACQUIRE);
  gate_leave();
  return store;
}
static inline void gate_release(Gate* gate) {
  __atomic_fetch_sub(&gate->holders, 1, __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif
