/* The in-memory registry.
 *
 * An entry is in one hash chain (by key) and in one of two queues:
 *
 *   processing   ordered by when it was begun. All leases are as long, so also by when they end.
 *   finished     ordered by when it was completed or failed; so also by when it is forgotten.
 *
 * That makes both queries of eviction, "the first to expire" and "the longest finished", a look at
 * the head of a queue. Places are never given back: those not yet used come first, and after that
 * each new key takes over an evicted one's.
 *
 * A ticket is the entry's place in the low bits and a count of its runs above them, so the ticket
 * of an earlier run is known to be stale in one comparison.
 *
 * One spin lock guards all of it. The hash is computed outside it.
 */
#include <lull/idempotency.h>

#include "atomic.h"
#include "check.h"
#include "saturate.h"

#include <lull/random.h>

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 1000000
#define RESULT_MAX (16 * 1024 * 1024)
#define LONGEST (365 * LULL_DAY)
#define RUN_STEP (UINT64_C(1) << 20) /* in a ticket: one more run, above the place */

_Static_assert(ENTRIES_MAX <= RUN_STEP, "every place has a ticket");

enum state { PROCESSING, COMPLETE, FAILED };

struct entry {
    struct entry *chained;       /* the next one in the same hash chain */
    struct entry *older, *newer; /* in its queue */
    uint64_t hash;
    uint64_t fingerprint;
    uint64_t ticket;      /* of the latest run */
    lull_time until;      /* PROCESSING: the lease ends; else: it is forgotten */
    size_t result_length; /* COMPLETE */
    enum state state;
    uint8_t key_length;
    char key[LULL_IDEMPOTENCY_KEY_MAX];
};

struct chain {
    struct entry *first;
};

struct queue {
    struct entry *oldest, *newest;
};

struct lull_idempotency_memory {
    _Atomic(bool) locked; /* guards all that follows it but the settings */
    struct entry *entries;
    struct chain *chains;
    unsigned char *results; /* result_max bytes for each entry */
    struct queue processing, finished;
    lull_time latest; /* of the times passed in: threads may pass them a little out of order */
    struct lull_idempotency_stats stats;

    uint32_t limit; /* of entries */
    uint32_t chain_mask;
    size_t result_max; /* 0: keep none */
    lull_duration lease, ttl;
    uint64_t hash_key[2];
};

/* ---- SipHash-2-4: strangers who do not know the key cannot make their keys collide ---- */

