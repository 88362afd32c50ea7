/* Idempotency: the same key runs once.
 *
 *   key is …                     begin says
 *   new, failed or expired       RUN       it is yours: do the work, then complete or fail it
 *   processing                   BUSY      somebody is at it: 409, ask again at `at` (at the
 *                                          latest: its lease ends then)
 *   complete                     REPLAY    here is the stored result, marked as replayed
 *   any, with another payload    MISMATCH  422: the key was used for something else
 *
 * A lease (60 s) bounds how long a vanished owner blocks its key. Once somebody else has taken the
 * key over, the first owner's late complete is refused with LULL_ESTALE; until then it is welcome,
 * for a late result is better than a second run. Results, and the fact that a run failed, are kept
 * for `ttl` (24 h) from then; a vanished owner's key for as long from the end of its lease.
 *
 *   t = 0     begin("k", A) → RUN, ticket 1
 *   t = 1 s   begin("k", A) → BUSY until 60 s
 *   t = 2 s   begin("k", B) → MISMATCH
 *   t = 70 s  begin("k", A) → RUN, ticket 2 (the lease ended)
 *   t = 71 s  complete(ticket 1) → LULL_ESTALE
 *   t = 72 s  complete(ticket 2, "ok") → LULL_OK
 *   t = 73 s  begin("k", A) → REPLAY "ok"
 *
 * The registry is a port (lull_idempotency_ops), so that a durable one can take the place of the
 * in-memory one here. The in-memory one is bounded: `entries` keys, each with a result of at most
 * `result_max` bytes, all allocated at init. A new key in a full table evicts what has expired, or
 * else the entry that has been complete or failed for longest, or else the one whose lease ended
 * first. An entry within its lease is never evicted, and if there are only those, begin says
 * LULL_EFULL.
 *
 *   entries 2:  a complete at 1 s, b complete at 2 s; begin("c") evicts a, begin("d") evicts b, and
 *               while c and d are within their leases begin("a") is LULL_EFULL.
 *
 * Any thread may call it; it holds a spin lock for the length of a look-up and the copy of a
 * result.
 */
#ifndef LULL_IDEMPOTENCY_H
#define LULL_IDEMPOTENCY_H

#include <lull/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LULL_IDEMPOTENCY_ENTRIES 1024
#define LULL_IDEMPOTENCY_RESULT_MAX 1024
#define LULL_IDEMPOTENCY_LEASE (60 * LULL_SECOND)
#define LULL_IDEMPOTENCY_TTL LULL_DAY
#define LULL_IDEMPOTENCY_KEY_MAX 255

enum lull_idempotency_state {
    LULL_IDEMPOTENCY_RUN,
    LULL_IDEMPOTENCY_BUSY,
    LULL_IDEMPOTENCY_REPLAY,
    LULL_IDEMPOTENCY_MISMATCH,
};

struct lull_idempotency_answer {
    enum lull_idempotency_state state;
    uint64_t ticket;      /* RUN: to complete or fail it */
    lull_time at;         /* BUSY: ask again then */
    size_t result_length; /* REPLAY: how long the result is; as much as fits was copied */
};

struct lull_idempotency_ops {
    /* `fingerprint` is a hash of the payload, of the caller's choice. On REPLAY up to `room` bytes
     * are copied to `result`. */
    int (*begin)(void *registry, const char *key, size_t key_length, uint64_t fingerprint,
                 lull_time now, void *result, size_t room, struct lull_idempotency_answer *answer);
    int (*complete)(void *registry, uint64_t ticket, const void *result, size_t length,
                    lull_time now);
    int (*fail)(void *registry, uint64_t ticket, lull_time now);
};

struct lull_idempotency { /* the port: an adapter and its registry, borrowed */
    const struct lull_idempotency_ops *ops;
    void *registry;
};

/* Through the port. The key is any bytes, copied. LULL_EINVAL: empty key or one longer than 255
 * bytes, or NULL where there must be something. LULL_ETOOBIG: the result does not fit (the entry
 * stays processing: complete it with a smaller one, or fail it). LULL_ESTALE: the ticket was used
 * already, or somebody else has the key now. An error leaves `answer` as it was. */
LULL_MUST_USE LULL_API int lull_idempotency_begin(const struct lull_idempotency *port,
                                                  const char *key, size_t key_length,
                                                  uint64_t fingerprint, lull_time now, void *result,
                                                  size_t room,
                                                  struct lull_idempotency_answer *answer);
LULL_MUST_USE LULL_API int lull_idempotency_complete(const struct lull_idempotency *port,
                                                     uint64_t ticket, const void *result,
                                                     size_t length, lull_time now);
LULL_MUST_USE LULL_API int lull_idempotency_fail(const struct lull_idempotency *port,
                                                 uint64_t ticket, lull_time now);

/* The in-memory adapter. Where it is to keep no results, complete takes any and REPLAY is empty. */
struct lull_idempotency_config {
    uint32_t entries;         /* 1 … 1,000,000 */
    uint32_t result_max;      /* bytes, ≤ 16 MiB; LULL_IDEMPOTENCY_NO_RESULT: keep none */
    lull_duration lease, ttl; /* > 0, at most 365 days */
    uint64_t seed;            /* of the hash; make it unguessable where keys come from strangers */
};
#define LULL_IDEMPOTENCY_NO_RESULT UINT32_MAX

struct lull_idempotency_stats {
    uint32_t entries;    /* places in use; expired entries keep theirs until it is needed */
    uint32_t processing; /* of these */
    uint64_t evicted;    /* before they had expired: the table is too small */
    uint64_t replayed, mismatched;
    uint64_t leases_lost; /* to another run or to eviction */
};

struct lull_idempotency_memory;
/* NULL config: all defaults. On failure (LULL_EINVAL, with `error` filled if not NULL, or
 * LULL_ENOMEM) *registry is as it was. */
LULL_MUST_USE LULL_API int lull_idempotency_memory_new(struct lull_idempotency_memory **registry,
                                                       const struct lull_idempotency_config *config,
                                                       struct lull_error *error);
LULL_API void lull_idempotency_memory_destroy(struct lull_idempotency_memory *registry);
/* Good until the registry is destroyed. */
LULL_API struct lull_idempotency
lull_idempotency_memory_port(struct lull_idempotency_memory *registry);
LULL_API struct lull_idempotency_stats
lull_idempotency_memory_snapshot(struct lull_idempotency_memory *registry);

#ifdef __cplusplus
}
#endif
#endif
