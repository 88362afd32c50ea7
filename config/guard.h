/* The settings of a guard in YAML: one table of them, for scenarios (sim/policy.h) and for
 * destinations (destination.h), which each add what is theirs.
 *
 *   static const struct field shop_fields[] = {
 *       {"preset", FIELD_CUSTOM, PLACE(struct shop, guard), .read = guard_read_preset},
 *       {NULL, FIELD_INCLUDE, PLACE(struct shop, guard.retry), .schema = &guard_retry_schema},
 *       {"breaker", FIELD_MAP, PLACE(struct shop, guard.breaker), .schema = &guard_breaker_schema},
 *   };
 *
 *   preset: webhook
 *   attempts: 8
 *   breaker: {failure_rate: 0.3}
 *
 * The preset comes first: it fills in what the others then change. What nobody gives stays zero,
 * the library's default. At the end guard_check sees to it that it all goes together.
 */
#ifndef CONFIG_GUARD_H
#define CONFIG_GUARD_H

#include "reader.h"

#include <lull/preset.h>

#define GUARD_MOST_TOKENS INT64_C(1000000000) /* of a bucket */
#define GUARD_SHORTEST LULL_MICROSECOND       /* delays and time-outs, */
#define GUARD_LONGEST LULL_DAY                /* from and to */

/* Of a struct lull_retry_config, to be included: attempts, base, cap, multiplier, jitter,
 * jitter_factor, tiers; and retry_after_cap. */
extern const struct schema guard_retry_schema, guard_retry_after_schema;

/* Of a struct lull_budget_config and so on, by the names of the library's fields. */
extern const struct schema guard_budget_schema, guard_breaker_schema, guard_bucket_schema,
    guard_bulkhead_schema;

/* The name of a preset into a struct lull_guard_config. */
field_read_fn guard_read_preset;

/* "100/m" into the rate and per of a struct lull_bucket_config. */
field_read_fn guard_read_rate;

/* How the library's words are spelt in YAML: {"bucket.", "rate_limit."}. The longer first; {0} ends
 * the list. */
struct spelling {
    const char *library, *yaml;
};

/* The library's text with each of its words spelt as in YAML, as much as fits. */
void guard_spell(const struct spelling *spellings, const char *text, char *spelt, size_t size);

/* For the check of a schema: lull_guard_check, told of the key that is wrong; and a jitter_factor
 * needs a jitter that has one. */
bool guard_check(struct reader *reader, const struct lull_guard_config *guard,
                 const struct spelling *spellings);

#endif
