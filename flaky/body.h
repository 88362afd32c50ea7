/* What answers say.
 *
 *   64k            that many bytes, a pattern of lines
 *   hello          this text
 *   =100           the text "100", which would be a size without the =
 */
#ifndef FLAKY_BODY_H
#define FLAKY_BODY_H

#include "problem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { BODY_TEXT_SIZE = 16384 };
#define BODY_LARGEST (UINT64_C(1) << 30)

enum body_kind { BODY_DEFAULT, BODY_SIZED, BODY_TEXT };

struct body {
    enum body_kind kind;
    uint64_t size; /* of either kind */
    char text[BODY_TEXT_SIZE];
};

bool body_parse(const char *text, struct body *body, struct problem *problem);

/* As JSON, in the form that body_parse reads. */
void body_write(FILE *stream, const struct body *body);

/* Bytes that several answers share. The last one to let go frees them. */
struct blob {
    size_t users;
    size_t size;
    char bytes[];
};

struct blob *blob_of(const void *bytes, size_t size); /* a copy; NULL: out of memory */
struct blob *blob_of_text(const char *text);
struct blob *blob_of_body(const struct body *body); /* not of a BODY_DEFAULT */
struct blob *blob_share(struct blob *blob);
void blob_release(void *blob); /* takes NULL, too */

#endif
