/* The handlers, by the file they are in. Each answers, now or later. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api/route.h"

/* destinations.c */
void destinations_list(struct call *call);
void destinations_show(struct call *call);
/* destination_change.c */
void destinations_create(struct call *call);
void destinations_update(struct call *call);
void destinations_remove(struct call *call);
void destinations_pause(struct call *call);
void destinations_resume(struct call *call);
void destinations_rotate(struct call *call);
/* ingest.c */
void ingest_to_one(struct call *call);
void ingest_by_type(struct call *call);
/* ingest_batch.c */
void ingest_batch(struct call *call);
/* events.c */
void events_list(struct call *call);
void events_show(struct call *call);
/* dlq.c */
void dlq_list(struct call *call);
void dlq_show(struct call *call);
void dlq_drop(struct call *call);
/* replays.c */
void replays_start(struct call *call);
void replays_list(struct call *call);
void replays_show(struct call *call);
void replays_cancel(struct call *call);
/* metrics.c */
void metrics_show(struct call *call);
/* pages.c */
void pages_index(struct call *call);
void pages_health(struct call *call);
void pages_ready(struct call *call);
void pages_openapi(struct call *call);

#endif
