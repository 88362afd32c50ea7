#include "latency.h"

#include "duration.h"
#include "number.h"
#include "text.h"

#include <lull/random.h>
#include <math.h>
#include <string.h>

#define FORMS                                                                                      \
    "write 50ms, 50ms+-10ms, exponential:50ms, lognormal:50ms:p99=400ms or "                       \
    "lognormal:50ms:sigma=0.8"

/* The 99th percentile of a normal distribution lies this many deviations above its middle. */
static const double deviations_to_p99 = 2.3263478740408408;

static bool parse_time(const char *text, lull_duration *time) {
    uint64_t milliseconds = 0;
    if (number_parse(text, LATENCY_LONGEST / LULL_MILLISECOND, &milliseconds))
        *time = (lull_duration)milliseconds * LULL_MILLISECOND;
    else if (!duration_parse(text, time))
        return false;
    return *time <= LATENCY_LONGEST;
}

static bool parse_jittered(const char *middle, const char *spread, struct latency *latency,
                           struct problem *problem) {
    latency->kind = LATENCY_JITTERED;
    if (!parse_time(middle, &latency->typical) || !parse_time(spread, &latency->spread))
        return problem_say(problem, FORMS);
    if (latency->spread > latency->typical)
        return problem_say(problem, "the jitter is longer than the latency; no answer can come "
                                    "before its request");
    return true;
}

static bool parse_lognormal(const char *median, const char *shape, struct latency *latency,
                            struct problem *problem) {
    latency->kind = LATENCY_LOGNORMAL;
    if (!parse_time(median, &latency->typical) || latency->typical == 0)
        return problem_say(problem, FORMS);
    if (strncmp(shape, "p99=", 4) == 0) {
        if (!parse_time(shape + 4, &latency->p99))
            return problem_say(problem, FORMS);
        if (latency->p99 < latency->typical)
            return problem_say(problem, "the p99 is shorter than the median");
        latency->sigma = log((double)latency->p99 / (double)latency->typical) / deviations_to_p99;
        return true;
    }
    if (strncmp(shape, "sigma=", 6) == 0 && decimal_parse(shape + 6, &latency->sigma) &&
        latency->sigma <= 10)
        return true;
    return problem_say(problem, FORMS);
}

bool latency_parse(const char *text, struct latency *latency, struct problem *problem) {
    char parts[128];
    *latency = (struct latency){0};
    if (!text_copy(parts, sizeof parts, text))
        return problem_say(problem, FORMS);
    char *rest = parts;
    char *first = strsep(&rest, ":");
    if (rest == NULL) {
        char *spread = strstr(first, "+-");
        if (spread != NULL) {
            *spread = '\0';
            return parse_jittered(first, spread + 2, latency, problem);
        }
        return parse_time(first, &latency->typical) || problem_say(problem, FORMS);
    }
    char *typical = strsep(&rest, ":");
    if (strcmp(first, "exponential") == 0 && rest == NULL) {
        latency->kind = LATENCY_EXPONENTIAL;
        return parse_time(typical, &latency->typical) || problem_say(problem, FORMS);
    }
    if (strcmp(first, "lognormal") == 0 && rest != NULL)
        return parse_lognormal(typical, rest, latency, problem);
    return problem_say(problem, FORMS);
}

void latency_print(FILE *stream, const struct latency *latency) {
    static const char *const prefixes[] = {"", "", "exponential:", "lognormal:"};
    fputs(prefixes[latency->kind], stream);
    text_duration(stream, latency->typical);
    if (latency->kind == LATENCY_JITTERED) {
        fputs("+-", stream);
        text_duration(stream, latency->spread);
    } else if (latency->kind == LATENCY_LOGNORMAL && latency->p99 > 0) {
        fputs(":p99=", stream);
        text_duration(stream, latency->p99);
    } else if (latency->kind == LATENCY_LOGNORMAL) {
        fputs(":sigma=", stream);
        text_decimal(stream, latency->sigma);
    }
}

/* Above 0, at most 1: a logarithm is taken of it. */
static double fraction(uint64_t word) {
    return ((double)(word >> 11) + 1) * 0x1p-53;
}

/* Box-Muller: two even draws make one from the bell curve. */
static double normal(uint64_t word) {
    uint64_t state = word;
    double radius = sqrt(-2 * log(fraction(lull_random_next(&state))));
    return radius * cos(2 * M_PI * fraction(lull_random_next(&state)));
}

static lull_duration bounded(double nanoseconds) {
    return nanoseconds < (double)LATENCY_LONGEST ? (lull_duration)nanoseconds : LATENCY_LONGEST;
}

lull_duration latency_draw(const struct latency *latency, uint64_t word) {
    double typical = (double)latency->typical;
    switch (latency->kind) {
    case LATENCY_JITTERED:
        return lull_uniform(word, latency->typical - latency->spread,
                            latency->typical + latency->spread);
    case LATENCY_EXPONENTIAL:
        return bounded(-log(fraction(word)) * typical);
    case LATENCY_LOGNORMAL:
        return bounded(exp(normal(word) * latency->sigma) * typical);
    case LATENCY_FIXED:
        break;
    }
    return latency->typical;
}
