/* Presets: settings that have a name.
 *
 *   name         for                          attempts  base    ×  cap     jitter        deadline
 *   interactive  a call a user waits for      5         100 ms  2  2 s     full          5 s
 *   gateway      a payment-like upstream      3         500 ms  2  10 s    full          30 s
 *   worker       push notifications and jobs  4         1 s     2  30 s    additive 0.5  –
 *   checkout     service to service           6         1 s     2  30 s    full          –
 *   webhook      durable delivery             5         30 s    2  1 h     full          –
 *   stream       Kafka tiers                  4         30 s    6  30 min  none          –
 *
 * gateway also connects within 2 s and reads within 5 s, and its breaker opens at 30 % failures or at
 * 50 % of calls slower than 3 s, for 20 s. webhook runs at most 10 calls at once. stream waits 30 s,
 * 3 min, 18 min; set retry.backoff.tiers to name the delays outright.
 *
 *   struct lull_guard_config config = *lull_preset("gateway");
 *   config.retry.deadline = 10 * LULL_SECOND;                    a preset, adjusted
 */
#ifndef LULL_PRESET_H
#define LULL_PRESET_H

#include <lull/guard.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The preset of that name, or NULL. Static; copy it to change it. */
LULL_API const struct lull_guard_config *lull_preset(const char *name);

/* The name of preset i, from 0; NULL past the last. */
LULL_API const char *lull_preset_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
