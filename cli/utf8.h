/* UTF-8, a character at a time. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stddef.h>

/* The bytes of the character at `text`, of which `length` bytes are there; 0 if it is none. Overlong forms, surrogates and what is past U+10FFFF
 * are none. A NUL ends a character that it is in, so for a text that ends with one 4 will do as length. */
size_t utf8_character(const char *text, size_t length);

#endif
