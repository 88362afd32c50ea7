#include "api/page.h"

#include "api/reply.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool page_limit(struct exchange *exchange, uint32_t *limit) {
    const char *text = exchange_query(exchange, "limit");
    *limit = PAGE_LIMIT;
    if (text == NULL)
        return true;
    size_t digits = strspn(text, "0123456789");
    unsigned long number = digits > 0 && digits <= 9 ? strtoul(text, NULL, 10) : 0;
    if (text[digits] != '\0' || number < 1 || number > PAGE_LIMIT_MOST) {
        reply_problem(exchange, 400, "bad_limit", "limit must be a whole number, 1 … %d",
                      PAGE_LIMIT_MOST);
        return false;
    }
    *limit = (uint32_t)number;
    return true;
}

char *cursor_format(const struct list_cursor *cursor, char text[CURSOR_TEXT_SIZE]) {
    snprintf(text, CURSOR_TEXT_SIZE, "%" PRId64 ".%d.%" PRId64 ".%" PRId64, cursor->destination,
             (int)cursor->state, cursor->place.due, cursor->place.id);
    return text;
}

/* The next number; `at` moves behind it and its dot. */
static bool take_number(const char **at, int64_t *number) {
    char *end;
    errno = 0;
    if (**at != '-' && !isdigit((unsigned char)**at))
        return false;
    *number = strtoll(*at, &end, 10);
    if (errno != 0 || (*end != '.' && *end != '\0'))
        return false;
    *at = *end == '.' ? end + 1 : end;
    return true;
}

bool cursor_parse(const char *text, struct list_cursor *cursor) {
    const char *at = text;
    char again[CURSOR_TEXT_SIZE];
    int64_t state = 0;
    if (!take_number(&at, &cursor->destination) || !take_number(&at, &state) ||
        !take_number(&at, &cursor->place.due) || !take_number(&at, &cursor->place.id))
        return false;
    if (cursor->destination <= 0 || state < 0 || state >= DELIVERY_STATE_COUNT)
        return false;
    cursor->state = (enum delivery_state)state;
    /* Written again it must be the same: no leading zeros, no second dot, no tail. */
    return strcmp(cursor_format(cursor, again), text) == 0;
}

void reply_bad_cursor(struct exchange *exchange) {
    reply_problem(exchange, 400, "bad_cursor",
                  "this cursor is none that a list of this kind gave; ask without one to begin");
}

void reply_page(struct exchange *exchange, json_t *items, const char *next) {
    json_t *page = json_object();
    json_put(&page, "items", items);
    json_put(&page, "next", json_text(next));
    reply_json(exchange, 200, page);
}
