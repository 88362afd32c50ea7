/* The server's JSON, shown to people.
 *
 * Members are looked up by name, and those that are missing are shown as "-": a newer or older
 * server does no harm. view_details shows all there are, so that what the server learns to say is
 * seen without a change here:
 *
 *   name      shop
 *   state     active
 *   backlog   fresh 120, retry 3, inflight 10, dead 1
 *   created   2026-03-01 12:00:00 UTC, 3 d ago
 */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "table.h"

#include <jansson.h>

/* A cell of the table, from a member of an object. */
void view_cell(struct table *table, const json_t *object, const char *key);
/* The same for states, in colour. */
void view_state(struct table *table, const json_t *object, const char *key);
/* The same for moments: "3 m ago" on a terminal, as they are elsewhere. */
void view_moment(struct table *table, const json_t *object, const char *key);
/* The status that was answered and the error: "503, upstream is down". */
void view_error(struct table *table, const json_t *object);

/* All members of an object but those named in `but` (separated by blanks) and those that are null,
 * one a line, on stdout. */
void view_details(const struct screen *screen, const json_t *object, const char *but);

/* A table of attempts, on stdout; nothing if there were none. */
void view_trace(const struct screen *screen, const json_t *trace);

/* A value as text: "a, b" for lists, "k v, k v" for objects. On the heap; not yet safe to show. */
char *view_text(const json_t *value);

/* A document on stdout: indented on a terminal, on one line elsewhere. */
void view_json(const struct screen *screen, const json_t *document);
/* The same without its line's end, for documents that are written in pieces. */
void view_json_piece(const struct screen *screen, const json_t *value);

#endif
