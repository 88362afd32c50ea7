/* Answers to requests: what they say, in which header fields, and how fast. */
#ifndef FLAKY_ANSWER_H
#define FLAKY_ANSWER_H

#include "request.h"

#define JSON_TYPE "application/json"
#define PROBLEM_TYPE "application/problem+json"

/* Queues the answer that the request's plan asks for. MHD_NO: out of memory, and the connection
 * is to be closed. */
enum MHD_Result answer_queue(struct server *server, struct request *request);

/* The body it has; to be released. NULL: out of memory. */
struct blob *answer_body(const struct server *server, const struct request *request);

/* Forgets answers made from settings that no longer hold. */
void answers_forget(struct server *server);

/* {"type":"about:blank","title":…,"status":…,"detail":…,"field":…}, to be freed. `field` may be
 * empty. */
char *problem_json(unsigned status, const char *field, const char *detail);

/* A whole answer out of a text, which is taken and freed. `allow`: a field Allow; NULL: none. */
enum MHD_Result answer_text(struct MHD_Connection *http, unsigned status, const char *content_type,
                            const char *allow, char *text);

#endif
