/* Small pieces of text that several settings share: sizes, rates, and exact forms that read back
 * as they were. */
#ifndef FLAKY_TEXT_H
#define FLAKY_TEXT_H

#include <lull/base.h>
#include <stdio.h>

/* False, and `target` is empty, if `text` with its end does not fit. */
bool text_copy(char *target, size_t size, const char *text);

/* Has it characters that must not stand in a header field (line ends, above all)? */
bool text_has_controls(const char *text);

/* Sizes in bytes: 512, 64k, 1m, 1g. A k is 1024. */
bool text_parse_size(const char *text, uint64_t most, uint64_t *size);

/* Rates: 100/s, 1000/m, 5/h, or 100 for 100/s. */
struct rate {
    int64_t count; /* 0: none is set */
    lull_duration per;
};
bool text_parse_rate(const char *text, struct rate *rate);
void text_rate(FILE *stream, const struct rate *rate);

/* A duration as one whole number of its largest fitting unit: 1500ms, never 1.5s; read back it
 * is the same. */
void text_duration(FILE *stream, lull_duration duration);

/* The shortest decimal number that reads back as the same. */
void text_decimal(FILE *stream, double number);

#endif
