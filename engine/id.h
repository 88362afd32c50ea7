/* Ids as people and machines outside see them: "evt_00000000000g1", a kind and the number in 13 characters of lower-case
 * Crockford base32 (0-9 a-z without i l o u), padded, so that the order of texts is the order of numbers.
 *
 *   1 → evt_0000000000001     32 → evt_0000000000010     INT64_MAX → evt_7zzzzzzzzzzzz */
#ifndef ENGINE_ID_H
#define ENGINE_ID_H

#include <lull/base.h>

#define ID_DIGITS 13
#define ID_TEXT_SIZE (4 + ID_DIGITS + 1)

enum id_kind { ID_EVENT /* evt_ */, ID_DELIVERY /* dlv_ */, ID_REPLAY /* rpl_ */ };

/* `id` is not negative. Returns `text`. */
char *id_format(enum id_kind kind, int64_t id, char text[ID_TEXT_SIZE]);

/* Only what id_format writes is an id, and 0 is none: it stands for "no such thing" everywhere. False leaves *id alone. */
bool id_parse(enum id_kind kind, const char *text, int64_t *id);

#endif
