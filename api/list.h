/* Lists of deliveries: what the store is asked for, and its pages. */
#ifndef API_LIST_H
#define API_LIST_H

#include "api/json.h"
#include "api/route.h"

/* Answers with a page of the deliveries in these states (1 << enum delivery_state, or-ed), of the destination, limit and cursor that
 * the query asks for. */
void list_deliveries(struct call *call, uint32_t states,
                     json_t *(*view)(struct worker *worker, const struct delivery_record *record));

#endif
