/* Deliveries and their attempts as they are shown. */
#ifndef API_DELIVERY_VIEW_H
#define API_DELIVERY_VIEW_H

#include "api/json.h"
#include "serve/service.h"

/* The name of a destination by its id; null if it is gone. */
json_t *destination_name_json(struct worker *worker, int64_t id);

json_t *id_json(int kind, int64_t id); /* enum id_kind */

/* As part of an event: with its trace. */
json_t *delivery_of_event(struct worker *worker, const struct delivery_record *record);
/* As an item of a list. */
json_t *delivery_item(struct worker *worker, const struct delivery_record *record);
/* The same of a dead letter. */
json_t *dead_letter_item(struct worker *worker, const struct delivery_record *record);
json_t *trace_view(const struct delivery_record *record);

#endif
