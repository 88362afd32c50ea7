/* A line of a batch: {"destination":"shop","payload":{"order":7}} or {"type":"order.paid","payload":"text","key":"K"}.
 *
 * Read in one pass and in place, for a batch is how events come in by the hundred thousand. It is as strict as a JSON parser: a line
 * is taken exactly when jansson takes it (tests/fuzz/batch_fuzz.c), but for what does not concern us in a payload that is sent on
 * as it was written: numbers of any size are fine in it, names given twice, and names with \u0000 in them. And a NUL byte is never
 * fine, where jansson passes some. */
#ifndef API_BATCH_H
#define API_BATCH_H

#include "api/event.h"

#define BATCH_MESSAGE_SIZE 200
#define BATCH_DEEPEST 2048 /* values within each other; jansson's bound */

struct batch_line {
    struct slice destination, type, key, content_type; /* decoded; not given or null: text NULL */
    struct slice
        payload;  /* of a string: its text; of anything else: the JSON, as it stands there */
    bool is_text; /* it was a string */
};

/* Reads a line, without its newline, and writes to it: the parts lie in it. False: `message` says what is wrong and where. */
bool batch_read(char *line, size_t length, struct batch_line *parsed,
                char message[BATCH_MESSAGE_SIZE]);

/* Nothing but blanks. */
bool batch_is_empty(const char *line, size_t length);

#endif