static uint64_t rotate(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int rounds) {
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void sip_absorb(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
}

static uint64_t little_endian(const unsigned char *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static uint64_t siphash(const uint64_t key[2], const void *data, size_t length) {
    const unsigned char *bytes = data;
    uint64_t v[4] = {
        key[0] ^ UINT64_C(0x736f6d6570736575), /* "somepseudorandomlygeneratedbytes" */
        key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261),
        key[1] ^ UINT64_C(0x7465646279746573),
    };
    size_t whole = length / 8 * 8;
    for (size_t i = 0; i < whole; i += 8)
        sip_absorb(v, little_endian(bytes + i, 8));
    sip_absorb(v, (uint64_t)length << 56 | little_endian(bytes + whole, length - whole));
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- queues and chains ---- */

static void append(struct queue *queue, struct entry *entry) {
    entry->older = queue->newest;
    entry->newer = NULL;
    *(queue->newest != NULL ? &queue->newest->newer : &queue->oldest) = entry;
    queue->newest = entry;
}

static void take_out(struct queue *queue, struct entry *entry) {
    *(entry->older != NULL ? &entry->older->newer : &queue->oldest) = entry->newer;
    *(entry->newer != NULL ? &entry->newer->older : &queue->newest) = entry->older;
}

static struct queue *queue_of(struct lull_idempotency_memory *registry, const struct entry *entry) {
    return entry->state == PROCESSING ? &registry->processing : &registry->finished;
}

static struct entry **chain_of(struct lull_idempotency_memory *registry, uint64_t hash) {
    return &registry->chains[hash & registry->chain_mask].first;
}

static struct entry *find(struct lull_idempotency_memory *registry, uint64_t hash, const char *key,
                          size_t length) {
    struct entry *entry = *chain_of(registry, hash);
    while (entry != NULL && (entry->key_length != length || memcmp(entry->key, key, length) != 0))
        entry = entry->chained;
    return entry;
}

static void unchain(struct lull_idempotency_memory *registry, struct entry *entry) {
    struct entry **link = chain_of(registry, entry->hash);
    while (*link != entry)
        link = &(*link)->chained;
    *link = entry->chained;
}

/* ---- the life of an entry ---- */

static bool lease_ended(const struct entry *entry, lull_time now) {
    return entry->state == PROCESSING && now >= entry->until;
}

/* An entry whose owner vanished is remembered for as long as a finished one, from the end of its
 * lease. */
static bool forgotten(const struct lull_idempotency_memory *registry, const struct entry *entry,
                      lull_time now) {
    lull_duration more = entry->state == PROCESSING ? registry->ttl : 0;
    return now >= add_saturated(entry->until, more);
}

/* The entry that a new key may take over, or NULL. First what is forgotten anyway; then the longest
 * finished; last, since their owners may yet come back, the one whose lease ended first. */
static struct entry *to_evict(const struct lull_idempotency_memory *registry, lull_time now) {
    struct entry *finished = registry->finished.oldest, *processing = registry->processing.oldest;
    if (finished != NULL && forgotten(registry, finished, now))
        return finished;
    if (processing != NULL && forgotten(registry, processing, now))
        return processing;
    if (finished != NULL)
        return finished;
    return processing != NULL && lease_ended(processing, now) ? processing : NULL;
}

/* Takes the entry out of its queue. Whoever was processing it has lost it. */
static void release(struct lull_idempotency_memory *registry, struct entry *entry) {
    if (entry->state == PROCESSING) {
        registry->stats.leases_lost++;
        registry->stats.processing--;
    }
    take_out(queue_of(registry, entry), entry);
}

/* A place for a new key, in no chain and no queue; NULL if there is none. */
static struct entry *make_room(struct lull_idempotency_memory *registry, lull_time now) {
    if (registry->stats.entries < registry->limit) {
        uint32_t place = registry->stats.entries++;
        registry->entries[place].ticket = place;
        return &registry->entries[place];
    }
    struct entry *entry = to_evict(registry, now);
    if (entry != NULL) {
        registry->stats.evicted += !forgotten(registry, entry, now);
        release(registry, entry);
        unchain(registry, entry);
    }
    return entry;
}

static void assign_key(struct lull_idempotency_memory *registry, struct entry *entry, uint64_t hash,
                       const char *key, size_t length) {
    struct entry **chain = chain_of(registry, hash);
    entry->hash = hash;
    entry->key_length = (uint8_t)length;
    memcpy(entry->key, key, length);
    entry->chained = *chain;
    *chain = entry;
}

/* Starts a run of an entry that is in no queue. */
static void run(struct lull_idempotency_memory *registry, struct entry *entry, uint64_t fingerprint,
                lull_time now, struct lull_idempotency_answer *answer) {
    entry->state = PROCESSING;
    entry->fingerprint = fingerprint;
    entry->ticket += RUN_STEP;
    entry->until = add_saturated(now, registry->lease);
    append(&registry->processing, entry);
    registry->stats.processing++;
    *answer =
        (struct lull_idempotency_answer){.state = LULL_IDEMPOTENCY_RUN, .ticket = entry->ticket};
}

static bool may_run(const struct lull_idempotency_memory *registry, const struct entry *entry,
                    uint64_t fingerprint, lull_time now) {
    if (forgotten(registry, entry, now))
        return true;
    return entry->fingerprint == fingerprint && (entry->state == FAILED || lease_ended(entry, now));
}

static unsigned char *result_of(const struct lull_idempotency_memory *registry,
                                const struct entry *entry) {
    return registry->results + (size_t)(entry - registry->entries) * registry->result_max;
}

/* What to say about an entry that may not run. */
static void refuse(struct lull_idempotency_memory *registry, const struct entry *entry,
                   uint64_t fingerprint, void *result, size_t room,
                   struct lull_idempotency_answer *answer) {
    *answer = (struct lull_idempotency_answer){0};
    if (entry->fingerprint != fingerprint) {
        answer->state = LULL_IDEMPOTENCY_MISMATCH;
        registry->stats.mismatched++;
    } else if (entry->state == PROCESSING) {
        answer->state = LULL_IDEMPOTENCY_BUSY;
        answer->at = entry->until;
    } else {
        answer->state = LULL_IDEMPOTENCY_REPLAY;
        answer->result_length = entry->result_length;
        registry->stats.replayed++;
        size_t copied = entry->result_length < room ? entry->result_length : room;
        if (copied > 0)
            memcpy(result, result_of(registry, entry), copied);
    }
}

/* ---- the adapter ---- */

/* Takes the lock; returns what time it is. */
static lull_time enter(struct lull_idempotency_memory *registry, lull_time now) {
    spin_lock(&registry->locked);
    registry->latest = most(registry->latest, now);
    return registry->latest;
}

static int memory_begin(void *context, const char *key, size_t key_length, uint64_t fingerprint,
                        lull_time now, void *result, size_t room,
                        struct lull_idempotency_answer *answer) {
    struct lull_idempotency_memory *registry = context;
    uint64_t hash = siphash(registry->hash_key, key, key_length);
    int error = LULL_OK;
    now = enter(registry, now);
    struct entry *entry = find(registry, hash, key, key_length);
    if (entry == NULL) {
        entry = make_room(registry, now);
        if (entry != NULL) {
            assign_key(registry, entry, hash, key, key_length);
            run(registry, entry, fingerprint, now, answer);
        } else {
            error = LULL_EFULL;
        }
    } else if (may_run(registry, entry, fingerprint, now)) {
        release(registry, entry);
        run(registry, entry, fingerprint, now, answer);
    } else {
        refuse(registry, entry, fingerprint, result, room, answer);
    }
    unlock(&registry->locked);
    return error;
}

/* The entry that this ticket is for, or NULL if it is stale or was never given. A lease that has
 * ended is no reason to refuse: as long as nobody took the key over, a late result is better than a
 * second run. */
static struct entry *redeem(const struct lull_idempotency_memory *registry, uint64_t ticket) {
    uint64_t place = ticket % RUN_STEP;
    if (place >= registry->stats.entries)
        return NULL;
    struct entry *entry = &registry->entries[place];
    return entry->ticket == ticket && entry->state == PROCESSING ? entry : NULL;
}

static void finish(struct lull_idempotency_memory *registry, struct entry *entry, enum state state,
                   lull_time now) {
    take_out(&registry->processing, entry);
    registry->stats.processing--;
    entry->state = state;
    entry->until = add_saturated(now, registry->ttl);
    append(&registry->finished, entry);
}

static int memory_complete(void *context, uint64_t ticket, const void *result, size_t length,
                           lull_time now) {
    struct lull_idempotency_memory *registry = context;
    int error = LULL_OK;
    now = enter(registry, now);
    struct entry *entry = redeem(registry, ticket);
    size_t kept = registry->result_max > 0 ? length : 0;
    if (entry == NULL) {
        error = LULL_ESTALE;
    } else if (kept > registry->result_max) {
        error = LULL_ETOOBIG;
    } else {
        entry->result_length = kept;
        if (kept > 0)
            memcpy(result_of(registry, entry), result, kept);
        finish(registry, entry, COMPLETE, now);
    }
    unlock(&registry->locked);
    return error;
}

static int memory_fail(void *context, uint64_t ticket, lull_time now) {
    struct lull_idempotency_memory *registry = context;
    now = enter(registry, now);
    struct entry *entry = redeem(registry, ticket);
    if (entry != NULL)
        finish(registry, entry, FAILED, now);
    unlock(&registry->locked);
    return entry != NULL ? LULL_OK : LULL_ESTALE;
}

/* ---- making it ---- */

static int settle(const struct lull_idempotency_config *config,
                  struct lull_idempotency_config *settled, struct lull_error *error) {
    struct lull_idempotency_config c =
        config != NULL ? *config : (struct lull_idempotency_config){0};
    if (c.entries == 0)
        c.entries = LULL_IDEMPOTENCY_ENTRIES;
    if (c.result_max == 0)
        c.result_max = LULL_IDEMPOTENCY_RESULT_MAX;
    else if (c.result_max == LULL_IDEMPOTENCY_NO_RESULT)
        c.result_max = 0;
    if (c.lease == 0)
        c.lease = LULL_IDEMPOTENCY_LEASE;
    if (c.ttl == 0)
        c.ttl = LULL_IDEMPOTENCY_TTL;
    if (check_integer(error, "idempotency.entries", c.entries, 1, ENTRIES_MAX) != LULL_OK ||
        check_integer(error, "idempotency.result_max", c.result_max, 0, RESULT_MAX) != LULL_OK ||
        check_duration(error, "idempotency.lease", c.lease, 1, LONGEST) != LULL_OK ||
        check_duration(error, "idempotency.ttl", c.ttl, 1, LONGEST) != LULL_OK)
        return LULL_EINVAL;
    *settled = c;
    return LULL_OK;
}

/* About one chain for each entry; a power of two, so that a mask picks it. */
static uint32_t chain_count(uint32_t entries) {
    uint32_t count = 1;
    while (count < entries)
        count *= 2;
    return count;
}

int lull_idempotency_memory_new(struct lull_idempotency_memory **registry,
                                const struct lull_idempotency_config *config,
                                struct lull_error *error) {
    struct lull_idempotency_config settled;
    if (registry == NULL || settle(config, &settled, error) != LULL_OK)
        return LULL_EINVAL;
    struct lull_idempotency_memory *made = calloc(1, sizeof *made);
    if (made == NULL)
        return LULL_ENOMEM;
    uint32_t chains = chain_count(settled.entries);
    /* calloc refuses a product that does not fit a size_t. */
    made->entries = calloc(settled.entries, sizeof *made->entries);
    made->chains = calloc(chains, sizeof *made->chains);
    made->results = settled.result_max > 0 ? calloc(settled.entries, settled.result_max) : NULL;
    if (made->entries == NULL || made->chains == NULL ||
        (made->results == NULL && settled.result_max > 0)) {
        lull_idempotency_memory_destroy(made);
        return LULL_ENOMEM;
    }
    made->latest = INT64_MIN;
    made->limit = settled.entries;
    made->chain_mask = chains - 1;
    made->result_max = settled.result_max;
    made->lease = settled.lease;
    made->ttl = settled.ttl;
    made->hash_key[0] = lull_random_next(&settled.seed);
    made->hash_key[1] = lull_random_next(&settled.seed);
    *registry = made;
    return LULL_OK;
}

void lull_idempotency_memory_destroy(struct lull_idempotency_memory *registry) {
    if (registry == NULL)
        return;
    free(registry->entries);
    free(registry->chains);
    free(registry->results);
    free(registry);
}

struct lull_idempotency lull_idempotency_memory_port(struct lull_idempotency_memory *registry) {
    static const struct lull_idempotency_ops ops = {
        .begin = memory_begin, .complete = memory_complete, .fail = memory_fail};
    return (struct lull_idempotency){.ops = &ops, .registry = registry};
}

struct lull_idempotency_stats
lull_idempotency_memory_snapshot(struct lull_idempotency_memory *registry) {
    spin_lock(&registry->locked);
    struct lull_idempotency_stats stats = registry->stats;
    unlock(&registry->locked);
    return stats;
}

/* ---- the port ---- */

int lull_idempotency_begin(const struct lull_idempotency *port, const char *key, size_t key_length,
                           uint64_t fingerprint, lull_time now, void *result, size_t room,
                           struct lull_idempotency_answer *answer) {
    if (port == NULL || port->ops == NULL || key == NULL || key_length == 0 ||
        key_length > LULL_IDEMPOTENCY_KEY_MAX || (result == NULL && room > 0) || answer == NULL)
        return LULL_EINVAL;
    return port->ops->begin(port->registry, key, key_length, fingerprint, now, result, room,
                            answer);
}

int lull_idempotency_complete(const struct lull_idempotency *port, uint64_t ticket,
                              const void *result, size_t length, lull_time now) {
    if (port == NULL || port->ops == NULL || (result == NULL && length > 0))
        return LULL_EINVAL;
    return port->ops->complete(port->registry, ticket, result, length, now);
}

int lull_idempotency_fail(const struct lull_idempotency *port, uint64_t ticket, lull_time now) {
    if (port == NULL || port->ops == NULL)
        return LULL_EINVAL;
    return port->ops->fail(port->registry, ticket, now);
}
