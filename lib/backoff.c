#include "backoff.h"

#include "atomic.h"
#include "check.h"
#include "saturate.h"

#include <lull/random.h>

#include <string.h>

#define LONGEST (100 * 365 * LULL_DAY)

static int check_tiers(const struct lull_backoff_config *config, struct lull_error *error) {
    int result =
        check_integer(error, "backoff.tier_count", config->tier_count, 0, LULL_BACKOFF_MAX_TIERS);
    for (uint32_t i = 0; result == LULL_OK && i < config->tier_count; i++)
        result = check_duration(error, "backoff.tiers", config->tiers[i], 1, LONGEST);
    return result;
}

int backoff_check(const struct lull_backoff_config *config, struct lull_backoff_config *settled,
                  struct lull_error *error) {
    struct lull_backoff_config c = config != NULL ? *config : (struct lull_backoff_config){0};
    if (c.base == 0)
        c.base = LULL_BACKOFF_BASE;
    if (c.cap == 0)
        c.cap = LULL_BACKOFF_CAP;
    if (c.multiplier == 0)
        c.multiplier = LULL_BACKOFF_MULTIPLIER;
    if (c.jitter == LULL_JITTER_DEFAULT)
        c.jitter = LULL_BACKOFF_JITTER;
    if (c.jitter_factor == 0)
        c.jitter_factor = LULL_BACKOFF_JITTER_FACTOR;

    if (check_duration(error, "backoff.base", c.base, 1, LONGEST) != LULL_OK ||
        check_duration(error, "backoff.cap", c.cap, 1, LONGEST) != LULL_OK ||
        check_number(error, "backoff.multiplier", c.multiplier, 1, 1e9) != LULL_OK ||
        check_integer(error, "backoff.jitter", (int64_t)c.jitter, LULL_JITTER_NONE,
                      LULL_JITTER_PROPORTIONAL) != LULL_OK ||
        check_number(error, "backoff.jitter_factor", c.jitter_factor, 0, 1) != LULL_OK ||
        check_tiers(&c, error) != LULL_OK)
        return LULL_EINVAL;
    if (c.cap < c.base && c.tier_count == 0) {
        char cap[32], base[32];
        return invalid(error, "backoff.cap", "is %s, less than backoff.base (%s); raise the cap",
                       duration_text(c.cap, cap, sizeof cap),
                       duration_text(c.base, base, sizeof base));
    }
    *settled = c;
    return LULL_OK;
}

void backoff_apply(struct lull_backoff *backoff, const struct lull_backoff_config *settled) {
    store(&backoff->base, settled->base);
    store(&backoff->cap, settled->cap);
    store(&backoff->multiplier, settled->multiplier);
    store(&backoff->jitter_factor, settled->jitter_factor);
    store(&backoff->jitter, (uint32_t)settled->jitter);
    for (uint32_t i = 0; i < settled->tier_count;
         i++) /* those that are no longer used may be, just now */
        store(&backoff->tiers[i], settled->tiers[i]);
    store(&backoff->tier_count, settled->tier_count);
}

int lull_backoff_init(struct lull_backoff *backoff, const struct lull_backoff_config *config,
                      struct lull_error *error) {
    struct lull_backoff_config settled;
    int result = backoff_check(config, &settled, error);
    if (result == LULL_OK)
        backoff_apply(backoff, &settled);
    return result;
}

/* factor^exponent by squaring; infinity where it does not fit. */
static double power(double factor, uint32_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= factor;
        factor *= factor;
    }
    return result;
}

lull_duration lull_backoff_term(const struct lull_backoff *backoff, uint32_t retry) {
    uint32_t index = retry > 0 ? retry - 1 : 0;
    uint32_t tiers = load(&backoff->tier_count);
    if (tiers > 0)
        return load(&backoff->tiers[index < tiers ? index : tiers - 1]);
    lull_duration base = load(&backoff->base);
    double grown = (double)base * power(load(&backoff->multiplier), index);
    return least(load(&backoff->cap), index == 0 ? base : from_double(grown));
}

lull_duration lull_backoff_delay(const struct lull_backoff *backoff, uint32_t retry,
                                 lull_duration previous, bool throttled, uint64_t word) {
    lull_duration d = lull_backoff_term(backoff, retry);
    double factor = load(&backoff->jitter_factor);
    enum lull_jitter jitter = load(&backoff->jitter);
    if (throttled && jitter == LULL_JITTER_FULL)
        jitter = LULL_JITTER_EQUAL;

    lull_duration part = from_double(factor * (double)d);
    switch (jitter) {
    case LULL_JITTER_FULL:
        return lull_uniform(word, 0, d);
    case LULL_JITTER_EQUAL:
        return lull_uniform(word, d - d / 2, d);
    case LULL_JITTER_DECORRELATED: {
        lull_duration base = load(&backoff->base);
        lull_duration high = multiply_saturated(3, most(previous, base));
        return lull_uniform(word, base, least(load(&backoff->cap), high));
    }
    case LULL_JITTER_ADDITIVE:
        return lull_uniform(word, d, add_saturated(d, part));
    case LULL_JITTER_PROPORTIONAL:
        return lull_uniform(word, d - least(part, d), add_saturated(d, part));
    default:
        return d;
    }
}

static const char *const jitter_names[] = {
    [LULL_JITTER_DEFAULT] = "default",
    [LULL_JITTER_NONE] = "none",
    [LULL_JITTER_FULL] = "full",
    [LULL_JITTER_EQUAL] = "equal",
    [LULL_JITTER_DECORRELATED] = "decorrelated",
    [LULL_JITTER_ADDITIVE] = "additive",
    [LULL_JITTER_PROPORTIONAL] = "proportional",
};

const char *lull_jitter_name(enum lull_jitter jitter) {
    return (unsigned)jitter <= LULL_JITTER_PROPORTIONAL ? jitter_names[jitter] : "unknown";
}

int lull_jitter_parse(const char *name, enum lull_jitter *jitter) {
    for (unsigned i = LULL_JITTER_NONE; i <= LULL_JITTER_PROPORTIONAL; i++)
        if (strcmp(name, jitter_names[i]) == 0) {
            *jitter = (enum lull_jitter)i;
            return LULL_OK;
        }
    return LULL_EINVAL;
}
