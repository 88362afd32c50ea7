/* A reference model of the in-memory idempotency registry: slow, plain, and with its own idea of
 * the rules in lull/idempotency.h. Each step takes one word, does what the word says to the
 * registry and to the model, and demands the same answer of both. The fuzzer makes words of its
 * input, the unit test of a random generator.
 *
 * The includer defines MODEL_CHECK(condition).
 */
#ifndef LULL_TESTS_IDEMPOTENCY_MODEL_H
#define LULL_TESTS_IDEMPOTENCY_MODEL_H

#include <lull/idempotency.h>

#include <stdint.h>
#include <string.h>

#define MODEL_ENTRIES_MAX 8
#define MODEL_KEYS 16
#define MODEL_RESULT_MAX 24
#define MODEL_TICKETS 32

enum model_state { MODEL_PROCESSING, MODEL_COMPLETE, MODEL_FAILED };

struct model_entry {
    unsigned key;
    uint64_t fingerprint;
    enum model_state state;
    lull_time since; /* begun, completed or failed */
    uint64_t order;  /* of those moments, where `since` is the same */
    uint64_t ticket;
    size_t result_length;
    unsigned char result[MODEL_RESULT_MAX];
};

struct model {
    struct lull_idempotency_memory *registry;
    struct lull_idempotency port;
    struct lull_idempotency_config config;
    struct model_entry entries[MODEL_ENTRIES_MAX];
    unsigned count;
    lull_time clock; /* as the caller has it: may step back a little */
    lull_time now;   /* the latest it has ever been */
    uint64_t order;
    struct lull_idempotency_stats stats;
    uint64_t tickets[MODEL_TICKETS]; /* the last ones given, in a ring */
    unsigned ticket_count;
};

/* Small enough to fill, to expire and to lose leases all the time. */
static inline void model_init(struct model *model, uint64_t word) {
    *model = (struct model){
        .config = {.entries = 1 + (uint32_t)(word & 7),
                   .result_max = word & 8 ? MODEL_RESULT_MAX : LULL_IDEMPOTENCY_NO_RESULT,
                   .lease = 1 + (lull_duration)(word >> 4 & 31),
                   .ttl = 1 + (lull_duration)(word >> 9 & 127),
                   .seed = word >> 16},
        .clock = (lull_time)(word >> 20 & 0xff) - 128,
    };
    model->now = INT64_MIN;
    MODEL_CHECK(lull_idempotency_memory_new(&model->registry, &model->config, NULL) == LULL_OK);
    model->port = lull_idempotency_memory_port(model->registry);
}

static inline void model_clean_up(struct model *model) {
    lull_idempotency_memory_destroy(model->registry);
}

/* Key n: from one byte to the longest; some are prefixes of others. */
static inline size_t model_key(unsigned n, char key[LULL_IDEMPOTENCY_KEY_MAX]) {
    memset(key, n & 1 ? 'a' : 'b', LULL_IDEMPOTENCY_KEY_MAX);
    return 1 + (n >> 1) * (LULL_IDEMPOTENCY_KEY_MAX - 1) / 7;
}

static inline lull_time model_lease_end(const struct model *model,
                                        const struct model_entry *entry) {
    return entry->since + model->config.lease;
}

static inline bool model_forgotten(const struct model *model, const struct model_entry *entry) {
    lull_time from =
        entry->state == MODEL_PROCESSING ? model_lease_end(model, entry) : entry->since;
    return model->now - from >= model->config.ttl;
}

/* How gladly an entry is evicted: 1 first, 0 never. */
static inline int model_rank(const struct model *model, const struct model_entry *entry) {
    bool processing = entry->state == MODEL_PROCESSING;
    if (model_forgotten(model, entry))
        return processing ? 2 : 1;
    if (!processing)
        return 3;
    return model->now >= model_lease_end(model, entry) ? 4 : 0;
}

static inline void model_remove(struct model *model, struct model_entry *entry) {
    if (entry->state == MODEL_PROCESSING)
        model->stats.leases_lost++;
    *entry = model->entries[--model->count];
}

static inline bool model_evict(struct model *model) {
    struct model_entry *victim = NULL;
    for (unsigned i = 0; i < model->count; i++) {
        struct model_entry *entry = &model->entries[i];
        int rank = model_rank(model, entry), best = victim ? model_rank(model, victim) : 5;
        if (rank != 0 && (rank < best || (rank == best && entry->order < victim->order)))
            victim = entry;
    }
    if (victim == NULL)
        return false;
    if (!model_forgotten(model, victim))
        model->stats.evicted++;
    model_remove(model, victim);
    return true;
}

static inline struct model_entry *model_find(struct model *model, unsigned key) {
    for (unsigned i = 0; i < model->count; i++)
        if (model->entries[i].key == key)
            return &model->entries[i];
    return NULL;
}

/* What begin must say: an error, or the state. */
static inline int model_begin(struct model *model, unsigned key, uint64_t fingerprint,
                              enum lull_idempotency_state *state) {
    struct model_entry *entry = model_find(model, key);
    if (entry != NULL && !model_forgotten(model, entry)) {
        if (entry->fingerprint != fingerprint) {
            *state = LULL_IDEMPOTENCY_MISMATCH;
            model->stats.mismatched++;
            return LULL_OK;
        }
        if (entry->state == MODEL_COMPLETE) {
            *state = LULL_IDEMPOTENCY_REPLAY;
            model->stats.replayed++;
            return LULL_OK;
        }
        if (entry->state == MODEL_PROCESSING && model->now < model_lease_end(model, entry)) {
            *state = LULL_IDEMPOTENCY_BUSY;
            return LULL_OK;
        }
    }
    if (entry != NULL)
        model_remove(model, entry);
    else if (model->count == model->config.entries && !model_evict(model))
        return LULL_EFULL;
    *state = LULL_IDEMPOTENCY_RUN;
    model->entries[model->count++] = (struct model_entry){.key = key,
                                                          .fingerprint = fingerprint,
                                                          .state = MODEL_PROCESSING,
                                                          .since = model->now,
                                                          .order = model->order++};
    return LULL_OK;
}

