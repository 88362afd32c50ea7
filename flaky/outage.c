#include "outage.h"

#include "duration.h"
#include "text.h"

#include <string.h>

static const char *const mode_names[OUTAGE_MODE_COUNT] = {"none",
#define FLAKY_X(name, text) text,
                                                          OUTAGE_MODE_MAP(FLAKY_X)
#undef FLAKY_X
};

const char *outage_mode_name(enum outage_mode mode) {
    return mode_names[mode];
}

static bool find_mode(const char *name, enum outage_mode *mode) {
    for (int i = OUTAGE_NONE + 1; i < OUTAGE_MODE_COUNT; i++) {
        if (strcmp(mode_names[i], name) == 0) {
            *mode = (enum outage_mode)i;
            return true;
        }
    }
    return false;
}

static bool parse_one(char *text, struct outage *outage, struct problem *problem) {
    char *mode = strchr(text, ':');
    outage->mode = OUTAGE_DEFAULT_MODE;
    if (mode != NULL) {
        *mode++ = '\0';
        if (!find_mode(mode, &outage->mode))
            return problem_say(problem,
                               "no such outage: %.40s; there are refuse, hang, close, reset, "
                               "truncate, garbage, error and slow",
                               mode);
    }
    char *length = strchr(text, '+');
    if (length == NULL)
        return problem_say(problem, "write FROM+LENGTH[:MODE], as in 10s+30s:hang");
    *length++ = '\0';
    if (!duration_parse(text, &outage->from) || !duration_parse(length, &outage->length))
        return problem_say(problem, "not a duration; write FROM+LENGTH with " DURATION_FORMS);
    if (outage->length == 0 || outage->length > LULL_NEVER / 4 || outage->from > LULL_NEVER / 4)
        return problem_say(problem, "an outage lasts longer than 0, and less than 70 years");
    return true;
}

bool outages_parse(const char *text, struct outages *outages, struct problem *problem) {
    char copy[2048];
    if (!text_copy(copy, sizeof copy, text))
        return problem_say(problem, "longer than 2047 characters");
    char *rest = copy;
    for (char *one = strsep(&rest, ","); one != NULL; one = strsep(&rest, ",")) {
        if (outages->count == OUTAGES_MOST)
            return problem_say(problem, "more than %d outages", OUTAGES_MOST);
        if (!parse_one(one, &outages->list[outages->count], problem))
            return false;
        outages->count++;
    }
    return true;
}

void outages_print(FILE *stream, const struct outages *outages) {
    for (size_t i = 0; i < outages->count; i++) {
        const struct outage *outage = &outages->list[i];
        fputs(i == 0 ? "" : ",", stream);
        text_duration(stream, outage->from);
        fputc('+', stream);
        text_duration(stream, outage->length);
        fprintf(stream, ":%s", outage_mode_name(outage->mode));
    }
}

lull_duration outages_end(const struct outages *outages) {
    lull_duration end = 0;
    for (size_t i = 0; i < outages->count; i++) {
        lull_duration its_end = outages->list[i].from + outages->list[i].length;
        end = its_end > end ? its_end : end;
    }
    return end;
}

static void take_earlier(lull_duration *change, lull_duration phase, lull_duration moment) {
    if (moment > phase && moment < *change)
        *change = moment;
}

struct outage_state outages_at(const struct outages *outages, lull_duration every,
                               lull_duration elapsed) {
    lull_duration phase = every > 0 ? elapsed % every : elapsed;
    struct outage_state state = {
        .mode = OUTAGE_NONE,
        .change = every > 0 && outages->count > 0 ? every : LULL_NEVER,
    };
    for (size_t i = 0; i < outages->count; i++) {
        const struct outage *outage = &outages->list[i];
        lull_duration end = outage->from + outage->length;
        if (state.mode == OUTAGE_NONE && phase >= outage->from && phase < end)
            state.mode = outage->mode;
        take_earlier(&state.change, phase, outage->from);
        take_earlier(&state.change, phase, end);
    }
    if (state.change != LULL_NEVER)
        state.change += elapsed - phase;
    return state;
}
