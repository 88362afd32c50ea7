/* Which request goes where: one table, from which the answers 404 and 405 follow, too. */
#ifndef API_ROUTE_H
#define API_ROUTE_H

#include "net/http.h"
#include "serve/service.h"

#define PARAMETER_SIZE 256

/* A request on its way. On the handler's stack: what must outlive it is copied. */
struct call {
    struct worker *worker;
    struct exchange *exchange;
    char parameter[PARAMETER_SIZE]; /* the {name} or {id} of the path, decoded; any bytes but NUL */
};

enum body_kind { BODY_PLAIN, BODY_EVENT, BODY_BATCH };

struct route {
    const char *method;
    const char *pattern; /* "/v1/destinations/{name}/events"; a parameter is one whole segment */
    void (*handle)(struct call *call);
    enum body_kind body;
    bool open; /* needs no token */
};

/* The table's i-th; NULL: there are no more. */
const struct route *route_at(size_t index);

/* The route of a request; HEAD goes where GET goes. NULL: there is none, and `allow` says which methods the path has: "GET, POST";
 * "" if it is no path at all. */
#define ALLOW_SIZE 64
const struct route *route_find(const char *method, const char *path, char parameter[PARAMETER_SIZE],
                               char allow[ALLOW_SIZE]);

#endif
