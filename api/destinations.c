#include "api/destination_view.h"
#include "api/handlers.h"
#include "api/page.h"
#include "api/reply.h"

#include <string.h>

void destinations_show(struct call *call) {
    struct destination *destination = destination_named(call);
    if (destination == NULL)
        return;
    reply_json(call->exchange, 200, destination_view(call->worker, destination));
    destination_release(destination);
}

/* A cursor is the last name of the page before. Names need no escaping in a URL. */
static bool is_cursor(const char *text) {
    size_t length = strlen(text);
    return length > 0 && length <= DESTINATION_NAME_LONGEST &&
           text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == '\0';
}

void destinations_list(struct call *call) {
    const char *after = exchange_query(call->exchange, "cursor");
    /* One more than is shown says whether there is a next page. */
    struct destination *found[PAGE_LIMIT_MOST + 1];
    uint32_t limit;
    if (!page_limit(call->exchange, &limit))
        return;
    if (after != NULL && !is_cursor(after)) {
        reply_bad_cursor(call->exchange);
        return;
    }
    uint32_t count = registry_list(service_registry(call->worker), after, found, limit + 1);
    json_t *items = json_array();
    for (uint32_t i = 0; i < count && i < limit; i++)
        if (!destination_is_internal(found[i]))
            json_add(&items, destination_view(call->worker, found[i]));
    reply_page(call->exchange, items, count > limit ? found[limit - 1]->row.name : NULL);
    for (uint32_t i = 0; i < count; i++)
        destination_release(found[i]);
}
