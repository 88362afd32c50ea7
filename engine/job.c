#include "internal.h"

#include <stdlib.h>

#define SPARE_MOST 4096

struct job *job_new(struct engine *engine, struct lane *lane, struct message *message) {
    struct job *job = engine->spare;
    if (job != NULL) {
        engine->spare = job->next;
        engine->spare_count--;
    } else {
        job = malloc(sizeof *job);
        if (job == NULL)
            return NULL;
    }
    *job = (struct job){.lane = lane, .message = message_share(message)};
    return job;
}

static void leave_express(struct job *job) {
    struct lane *lane = job->lane;
    if (!job->express)
        return;
    if (job->newer != NULL)
        job->newer->older = job->older;
    else
        lane->newest_express = job->older;
    if (job->older != NULL)
        job->older->newer = job->newer;
    lane->express_count--;
}

void job_destroy(struct job *job) {
    struct engine *engine = job->lane->engine;
    leave_express(job);
    message_release(job->message);
    free(job->attempt.record.excerpt);
    if (engine->spare_count >= SPARE_MOST) {
        free(job);
        return;
    }
    job->next = engine->spare;
    engine->spare = job;
    engine->spare_count++;
}

void job_list_init(struct job_list *list) {
    *list = (struct job_list){.last = &list->first};
}

void job_list_push(struct job_list *list, struct job *job) {
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
    list->count++;
    list->bytes += message_size(job->message);
}

void job_list_push_first(struct job_list *list, struct job *job) {
    job->next = list->first;
    if (list->first == NULL)
        list->last = &job->next;
    list->first = job;
    list->count++;
    list->bytes += message_size(job->message);
}

struct job *job_list_pop(struct job_list *list) {
    struct job *job = list->first;
    list->first = job->next;
    if (list->first == NULL)
        list->last = &list->first;
    list->count--;
    list->bytes -= message_size(job->message);
    job->next = NULL;
    return job;
}

void job_list_clear(struct job_list *list) {
    while (list->count > 0)
        job_destroy(job_list_pop(list));
}
