/* An exchange: one HTTP request to us and our answer, without saying which server library carries it.
 *
 * The handler is called once, when the request is complete (or could not be taken: then it is not called at all, the server has
 * answered). It answers at once, or keeps the exchange and answers later, on the same thread: exactly one call of exchange_answer.
 * After that the exchange is not to be touched. If the client goes away meanwhile, the answer goes nowhere; nobody needs to know.
 *
 * All texts are borrowed until the answer is given; they end with NUL. */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include <lull/base.h>

struct exchange;

/* "GET"; "/v1/events/evt_1" (as sent, percent-encoding and all, without the query) */
const char *exchange_method(const struct exchange *exchange);
const char *exchange_path(const struct exchange *exchange);
/* The decoded value of a query parameter; NULL: not there. "" if it has none. */
const char *exchange_query(const struct exchange *exchange, const char *name);
/* A header field's value, whatever its case; NULL: not there. */
const char *exchange_header(const struct exchange *exchange, const char *name);
/* The body: any bytes, NULL if empty. It may be written to (a parser in place). */
char *exchange_body(struct exchange *exchange, size_t *length);
/* Who asks, "127.0.0.1". */
const char *exchange_client(const struct exchange *exchange, char text[64]);

struct answer_field {
    const char *name, *value;
};

struct answer {
    int status;
    const char *content_type; /* NULL: no body */
    const char *body;         /* copied, unless `take`: then it was malloc'd and is freed later */
    size_t length;
    bool take;
    const struct answer_field *fields; /* further header fields; copied */
    size_t field_count;
};

void exchange_answer(struct exchange *exchange, const struct answer *answer);

/* For whoever handles it: a word of its own, NULL at first. */
void exchange_set_data(struct exchange *exchange, void *data);
void *exchange_data(const struct exchange *exchange);

#endif
