#include "exit_codes.h"

#include <ctype.h>

#define FORMS "write exit codes of 1 to 255 and ranges of them, as in 7,28,50-60"

/* Reads a code at *text and moves past it; -1 if there is none. */
static int parse_code(const char **text) {
    int code = 0;
    if (!isdigit((unsigned char)**text))
        return -1;
    for (; isdigit((unsigned char)**text); ++*text) {
        code = code * 10 + (**text - '0');
        if (code > 255)
            return -1;
    }
    return code;
}

static void add(struct exit_codes *codes, int code) {
    codes->bits[code / 64] |= UINT64_C(1) << (code % 64);
}

bool exit_codes_add(struct exit_codes *codes, const char *list, struct problem *problem) {
    const char *at = list;
    for (;;) {
        int first = parse_code(&at);
        int last = first;
        if (first >= 0 && *at == '-') {
            at++;
            last = parse_code(&at);
        }
        if (first == 0)
            return problem_say(problem, "0 is success; " FORMS);
        if (first < 0 || last < 0 || (*at != ',' && *at != '\0'))
            return problem_say(problem, FORMS);
        if (last < first)
            return problem_say(problem, "the range %d-%d runs backwards; " FORMS, first, last);
        for (int code = first; code <= last; code++)
            add(codes, code);
        if (*at == '\0')
            return true;
        at++;
    }
}

bool exit_codes_has(const struct exit_codes *codes, int code) {
    return code >= 0 && code <= 255 && (codes->bits[code / 64] >> (code % 64) & 1) != 0;
}

bool exit_codes_empty(const struct exit_codes *codes) {
    return (codes->bits[0] | codes->bits[1] | codes->bits[2] | codes->bits[3]) == 0;
}

int exit_codes_common(const struct exit_codes *one, const struct exit_codes *other) {
    for (int code = 0; code <= 255; code++) {
        if (exit_codes_has(one, code) && exit_codes_has(other, code))
            return code;
    }
    return -1;
}
