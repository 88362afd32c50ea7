#include <lull/preset.h>

#include <string.h>

static const struct {
    const char *name;
    struct lull_guard_config config;
} presets[] = {
    {"interactive",
     {.retry = {.attempts = 5,
                .deadline = 5 * LULL_SECOND,
                .backoff = {.base = 100 * LULL_MILLISECOND,
                            .multiplier = 2,
                            .cap = 2 * LULL_SECOND,
                            .jitter = LULL_JITTER_FULL}}}},
    {"gateway",
     {.retry = {.attempts = 3,
                .deadline = 30 * LULL_SECOND,
                .backoff = {.base = 500 * LULL_MILLISECOND,
                            .multiplier = 2,
                            .cap = 10 * LULL_SECOND,
                            .jitter = LULL_JITTER_FULL}},
      .breaker = {.failure_rate = 0.3,
                  .slow_rate = 0.5,
                  .slow_call = 3 * LULL_SECOND,
                  .open_time = 20 * LULL_SECOND},
      .connect_timeout = 2 * LULL_SECOND,
      .read_timeout = 5 * LULL_SECOND}},
    {"worker",
     {.retry = {.attempts = 4,
                .deadline = LULL_NONE,
                .backoff = {.base = 1 * LULL_SECOND,
                            .multiplier = 2,
                            .cap = 30 * LULL_SECOND,
                            .jitter = LULL_JITTER_ADDITIVE,
                            .jitter_factor = 0.5}}}},
    {"checkout",
     {.retry = {.attempts = 6,
                .deadline = LULL_NONE,
                .backoff = {.base = 1 * LULL_SECOND,
                            .multiplier = 2,
                            .cap = 30 * LULL_SECOND,
                            .jitter = LULL_JITTER_FULL}}}},
    {"webhook",
     {.retry = {.attempts = 5,
                .deadline = LULL_NONE,
                .backoff = {.base = 30 * LULL_SECOND,
                            .multiplier = 2,
                            .cap = LULL_HOUR,
                            .jitter = LULL_JITTER_FULL}},
      .bulkhead = {.limit = 10}}},
    {"stream",
     {.retry = {.attempts = 4,
                .deadline = LULL_NONE,
                .backoff = {.base = 30 * LULL_SECOND,
                            .multiplier = 6,
                            .cap = 30 * LULL_MINUTE,
                            .jitter = LULL_JITTER_NONE}}}},
};

const struct lull_guard_config *lull_preset(const char *name) {
    for (size_t i = 0; name != NULL && i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(name, presets[i].name) == 0)
            return &presets[i].config;
    return NULL;
}

const char *lull_preset_name(size_t index) {
    return index < sizeof presets / sizeof presets[0] ? presets[index].name : NULL;
}
