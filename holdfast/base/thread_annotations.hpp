// thread_annotations.hpp: what a mutex guards, written so that clang checks it.
//
// clang -Wthread-safety reports a guarded member that is used without its mutex, and a function
// that needs a mutex and is called without it. Other compilers see empty macros. The clang presets
// (asan, tsan) switch the warning on.
//
//   std::uint64_t dead_bytes_ HF_GUARDED_BY(mutex_);         // Read and written with mutex_ held.
//   Slot* slots_ HF_PT_GUARDED_BY(mutex_);                   // What it points to is guarded.
//   void collect_locked() HF_REQUIRES(mutex_);               // The caller holds mutex_.
//   void collect() HF_EXCLUDES(mutex_);                      // The caller does not hold it.
//   Mutex table_mutex_ HF_ACQUIRED_BEFORE(retired_mutex_);   // The order in which both are taken.
//
// The annotated types are SpinLatch (spin.hpp), Mutex, SharedMutex (mutex.hpp); the guards that
// clang understands are Lock, UniqueLock and SharedLock (lock.hpp). clang does not understand
// std::lock_guard and std::unique_lock: under them it reports each guarded member.
#pragma once

#if defined(__clang__)
#define HF_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define HF_THREAD_ANNOTATION(x)
#endif

// Of classes: one that can be held, and a guard that holds one from construction to destruction.
#define HF_CAPABILITY(name) HF_THREAD_ANNOTATION(capability(name))
#define HF_SCOPED_CAPABILITY HF_THREAD_ANNOTATION(scoped_lockable)

// Of data members.
#define HF_GUARDED_BY(mutex) HF_THREAD_ANNOTATION(guarded_by(mutex))
#define HF_PT_GUARDED_BY(mutex) HF_THREAD_ANNOTATION(pt_guarded_by(mutex))
#define HF_ACQUIRED_BEFORE(...) HF_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define HF_ACQUIRED_AFTER(...) HF_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))

// Of functions: what the caller holds, before and after.
#define HF_REQUIRES(...) HF_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define HF_REQUIRES_SHARED(...) HF_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define HF_EXCLUDES(...) HF_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define HF_ACQUIRE(...) HF_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define HF_ACQUIRE_SHARED(...) HF_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define HF_RELEASE(...) HF_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define HF_RELEASE_SHARED(...) HF_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define HF_RELEASE_GENERIC(...) HF_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define HF_TRY_ACQUIRE(...) HF_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define HF_TRY_ACQUIRE_SHARED(...) HF_THREAD_ANNOTATION(try_acquire_shared_capability(__VA_ARGS__))
#define HF_RETURN_CAPABILITY(mutex) HF_THREAD_ANNOTATION(lock_returned(mutex))

// Tells clang that the mutex is held, where it cannot see it: after a hand-over, in a callback.
#define HF_ASSERT_HELD(...) HF_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
// For the few functions whose locking clang cannot follow. Each says why.
#define HF_NO_THREAD_SAFETY_ANALYSIS HF_THREAD_ANNOTATION(no_thread_safety_analysis)
