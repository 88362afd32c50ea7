/* The kinds of value that settings have: how each is read from text and written as JSON. */
#ifndef FLAKY_SETTING_TYPES_H
#define FLAKY_SETTING_TYPES_H

#include "problem.h"

#include <stddef.h>
#include <stdio.h>

enum setting_type_id {
    SETTING_TYPE_LATENCY,  /* struct latency */
    SETTING_TYPE_SHARE,    /* double, 0 … 1, or SHARE_UNSET */
    SETTING_TYPE_STATUS,   /* uint64_t, 200 … 599 */
    SETTING_TYPE_COUNT,    /* uint64_t */
    SETTING_TYPE_SIZE,     /* uint64_t, bytes */
    SETTING_TYPE_DECIMAL,  /* double */
    SETTING_TYPE_DURATION, /* lull_duration */
    SETTING_TYPE_RATE,     /* struct rate */
    SETTING_TYPE_OUTAGES,  /* struct outages */
    SETTING_TYPE_TEXT,     /* char[FIELD_TEXT_SIZE] that may stand in a header */
    SETTING_TYPE_FORM,     /* enum retry_after_form */
    SETTING_TYPE_BODY,     /* struct body */
    SETTING_TYPE_HEADERS,  /* struct headers */
    SETTING_TYPE_SWITCH,   /* bool */
};

struct setting_type {
    size_t size;
    bool is_list;      /* reading adds to it */
    const char *alone; /* what it means to be named without a value; NULL: nothing */
    bool (*read)(void *place, const char *text, struct problem *problem);
    void (*write)(FILE *stream, const void *place); /* null: not set */
};

extern const struct setting_type setting_types[];

#endif
