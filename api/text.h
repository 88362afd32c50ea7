/* Texts that come from outside: are they what they say they are? */
#ifndef API_TEXT_H
#define API_TEXT_H

#include <lull/base.h>

bool text_is_utf8(const char *text, size_t length);

/* One line: UTF-8, without control characters (C0, DEL, C1). */
bool text_is_line(const char *text, size_t length);
/* What a header field's value may be made of here: printable ASCII and blanks. */
bool text_is_field(const char *text, size_t length);

/* Undoes percent-encoding, up to `end`. False: it does not fit, is malformed, or has a NUL in it. */
bool text_decode(const char *text, const char *end, char *decoded, size_t size);

#endif