static inline void model_step_begin(struct model *model, unsigned key, uint64_t fingerprint,
                                    size_t room) {
    char name[LULL_IDEMPOTENCY_KEY_MAX];
    size_t length = model_key(key, name);
    unsigned char result[MODEL_RESULT_MAX + 1];
    memset(result, 0xee, sizeof result);
    struct lull_idempotency_answer answer = {.ticket = 77};
    enum lull_idempotency_state state = LULL_IDEMPOTENCY_RUN;
    int expected = model_begin(model, key, fingerprint, &state);
    MODEL_CHECK(lull_idempotency_begin(&model->port, name, length, fingerprint, model->clock,
                                       result, room, &answer) == expected);
    if (expected != LULL_OK) {
        MODEL_CHECK(answer.ticket == 77);
        return;
    }
    struct model_entry *entry = model_find(model, key);
    MODEL_CHECK(answer.state == state);
    MODEL_CHECK(answer.at == (state == LULL_IDEMPOTENCY_BUSY ? model_lease_end(model, entry) : 0));
    size_t stored = state == LULL_IDEMPOTENCY_REPLAY ? entry->result_length : 0;
    size_t copied = stored < room ? stored : room;
    MODEL_CHECK(answer.result_length == stored);
    MODEL_CHECK(memcmp(result, entry->result, copied) == 0);
    MODEL_CHECK(result[copied] == 0xee); /* and not a byte more */
    MODEL_CHECK((answer.ticket != 0) == (state == LULL_IDEMPOTENCY_RUN));
    if (state == LULL_IDEMPOTENCY_RUN) {
        for (unsigned i = 0; i < MODEL_TICKETS; i++)
            MODEL_CHECK(model->tickets[i] != answer.ticket);
        entry->ticket = answer.ticket;
        model->tickets[model->ticket_count++ % MODEL_TICKETS] = answer.ticket;
    }
}

/* Who holds this ticket, if it is still good. */
static inline struct model_entry *model_redeem(struct model *model, uint64_t ticket) {
    for (unsigned i = 0; i < model->count; i++)
        if (model->entries[i].ticket == ticket && model->entries[i].state == MODEL_PROCESSING)
            return &model->entries[i];
    return NULL;
}

static inline void model_finish(struct model *model, struct model_entry *entry,
                                enum model_state state) {
    entry->state = state;
    entry->since = model->now;
    entry->order = model->order++;
}

static inline void model_step_complete(struct model *model, uint64_t ticket, size_t length,
                                       unsigned char fill) {
    unsigned char result[MODEL_RESULT_MAX + 8];
    memset(result, fill, sizeof result);
    struct model_entry *entry = model_redeem(model, ticket);
    bool keeps = model->config.result_max != LULL_IDEMPOTENCY_NO_RESULT;
    int expected = LULL_OK;
    if (entry == NULL)
        expected = LULL_ESTALE;
    else if (keeps && length > MODEL_RESULT_MAX)
        expected = LULL_ETOOBIG;
    MODEL_CHECK(lull_idempotency_complete(&model->port, ticket, result, length, model->clock) ==
                expected);
    if (expected == LULL_OK) {
        entry->result_length = keeps ? length : 0;
        memcpy(entry->result, result, entry->result_length);
        model_finish(model, entry, MODEL_COMPLETE);
    }
}

static inline void model_step_fail(struct model *model, uint64_t ticket) {
    struct model_entry *entry = model_redeem(model, ticket);
    MODEL_CHECK(lull_idempotency_fail(&model->port, ticket, model->clock) ==
                (entry != NULL ? LULL_OK : LULL_ESTALE));
    if (entry != NULL)
        model_finish(model, entry, MODEL_FAILED);
}

static inline void model_compare_stats(struct model *model) {
    struct lull_idempotency_stats stats = lull_idempotency_memory_snapshot(model->registry);
    unsigned processing = 0;
    for (unsigned i = 0; i < model->count; i++)
        processing += model->entries[i].state == MODEL_PROCESSING;
    MODEL_CHECK(stats.entries == model->count);
    MODEL_CHECK(stats.processing == processing);
    MODEL_CHECK(stats.evicted == model->stats.evicted);
    MODEL_CHECK(stats.replayed == model->stats.replayed);
    MODEL_CHECK(stats.mismatched == model->stats.mismatched);
    MODEL_CHECK(stats.leases_lost == model->stats.leases_lost);
}

static inline void model_step(struct model *model, uint64_t word) {
    static const lull_duration moves[] = {0, 0, 0, 1, 1, 2, -1, -2, 3, 5, 8, 13, 21, 34, 60, 160};
    unsigned operation = word & 7, key = word >> 3 & (MODEL_KEYS - 1);
    size_t length = word >> 11 & 31;
    uint64_t ticket = model->tickets[word >> 16 & (MODEL_TICKETS - 1)];
    model->clock += moves[word >> 7 & 15];
    model->now = model->clock > model->now ? model->clock : model->now;
    if (operation < 4)
        model_step_begin(model, key, word >> 21 & 7 ? 1 : 2, length % (MODEL_RESULT_MAX + 1));
    else if (operation < 6)
        model_step_complete(model, ticket, length, (unsigned char)(word >> 24));
    else if (operation < 7)
        model_step_fail(model, ticket);
    else /* a ticket that was never given, or was long ago */
        model_step_complete(model, word, length, 0);
    model_compare_stats(model);
}

#endif
