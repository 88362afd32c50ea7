/* Short names for the atomic operations that lull uses.
 *
 * Counters and settings need no ordering between them, so most operations are relaxed. Words that hand
 * something over (the breaker's state, the bulkhead's counter, locks) say acquire and release. */
#ifndef LULL_LIB_ATOMIC_H
#define LULL_LIB_ATOMIC_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define load(object) atomic_load_explicit((object), memory_order_relaxed)
#define store(object, value) atomic_store_explicit((object), (value), memory_order_relaxed)
#define add(object, value) atomic_fetch_add_explicit((object), (value), memory_order_relaxed)
#define subtract(object, value) atomic_fetch_sub_explicit((object), (value), memory_order_relaxed)
/* Replaces *object by `desired` if it is still *expected; else *expected is what it is now. */
#define swap_if(object, expected, desired)                                                         \
    atomic_compare_exchange_weak_explicit((object), (expected), (desired), memory_order_acq_rel,   \
                                          memory_order_acquire)

/* A lock for a few instructions. */
static inline bool try_lock(_Atomic(bool) *lock) {
    return !load(lock) && !atomic_exchange_explicit(lock, true, memory_order_acquire);
}

/* Tells the processor that this is a waiting loop. */
static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The holder needs a few instructions, unless it was sent to sleep among them: then it needs the processor. */
static inline void spin_lock(_Atomic(bool) *lock) {
    for (int tries = 0; !try_lock(lock); tries++)
        if (tries < 100)
            relax();
        else
            sched_yield();
}

static inline void unlock(_Atomic(bool) *lock) {
    atomic_store_explicit(lock, false, memory_order_release);
}

#endif
