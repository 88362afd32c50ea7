/* Paging: ?limit= and ?cursor=, and the {"items":[…],"next":…} that answers. */
#ifndef API_PAGE_H
#define API_PAGE_H

#include "api/json.h"
#include "engine/store.h"
#include "net/http.h"

#define PAGE_LIMIT 100
#define PAGE_LIMIT_MOST 1000
#define CURSOR_TEXT_SIZE 96

/* False: answered with 400. */
bool page_limit(struct exchange *exchange, uint32_t *limit);

/* A place in a list as text without a character that a URL would have to escape: "12.3.1767225600000000000.77". Returns `text`. */
char *cursor_format(const struct list_cursor *cursor, char text[CURSOR_TEXT_SIZE]);
/* Only what cursor_format writes is a cursor. */
bool cursor_parse(const char *text, struct list_cursor *cursor);

void reply_bad_cursor(struct exchange *exchange);

/* The array is taken; `next` NULL: there are no more. */
void reply_page(struct exchange *exchange, json_t *items, const char *next);

#endif
